package lossfs

import (
	"context"
	"syscall"

	"github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"
)

const filePerm, dirPerm = 0o600, 0o700

// dir is the node of the folder, or of one in it.
type dir struct {
	fs.Inode
	folder *Folder
	name   string // its path; empty for the mounted one
}

// file is the node of a file, with its content as programs see it.
type file struct {
	fs.Inode
	folder *Folder
	number int
	name   string // the path that it was created with
	data   []byte // guarded by the folder's mutex
}

var (
	_ fs.NodeGetattrer = (*dir)(nil)
	_ fs.NodeSetattrer = (*dir)(nil)
	_ fs.NodeMkdirer   = (*dir)(nil)
	_ fs.NodeCreater   = (*dir)(nil)
	_ fs.NodeLinker    = (*dir)(nil)
	_ fs.NodeRenamer   = (*dir)(nil)
	_ fs.NodeUnlinker  = (*dir)(nil)
	_ fs.NodeFsyncer   = (*dir)(nil)

	_ fs.NodeOpener    = (*file)(nil)
	_ fs.NodeGetattrer = (*file)(nil)
	_ fs.NodeSetattrer = (*file)(nil)
	_ fs.NodeReader    = (*file)(nil)
	_ fs.NodeWriter    = (*file)(nil)
	_ fs.NodeFsyncer   = (*file)(nil)
	_ fs.NodeFlusher   = (*file)(nil)
)

func (d *dir) Getattr(_ context.Context, _ fs.FileHandle, out *fuse.AttrOut) syscall.Errno {
	out.Mode = dirPerm | syscall.S_IFDIR
	return 0
}

func (d *dir) Setattr(ctx context.Context, h fs.FileHandle, _ *fuse.SetAttrIn, out *fuse.AttrOut) syscall.Errno {
	return d.Getattr(ctx, h, out)
}

// path is that of an entry of the folder.
func (d *dir) path(name string) string {
	if d.name == "" {
		return name
	}
	return d.name + "/" + name
}

func (d *dir) Mkdir(ctx context.Context, name string, _ uint32, out *fuse.EntryOut) (*fs.Inode, syscall.Errno) {
	if d.GetChild(name) != nil {
		return nil, syscall.EEXIST
	}
	if err := d.folder.do(Op{Kind: Mkdir, Name: d.path(name)}, func() {}); err != 0 {
		return nil, err
	}
	out.Mode = dirPerm | syscall.S_IFDIR
	return d.NewPersistentInode(ctx, &dir{folder: d.folder, name: d.path(name)}, fs.StableAttr{Mode: syscall.S_IFDIR}), 0
}

func (d *dir) Create(ctx context.Context, name string, _, _ uint32, out *fuse.EntryOut) (*fs.Inode, fs.FileHandle, uint32, syscall.Errno) {
	f := d.folder.newFile(d.path(name))
	if err := d.folder.do(Op{Kind: Create, File: f.number, Name: f.name}, func() {}); err != 0 {
		return nil, nil, 0, err
	}
	out.Mode = filePerm | syscall.S_IFREG
	return d.NewPersistentInode(ctx, f, fs.StableAttr{Mode: syscall.S_IFREG}), nil, 0, 0
}

func (d *dir) Link(_ context.Context, target fs.InodeEmbedder, name string, out *fuse.EntryOut) (*fs.Inode, syscall.Errno) {
	f := target.(*file)
	if d.GetChild(name) != nil {
		return nil, syscall.EEXIST
	}
	if err := d.folder.do(Op{Kind: Link, File: f.number, Name: d.path(name)}, func() {}); err != 0 {
		return nil, err
	}
	f.attributes(&out.Attr)
	return f.EmbeddedInode(), 0
}

// Rename moves a file; nothing here moves a folder.
func (d *dir) Rename(_ context.Context, from string, into fs.InodeEmbedder, name string, _ uint32) syscall.Errno {
	f, isFile := d.GetChild(from).Operations().(*file)
	to, isDir := into.(*dir)
	if !isFile || !isDir {
		return syscall.ENOTSUP
	}
	return d.folder.do(Op{Kind: Rename, File: f.number, Name: to.path(name), From: d.path(from)}, func() {})
}

func (d *dir) Unlink(_ context.Context, name string) syscall.Errno {
	f := d.GetChild(name).Operations().(*file)
	return d.folder.do(Op{Kind: Unlink, File: f.number, Name: d.path(name)}, func() {})
}

// Fsync makes the folder's entries durable.
func (d *dir) Fsync(context.Context, fs.FileHandle, uint32) syscall.Errno {
	return d.folder.do(Op{Kind: SyncDir, Name: d.name}, func() {})
}

func (f *file) Open(context.Context, uint32) (fs.FileHandle, uint32, syscall.Errno) { return nil, 0, 0 }

func (f *file) Flush(context.Context, fs.FileHandle) syscall.Errno { return 0 }

func (f *file) Getattr(_ context.Context, _ fs.FileHandle, out *fuse.AttrOut) syscall.Errno {
	f.attributes(&out.Attr)
	return 0
}

func (f *file) attributes(out *fuse.Attr) {
	f.folder.mu.Lock()
	defer f.folder.mu.Unlock()
	out.Mode, out.Size, out.Nlink = filePerm|syscall.S_IFREG, uint64(len(f.data)), 1
}

func (f *file) Setattr(ctx context.Context, h fs.FileHandle, in *fuse.SetAttrIn, out *fuse.AttrOut) syscall.Errno {
	if size, ok := in.GetSize(); ok {
		op := Op{Kind: Truncate, File: f.number, Name: f.name, Offset: int64(size)}
		if err := f.folder.do(op, func() { f.data = resize(f.data, int64(size)) }); err != 0 {
			return err
		}
	}
	return f.Getattr(ctx, h, out)
}

func (f *file) Read(_ context.Context, _ fs.FileHandle, into []byte, offset int64) (fuse.ReadResult, syscall.Errno) {
	f.folder.mu.Lock()
	defer f.folder.mu.Unlock()
	n := 0
	if offset < int64(len(f.data)) {
		n = copy(into, f.data[offset:])
	}
	return fuse.ReadResultData(into[:n]), 0
}

func (f *file) Write(_ context.Context, _ fs.FileHandle, b []byte, offset int64) (uint32, syscall.Errno) {
	op := Op{Kind: Write, File: f.number, Name: f.name, Offset: offset, Data: b}
	err := f.folder.do(op, func() { f.data = overwrite(f.data, b, offset) })
	if err != 0 {
		return 0, err
	}
	return uint32(len(b)), 0
}

func (f *file) Fsync(context.Context, fs.FileHandle, uint32) syscall.Errno {
	return f.folder.do(Op{Kind: Sync, File: f.number, Name: f.name}, func() {})
}

func resize(b []byte, size int64) []byte {
	if size <= int64(len(b)) {
		return b[:size:size]
	}
	return append(b, make([]byte, size-int64(len(b)))...)
}

func overwrite(b, with []byte, offset int64) []byte {
	if end := offset + int64(len(with)); end > int64(len(b)) {
		b = resize(b, end)
	}
	copy(b[offset:], with)
	return b
}
