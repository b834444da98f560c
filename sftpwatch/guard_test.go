package sftpwatch

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

func packet(kind byte, content ...byte) []byte {
	return append(append(binary.BigEndian.AppendUint32(nil, uint32(len(content)+1)), kind), content...)
}

func guarded(stream []byte, names int) ([]byte, error) {
	g := &guard{from: iotest.OneByteReader(bytes.NewReader(stream)), report: func(error) {}}
	g.expect(names)
	return io.ReadAll(g)
}

// What a server sends is handed on octet for octet, until it is not SFTP.
func TestGuard(t *testing.T) {
	t.Parallel()
	version := packet(packetVersion, 0, 0, 0, 3)
	names := func(n uint32) []byte {
		return packet(packetName, append([]byte{0, 0, 0, 7}, binary.BigEndian.AppendUint32(nil, n)...)...)
	}
	wordy := packet(packetName, append([]byte{0, 0, 0, 7, 0, 0, 0, 1}, make([]byte, leastNames)...)...)
	whole := append(append(append([]byte{}, version...), names(3)...), packet(103, 0, 0, 0, 1, 'x')...)
	if got, err := guarded(whole, 3); err != nil || !bytes.Equal(got, whole) {
		t.Errorf("got %x, %v", got, err)
	}
	for _, test := range []struct {
		name   string
		stream []byte
		says   string
	}{
		{"text first", []byte("Welcome to the server\r\n"), "text instead of SFTP: Welco"},
		{"too many names", append(append([]byte{}, version...), names(4)...), "more entries than max_entries"},
		{"too much for a name", append(append([]byte{}, version...), wordy...), "more octets than"},
		{"too long", append(append([]byte{}, version...), 0x7f, 0, 0, 0, 103), "a length of"},
		{"too short", append(append([]byte{}, version...), 0, 0, 0, 1, 101), "a length of 1"},
	} {
		if _, err := guarded(test.stream, 3); err == nil || !strings.Contains(err.Error(), test.says) {
			t.Errorf("%s: %v", test.name, err)
		}
	}
}

// Whatever is sent, the guard hands on a prefix of it, and never more names than were expected.
func FuzzGuard(f *testing.F) {
	f.Add(packet(packetVersion, 0, 0, 0, 3), 2)
	f.Add(append(packet(packetVersion, 0, 0, 0, 3), packet(packetName, 0, 0, 0, 1, 0, 0, 0, 9)...), 2)
	f.Fuzz(func(t *testing.T, stream []byte, names int) {
		got, err := guarded(stream, max(0, names))
		if !bytes.HasPrefix(stream, got) {
			t.Errorf("handed on %x of %x", got, stream)
		}
		var fault *Fault
		if err == nil && len(got) < len(stream) && !errors.As(err, &fault) {
			t.Errorf("swallowed %d octets without an error", len(stream)-len(got))
		}
	})
}
