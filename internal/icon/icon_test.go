package icon

import (
	"encoding/xml"
	"errors"
	"io"
	"regexp"
	"slices"
	"strings"
	"testing"
)

func TestAll_HasExactly67IconsInOrder(t *testing.T) {
	icons := All()
	if len(icons) != 67 {
		t.Fatalf("got %d icons, want 67", len(icons))
	}
	ids := make([]string, 0, len(icons))
	for _, icon := range icons {
		ids = append(ids, icon.ID)
	}
	if !slices.IsSorted(ids) {
		t.Errorf("ids are not sorted: %q", ids)
	}
	if unique := slices.Compact(slices.Clone(ids)); len(unique) != len(ids) {
		t.Errorf("%d ids, %d of them different", len(ids), len(unique))
	}
}

func TestAll_TheSliceIsTheCallers(t *testing.T) {
	All()[0].ID = "changed"
	if got := All()[0].ID; got == "changed" {
		t.Error("a caller's change reached the catalogue")
	}
}

func TestAll_IdsAndNamesAreReadable(t *testing.T) {
	kebab := regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)
	readable := regexp.MustCompile(`^[A-Z0-9][a-z0-9]*( [a-z0-9]+)*$`)
	for _, icon := range All() {
		if len(icon.ID) > 100 || !kebab.MatchString(icon.ID) {
			t.Errorf("id %q is not kebab-case of at most 100 characters", icon.ID)
		}
		if !readable.MatchString(icon.Name) {
			t.Errorf("%s: name %q is not a readable title", icon.ID, icon.Name)
		}
	}
}

func TestLookup(t *testing.T) {
	for _, want := range All() {
		if got, ok := Lookup(want.ID); !ok || got != want {
			t.Errorf("Lookup(%q) = %v, %t", want.ID, got.ID, ok)
		}
	}
	if got, _ := Lookup("file-text"); got.Name != "File text" {
		t.Errorf("file-text is named %q", got.Name)
	}
	for _, id := range []string{"", "File-Text", "no-such-icon", "file.svg", "../icon"} {
		if got, ok := Lookup(id); ok || got != (Icon{}) {
			t.Errorf("Lookup(%q) = %v, %t, want none", id, got, ok)
		}
	}
}

func TestAll_DrawingsAreSafeAndAlike(t *testing.T) {
	for _, icon := range All() {
		if strings.ContainsAny(icon.SVG, "\r\n") {
			t.Errorf("%s: more than one line", icon.ID)
		}
		root, err := inspect(icon.SVG)
		if err != nil {
			t.Errorf("%s: %v", icon.ID, err)
			continue
		}
		want := map[string]string{
			"viewBox": "0 0 24 24", "width": "24", "height": "24", "stroke": "currentColor", "fill": "none",
		}
		for name, value := range want {
			if root[name] != value {
				t.Errorf("%s: %s is %q, want %q", icon.ID, name, root[name], value)
			}
		}
	}
}

// The next two lists are everything that a drawing may consist of: what is not on them (script, style, href, on…,
// class) is refused.
var (
	safeElements   = []string{"svg", "path", "circle", "rect", "line", "polyline", "polygon", "ellipse"}
	safeAttributes = []string{
		"xmlns", "width", "height", "viewBox", "fill", "stroke", "stroke-width", "stroke-linecap", "stroke-linejoin",
		"d", "cx", "cy", "r", "rx", "ry", "x", "y", "x1", "y1", "x2", "y2", "points",
	}
)

// inspect returns the attributes of the root element of svg, or an error when svg is not well-formed or holds
// anything but the safe elements and attributes.
func inspect(svg string) (root map[string]string, err error) {
	decoder := xml.NewDecoder(strings.NewReader(svg))
	for {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			if root == nil {
				return nil, errors.New("no element")
			}
			return root, nil
		}
		if err != nil {
			return nil, err
		}
		switch token := token.(type) {
		case xml.StartElement:
			attributes, err := inspectElement(token)
			if err != nil {
				return nil, err
			}
			if root == nil {
				root = attributes
				if token.Name.Local != "svg" {
					return nil, errors.New("the root is not svg")
				}
			}
		case xml.EndElement:
		default:
			return nil, errors.New("holds text, a comment or a directive")
		}
	}
}

func inspectElement(element xml.StartElement) (map[string]string, error) {
	if !slices.Contains(safeElements, element.Name.Local) {
		return nil, errors.New("forbidden element " + element.Name.Local)
	}
	attributes := map[string]string{}
	for _, attribute := range element.Attr {
		if attribute.Name.Space != "" || !slices.Contains(safeAttributes, attribute.Name.Local) {
			return nil, errors.New("forbidden attribute " + attribute.Name.Local)
		}
		attributes[attribute.Name.Local] = attribute.Value
	}
	return attributes, nil
}

func TestInspect_RefusesWhatCouldRunOrLoad(t *testing.T) {
	for _, svg := range []string{
		``, `<svg>`, `<path/>`, `<svg><script/></svg>`, `<svg onload="x()"/>`, `<svg style="x"/>`, `<svg class="x"/>`,
		`<svg xmlns:xlink="http://www.w3.org/1999/xlink"><path xlink:href="x"/></svg>`, `<svg><path href="x"/></svg>`,
		`<svg><!-- x --></svg>`, `<svg>text</svg>`,
	} {
		if _, err := inspect(svg); err == nil {
			t.Errorf("inspect(%q) finds nothing wrong", svg)
		}
	}
}
