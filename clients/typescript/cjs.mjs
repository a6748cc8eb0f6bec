// Builds the form of the package that require loads. The compiler takes the form of a file from the nearest package.json, so the source is
// copied beside one that says commonjs; the result gets the same.
import { cpSync, rmSync, writeFileSync } from "node:fs";

const commonjs = (folder) => writeFileSync(`${folder}/package.json`, '{ "type": "commonjs" }\n');
switch (process.argv[2]) {
	case "copy":
		rmSync("cjs", { recursive: true, force: true });
		cpSync("src", "cjs", { recursive: true });
		commonjs("cjs");
		break;
	case "finish":
		commonjs("dist/cjs");
		rmSync("cjs", { recursive: true });
}
