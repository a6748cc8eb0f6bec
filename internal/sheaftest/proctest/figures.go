package proctest

import (
	"bufio"
	"fmt"
	"net/http"
	"os"
	"strconv"
	"strings"
)

// PeakMemory returns the largest resident size of the process so far, in bytes.
func PeakMemory(pid int) (int64, error) { return statusBytes(pid, "VmHWM:") }

// Memory returns the resident size of the process, in bytes.
func Memory(pid int) (int64, error) { return statusBytes(pid, "VmRSS:") }

// statusBytes reads a line of /proc/PID/status that has kilobytes.
func statusBytes(pid int, name string) (int64, error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(b)) {
		if fields := strings.Fields(line); len(fields) > 1 && fields[0] == name {
			kb, err := strconv.ParseInt(fields[1], 10, 64)
			return kb << 10, err
		}
	}
	return 0, fmt.Errorf("%s: %w", name, errNoFigure)
}

// Figures returns the metrics of a server by name, without those that have labels.
func Figures(client *http.Client, url string) (map[string]float64, error) {
	res, err := client.Get(url)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	out := map[string]float64{}
	lines := bufio.NewScanner(res.Body)
	for lines.Scan() {
		name, value, ok := strings.Cut(lines.Text(), " ")
		if !ok || strings.HasPrefix(name, "#") || strings.Contains(name, "{") {
			continue
		}
		if out[name], err = strconv.ParseFloat(value, 64); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	return out, lines.Err()
}
