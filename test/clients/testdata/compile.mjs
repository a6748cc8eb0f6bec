// Compiles the nodes for n8n and their credentials (SOURCE) into a folder (INTO), file by file, beside a stand-in for what they use of n8n. MODULES has TypeScript.
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';

const { SOURCE, INTO, MODULES } = process.env;
const ts = createRequire(join(MODULES, 'x.js'))('typescript');
const write = (path, text) => {
	mkdirSync(dirname(path), { recursive: true });
	writeFileSync(path, text);
};
for (const folder of ['nodes', 'credentials']) for (const name of readdirSync(join(SOURCE, folder), { recursive: true }).filter((name) => name.endsWith('.ts'))) {
	const file = join(folder, name);
	const compilerOptions = { module: ts.ModuleKind.CommonJS, target: ts.ScriptTarget.ES2022 };
	const { outputText } = ts.transpileModule(readFileSync(join(SOURCE, file), 'utf8'), { compilerOptions });
	write(join(INTO, file.replace(/\.ts$/, '.js')), outputText);
}
write(
	join(INTO, 'node_modules', 'n8n-workflow', 'index.js'),
	`exports.NodeConnectionTypes = { Main: 'main' };
exports.sleep = async () => {};
exports.NodeApiError = class extends Error {
	constructor(node, cause, about = {}) {
		super(about.message ?? cause.message);
		this.httpCode = about.httpCode ?? cause.httpCode;
	}
};
`,
);
