package sftptest

import (
	"encoding/binary"
	"fmt"
	"path"
	"slices"
	"strings"
	"sync"
)

// Twist answers a request, or has the next one do so, in the end an honest server, and changes its answer. It may keep
// state over all sessions, and is called by several at once.
type Twist func(r *Request, next func() Reply) Reply

// on is a twist for some kinds of requests only; without any, for all but INIT.
func on(kinds []Kind, twist Twist) Twist {
	return func(r *Request, next func() Reply) Reply {
		if slices.Contains(kinds, r.Kind) || len(kinds) == 0 && r.Kind != Init {
			return twist(r, next)
		}
		return next()
	}
}

// Times has a twist work only the first n times that it would.
func Times(n int, twist Twist, kinds ...Kind) Twist {
	var mu sync.Mutex
	return on(kinds, func(r *Request, next func() Reply) Reply {
		mu.Lock()
		left := n
		n = max(0, n-1)
		mu.Unlock()
		if left == 0 {
			return next()
		}
		return twist(r, next)
	})
}

// Silent falls silent at these requests and answers nothing in that session any more.
func Silent(kinds ...Kind) Twist {
	return on(kinds, func(*Request, func() Reply) Reply { return Reply{Silent: true} })
}

// HangsUp closes the connection at these requests.
func HangsUp(kinds ...Kind) Twist {
	return on(kinds, func(*Request, func() Reply) Reply { return Reply{HangUp: true} })
}

// HangsUpAfter closes the connection at a session's request of that number.
func HangsUpAfter(n int) Twist {
	return func(r *Request, next func() Reply) Reply {
		if r.Number >= n {
			return Reply{HangUp: true}
		}
		return next()
	}
}

// LosesAnswer does what is asked and closes the connection in place of the answer.
func LosesAnswer(kinds ...Kind) Twist {
	return on(kinds, func(_ *Request, next func() Reply) Reply {
		next()
		return Reply{HangUp: true}
	})
}

// Answers gives a status in place of what was asked for: a denial, a failure, nonsense.
func Answers(code uint32, text string, kinds ...Kind) Twist {
	return on(kinds, func(r *Request, _ func() Reply) Reply { return Reply{Kind: Status, ID: r.ID, Code: code, Text: text} })
}

// Denies says that permission is.
func Denies(kinds ...Kind) Twist { return Answers(PermissionDenied, "Permission denied", kinds...) }

// DeniesChange refuses every rename and removal, for ever: a folder the client may only read.
func DeniesChange() Twist {
	return func(r *Request, next func() Reply) Reply {
		if slices.Contains([]Kind{Remove, Rmdir, Rename}, r.Kind) || r.Kind == Extended && r.Extension == posixRename {
			return Reply{Kind: Status, ID: r.ID, Code: PermissionDenied, Text: "Permission denied"}
		}
		return next()
	}
}

// At has a twist see only requests for a file of that base name.
func At(name string, twist Twist) Twist {
	return func(r *Request, next func() Reply) Reply {
		p := r.Path
		if h := r.session.handles[r.Handle]; h != nil {
			p = h.path
		}
		if path.Base(p) == name {
			return twist(r, next)
		}
		return next()
	}
}

// ShortReads gives at most n octets a read.
func ShortReads(n int) Twist {
	return on([]Kind{Read}, func(_ *Request, next func() Reply) Reply {
		reply := next()
		reply.Data = reply.Data[:min(n, len(reply.Data))]
		return reply
	})
}

// LongReads gives n octets more than asked for.
func LongReads(n int) Twist {
	return on([]Kind{Read}, func(_ *Request, next func() Reply) Reply {
		reply := next()
		if reply.Kind == Data {
			reply.Data = append(slices.Clip(reply.Data), strings.Repeat("X", n)...)
		}
		return reply
	})
}

// WrongID answers a request that was never made.
func WrongID(kinds ...Kind) Twist {
	return on(kinds, func(_ *Request, next func() Reply) Reply {
		reply := next()
		reply.ID += 1 << 20
		return reply
	})
}

