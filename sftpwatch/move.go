package sftpwatch

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"strings"

	"firstcopy/partners"
)

// errTaken says that a name is another file's already.
var errTaken = errors.New("another file has that name")

// move gives a file another name, perhaps in another folder, and never takes a name from another file. Version 3 of the
// protocol says that RENAME fails then (draft-ietf-secsh-filexfer-02 §6.5); OpenSSH's does, others overwrite.
func (l *link) move(ctx context.Context, from, to string) error {
	if !l.keepsNames() {
		if taken, err := l.exists(ctx, to); err != nil || taken {
			return errors.Join(err, taken.fault(to))
		}
	}
	if l.terms.Has(partners.QuirkNoRename) {
		return l.copy(ctx, from, to)
	}
	err := l.request(ctx, "moving "+shown(from)+" to "+shown(to), func() error { return l.sftp.Rename(from, to) })
	if kindOf(err) != KindRefused && kindOf(err) != KindPermission {
		return err
	}
	// Why it failed, the protocol does not say.
	taken, looked := l.exists(ctx, to)
	if looked != nil {
		return looked
	}
	if taken {
		there, looked := l.exists(ctx, from)
		if looked == nil && !bool(there) {
			return nil // it was done, and only the answer was wrong
		}
		return taken.fault(to)
	}
	if kindOf(err) == KindRefused { // another file system, perhaps, or no hard links
		if copied := l.copy(ctx, from, to); kindOf(copied) != KindRefused {
			return copied
		}
	}
	return err
}

// keepsNames reports whether the server is known not to overwrite.
func (l *link) keepsNames() bool {
	return strings.Contains(l.server.Version, "OpenSSH") && !l.terms.Has(partners.QuirkNoRename)
}

// presence of a file.
type presence bool

func (p presence) fault(path string) error {
	if p {
		return fmt.Errorf("%s: %w", shown(path), errTaken)
	}
	return nil
}

func (l *link) exists(ctx context.Context, path string) (presence, error) {
	_, _, err := l.stat(ctx, path)
	if kindOf(err) == KindMissing {
		return false, nil
	}
	return err == nil, err
}

// copy is a move where renaming does not work: the copy is complete before the original goes.
func (l *link) copy(ctx context.Context, from, to string) error {
	v, _, err := l.stat(ctx, from)
	if err != nil {
		return err
	}
	f, err := l.openFile(ctx, to, os.O_WRONLY|os.O_CREATE|os.O_EXCL)
	if err != nil {
		return err
	}
	err = l.readFile(ctx, from, v.size, remoteWriter{ctx, f})
	if closing := f.close(context.WithoutCancel(ctx)); err == nil {
		err = closing
	}
	if err == nil {
		var copied version
		if copied, _, err = l.stat(ctx, to); err == nil && copied.size != v.size {
			err = fmt.Errorf("the copy has %d of %d octets", copied.size, v.size)
		}
	}
	if err != nil {
		_ = l.remove(context.WithoutCancel(ctx), to) // a half copy must not look like a whole one
		return err
	}
	// Copying may have taken its time: a version that its sender has written meanwhile has no copy.
	now, _, err := l.stat(ctx, from)
	if kindOf(err) == KindMissing {
		return nil // the copy is all there is
	}
	if err != nil || now != v {
		_ = l.remove(context.WithoutCancel(ctx), to)
		return cmp.Or(err, errChanged)
	}
	return l.remove(ctx, from)
}

// remoteWriter writes to a file of the server, each piece under a deadline.
type remoteWriter struct {
	ctx  context.Context // of one copy
	file *remoteFile
}

func (w remoteWriter) Write(p []byte) (n int, err error) {
	for n < len(p) && err == nil {
		piece, done := p[n:min(len(p), n+w.file.link.piece())], 0
		err = w.file.link.request(w.ctx, "writing "+shown(w.file.path), func() (err error) {
			done, err = w.file.Write(piece)
			return err
		})
		n += done
	}
	return n, err
}

// piece is how much one request carries.
func (l *link) piece() int {
	if l.terms.Has(partners.QuirkSmallPackets) {
		return smallChunk
	}
	return chunk
}

// digest is the SHA-256 of a file of the server.
func (l *link) digest(ctx context.Context, path string, size int64) ([]byte, error) {
	h := sha256.New()
	if err := l.readFile(ctx, path, size, h); err != nil {
		return nil, err
	}
	return h.Sum(nil), nil
}

// same reports whether a file of the server has just these octets.
func (l *link) same(ctx context.Context, path string, octets []byte) (bool, error) {
	v, _, err := l.stat(ctx, path)
	if err != nil || v.size != int64(len(octets)) {
		return false, err
	}
	sum, err := l.digest(ctx, path, v.size)
	want := sha256.Sum256(octets)
	return bytes.Equal(sum, want[:]), err
}
