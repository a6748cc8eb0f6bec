package main

import (
	"io/fs"
	"math"
	"os"
	"path"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
)

const (
	// headroom is how far the heap may grow beyond twice the bytes in use before it is collected.
	// Without it, a server that uses 10 MB would collect after every 10 MB of allocation, dozens of
	// times a second, which takes a sixth of its CPU.
	headroom = 32 << 20
	// beside is the part of a container's memory for what the collector does not count: SQLite's
	// caches, and the kernel's buffers of files and sockets.
	beside = 64 << 20
)

// limitMemory returns the number of bytes that the process may use, and sets the collector's limit.
// If GOMEMLIMIT is set, that is the limit. It also allocates the headroom: memory that is never
// touched, and so never resident, but that the collector counts. release frees it.
func (p *program) limitMemory() (memory int64, release func()) {
	root := os.DirFS("/")
	memory = min(machineMemory(root), containerMemory(root))
	if _, set := p.Env("GOMEMLIMIT"); set {
		memory = min(memory, debug.SetMemoryLimit(-1))
	} else if limit := containerMemory(root); limit != math.MaxInt64 {
		debug.SetMemoryLimit(collectorLimit(limit))
	}
	reserve := make([]byte, headroom)
	return memory, func() { runtime.KeepAlive(reserve) }
}

// collectorLimit returns the collector's limit for a container's memory. It includes the headroom,
// which is never resident.
func collectorLimit(memory int64) int64 {
	return max(memory-max(beside, memory/10), memory/2) + headroom
}

// machineMemory returns the memory of the machine, or the largest number if it is unknown.
func machineMemory(root fs.FS) int64 {
	b, _ := fs.ReadFile(root, "proc/meminfo")
	for line := range strings.Lines(string(b)) {
		if f := strings.Fields(line); len(f) == 3 && f[0] == "MemTotal:" {
			if kb, err := strconv.ParseInt(f[1], 10, 64); err == nil {
				return kb << 10
			}
		}
	}
	return math.MaxInt64
}

// containerMemory returns the lowest limit of the process's control groups, of version 1 or 2, or
// the largest number if there is none. A container may see its group under its outer name or as the
// root, so every folder on the way up is read, and missing ones are ignored.
func containerMemory(root fs.FS) int64 {
	b, _ := fs.ReadFile(root, "proc/self/cgroup")
	least := int64(math.MaxInt64)
	for line := range strings.Lines(string(b)) {
		part := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(part) != 3 {
			continue
		}
		var files []string
		switch {
		case part[0] == "0" && part[1] == "":
			files = []string{"sys/fs/cgroup/%/memory.max", "sys/fs/cgroup/unified/%/memory.max"}
		case strings.Contains(","+part[1]+",", ",memory,"):
			files = []string{"sys/fs/cgroup/memory/%/memory.limit_in_bytes"}
		}
		for group := path.Clean("/" + part[2]); ; group = path.Dir(group) {
			for _, file := range files {
				least = min(least, readLimit(root, path.Clean(strings.Replace(file, "%", group, 1))))
			}
			if group == "/" {
				break
			}
		}
	}
	return least
}

// readLimit returns the number in a file, or the largest number if there is none or if it means no
// limit.
func readLimit(root fs.FS, name string) int64 {
	b, err := fs.ReadFile(root, name)
	if err != nil {
		return math.MaxInt64
	}
	n, err := strconv.ParseInt(strings.TrimSpace(string(b)), 10, 64)
	if err != nil || n <= 0 || n >= 1<<60 {
		return math.MaxInt64
	}
	return n
}
