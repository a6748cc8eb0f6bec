package console

import "strings"

// A mark is a part of a User-Agent header, and what it tells.
type mark struct{ part, name string }

// The first mark that a header has counts: Edge also calls itself Chrome, and Chrome calls itself Safari.
var (
	browsers = []mark{{"Edg", "Edge"}, {"OPR/", "Opera"}, {"Firefox/", "Firefox"}, {"FxiOS/", "Firefox"}, {"SamsungBrowser/", "Samsung Internet"},
		{"Chrome/", "Chrome"}, {"CriOS/", "Chrome"}, {"Safari/", "Safari"}, {"curl/", "curl"}}
	systems = []mark{{"iPhone", "iPhone"}, {"iPad", "iPad"}, {"Android", "Android"}, {"Windows", "Windows"}, {"Macintosh", "Mac"}, {"CrOS", "ChromeOS"},
		{"Linux", "Linux"}}
)

// browserName says which browser a User-Agent header is of, such as "Firefox on Linux". A browser can call
// itself anything, so this is only for people to recognise their own.
func browserName(agent string) string {
	browser, system := nameIn(browsers, agent), nameIn(systems, agent)
	switch {
	case browser == "" && system == "":
		return "Unknown browser"
	case system == "":
		return browser
	case browser == "":
		return "Unknown browser on " + system
	}
	return browser + " on " + system
}

func nameIn(marks []mark, agent string) string {
	for _, m := range marks {
		if strings.Contains(agent, m.part) {
			return m.name
		}
	}
	return ""
}
