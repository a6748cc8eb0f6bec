package console

import "strings"

// swatch is a colour to choose.
type swatch struct {
	Name, Value string
	Now         bool
}

// palette returns the colours to choose from, including the current one.
func palette(now string) []swatch {
	all := []swatch{{Name: "No color"}, {Name: "Gray", Value: "#6b7280"}, {Name: "Red", Value: "#dc2626"}, {Name: "Orange", Value: "#ea580c"},
		{Name: "Amber", Value: "#ca8a04"}, {Name: "Green", Value: "#16a34a"}, {Name: "Teal", Value: "#0d9488"}, {Name: "Blue", Value: "#2563eb"},
		{Name: "Indigo", Value: "#4f46e5"}, {Name: "Purple", Value: "#9333ea"}, {Name: "Pink", Value: "#db2777"}}
	for i := range all {
		if strings.EqualFold(all[i].Value, now) {
			all[i].Now = true
			return all
		}
	}
	return append(all, swatch{Name: "Current color", Value: now, Now: true})
}
