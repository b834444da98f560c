package sftptest

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Path is where a file of the server's lies on this machine.
func (s *OpenSSH) Path(name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(s.Root, name)
}

// Put drops a file as careful partners do: written aside, then renamed.
func (s *OpenSSH) Put(name, content string) {
	s.tb.Helper()
	aside, err := os.CreateTemp(s.dir, "put-*")
	s.must(err)
	_, err = aside.WriteString(content)
	s.must(err, aside.Close(), s.account.own(aside.Name()), os.Chmod(aside.Name(), 0o644), os.Rename(aside.Name(), s.Path(name)))
}

// Append writes as others do: into the file itself, bit by bit.
func (s *OpenSSH) Append(name, content string) {
	s.tb.Helper()
	file, err := os.OpenFile(s.Path(name), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	s.must(err)
	_, err = file.WriteString(content)
	s.must(err, file.Close(), s.account.own(file.Name()))
}

// Mkdir makes folders that the server may write to.
func (s *OpenSSH) Mkdir(names ...string) {
	s.tb.Helper()
	for _, name := range names {
		s.must(os.Mkdir(s.Path(name), 0o755), s.account.own(s.Path(name)))
	}
}

// Read returns a file's content, and whether there is such a file.
func (s *OpenSSH) Read(name string) (string, bool) {
	s.tb.Helper()
	content, err := os.ReadFile(s.Path(name))
	if errors.Is(err, os.ErrNotExist) {
		return "", false
	}
	s.must(err)
	return string(content), true
}

// Names lists the files in a folder, in order; those that begin with a dot too.
func (s *OpenSSH) Names(folder string) []string {
	s.tb.Helper()
	entries, err := os.ReadDir(s.Path(folder))
	s.must(err)
	var names []string
	for _, e := range entries {
		if !e.IsDir() {
			names = append(names, e.Name())
		}
	}
	slices.SortFunc(names, strings.Compare)
	return names
}

// Command returns arguments for the user's own ssh or sftp program to log in with, after those given.
func (s *OpenSSH) Command(arguments ...string) []string {
	s.tb.Helper()
	host, port, err := net.SplitHostPort(s.Address)
	s.must(err)
	return append(arguments, "-F", "none", "-i", s.KeyFile, "-o", "Port="+port, "-o", "IdentitiesOnly=yes", "-o", "BatchMode=yes",
		"-o", "StrictHostKeyChecking=no", "-o", "UserKnownHostsFile=/dev/null", "-o", "LogLevel=ERROR", s.User+"@"+host)
}
