package console

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"

	"sheaf.dev/internal/render"
)

//go:embed static
var static embed.FS

// files are the scripts, styles and pictures. The address of each changes with its content, so a
// browser may cache it for ever.
type files struct {
	content    map[string][]byte // by name
	compressed map[string][]byte // by name
	hash       map[string]string // of the content, by name: the v= of its address
}

// readFiles reads the embedded files, the style sheet of rendered texts, and the icons.
func readFiles() *files {
	f := &files{content: map[string][]byte{}, compressed: map[string][]byte{}, hash: map[string]string{}}
	add := func(name string, content []byte) {
		sum := sha256.Sum256(content)
		f.content[name], f.compressed[name], f.hash[name] = content, compressed(content), hex.EncodeToString(sum[:6])
	}
	entries, err := static.ReadDir("static")
	if err != nil {
		panic("console: " + err.Error()) // the folder is embedded
	}
	for _, e := range entries {
		b, err := static.ReadFile("static/" + e.Name())
		if err != nil {
			panic("console: " + err.Error())
		}
		add(e.Name(), b)
	}
	add("prose.css", []byte(render.CSS))
	add(iconFile, iconSheet())
	return f
}

// address returns the path of a file, with its hash. It panics if there is no such file.
func (f *files) address(name string) string {
	if _, ok := f.content[name]; !ok {
		panic("console: no file " + name)
	}
	return "/assets/" + name + "?v=" + f.hash[name]
}
