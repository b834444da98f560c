package sftpwatch

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"sync/atomic"
)

// guard reads the server's packets before the SFTP library does, by their first octets: what a server sends in place of SFTP
// is told in plain words, a packet must have a possible length, and a listing has as many names as agreed at most, and not many
// octets for each, since the library collects them all.
type guard struct {
	from    io.Reader
	head    []byte // of the packet, still to be handed on
	rest    int64  // of the packet behind it
	started bool
	limit   atomic.Int64 // names that may still come
	octets  atomic.Int64 // of the packets with names that may still come
	err     error
	report  func(error) // told of a packet that must not be
}

const (
	packetVersion = 2
	packetName    = 104
	maxPacket     = 256 << 10 // the library's own bound
)

// perName is how many octets a name comes with, on average, at most: the 255 that file systems allow come twice, the second time
// in a line such as ls prints. leastNames are allowed in any case, for a REALPATH.
const (
	perName    = 1 << 10
	leastNames = 16 << 10
)

// Errors of listings that have more than agreed.
var (
	errCrowded = errors.New("the folder has more entries than max_entries")
	errWordy   = errors.New("the listing has more octets than as many entries as max_entries need")
)

// expect allows so many more names: those of a listing, or the one of a REALPATH.
func (g *guard) expect(names int) {
	g.octets.Add(max(int64(names)*perName, leastNames))
	g.limit.Add(int64(names))
}

// expectNoMore takes back what a listing has left over.
func (g *guard) expectNoMore() {
	g.limit.Store(0)
	g.octets.Store(0)
}

func (g *guard) Read(p []byte) (int, error) {
	if len(g.head) == 0 && g.rest == 0 {
		if g.err == nil {
			if g.err = g.next(); g.err != nil {
				g.report(g.err)
			}
		}
		if g.err != nil {
			return 0, g.err
		}
	}
	if len(g.head) > 0 {
		n := copy(p, g.head)
		g.head = g.head[n:]
		return n, nil
	}
	n, err := g.from.Read(p[:min(int64(len(p)), g.rest)])
	g.rest -= int64(n)
	return n, err
}

// next reads as much of a packet as its judgement needs (draft-ietf-secsh-filexfer-02 §3, §7).
func (g *guard) next() error {
	head := make([]byte, 13)
	if _, err := io.ReadFull(g.from, head[:5]); err != nil {
		return err
	}
	length := binary.BigEndian.Uint32(head)
	if !g.started && (head[4] != packetVersion || length > maxPacket) {
		text := make([]byte, 200)
		n, _ := g.from.Read(text)
		return &Fault{Kind: KindProtocol, Doing: "opening SFTP",
			Err: fmt.Errorf("the server sent text instead of SFTP: %s", shown(string(head[:5])+string(text[:n])))}
	}
	g.started = true
	if length < 5 || length > maxPacket {
		return &Fault{Kind: KindProtocol, Doing: "reading a packet", Err: fmt.Errorf("a length of %d octets", length)}
	}
	g.head, g.rest = head[:5], int64(length)-1
	if head[4] != packetName || length < 9 {
		return nil
	}
	if _, err := io.ReadFull(g.from, head[5:13]); err == io.EOF {
		return io.ErrUnexpectedEOF
	} else if err != nil {
		return err
	}
	g.head, g.rest = head, int64(length)-9
	if g.limit.Add(-int64(binary.BigEndian.Uint32(head[9:]))) < 0 {
		return &Fault{Kind: KindCrowded, Doing: "listing the folder", Err: errCrowded}
	}
	if g.octets.Add(-int64(length)) < 0 {
		return &Fault{Kind: KindCrowded, Doing: "listing the folder", Err: errWordy}
	}
	return nil
}
