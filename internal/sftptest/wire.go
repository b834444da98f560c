package sftptest

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// Kind is the type of a packet (draft-ietf-secsh-filexfer-02 §3).
type Kind byte

// The packets of version 3.
const (
	Init     Kind = 1
	Version  Kind = 2
	Open     Kind = 3
	Close    Kind = 4
	Read     Kind = 5
	Write    Kind = 6
	Lstat    Kind = 7
	Fstat    Kind = 8
	Setstat  Kind = 9
	Fsetstat Kind = 10
	Opendir  Kind = 11
	Readdir  Kind = 12
	Remove   Kind = 13
	Mkdir    Kind = 14
	Rmdir    Kind = 15
	Realpath Kind = 16
	Stat     Kind = 17
	Rename   Kind = 18
	Readlink Kind = 19
	Symlink  Kind = 20
	Extended Kind = 200

	Status Kind = 101
	Handle Kind = 102
	Data   Kind = 103
	Name   Kind = 104
	Attrs  Kind = 105
)

// Codes of a [Status] (§7).
const (
	OK               = 0
	EOF              = 1
	NoSuchFile       = 2
	PermissionDenied = 3
	Failure          = 4
	BadMessage       = 5
	Unsupported      = 8
)

// Flags of an [Open] (§6.3).
const (
	flagWrite    = 2
	flagCreate   = 8
	flagTruncate = 16
	flagExclude  = 32
)

// Request is what a client sent.
type Request struct {
	Kind      Kind
	ID        uint32
	Number    int    // which one of its session, counted from 1, INIT included
	Path      string // as sent
	Target    string // of renaming and linking
	Handle    string
	Offset    uint64
	Length    uint32
	Data      []byte
	Flags     uint32
	Extension string // of an extended request

	session *session
}

// Attributes of a file; Has tells which of them are sent (§5).
type Attributes struct {
	Has         uint32
	Size        uint64
	UID, GID    uint32
	Permissions uint32
	Accessed    uint32
	Modified    uint32
}

// Flags of [Attributes].Has.
const (
	HasSize        = 1
	HasOwner       = 2
	HasPermissions = 4
	HasTimes       = 8
)

// Entry is one name of a listing.
type Entry struct {
	Name, Long string
	Attributes Attributes
}

// Reply is what the server answers.
type Reply struct {
	Kind       Kind
	ID         uint32
	Code       uint32 // of a status
	Text       string // of a status
	Handle     string
	Data       []byte
	Names      []Entry
	Attributes Attributes
	Extensions []string // of a version: names and their data in turn

	Raw    []byte // sent in place of all that, length and all
	Silent bool   // nothing is sent, now or ever again in this session
	HangUp bool   // the connection is closed in place of an answer
}

func status(code uint32, text string) Reply { return Reply{Kind: Status, Code: code, Text: text} }

// encode writes the reply as a packet.
func (r *Reply) encode() []byte {
	if r.Raw != nil {
		return r.Raw
	}
	b := []byte{0, 0, 0, 0, byte(r.Kind)}
	if r.Kind != Version {
		b = binary.BigEndian.AppendUint32(b, r.ID)
	}
	switch r.Kind {
	case Version:
		b = binary.BigEndian.AppendUint32(b, 3)
		for _, e := range r.Extensions {
			b = appendString(b, e)
		}
	case Status:
		b = appendString(appendString(binary.BigEndian.AppendUint32(b, r.Code), r.Text), "en")
	case Handle:
		b = appendString(b, r.Handle)
	case Data:
		b = append(binary.BigEndian.AppendUint32(b, uint32(len(r.Data))), r.Data...)
	case Name:
		b = binary.BigEndian.AppendUint32(b, uint32(len(r.Names)))
		for _, n := range r.Names {
			b = n.Attributes.append(appendString(appendString(b, n.Name), n.Long))
		}
	case Attrs:
		b = r.Attributes.append(b)
	}
	binary.BigEndian.PutUint32(b, uint32(len(b)-4))
	return b
}

func appendString(b []byte, s string) []byte {
	return append(binary.BigEndian.AppendUint32(b, uint32(len(s))), s...)
}

func (a Attributes) append(b []byte) []byte {
	b = binary.BigEndian.AppendUint32(b, a.Has)
	if a.Has&HasSize != 0 {
		b = binary.BigEndian.AppendUint64(b, a.Size)
	}
	for _, pair := range []struct{ flag, one, other uint32 }{
		{HasOwner, a.UID, a.GID}, {HasPermissions, a.Permissions, 0}, {HasTimes, a.Accessed, a.Modified},
	} {
		if a.Has&pair.flag == 0 {
			continue
		}
		b = binary.BigEndian.AppendUint32(b, pair.one)
		if pair.flag != HasPermissions {
			b = binary.BigEndian.AppendUint32(b, pair.other)
		}
	}
	return b
}

// fields takes a packet apart; the first thing missing is remembered.
type fields struct {
	rest []byte
	err  error
}

var errShort = errors.New("the packet ends early")

func (f *fields) take(n int) []byte {
	if f.err != nil || n < 0 || len(f.rest) < n {
		f.err = errShort
		return make([]byte, min(max(n, 0), 8))
	}
	taken := f.rest[:n]
	f.rest = f.rest[n:]
	return taken
}

func (f *fields) uint32() uint32 { return binary.BigEndian.Uint32(f.take(4)) }
func (f *fields) uint64() uint64 { return binary.BigEndian.Uint64(f.take(8)) }
func (f *fields) octets() []byte { return f.take(int(f.uint32())) }
func (f *fields) string() string { return string(f.octets()) }

// decode reads a request, as it stands behind the packet's length.
func decode(packet []byte) (*Request, error) {
	f := &fields{rest: packet}
	r := &Request{Kind: Kind(f.take(1)[0]), ID: f.uint32()} // of an INIT, that is the version
	switch r.Kind {
	case Init:
	case Open:
		r.Path, r.Flags = f.string(), f.uint32()
	case Close, Fstat, Fsetstat, Readdir:
		r.Handle = f.string()
	case Read:
		r.Handle, r.Offset, r.Length = f.string(), f.uint64(), f.uint32()
	case Write:
		r.Handle, r.Offset, r.Data = f.string(), f.uint64(), f.octets()
	case Lstat, Stat, Setstat, Opendir, Remove, Mkdir, Rmdir, Realpath, Readlink:
		r.Path = f.string()
	case Rename, Symlink:
		r.Path, r.Target = f.string(), f.string()
	case Extended:
		r.Extension = f.string()
		switch r.Extension {
		case posixRename:
			r.Path, r.Target = f.string(), f.string()
		case fsync:
			r.Handle = f.string()
		}
	default:
		return nil, fmt.Errorf("there is no request of type %d", r.Kind)
	}
	return r, f.err
}

// The extensions that are served.
const (
	posixRename = "posix-rename@openssh.com"
	fsync       = "fsync@openssh.com"
)
