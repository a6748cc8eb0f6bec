package render

import _ "embed" // for the style sheet

// CSS is the style sheet for rendered pages, for light and dark, paper and phone. All of its rules
// are below the class prose: the console and shares put a page into <div class="prose">.
//
//go:embed prose.css
var CSS string
