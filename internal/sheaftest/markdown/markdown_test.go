package markdown

import (
	"strings"
	"testing"

	"go.uber.org/goleak"

	"sheaf.dev/internal/sheaftest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(sheaftest.Patient(m)) }

const page = `# A page

~~~sh
ls
~~~

~~~json
{"a": 1}
~~~

And

~~~json
{"b": 2}
~~~

<!-- not run: it is an example -->
~~~sh background="listening on" file=x
serve
~~~

<!-- run by TestElsewhere -->
~~~haproxy
global
~~~
`

func TestBlocks_AreReadWithTheirMarks(t *testing.T) {
	blocks, err := Blocks("p.md", strings.ReplaceAll(page, "~~~", "```"))
	if err != nil || len(blocks) != 5 {
		t.Fatalf("%d blocks, %v", len(blocks), err)
	}
	if b := blocks[0]; b.Lang != "sh" || b.Text != "ls\n" || b.Line != 4 || b.NotRun != "" || b.Answer {
		t.Errorf("commands: %+v", b)
	}
	if !blocks[1].Answer || blocks[2].Answer {
		t.Errorf("an answer follows its commands directly: %v, %v", blocks[1].Answer, blocks[2].Answer)
	}
	if b := blocks[3]; b.NotRun != "it is an example" || b.Attr["background"] != "listening on" || b.Attr["file"] != "x" {
		t.Errorf("marks: %+v", b)
	}
	if blocks[4].RunBy != "TestElsewhere" {
		t.Errorf("a test of its own: %+v", blocks[4])
	}
}

func TestBlocks_HiddenCodeIsRefused(t *testing.T) {
	for _, text := range []string{"- a\n  ```sh\n  ls\n  ```\n", "Run\n\n    ls\n", "```sh\nls\n"} {
		if _, err := Blocks("p.md", text); err == nil {
			t.Errorf("%q has code that nobody would run", text)
		}
	}
}
