package mdn_test

import (
	"net/http"
	"reflect"
	"testing"

	"firstcopy/mdn"
)

func TestParseRequestOptions(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		options string
		want    mdn.Request
	}{
		"as the RFC has it": {
			"signed-receipt-protocol=optional,pkcs7-signature; signed-receipt-micalg=optional,sha-256,sha1",
			mdn.Request{Signed: true, Protocol: "pkcs7-signature", MICAlgorithms: []string{"sha-256", "sha1"}},
		},
		"no micalg, trailing semicolon": {
			"signed-receipt-protocol=optional, pkcs7-signature;",
			mdn.Request{Signed: true, Protocol: "pkcs7-signature"},
		},
		"no protocol": {
			"signed-receipt-micalg=optional, SHA512",
			mdn.Request{Signed: true, MICAlgorithms: []string{"SHA512"}},
		},
		"required protocol": {
			"signed-receipt-protocol=required,pkcs7-signature; signed-receipt-micalg=optional,SHA256",
			mdn.Request{Signed: true, Required: true, Protocol: "pkcs7-signature", MICAlgorithms: []string{"SHA256"}},
		},
		"required micalg": {
			"signed-receipt-protocol=optional,pkcs7-signature; signed-receipt-micalg=required,SHA256",
			mdn.Request{Signed: true, Required: true, Protocol: "pkcs7-signature", MICAlgorithms: []string{"SHA256"}},
		},
		"upper case, tabs, spaces around everything": {
			" Signed-Receipt-Protocol = OPTIONAL ,\tPKCS7-Signature ;; SIGNED-RECEIPT-MICALG = Required , SHA-1 , MD5 ; ",
			mdn.Request{Signed: true, Required: true, Protocol: "pkcs7-signature", MICAlgorithms: []string{"SHA-1", "MD5"}},
		},
		"no importance": {
			"signed-receipt-protocol=pkcs7-signature; signed-receipt-micalg=sha1",
			mdn.Request{Signed: true, Protocol: "pkcs7-signature", MICAlgorithms: []string{"sha1"}},
		},
		"quoted values": {
			`signed-receipt-protocol="optional, pkcs7-signature"; signed-receipt-micalg=optional, "sha-256"`,
			mdn.Request{Signed: true, Protocol: "pkcs7-signature", MICAlgorithms: []string{"sha-256"}},
		},
		"comma between the parameters": {
			"signed-receipt-protocol=optional, pkcs7-signature, signed-receipt-micalg=optional, sha256",
			mdn.Request{Signed: true, Protocol: "pkcs7-signature", MICAlgorithms: []string{"sha256"}},
		},
		"unknown parameters": {
			"colour=required,blue; signed-receipt-protocol=optional,pkcs7-signature; x=optional,y",
			mdn.Request{Signed: true, Protocol: "pkcs7-signature"},
		},
		"unknown protocol": {
			"signed-receipt-protocol=required, PKCS12-signature",
			mdn.Request{Signed: true, Required: true, Protocol: "pkcs12-signature"},
		},
		"one known protocol of two": {
			"signed-receipt-protocol=optional, pgp-signature, application/x-pkcs7-signature",
			mdn.Request{Signed: true, Protocol: "pkcs7-signature"},
		},
		"only unknown parameters": {"colour=required,blue", mdn.Request{}},
		"empty value":             {"signed-receipt-protocol=", mdn.Request{Signed: true}},
		"empty":                   {"", mdn.Request{}},
		"junk":                    {";,=;;\"", mdn.Request{}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := mdn.ParseRequest(map[string][]string{"Disposition-Notification-Options": {tt.options}})
			if !reflect.DeepEqual(got, tt.want) {
				t.Errorf("got %+v, want %+v", got, tt.want)
			}
		})
	}
}

func TestParseRequestPresence(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		header map[string][]string
		want   mdn.Request
	}{
		"nothing asked for": {map[string][]string{"Subject": {"x"}}, mdn.Request{}},
		"no header":         {nil, mdn.Request{}},
		"an empty value asks": {
			map[string][]string{"Disposition-Notification-To": {""}}, mdn.Request{Wanted: true},
		},
		"a value that is no address asks": {
			map[string][]string{"disposition-notification-TO": {" Test Company\xfc "}},
			mdn.Request{Wanted: true, To: "Test Company\xfc"},
		},
		"asynchronous": {
			map[string][]string{"receipt-delivery-option": {" http://partner.example/in?a=b \t"}},
			mdn.Request{AsyncURL: "http://partner.example/in?a=b"},
		},
		"blank delivery option is synchronous": {
			map[string][]string{"Receipt-Delivery-Option": {" \t"}, "Disposition-Notification-To": {"x"}},
			mdn.Request{Wanted: true, To: "x"},
		},
		"options in two headers": {
			map[string][]string{"Disposition-Notification-Options": {
				"signed-receipt-protocol=optional,pkcs7-signature", "signed-receipt-micalg=optional,sha1",
			}},
			mdn.Request{Signed: true, Protocol: "pkcs7-signature", MICAlgorithms: []string{"sha1"}},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := mdn.ParseRequest(tt.header); !reflect.DeepEqual(got, tt.want) {
				t.Errorf("got %+v, want %+v", got, tt.want)
			}
		})
	}
}

func TestRequestSetHeader(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		request mdn.Request
		want    http.Header
	}{
		"not wanted": {mdn.Request{To: "x", Signed: true, AsyncURL: "http://x.example"}, http.Header{}},
		"unsigned":   {mdn.Request{Wanted: true, To: "x"}, http.Header{"Disposition-Notification-To": {"x"}}},
		"signed, asynchronous": {
			mdn.Request{Wanted: true, To: "x", Signed: true, Protocol: "pkcs7-signature", MICAlgorithms: []string{"sha-512", "sha1"}, AsyncURL: "https://h.example/m"},
			http.Header{
				"Disposition-Notification-To":      {"x"},
				"Disposition-Notification-Options": {"signed-receipt-protocol=optional, pkcs7-signature; signed-receipt-micalg=optional, sha-512, sha1"},
				"Receipt-Delivery-Option":          {"https://h.example/m"},
			},
		},
		"required, with defaults": {
			mdn.Request{Wanted: true, To: "x\r\ny", Signed: true, Required: true},
			http.Header{
				"Disposition-Notification-To":      {"x??y"},
				"Disposition-Notification-Options": {"signed-receipt-protocol=required, pkcs7-signature; signed-receipt-micalg=required, sha-256"},
			},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := http.Header{}
			tt.request.SetHeader(got.Set)
			if !reflect.DeepEqual(got, tt.want) {
				t.Errorf("got %v, want %v", got, tt.want)
			}
		})
	}
}

func TestRequestRoundTrip(t *testing.T) {
	t.Parallel()
	want := mdn.Request{
		Wanted: true, To: "HUB", Signed: true, Required: true, Protocol: "pkcs7-signature",
		MICAlgorithms: []string{"sha-256"}, AsyncURL: "http://h.example/",
	}
	h := http.Header{}
	want.SetHeader(h.Set)
	if got := mdn.ParseRequest(h); !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
}
