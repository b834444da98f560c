package mdn

import "strings"

var (
	nameEscaper   = strings.NewReplacer(`\`, `\\`, `"`, `\"`)
	nameUnescaper = strings.NewReplacer(`\\`, `\`, `\"`, `"`)
)

// quoteName writes an AS2 name, in quotes only if it needs them
// (RFC 4130 §6.2): some products take needless quotes for a part of the name.
func quoteName(name string) string {
	for i := range len(name) {
		if c := name[i]; c <= ' ' || c > '~' || c == '"' || c == '\\' {
			return `"` + nameEscaper.Replace(name) + `"`
		}
	}
	return name
}

// unquoteName is the name that s stands for; without quotes it is s itself,
// also where quotes would have been needed.
func unquoteName(s string) string {
	if s = trimSpace(s); len(s) >= 2 && s[0] == '"' && s[len(s)-1] == '"' {
		return nameUnescaper.Replace(s[1 : len(s)-1])
	}
	return s
}

// recipient is an address of RFC 8098 §3.2.3. AS2 has no address type of its
// own and borrows rfc822 (RFC 4130 appendix A.2).
func recipient(name string) string { return "rfc822; " + quoteName(name) }

// parseRecipient reads an address with or without its type. AS2 names may have
// semicolons, so only a known type is taken for one.
func parseRecipient(s string) string {
	if typ, name, found := strings.Cut(s, ";"); found {
		switch strings.ToLower(trimSpace(typ)) {
		case "rfc822", "utf-8", "as2", "unknown", "":
			return unquoteName(name)
		}
	}
	return unquoteName(s)
}
