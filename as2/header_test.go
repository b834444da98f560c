package as2_test

import (
	"errors"
	"strings"
	"testing"

	"firstcopy/as2"
)

func httpHeader(pairs ...string) map[string][]string {
	h := map[string][]string{"As2-From": {"PART"}, "As2-To": {"HUB"}, "Message-Id": {"<1@x>"}}
	for i := 0; i < len(pairs); i += 2 {
		h[pairs[i]] = append(h[pairs[i]], pairs[i+1])
	}
	return h
}

func TestParseHeader(t *testing.T) {
	t.Parallel()
	h, err := as2.ParseHeader(map[string][]string{
		"as2-from": {" PART "}, "AS2-TO": {"HUB"}, "message-id": {"<1@x>"}, "AS2-Version": {"1.2"},
		"Subject": {"Bestellung f\xfcr"}, "Date": {"mar., 08 d\xe9c."}, "CONTENT-TYPE": {"a/b;\tc=d"},
		"Content-Transfer-encoding": {"base64"}, "content-disposition": {"attachment"},
		"Disposition-Notification-To": {"x"}, "disposition-notification-options": {"signed-receipt-protocol=required,pkcs7-signature"},
	})
	if err != nil {
		t.Fatal(err)
	}
	want := as2.Header{
		From: "PART", To: "HUB", MessageID: "<1@x>", Version: "1.2", Subject: "Bestellung f\xfcr", Date: "mar., 08 d\xe9c.",
		ContentType: "a/b;\tc=d", TransferEncoding: "base64", ContentDisposition: "attachment",
	}
	if !h.Receipt.Wanted || !h.Receipt.Signed || !h.Receipt.Required {
		t.Errorf("receipt %+v", h.Receipt)
	}
	h.Receipt = want.Receipt
	if h.From != want.From || h.To != want.To || h.MessageID != want.MessageID || h.Version != want.Version ||
		h.Subject != want.Subject || h.Date != want.Date || h.ContentType != want.ContentType ||
		h.TransferEncoding != want.TransferEncoding || h.ContentDisposition != want.ContentDisposition {
		t.Errorf("got %+v", h)
	}
	if h, err := as2.ParseHeader(httpHeader()); err != nil || h.Version != "1.0" {
		t.Errorf("without a version: %q, %v", h.Version, err)
	}
}

func TestParseHeaderNames(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		`"My Company"`: `My Company`, `"PART"`: `PART`, `"a\"b\\c"`: `a"b\c`, `My Company`: `My Company`, "PART \t": `PART`,
		`part`: `part`, `"C:\x"`: `C:\x`, `"open`: `"open`, `"`: `"`, `a"b`: `a"b`, `" a "`: ` a `, `<[;]>!#`: `<[;]>!#`,
	} {
		h, err := as2.ParseHeader(map[string][]string{"AS2-From": {in}, "AS2-To": {in}, "Message-ID": {"1"}})
		if err != nil || h.From != want || h.To != want {
			t.Errorf("%s: got %q, %q, %v", in, h.From, h.To, err)
		}
	}
}

func TestParseHeaderMessageID(t *testing.T) {
	t.Parallel()
	for _, id := range []string{
		"abc-1@x", "4f1c", "<abc 2@x>", "<7872@u7P/YcIM=>", "<../../x@y>", "<a'b%00@x>", "<\xfc@x>",
		"<" + strings.Repeat("x", 996) + ">",
	} {
		h, err := as2.ParseHeader(map[string][]string{"AS2-From": {"A"}, "AS2-To": {"B"}, "Message-ID": {id}})
		if err != nil || h.MessageID != id {
			t.Errorf("%q: got %q, %v", id, h.MessageID, err)
		}
	}
}

func TestParseHeaderErrors(t *testing.T) {
	t.Parallel()
	without := func(name string) map[string][]string {
		h := httpHeader()
		delete(h, name)
		return h
	}
	tests := []struct {
		name   string
		header map[string][]string
		kind   as2.Kind
	}{
		{"no AS2-From", without("As2-From"), as2.KindMalformed},
		{"no AS2-To", without("As2-To"), as2.KindMalformed},
		{"no Message-ID", without("Message-Id"), as2.KindMalformed},
		{"empty Message-ID", map[string][]string{"As2-From": {"A"}, "As2-To": {"B"}, "Message-Id": {" "}}, as2.KindMalformed},
		{"empty quoted name", map[string][]string{"As2-From": {`""`}, "As2-To": {"B"}, "Message-Id": {"1"}}, as2.KindMalformed},
		{"two Message-IDs", httpHeader("Message-Id", "<2@x>"), as2.KindMalformed},
		{"two spellings of Message-ID", httpHeader("MESSAGE-ID", "<2@x>"), as2.KindMalformed},
		{"two AS2-From", httpHeader("AS2-From", "OTHER"), as2.KindMalformed},
		{"equal Message-IDs", httpHeader("Message-Id", "<1@x> "), 0},
		{"control character in name", map[string][]string{"As2-From": {"A\x00"}, "As2-To": {"B"}, "Message-Id": {"1"}}, as2.KindMalformed},
		{"control character in id", map[string][]string{"As2-From": {"A"}, "As2-To": {"B"}, "Message-Id": {"<1\x01@x>"}}, as2.KindInvalidMessageID},
		{"long id", map[string][]string{"As2-From": {"A"}, "As2-To": {"B"}, "Message-Id": {strings.Repeat("x", 999)}}, as2.KindInvalidMessageID},
		{"nothing", nil, as2.KindMalformed},
	}
	for _, tt := range tests {
		h, err := as2.ParseHeader(tt.header)
		if kindOf(err) != tt.kind || (err != nil) != (tt.kind != 0) {
			t.Errorf("%s: got %v, want %v", tt.name, err, tt.kind)
		}
		if strings.Contains(tt.name, "Message-ID") || strings.Contains(tt.name, " id") {
			if h.From == "" || h.To == "" {
				t.Errorf("%s: a receipt cannot be addressed to %+v", tt.name, h)
			}
		}
	}
}

func TestQuoteName(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"PART": "PART", "My Company": `"My Company"`, `a"b`: `"a\"b"`, `a\b`: `"a\\b"`, "": `""`, "a;b<c>[d]!#": "a;b<c>[d]!#",
	} {
		if got := as2.QuoteName(name); got != want {
			t.Errorf("%q: got %s, want %s", name, got, want)
		}
	}
}

func TestErrorText(t *testing.T) {
	t.Parallel()
	cause := errors.New("cause")
	err := &as2.Error{Kind: as2.KindDecryption, Detail: "Detail.", Err: cause}
	if got := err.Error(); got != "as2: decryption: Detail.: cause" || !errors.Is(err, cause) {
		t.Errorf("got %q", got)
	}
	for k := as2.KindMalformed; k <= as2.KindUnexpected; k++ {
		if strings.HasPrefix(k.String(), "kind") {
			t.Errorf("kind %d has no name", uint8(k))
		}
	}
	if got := (as2.KindUnexpected + 1).String(); got != "kind 13" {
		t.Errorf("got %q", got)
	}
}
