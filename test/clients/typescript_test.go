package clients

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"sheaf.dev/internal/sheaftest/npmtest"
)

// packed is the package as npm would publish it, installed in a folder: built once for this process.
var packed struct {
	once   sync.Once
	folder string // has the node_modules with it, and its tests
	err    error
	out    []byte // of the command that failed
}

// typescript returns the folder in which programs import the package.
func typescript(t *testing.T) string {
	t.Helper()
	modules := filepath.Join(npmtest.Modules(t, in(t, "typescript")), "node_modules")
	packed.once.Do(func() { packed.folder, packed.out, packed.err = pack(in(t, "typescript"), in(t, ".."), modules) })
	if packed.err != nil {
		t.Fatalf("%v\n%s", packed.err, packed.out)
	}
	return packed.folder
}

// pack builds the package in a copy of its folder, so that nothing is left in the repository, and unpacks it beside what it
// needs.
func pack(source, root, modules string) (folder string, out []byte, err error) {
	if folder, err = os.MkdirTemp("", "sheaf-typescript-"); err != nil {
		return "", nil, err
	}
	script := `set -e
mkdir -p tree/clients tree/internal/httpapi use/node_modules/sheaf-client
cp -r "$SOURCE" tree/clients/typescript
cp "$ROOT"/internal/httpapi/openapi.* tree/internal/httpapi/
rm -rf tree/clients/typescript/node_modules tree/clients/typescript/dist
ln -s "$MODULES" tree/clients/typescript/node_modules
(cd tree/clients/typescript && npm pack --silent --pack-destination "$PWD/../..")
tar -xzf tree/sheaf-client-*.tgz -C use/node_modules/sheaf-client --strip-components=1
ln -s "$MODULES/openapi-fetch" "$MODULES/openapi-typescript-helpers" use/node_modules/
cp "$SOURCE"/test/* use/
`
	cmd := exec.Command("sh", "-c", script)
	cmd.Dir = folder
	cmd.Env = append(os.Environ(), "SOURCE="+source, "ROOT="+root, "MODULES="+modules, "NO_UPDATE_NOTIFIER=1")
	out, err = cmd.CombinedOutput()
	return filepath.Join(folder, "use"), out, err
}

func startTypeScript(t *testing.T, _ *site) func(t *testing.T, task object) object {
	t.Helper()
	return runner(nil, "node", filepath.Join(typescript(t), "conformance.mjs"))
}

// The TypeScript client's own tests: what needs no server.
func TestTypeScript_PassesItsTests(t *testing.T) {
	t.Parallel()
	cmd := exec.CommandContext(t.Context(), "node", "--test", "client.test.mjs")
	cmd.Dir = typescript(t)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// A program of a user's compiles in the strictest way without a cast: test/use.ts, which is never run.
func TestTypeScript_NeedsNoCast(t *testing.T) {
	t.Parallel()
	check(t, "use.ts")
	text, err := os.ReadFile(in(t, "typescript", "test", "use.ts"))
	if err != nil || strings.Contains(string(text), " as ") || strings.Contains(string(text), "any") {
		t.Errorf("it has a cast: %v", err)
	}
}

// check compiles a file in the folder of the package, without an output.
func check(t *testing.T, file string) {
	t.Helper()
	tsc := filepath.Join(npmtest.Modules(t, in(t, "typescript")), "node_modules", ".bin", "tsc")
	config := `{"compilerOptions": {"noEmit": true, "strict": true, "noUncheckedIndexedAccess": true, "allowJs": true, "checkJs": true,
		"target": "es2022", "lib": ["es2022", "dom", "dom.iterable", "dom.asynciterable"], "module": "nodenext", "types": []}, "files": ["` + file + `"]}`
	cmd := exec.CommandContext(t.Context(), tsc, "--project", save(t, typescript(t), "tsconfig-"+file+".json", config))
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// What is published is the compiled program, its types and the README: no source, no test, and one dependency.
func TestTypeScript_PublishesWhatIsNeeded(t *testing.T) {
	t.Parallel()
	folder := filepath.Join(typescript(t), "node_modules", "sheaf-client")
	for name, want := range map[string]bool{"dist/index.js": true, "dist/index.d.ts": true, "dist/webhook.js": true, "README.md": true,
		"dist/cjs/index.js": true, "dist/cjs/webhook.d.ts": true, "LICENSE": true,
		"src": false, "cjs": false, "cjs.mjs": false, "test": false, "tsconfig.json": false, "node_modules": false} {
		if _, err := os.Stat(filepath.Join(folder, name)); (err == nil) != want {
			t.Errorf("%s is published: %v", name, err == nil)
		}
	}
}

// Programs that are CommonJS load the package by require, and compile against it under module node16.
func TestTypeScript_IsRequiredToo(t *testing.T) {
	t.Parallel()
	folder := typescript(t)
	save(t, folder, "required.cts", `import { NotFound, Sheaf, webhook } from "sheaf-client";
import { verify } from "sheaf-client/webhook";

const sheaf: Sheaf = new Sheaf({ server: "https://docs.example.com", key: "shf_…" });
console.log(typeof sheaf.get, typeof NotFound, webhook.verify === verify);
`)
	tsc := filepath.Join(npmtest.Modules(t, in(t, "typescript")), "node_modules", ".bin", "tsc")
	config := save(t, folder, "tsconfig-required.json", `{"compilerOptions": {"strict": true, "target": "es2022", "lib": ["es2022", "dom", "dom.iterable", "dom.asynciterable"],
		"module": "node16", "types": []}, "files": ["required.cts"]}`)
	if out, err := exec.CommandContext(t.Context(), tsc, "--project", config).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	cmd := exec.CommandContext(t.Context(), "node", "--no-experimental-require-module", "required.cjs")
	cmd.Dir = folder
	if out, err := cmd.CombinedOutput(); err != nil || string(out) != "function function true\n" {
		t.Errorf("%v: it printed %s", err, out)
	}
}

func TestTypeScript_ReadmeIsTrue(t *testing.T) {
	t.Parallel()
	modules := filepath.Join(typescript(t), "node_modules")
	readme(t, "typescript", "js", "page.mjs", nil, func(dir string) []string {
		if err := os.Symlink(modules, filepath.Join(dir, "node_modules")); err != nil {
			t.Error(err)
		}
		return []string{"node"}
	})
}
