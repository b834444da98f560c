package gateway_test

import (
	"bytes"
	"crypto"
	"testing"
	"time"

	"firstcopy/as2/smime"
	"firstcopy/internal/as2test"
	"firstcopy/mdn"
)

// composedReceipt is a receipt for a message of the hub's, signed with the named key.
func composedReceipt(tb testing.TB, signer string) mdn.Receipt {
	tb.Helper()
	key := as2test.Key(tb, signer)
	sign := func(content []byte, h crypto.Hash) ([]byte, error) {
		return smime.Sign(bytes.NewReader(content), key, h)
	}
	r, err := mdn.Compose(mdn.Report{FinalRecipient: "ACME", OriginalMessageID: "<sent@hub>", Disposition: mdn.Processed},
		mdn.Envelope{From: "ACME", To: as2test.HubID, MessageID: "<receipt@acme>", Date: time.Now()}, sign, crypto.SHA256)
	if err != nil {
		tb.Fatal(err)
	}
	return r
}
