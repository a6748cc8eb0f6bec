package lossfs

import (
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
)

// sector is what a disk writes whole or not at all.
const sector = 512

// Disk is what is on the disk, and what is still on its way, after some operations.
type Disk struct {
	files   map[int]*content
	entries map[string]int // as programs see them, by their paths
	durable map[string]int
}

// folderEntry is the number of an entry that is a folder.
const folderEntry = 0

// content is one file: what is durable, and what was done since.
type content struct {
	durable []byte
	pending []Op
}

// NewDisk returns an empty one.
func NewDisk() *Disk {
	return &Disk{files: map[int]*content{}, entries: map[string]int{}, durable: map[string]int{}}
}

// Do follows one operation. Content is durable when its file is synced, and an entry when the
// folder is.
func (d *Disk) Do(op Op) {
	f := d.files[op.File]
	switch {
	case op.Err != 0 && op.Kind == Sync:
		f.pending = nil // the kernel has forgotten that they were to be written
	case op.Err != 0:
	case op.Kind == Create:
		d.files[op.File] = &content{}
		d.entries[op.Name] = op.File
	case op.Kind == Mkdir:
		d.entries[op.Name] = folderEntry
	case op.Kind == Link:
		d.entries[op.Name] = op.File
	case op.Kind == Rename:
		delete(d.entries, op.From)
		d.entries[op.Name] = op.File
	case op.Kind == Unlink:
		delete(d.entries, op.Name)
	case op.Kind == Write || op.Kind == Truncate:
		f.pending = append(f.pending, op)
	case op.Kind == Sync:
		f.durable = apply(f.durable, f.pending)
		f.pending = nil
	case op.Kind == SyncDir:
		d.syncFolder(op.Name)
	}
}

// syncFolder makes the names in one folder durable, and those that are gone from it gone.
func (d *Disk) syncFolder(folder string) {
	maps.DeleteFunc(d.durable, func(name string, _ int) bool { return parent(name) == folder })
	for name, number := range d.entries {
		if parent(name) == folder {
			d.durable[name] = number
		}
	}
}

// parent is the folder that a path is in; empty is the mounted one.
func parent(name string) string { return name[:max(strings.LastIndexByte(name, '/'), 0)] }

// reachable reports whether all folders that lead to a path are among the entries.
func reachable(entries map[string]int, name string) bool {
	for folder := parent(name); folder != ""; folder = parent(folder) {
		if _, ok := entries[folder]; !ok {
			return false
		}
	}
	return true
}

func apply(b []byte, ops []Op) []byte {
	for _, op := range ops {
		if op.Kind == Truncate {
			b = slices.Clone(resize(b, op.Offset))
		} else {
			b = overwrite(b, op.Data, op.Offset)
		}
	}
	return b
}

// Loss says what a cut takes of what was not synced.
type Loss int

// The ways to lose.
const (
	All     Loss = iota // nothing that was not synced is there
	Tail                // a beginning of it is, and its last write in part
	Some                // any part of it is, in any order, sector by sector
	Nothing             // all of it is, as after a crash of the program alone
)

// Cut returns the files that a cut leaves, by path.
func (d *Disk) Cut(loss Loss, chance *rand.Rand) map[string][]byte {
	out := map[string][]byte{}
	entries := d.durable
	if loss == Nothing || loss != All && chance.IntN(2) == 0 {
		entries = d.entries
	}
	for name, number := range entries {
		f := d.files[number]
		if f == nil || !reachable(entries, name) {
			continue
		}
		out[name] = apply(slices.Clone(f.durable), survivors(f.pending, loss, chance))
	}
	return out
}

func survivors(pending []Op, loss Loss, chance *rand.Rand) (kept []Op) {
	switch loss {
	case All:
		return nil
	case Nothing:
		return pending
	case Tail:
		n := chance.IntN(len(pending) + 1)
		kept = slices.Clone(pending[:n])
		if n > 0 {
			kept[n-1].Data = kept[n-1].Data[:len(kept[n-1].Data)/sector*chance.IntN(2)*sector]
		}
		return kept
	}
	for _, op := range pending {
		kept = append(kept, parts(op, chance)...)
	}
	return kept
}

// parts returns some of the sectors of a write.
func parts(op Op, chance *rand.Rand) (kept []Op) {
	if op.Kind == Truncate {
		return []Op{op}[:chance.IntN(2)]
	}
	for at := 0; at < len(op.Data); at += sector {
		if chance.IntN(2) == 0 {
			part := op
			part.Offset, part.Data = op.Offset+int64(at), op.Data[at:min(at+sector, len(op.Data))]
			kept = append(kept, part)
		}
	}
	return kept
}
