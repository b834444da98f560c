package as2_test

import (
	"strings"
	"testing"
)

func TestOpenFileName(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, contentType, disposition, outer, want string }{
		{"disposition", "a/b; name=type.edi", `attachment; filename="order.edi"`, "", "order.edi"},
		{"content type", "a/b; name=type.edi", "", "", "type.edi"},
		{"outer", "a/b", "", "attachment; filename=outer.edi", "outer.edi"},
		{"envelope's own", "a/b", "", "attachment; filename=smime.p7m", ""},
		{"inner first", "a/b", "attachment; filename=inner.edi", "attachment; filename=outer.edi", "inner.edi"},
		{"none", "a/b", "attachment", "", ""},
		{"blanks", "a/b", "attachment; filename=my order 1.edi; size=3", "", "my order 1.edi"},
		{"RFC 2047", "a/b", `attachment; filename="=?utf-8?Q?Bestellung_f=C3=BCr?= =?iso-8859-1?Q?_M=FCller.edi?="`, "", "Bestellung für Müller.edi"},
		{"RFC 2231", "a/b", `attachment; filename*=UTF-8''%C3%B3.edi`, "", "ó.edi"},
		{"raw Latin-1", "a/b", "attachment; filename=\"f\xfcr.edi\"", "", "für.edi"},
		{"traversal", "a/b", `attachment; filename="../../etc/passwd"`, "", "passwd"},
		{"backslashes", "a/b", `attachment; filename="C:\edi\out\order.edi"`, "", "order.edi"},
		{"encoded traversal", "a/b", `attachment; filename*=UTF-8''..%2F..%2Fx%00y`, "", "xy"},
		{"leading dots", "a/b", "attachment; filename=...hidden", "", "hidden"},
		{"dots only", "a/b", "attachment; filename=..", "", ""},
		{"control characters", "a/b", `attachment; filename*=UTF-8''a%0D%0Ab%E2%80%AEc`, "", "abc"},
		{"long", "a/b", "attachment; filename=" + strings.Repeat("ü", 200), "", strings.Repeat("ü", 127)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			head := "Content-Type: " + tt.contentType + "\r\n"
			if tt.disposition != "" {
				head += "Content-Disposition: " + tt.disposition + "\r\n"
			}
			m := encrypt(t, []byte(head+"\r\n"+edi))
			m.disposition = tt.outer
			opened, _, err := m.open(policy())
			if err != nil || opened.FileName != tt.want {
				t.Errorf("got %q, %v; want %q", opened.FileName, err, tt.want)
			}
			if tt.outer != "" {
				return
			}
			plain := message{contentType: tt.contentType, disposition: tt.disposition, body: []byte(edi)}
			if opened, _, err = plain.open(policy()); err != nil || opened.FileName != tt.want {
				t.Errorf("plain: got %q, %v; want %q", opened.FileName, err, tt.want)
			}
		})
	}
}
