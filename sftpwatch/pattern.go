package sftpwatch

import "strings"

// matches reports whether a name fits a pattern of octets, * (any number of them) and ? (one). ASCII letters match
// whatever their case: partners' systems disagree on it.
func matches(pattern, name string) bool {
	p, n := 0, 0
	star, retry := -1, 0 // the last *, and how far it has been stretched
	for n < len(name) {
		switch {
		case p < len(pattern) && pattern[p] == '*':
			star, retry = p, n
			p++
		case p < len(pattern) && (pattern[p] == '?' || lower(pattern[p]) == lower(name[n])):
			p++
			n++
		case star >= 0:
			retry++
			p, n = star+1, retry
		default:
			return false
		}
	}
	return strings.Trim(pattern[p:], "*") == ""
}

func lower(c byte) byte {
	if c >= 'A' && c <= 'Z' {
		return c + 'a' - 'A'
	}
	return c
}

func matchesAny(patterns []string, name string) bool {
	for _, p := range patterns {
		if matches(p, name) {
			return true
		}
	}
	return false
}

// temporary are the names under which clients write before they rename.
var temporary = []string{".*", "*.tmp", "*.temp", "*.part", "*.partial", "*.filepart", "*.writing", "*.upload", "*.uploading",
	"*.crdownload", "*.swp", "*.new", "*~", "~*", "*.lock", "*.lck"}

// doneName is the name of the done file for a file, by the pattern of the agreement: of {name}, or of {stem}, which is the
// name without its last extension.
func doneName(pattern, name string) string {
	stem := name
	if dot := strings.LastIndexByte(name, '.'); dot > 0 {
		stem = name[:dot]
	}
	before, after, whole := strings.Cut(pattern, "{name}")
	if whole {
		return before + name + after
	}
	before, after, _ = strings.Cut(pattern, "{stem}")
	return before + stem + after
}

// doneGlob matches every name that could be a done file.
func doneGlob(pattern string) string {
	return strings.NewReplacer("{name}", "*", "{stem}", "*").Replace(pattern)
}