// Oversized announces a packet of a size that nobody means, and begins to send it.
func Oversized(size uint32, kinds ...Kind) Twist {
	return on(kinds, func(r *Request, _ func() Reply) Reply {
		raw := binary.BigEndian.AppendUint32(nil, size)
		return Reply{Raw: binary.BigEndian.AppendUint32(append(raw, byte(Data)), r.ID)}
	})
}

// Truncated sends a packet without its last n octets, with a length that agrees.
func Truncated(n int, kinds ...Kind) Twist {
	return on(kinds, func(_ *Request, next func() Reply) Reply {
		reply := next()
		raw := reply.encode()
		raw = raw[:max(5, len(raw)-n)]
		binary.BigEndian.PutUint32(raw, uint32(len(raw)-4))
		return Reply{Raw: raw}
	})
}

// Forged sends these octets in place of the answer.
func Forged(packet []byte, kinds ...Kind) Twist {
	return on(kinds, func(*Request, func() Reply) Reply { return Reply{Raw: packet} })
}

// Attribute leaves out attributes, or changes them, in listings and answers to STAT alike.
func Attribute(change func(name string, a *Attributes), kinds ...Kind) Twist {
	return on(kinds, func(r *Request, next func() Reply) Reply {
		reply := next()
		change(path.Base(r.Path), &reply.Attributes)
		for i := range reply.Names {
			change(reply.Names[i].Name, &reply.Names[i].Attributes)
		}
		return reply
	})
}

// Lists adds names to every listing's first part, with the attributes of a file.
func Lists(names ...string) Twist {
	return on([]Kind{Readdir}, func(_ *Request, next func() Reply) Reply {
		reply := next()
		if reply.Kind != Name || len(reply.Names) == 0 || reply.Names[0].Name != "." {
			return reply
		}
		for _, name := range names {
			e := Entry{Name: name, Attributes: (&node{size: 10}).attributes()}
			e.Long = long(e)
			reply.Names = append(reply.Names, e)
		}
		return reply
	})
}

// ListsForEver never comes to a listing's end.
func ListsForEver() Twist {
	return on([]Kind{Readdir}, func(r *Request, _ func() Reply) Reply {
		reply := Reply{Kind: Name, ID: r.ID}
		for i := range namesInReply {
			e := Entry{Name: fmt.Sprintf("%d-%d.edi", r.Number, i), Attributes: (&node{size: 10}).attributes()}
			e.Long = long(e)
			reply.Names = append(reply.Names, e)
		}
		return reply
	})
}

// MaxHandles refuses to open more at a time in a session.
func MaxHandles(n int) Twist {
	return on([]Kind{Open, Opendir}, func(r *Request, next func() Reply) Reply {
		if len(r.session.handles) >= n {
			return Reply{Kind: Status, ID: r.ID, Code: Failure, Text: fmt.Sprintf("Too many open files in this session, maximum %d", n)}
		}
		return next()
	})
}

// OneTransfer refuses anything but the transfer that is under way in the session.
func OneTransfer() Twist {
	return func(r *Request, next func() Reply) Reply {
		busy := false
		for _, h := range r.session.handles {
			busy = busy || !h.folder
		}
		if busy && r.Kind != Read && r.Kind != Write && r.Kind != Close {
			return Reply{Kind: Status, ID: r.ID, Code: PermissionDenied,
				Text: "The operation cannot be performed because there is a file transfer in progress"}
		}
		return next()
	}
}

// ReadOnce has a file given out once: whatever asks for it after it was opened is refused, and with its handle it is gone.
func ReadOnce() Twist {
	var mu sync.Mutex
	taken := map[string]bool{}
	return func(r *Request, next func() Reply) Reply {
		mu.Lock()
		defer mu.Unlock()
		name := path.Clean("/" + r.Path)
		h := r.session.handles[r.Handle]
		if h != nil {
			name = h.path
		}
		switch r.Kind {
		case Open, Stat, Lstat, Fstat:
			if taken[name] {
				return Reply{Kind: Status, ID: r.ID, Code: Failure, Text: "The message is not extractable"}
			}
		case Close:
			if taken[name] {
				r.session.server.Files.Remove(name)
				delete(taken, name)
			}
		}
		reply := next()
		if r.Kind == Open && r.Flags&flagWrite == 0 && reply.Kind == Handle {
			taken[name] = true
		}
		return reply
	}
}
