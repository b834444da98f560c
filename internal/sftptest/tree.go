package sftptest

import (
	"path"
	"slices"
	"strings"
	"sync"
	"time"
)

// Tree is the files of a scripted server. Names are octets; paths begin at the root whether or not with a slash.
type Tree struct {
	mu   sync.Mutex
	root *node
	now  time.Time // what new files are dated
}

// node is a file, a folder (children is not nil) or a symbolic link (link is not empty).
type node struct {
	content  []byte
	children map[string]*node
	link     string
	modified time.Time
	size     int64 // what is told of it, when not the content's; -1 for that
}

func newTree() *Tree {
	return &Tree{root: &node{children: map[string]*node{}}, now: time.Date(2026, 12, 1, 10, 15, 0, 0, time.UTC)}
}

func (n *node) folder() bool { return n.children != nil }

func (n *node) length() int64 {
	if n.size >= 0 {
		return n.size
	}
	return int64(len(n.content))
}

// Type bits of permissions, as POSIX has them.
const (
	typeFile   = 0o100000
	typeFolder = 0o040000
	typeLink   = 0o120000
)

func (n *node) attributes() Attributes {
	a := Attributes{Has: HasSize | HasOwner | HasPermissions | HasTimes, Size: uint64(n.length()), UID: 1000, GID: 1000,
		Permissions: typeFile | 0o644, Accessed: uint32(n.modified.Unix()), Modified: uint32(n.modified.Unix())}
	switch {
	case n.folder():
		a.Permissions, a.Size = typeFolder|0o755, 4096
	case n.link != "":
		a.Permissions, a.Size = typeLink|0o777, uint64(len(n.link))
	}
	return a
}

// find walks to a path, through links (the last one only on demand); at most 40 of them, as Linux has it.
func (t *Tree) find(p string, follow bool) *node {
	links := 0
	var walk func(p string, follow bool) *node
	walk = func(p string, follow bool) *node {
		at, parts := t.root, parts(p)
		for i, part := range parts {
			if at == nil || !at.folder() {
				return nil
			}
			next := at.children[part]
			if next != nil && next.link != "" && (follow || i < len(parts)-1) {
				if links++; links > 40 {
					return nil
				}
				target := next.link
				if !strings.HasPrefix(target, "/") {
					target = path.Join("/", path.Join(parts[:i]...), target)
				}
				next = walk(target, true)
			}
			at = next
		}
		return at
	}
	return walk(p, follow)
}

func parts(p string) []string {
	return slices.DeleteFunc(strings.Split(path.Clean("/"+p), "/"), func(part string) bool { return part == "" })
}

// parent is the folder that a path's last name stands in, made if need be.
func (t *Tree) parent(p string, create bool) (*node, string) {
	all := parts(p)
	if len(all) == 0 {
		return nil, ""
	}
	folder := t.find(path.Join(all[:len(all)-1]...), true)
	if folder == nil && create {
		t.put(path.Join(all[:len(all)-1]...), &node{children: map[string]*node{}})
		folder = t.find(path.Join(all[:len(all)-1]...), true)
	}
	if folder == nil || !folder.folder() {
		return nil, ""
	}
	return folder, all[len(all)-1]
}

func (t *Tree) put(p string, n *node) {
	n.modified, n.size = t.now, -1
	if folder, name := t.parent(p, true); folder != nil {
		folder.children[name] = n
	}
}

// Put sets a file's content, and makes the folders it needs.
func (t *Tree) Put(p, content string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.put(p, &node{content: []byte(content)})
}

// Append adds to a file's content and leaves its date.
func (t *Tree) Append(p, content string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if n := t.find(p, true); n != nil {
		n.content = append(slices.Clip(n.content), content...)
	}
}

// Mkdir makes folders.
func (t *Tree) Mkdir(paths ...string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, p := range paths {
		if t.find(p, false) == nil {
			t.put(p, &node{children: map[string]*node{}})
		}
	}
}

// Link makes a symbolic link, which need not lead anywhere.
func (t *Tree) Link(p, target string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.put(p, &node{link: target})
}

// Date says when a file was modified. Servers tell whole seconds.
func (t *Tree) Date(p string, modified time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if n := t.find(p, false); n != nil {
		n.modified = modified
	}
}

// Claim has the server tell a size that is not the file's.
func (t *Tree) Claim(p string, size int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if n := t.find(p, false); n != nil {
		n.size = size
	}
}

// Now sets the date of files that are made or written from now on.
func (t *Tree) Now(now time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.now = now
}

// Read returns a file's content, and whether there is such a file.
func (t *Tree) Read(p string) (string, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := t.find(p, true)
	if n == nil || n.folder() {
		return "", false
	}
	return string(n.content), true
}

// Names lists what is in a folder, in order.
func (t *Tree) Names(p string) []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.names(t.find(p, true))
}

func (t *Tree) names(n *node) []string {
	var names []string
	if n != nil {
		for name := range n.children {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// Remove removes a file, link or folder with all in it.
func (t *Tree) Remove(p string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.remove(p)
}

func (t *Tree) remove(p string) {
	if folder, name := t.parent(p, false); folder != nil {
		delete(folder.children, name)
	}
}

// list makes the entries of a folder, the two dots first.
func (t *Tree) list(n *node) []Entry {
	entries := []Entry{{Name: ".", Attributes: n.attributes()}, {Name: "..", Attributes: n.attributes()}}
	for _, name := range t.names(n) {
		entries = append(entries, Entry{Name: name, Attributes: n.children[name].attributes()})
	}
	for i := range entries {
		entries[i].Long = long(entries[i])
	}
	return entries
}

// long is the entry as `ls -l` has it, whose first letter some clients go by.
func long(e Entry) string {
	letter := map[uint32]string{typeFolder: "d", typeLink: "l"}[e.Attributes.Permissions&0o170000]
	if letter == "" {
		letter = "-"
	}
	return letter + "rw-r--r--    1 1000     1000         4096 Dec  1 10:15 " + e.Name
}
