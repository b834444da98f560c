package sftpwatch

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"slices"

	"firstcopy/partners"
)

// Put puts octets into the partner's folder for acknowledgements under a name, so that exactly one such file appears however
// often it is called: what lies there already with these octets is done. It is written under a temporary name, made durable
// where the server can, looked at, and renamed. A file of that name with other octets is an error and stays.
func (w *Watcher) Put(ctx context.Context, a *partners.Agreement, name string, octets []byte) error {
	if a.SFTP == nil || a.SFTP.Folders.Acknowledgement == "" {
		return errors.New("no folder for acknowledgements is agreed")
	}
	if err := checkName(name); err != nil {
		return fmt.Errorf("acknowledgement: %w", err)
	}
	l, err := w.links.get(ctx, a)
	if err == nil {
		err = l.put(ctx, a.SFTP.Folders.Acknowledgement, name, octets)
	}
	w.observer.PutBack(a.Name, kindOf(err))
	if err != nil {
		return fmt.Errorf("putting %s: %w", shown(name), err)
	}
	w.log.InfoContext(ctx, "file put", "partner", a.Name, "file", shown(name), "bytes", len(octets))
	return nil
}

func (l *link) put(ctx context.Context, folder, name string, octets []byte) error {
	target := within(folder, name)
	if done, err := l.alreadyPut(ctx, target, octets); done || err != nil {
		return err
	}
	if l.terms.Has(partners.QuirkNoRename) {
		return l.write(ctx, target, octets)
	}
	// The same for every attempt, so that one which died leaves nothing that the next does not write over.
	sum := sha256.Sum256(octets)
	temporary := within(folder, "."+name[:min(len(name), 200)]+"."+hex.EncodeToString(sum[:6])+".tmp")
	if err := l.write(ctx, temporary, octets); err != nil {
		return err
	}
	err := l.request(ctx, "renaming to "+shown(target), func() error {
		if slices.Contains(l.server.Extensions, posixRename) {
			return l.sftp.PosixRename(temporary, target)
		}
		return l.sftp.Rename(temporary, target)
	})
	if err != nil {
		// It may have been done all the same, by this attempt or by another that nobody heard of.
		if done, looked := l.alreadyPut(ctx, target, octets); looked != nil || !done {
			return errors.Join(err, looked)
		}
		_ = l.remove(ctx, temporary)
		return nil
	}
	v, _, err := l.stat(ctx, target)
	if err == nil && v.size != int64(len(octets)) {
		err = fmt.Errorf("it has %d octets there, not %d", v.size, len(octets))
	}
	return err
}

// alreadyPut reports whether the file lies there with the very octets; with others it is an error.
func (l *link) alreadyPut(ctx context.Context, target string, octets []byte) (bool, error) {
	there, err := l.exists(ctx, target)
	if err != nil || !bool(there) {
		return false, err
	}
	same, err := l.same(ctx, target, octets)
	if err != nil || same || l.terms.Has(partners.QuirkNoRename) { // without rename, it may be our own half
		return same, err
	}
	return false, fmt.Errorf("%s: %w, with other content", shown(target), errTaken)
}

// write writes a whole file, syncs it where the server can, and looks at its size.
func (l *link) write(ctx context.Context, path string, octets []byte) error {
	f, err := l.openFile(ctx, path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC)
	if err != nil {
		return err
	}
	_, err = bytes.NewReader(octets).WriteTo(remoteWriter{ctx, f})
	if err == nil && slices.Contains(l.server.Extensions, fsync) {
		err = l.request(ctx, "syncing "+shown(path), f.Sync)
	}
	if closing := f.close(context.WithoutCancel(ctx)); err == nil {
		err = closing
	}
	if err != nil {
		return err
	}
	v, _, err := l.stat(ctx, path)
	if err == nil && v.size != int64(len(octets)) {
		err = fmt.Errorf("%s has %d octets there, not %d", shown(path), v.size, len(octets))
	}
	return err
}
