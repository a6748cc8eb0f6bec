package render

import _ "embed" // for the style sheet

// CSS is the style sheet for what is rendered, in light and dark, on paper and on a phone. All of
// it stands below the class prose: the console and shares put a page into <div class="prose">.
//
//go:embed prose.css
var CSS string
