package sftptest

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"path"
	"slices"
)

// largestPacket is what a client may send; OpenSSH has the same limit.
const largestPacket = 256 << 10

// session is one SFTP channel of a connection.
type session struct {
	server  *Scripted
	channel io.ReadWriteCloser
	handles map[string]*handle
	number  int
	last    int // number of the last handle
	silent  bool
}

type handle struct {
	path    string
	node    *node
	entries []Entry // of a folder
	folder  bool
}

// serve answers one request after another until the client goes. It reports whether the connection is to be closed.
func (s *session) serve() (hangUp bool) {
	defer s.server.forgetHandles(s)
	in := bufio.NewReaderSize(s.channel, 64<<10)
	for {
		head := make([]byte, 4)
		if _, err := io.ReadFull(in, head); err != nil {
			return false
		}
		size := binary.BigEndian.Uint32(head)
		if size < 5 || size > largestPacket {
			s.server.wrong(fmt.Sprintf("a packet of %d octets", size))
			return true
		}
		packet := make([]byte, size)
		if _, err := io.ReadFull(in, packet); err != nil {
			return false
		}
		request, err := decode(packet)
		if err != nil {
			s.server.wrong(err.Error())
			return true
		}
		reply := s.answer(request)
		s.server.note(request)
		if reply.HangUp {
			return true
		}
		if s.silent = s.silent || reply.Silent; s.silent {
			continue
		}
		if _, err := s.channel.Write(reply.encode()); err != nil {
			return false
		}
	}
}

// answer asks the twists, the first one of the script first, each of which may ask the next.
func (s *session) answer(r *Request) Reply {
	s.number++
	r.Number, r.session = s.number, s
	twists := s.server.twists()
	var ask func(i int) Reply
	ask = func(i int) Reply {
		if i < len(twists) {
			return twists[i](r, func() Reply { return ask(i + 1) })
		}
		reply := s.plain(r)
		reply.ID = r.ID
		return reply
	}
	return ask(0)
}

// plain is what an honest server answers.
func (s *session) plain(r *Request) Reply {
	t := s.server.Files
	t.mu.Lock()
	defer t.mu.Unlock()
	switch r.Kind {
	case Init:
		return Reply{Kind: Version, Extensions: s.server.extensions()}
	case Realpath:
		clean := path.Clean("/" + r.Path)
		return Reply{Kind: Name, Names: []Entry{{Name: clean, Long: clean}}}
	case Stat, Lstat:
		n := t.find(r.Path, r.Kind == Stat)
		if n == nil {
			return status(NoSuchFile, "No such file")
		}
		return Reply{Kind: Attrs, Attributes: n.attributes()}
	case Open, Opendir:
		return s.open(t, r)
	case Close, Fstat, Readdir, Read, Write, Fsetstat:
		return s.handled(t, r)
	case Extended:
		return s.extended(t, r)
	}
	return change(t, r)
}

func (s *session) open(t *Tree, r *Request) Reply {
	n := t.find(r.Path, true)
	switch {
	case n == nil && r.Kind == Open && r.Flags&flagCreate != 0:
		n = &node{}
		if folder, _ := t.parent(r.Path, false); folder == nil {
			return status(NoSuchFile, "No such file")
		}
		t.put(r.Path, n)
	case n == nil:
		return status(NoSuchFile, "No such file")
	case r.Kind == Open && r.Flags&flagExclude != 0:
		return status(Failure, "Failure")
	case n.folder() != (r.Kind == Opendir):
		return status(Failure, "Failure")
	case r.Flags&flagTruncate != 0:
		n.content = nil
	}
	h := &handle{path: path.Clean("/" + r.Path), node: n, folder: n.folder()}
	if h.folder {
		h.entries = t.list(n)
	}
	s.last++
	name := fmt.Sprint("handle ", s.last)
	s.handles[name] = h
	s.server.countHandles(1)
	return Reply{Kind: Handle, Handle: name}
}

// namesInReply is how many OpenSSH puts into one.
const namesInReply = 100

func (s *session) handled(t *Tree, r *Request) Reply {
	h := s.handles[r.Handle]
	if h == nil {
		return status(Failure, "Invalid handle")
	}
	switch r.Kind {
	case Close:
		delete(s.handles, r.Handle)
		s.server.countHandles(-1)
	case Fstat:
		return Reply{Kind: Attrs, Attributes: h.node.attributes()}
	case Readdir:
		if len(h.entries) == 0 {
			return status(EOF, "End of file")
		}
		some := h.entries[:min(namesInReply, len(h.entries))]
		h.entries = h.entries[len(some):]
		return Reply{Kind: Name, Names: slices.Clone(some)}
	case Read:
		if r.Offset >= uint64(len(h.node.content)) {
			return status(EOF, "End of file")
		}
		rest := h.node.content[r.Offset:]
		return Reply{Kind: Data, Data: rest[:min(len(rest), int(r.Length))]}
	case Write:
		end := int(r.Offset) + len(r.Data)
		grown := make([]byte, max(len(h.node.content), end))
		copy(grown, h.node.content)
		copy(grown[r.Offset:], r.Data)
		h.node.content, h.node.modified = grown, t.now
	}
	return status(OK, "Success")
}

func (s *session) extended(t *Tree, r *Request) Reply {
	offered := slices.Contains(s.server.extensions(), r.Extension)
	switch {
	case offered && r.Extension == posixRename:
		return rename(t, r, true)
	case offered && r.Extension == fsync:
		return status(OK, "Success")
	}
	return status(Unsupported, "Operation unsupported")
}

// change serves the requests that change names.
func change(t *Tree, r *Request) Reply {
	n := t.find(r.Path, false)
	if n == nil && (r.Kind == Remove || r.Kind == Rmdir || r.Kind == Setstat || r.Kind == Readlink) {
		return status(NoSuchFile, "No such file")
	}
	switch r.Kind {
	case Rename:
		return rename(t, r, false)
	case Remove, Rmdir:
		if n.folder() != (r.Kind == Rmdir) || len(n.children) > 0 {
			return status(Failure, "Failure")
		}
		t.remove(r.Path)
	case Mkdir:
		if folder, _ := t.parent(r.Path, false); n != nil || folder == nil {
			return status(Failure, "Failure")
		}
		t.put(r.Path, &node{children: map[string]*node{}})
	case Readlink:
		return Reply{Kind: Name, Names: []Entry{{Name: n.link, Long: n.link}}}
	case Symlink: // OpenSSH has the arguments in the other order than the draft
		t.put(r.Target, &node{link: r.Path})
	}
	return status(OK, "Success")
}

// rename, in version 3, fails when there is a file of the new name (§6.5).
func rename(t *Tree, r *Request, replace bool) Reply {
	from, old := t.parent(r.Path, false)
	to, name := t.parent(r.Target, false)
	switch {
	case from == nil || to == nil || from.children[old] == nil:
		return status(NoSuchFile, "No such file")
	case to.children[name] != nil && !replace:
		return status(Failure, "Failure")
	}
	n := from.children[old]
	delete(from.children, old)
	to.children[name] = n
	return status(OK, "Success")
}
