package main

import (
	"math"
	"testing"
	"testing/fstest"
)

func TestMemory_IsThatOfTheContainer(t *testing.T) {
	t.Parallel()
	const none = math.MaxInt64
	for name, c := range map[string]struct {
		files map[string]string
		want  int64
	}{
		"nothing is known": {nil, none},
		"version 2": {map[string]string{"proc/self/cgroup": "0::/system.slice/sheaf.service\n",
			"sys/fs/cgroup/system.slice/sheaf.service/memory.max": "268435456\n", "sys/fs/cgroup/system.slice/memory.max": "max\n"}, 256 << 20},
		"version 2, a group above it has less": {map[string]string{"proc/self/cgroup": "0::/a/b\n",
			"sys/fs/cgroup/a/b/memory.max": "268435456\n", "sys/fs/cgroup/a/memory.max": "134217728\n"}, 128 << 20},
		"version 2, the container sees itself as the root": {map[string]string{"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "536870912\n"}, 512 << 20},
		"version 2, no limit":                              {map[string]string{"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "max\n"}, none},
		"version 1": {map[string]string{"proc/self/cgroup": "5:cpu,cpuacct:/x\n4:memory:/docker/0a\n0::/\n",
			"sys/fs/cgroup/memory/docker/0a/memory.limit_in_bytes": "268435456\n", "sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n"}, 256 << 20},
		"version 1, under its outer name": {map[string]string{"proc/self/cgroup": "4:memory:/docker/0a\n",
			"sys/fs/cgroup/memory/memory.limit_in_bytes": "268435456\n"}, 256 << 20},
		"version 1, no limit": {map[string]string{"proc/self/cgroup": "4:memory:/\n", "sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n"}, none},
		"nonsense":            {map[string]string{"proc/self/cgroup": "x\n0::/../..\n4:memory\n", "sys/fs/cgroup/memory.max": "much\n"}, none},
	} {
		root := fstest.MapFS{}
		for file, text := range c.files {
			root[file] = &fstest.MapFile{Data: []byte(text)}
		}
		if got := containerMemory(root); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
	machine := fstest.MapFS{"proc/meminfo": {Data: []byte("MemTotal:       16384 kB\nMemFree:         8192 kB\n")}}
	if got := machineMemory(machine); got != 16<<20 {
		t.Errorf("the machine has %d", got)
	}
	if got := machineMemory(fstest.MapFS{}); got != none {
		t.Errorf("a machine that tells nothing has %d", got)
	}
	for memory, want := range map[int64]int64{256 << 20: 192 << 20, 1 << 30: 1<<30 - 1<<30/10, 64 << 20: 32 << 20} {
		if got := collectorLimit(memory) - headroom; got != want {
			t.Errorf("of %d MB the collector gets %d MB, want %d", memory>>20, got>>20, want>>20)
		}
	}
}
