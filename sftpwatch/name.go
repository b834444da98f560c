package sftpwatch

import (
	"errors"
	"strings"

	"firstcopy/dedup/interchange"
)

// Names are the octets that the server sent (draft-ietf-secsh-filexfer-02 §4 gives them no encoding). They are kept,
// compared and sent back as they are, shown by [shown], and never become a path of this machine.

// maxName is more than any file system has: names of 255 octets are common, and some servers count characters.
const maxName = 1024

// checkName refuses what is no entry of a folder, whatever the server says.
func checkName(name string) error {
	switch {
	case name == "" || name == "." || name == "..":
		return errors.New("not a file's name")
	case strings.ContainsAny(name, "/\x00"):
		return errors.New("a name with a slash or NUL")
	case len(name) > maxName:
		return errors.New("a name of more than 1024 octets")
	}
	return nil
}

// shown makes a name fit for logs, tables and screens, one to one.
func shown(name string) string { return interchange.Text([]byte(name)) }

// within is the path of an entry of a folder.
func within(folder, name string) string {
	if folder == "" || strings.HasSuffix(folder, "/") {
		return folder + name
	}
	return folder + "/" + name
}
