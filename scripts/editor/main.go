// Command editor makes the script of the console's editor: CodeMirror with what src adds to it, in one
// file. After a change of src or of package.json, run it in this folder:
//
//	go run .
//
// To renew the packages, change their versions in package.json, and write the lock file without the
// address of a registry:
//
//	npm install --package-lock-only --omit-lockfile-registry-resolved --ignore-scripts
//
// It is a module of its own, so that neither the program nor its tests compile the bundler.
package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/evanw/esbuild/pkg/api"
)

// static is the folder that the console embeds.
const static = "../../internal/console/static"

// Names of the files in that folder.
const (
	scriptFile  = "codemirror.js"
	licenceFile = "LICENSE.codemirror"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run() error {
	files, err := build()
	if err != nil {
		return err
	}
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(static, name), content, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// build returns the files for the folder static, by name: the script, and the licences of the packages in it.
func build() (map[string][]byte, error) {
	modules, err := install()
	if err != nil {
		return nil, err
	}
	result := api.Build(api.BuildOptions{
		EntryPoints:       []string{"src/main.js"},
		Bundle:            true,
		Format:            api.FormatIIFE,
		Target:            api.ES2022,
		Charset:           api.CharsetUTF8,
		MinifyWhitespace:  true,
		MinifyIdentifiers: true,
		MinifySyntax:      true,
		LegalComments:     api.LegalCommentsNone,
		NodePaths:         []string{modules},
		Metafile:          true,
		Outfile:           scriptFile,
	})
	if len(result.Errors) > 0 {
		return nil, errors.New(strings.Join(api.FormatMessages(result.Errors, api.FormatMessagesOptions{}), "\n"))
	}
	packages, err := packagesIn(result.Metafile)
	if err != nil {
		return nil, err
	}
	banner, licences, err := licencesOf(modules, packages)
	if err != nil {
		return nil, err
	}
	return map[string][]byte{scriptFile: append(banner, result.OutputFiles[0].Contents...), licenceFile: licences}, nil
}

// install returns the folder with the packages of the lock file. npm installs them once into the user's
// cache folder.
func install() (string, error) {
	sum := sha256.New()
	for _, name := range []string{"package.json", "package-lock.json"} {
		b, err := os.ReadFile(name)
		if err != nil {
			return "", err
		}
		sum.Write(b)
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	cache = filepath.Join(cache, "sheaf")
	target := filepath.Join(cache, "editor-"+hex.EncodeToString(sum.Sum(nil)[:8]))
	modules := filepath.Join(target, "node_modules")
	if _, err := os.Stat(modules); err == nil {
		return modules, nil
	}
	if err := os.MkdirAll(cache, 0o755); err != nil {
		return "", err
	}
	fresh, err := os.MkdirTemp(cache, "installing-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(fresh)
	if err := os.CopyFS(fresh, onlyPackages{os.DirFS(".")}); err != nil {
		return "", err
	}
	npm := exec.Command("npm", "ci", "--prefix", fresh, "--ignore-scripts", "--no-audit", "--no-fund", "--no-update-notifier", "--loglevel=error")
	if out, err := npm.CombinedOutput(); err != nil {
		return "", fmt.Errorf("npm could not install the packages of the editor: %w\n%s", err, out)
	}
	// If another process was faster, its folder is used.
	if err := os.Rename(fresh, target); err != nil && !errors.Is(err, fs.ErrExist) {
		return "", err
	}
	return modules, nil
}

// onlyPackages shows the two files of a folder that npm reads.
type onlyPackages struct{ fs.FS }

func (o onlyPackages) ReadDir(name string) ([]fs.DirEntry, error) {
	all, err := fs.ReadDir(o.FS, name)
	return slices.DeleteFunc(all, func(e fs.DirEntry) bool { return e.Name() != "package.json" && e.Name() != "package-lock.json" }), err
}

// packagesIn returns the names of the packages whose code is in the script, sorted.
func packagesIn(metafile string) (names []string, err error) {
	var meta struct {
		Outputs map[string]struct {
			Inputs map[string]struct{ BytesInOutput int }
		}
	}
	if err := json.Unmarshal([]byte(metafile), &meta); err != nil {
		return nil, err
	}
	for _, out := range meta.Outputs {
		for path, in := range out.Inputs {
			_, name, found := strings.Cut(filepath.ToSlash(path), "/node_modules/")
			if !found || in.BytesInOutput == 0 {
				continue
			}
			parts := strings.Split(name, "/")
			if strings.HasPrefix(name, "@") {
				names = append(names, parts[0]+"/"+parts[1])
			} else {
				names = append(names, parts[0])
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}

// licencesOf returns the comment that the script begins with, which names its packages, and the texts of
// their licences, each once.
func licencesOf(modules string, packages []string) (banner, licences []byte, err error) {
	var head, texts bytes.Buffer
	head.WriteString("/* Made by scripts/editor. Do not change it by hand. The licences are in " + licenceFile + ".\n")
	users := map[string][]string{} // the packages under a text
	for _, name := range packages {
		var p struct{ Version, License string }
		b, err := os.ReadFile(filepath.Join(modules, name, "package.json"))
		if err == nil {
			err = json.Unmarshal(b, &p)
		}
		if err != nil {
			return nil, nil, err
		}
		if p.License != "MIT" {
			return nil, nil, fmt.Errorf("%s is under %q, and only MIT is accepted here", name, p.License)
		}
		text, err := os.ReadFile(filepath.Join(modules, name, "LICENSE"))
		if err != nil {
			return nil, nil, err
		}
		fmt.Fprintf(&head, " * %s %s %s\n", name, p.Version, p.License)
		users[string(text)] = append(users[string(text)], name)
	}
	head.WriteString(" */\n")
	for _, name := range packages {
		for text, names := range users {
			if names[0] == name {
				fmt.Fprintf(&texts, "%s:\n\n%s\n\n", strings.Join(names, ", "), strings.TrimSpace(text))
			}
		}
	}
	return head.Bytes(), texts.Bytes(), nil
}
