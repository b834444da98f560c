package mdn_test

import (
	"reflect"
	"testing"

	"firstcopy/mdn"
)

func TestReceiptMarshal(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		receipt mdn.Receipt
		want    string
	}{
		"header and body": {
			mdn.Receipt{Header: []mdn.Field{{"AS2-From", `"a: b" `}, {"Subject", ""}}, Body: []byte("--x\r\n\r\ny\n\x00")},
			"AS2-From: \"a: b\" \r\nSubject: \r\n\r\n--x\r\n\r\ny\n\x00",
		},
		"body only":   {mdn.Receipt{Body: []byte("x: y\r\n")}, "\r\nx: y\r\n"},
		"header only": {mdn.Receipt{Header: []mdn.Field{{"A", "b"}}, Body: []byte{}}, "A: b\r\n\r\n"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			stored := tt.receipt.Marshal()
			if string(stored) != tt.want {
				t.Errorf("got %q, want %q", stored, tt.want)
			}
			back, err := mdn.UnmarshalReceipt(stored)
			if err != nil || !reflect.DeepEqual(back, tt.receipt) {
				t.Errorf("read back as %+v, %v", back, err)
			}
		})
	}
}

func TestReceiptMarshalKeepsLines(t *testing.T) {
	t.Parallel()
	r := mdn.Receipt{Header: []mdn.Field{{"Subject", "a\r\nEvil: b"}}}
	if got, want := string(r.Marshal()), "Subject: a??Evil: b\r\n\r\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestUnmarshalReceiptErrors(t *testing.T) {
	t.Parallel()
	for _, in := range []string{"", "A: b", "A: b\r\n", "A: b\n\nbody", "no colon\r\n\r\n", ": x\r\n\r\n", "A:b\r\n\r\n", "A: b\nC: d\r\n\r\n"} {
		if got, err := mdn.UnmarshalReceipt([]byte(in)); err == nil {
			t.Errorf("%q: got %+v and no error", in, got)
		}
	}
}
