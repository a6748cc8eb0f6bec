package sheaf

import "strings"

// agentMark is a part of a User-Agent header, and the name of the browser or system that sends it.
type agentMark struct{ part, name string }

// The first mark that a header has counts: Edge also calls itself Chrome, and Chrome calls itself Safari.
var (
	agentBrowsers = []agentMark{{"Edg", "Edge"}, {"OPR/", "Opera"}, {"Firefox/", "Firefox"}, {"FxiOS/", "Firefox"}, {"SamsungBrowser/", "Samsung Internet"},
		{"Chrome/", "Chrome"}, {"CriOS/", "Chrome"}, {"Safari/", "Safari"}, {"curl/", "curl"}}
	agentSystems = []agentMark{{"iPhone", "iPhone"}, {"iPad", "iPad"}, {"Android", "Android"}, {"Windows", "Windows"}, {"Macintosh", "Mac"}, {"CrOS", "ChromeOS"},
		{"Linux", "Linux"}}
)

// BrowserName says which browser a User-Agent header is of, such as "Firefox on Linux". A browser can call
// itself anything, so this is only for people to recognise their own.
func BrowserName(agent string) string {
	browser, system := agentName(agentBrowsers, agent), agentName(agentSystems, agent)
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

func agentName(marks []agentMark, agent string) string {
	for _, m := range marks {
		if strings.Contains(agent, m.part) {
			return m.name
		}
	}
	return ""
}
