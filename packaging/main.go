// Command packaging builds the Debian package of sheaf with nfpm, from nfpm.yaml beside it.
package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/goreleaser/nfpm/v2"
	_ "github.com/goreleaser/nfpm/v2/deb"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: packaging CONFIG FOLDER")
		os.Exit(2)
	}
	file, err := build(os.Args[1], os.Args[2])
	if err != nil {
		fmt.Fprintln(os.Stderr, "packaging:", err)
		os.Exit(1)
	}
	fmt.Println(file)
}

// build writes the package into the folder and returns its name. The configuration's paths are relative to the working
// folder, and its variables are taken from the environment.
func build(config, folder string) (string, error) {
	parsed, err := nfpm.ParseFileWithEnvMapping(config, os.Getenv)
	if err != nil {
		return "", err
	}
	info, err := parsed.Get("deb")
	if err != nil {
		return "", err
	}
	info = nfpm.WithDefaults(info)
	if err := nfpm.Validate(info); err != nil {
		return "", err
	}
	packager, err := nfpm.Get("deb")
	if err != nil {
		return "", err
	}
	path := filepath.Join(folder, packager.ConventionalFileName(info))
	return path, write(path, func(w io.Writer) error { return packager.Package(info, w) })
}

// write leaves no torn file behind.
func write(path string, content func(io.Writer) error) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	err = content(f)
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err != nil {
		os.Remove(path)
	}
	return err
}
