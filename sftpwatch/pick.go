package sftpwatch

import (
	"cmp"
	"os"
	"slices"

	"firstcopy/partners"
)

// entry is a file of the folder, as listed. Sizes and times are the server's word and nothing more.
type entry struct {
	name  string
	size  int64
	mtime int64  // seconds; many servers have no finer ones
	done  string // name of its done file; "" where none is agreed, or it is not there
	waits bool   // known to be incomplete, and not changed since
}

// version tells two states of a file under one name apart.
type version struct{ size, mtime int64 }

func (e entry) version() version { return version{e.size, e.mtime} }

// refusal is an entry whose name is passed over, and why.
type refusal struct{ name, why string }

// pick returns the files of a listing that the agreement means, oldest first, so that what is left for the next poll is what
// came last.
func pick(listing []os.FileInfo, terms *partners.SFTP) (files []entry, refused []refusal) {
	var names map[string]bool
	if terms.Ready.Done != "" {
		names = make(map[string]bool, len(listing))
		for _, info := range listing {
			names[info.Name()] = true
		}
	}
	for _, info := range listing {
		name := info.Name()
		if err := checkName(name); err != nil {
			refused = append(refused, refusal{name, err.Error()})
			continue
		}
		if !info.Mode().IsRegular() || !meant(name, terms) {
			continue // folders, links, devices; a link's target may lie anywhere
		}
		if info.Size() < 0 {
			refused = append(refused, refusal{name, "an impossible size"})
			continue
		}
		e := entry{name: name, size: info.Size(), mtime: info.ModTime().Unix()}
		if terms.Ready.Done != "" {
			if e.done = doneName(terms.Ready.Done, name); !names[e.done] {
				e.done = ""
			}
		}
		files = append(files, e)
	}
	// A name may come twice: a file that is renamed while the folder is read, a server that counts wrongly.
	slices.SortStableFunc(files, func(a, b entry) int { return cmp.Compare(a.name, b.name) })
	files = slices.CompactFunc(files, func(a, b entry) bool { return a.name == b.name })
	slices.SortStableFunc(files, func(a, b entry) int { return cmp.Compare(a.mtime, b.mtime) })
	return files, refused
}

// meant reports whether a name is one of those agreed on.
func meant(name string, terms *partners.SFTP) bool {
	switch {
	case matchesAny(temporary, name):
		return false
	case terms.Ready.Done != "" && matches(doneGlob(terms.Ready.Done), name):
		return false
	case matchesAny(terms.Select.Exclude, name):
		return false
	}
	return len(terms.Select.Include) == 0 || matchesAny(terms.Select.Include, name)
}
