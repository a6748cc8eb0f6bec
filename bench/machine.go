package main

import (
	"fmt"
	"os"
	"runtime"
	"strings"
)

// machine is where a run was made, without its name.
type machine struct {
	Cores  int
	CPU    string
	Kernel string
	Go     string
	Memory string
}

func (m machine) String() string {
	return fmt.Sprintf("%d × %s, %s, Linux %s, %s", m.Cores, m.CPU, m.Memory, m.Kernel, m.Go)
}

func thisMachine() machine {
	m := machine{Cores: runtime.NumCPU(), Go: runtime.Version(), CPU: field("/proc/cpuinfo", "model name"), Kernel: "?"}
	if text, err := os.ReadFile("/proc/sys/kernel/osrelease"); err == nil {
		m.Kernel = strings.TrimSpace(string(text))
	}
	var kb int64
	fmt.Sscanf(field("/proc/meminfo", "MemTotal"), "%d", &kb)
	m.Memory = fmt.Sprintf("%d GB", (kb+1<<19)>>20)
	return m
}

// field returns the value of the first line that begins with the name.
func field(file, name string) string {
	text, _ := os.ReadFile(file)
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, name); ok {
			_, value, _ := strings.Cut(rest, ":")
			return strings.TrimSpace(value)
		}
	}
	return "?"
}
