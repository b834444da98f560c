package main

import (
	"fmt"
	"io"

	"firstcopy/gateway"
)

// write describes a delivery.
func (d *deliveryOutput) write(w io.Writer) error {
	fmt.Fprintf(w, "Delivery %s\n\n", d.ID)
	t := newTable(w)
	t.pair("received", fmt.Sprintf("%s by node %s", when(d.ReceivedAt), d.Node))
	t.pair("partner", d.Partner)
	t.pair(d.transportName(), d.TransportID)
	if d.ReusedID {
		t.pair("", "the same id had come with other content before")
	}
	t.pair("from", d.RemoteAddress)
	t.pair("signed", d.signature())
	t.pair("encrypted", d.encryption())
	t.pair("payload", fmt.Sprintf("%s, sha256 %x", size(d.PayloadSize), []byte(d.Payload)))
	if d.FileName != "" {
		t.pair("file name", d.FileName)
	}
	if d.ContentType != "" {
		t.pair("content type", d.ContentType)
	}
	t.pair("interchanges", d.interchanges())
	t.pair("repeated", d.repeated())
	if err := t.flush(); err != nil {
		return err
	}
	if err := d.writeReceipts(w); err != nil {
		return err
	}
	if err := d.writeAcknowledgements(w); err != nil {
		return err
	}
	return d.writeDocuments(w)
}

func (d *deliveryOutput) transportName() string {
	if d.Channel == gateway.AS2 {
		return "Message-ID"
	}
	return d.Channel + " file"
}

func (d *deliveryOutput) signature() string {
	if d.Signer == nil {
		return "no"
	}
	return d.SignatureDigest + " by " + d.signedBy
}

func (d *deliveryOutput) encryption() string {
	if d.Cipher == "" {
		return "no"
	}
	return d.Cipher
}

func (d *deliveryOutput) interchanges() string {
	stored := len(d.Documents)
	if rest := d.Interchanges - stored; rest > 0 {
		return fmt.Sprintf("%d, of which %d known already and not stored again", d.Interchanges, rest)
	}
	return fmt.Sprint(d.Interchanges)
}

func (d *deliveryOutput) repeated() string {
	if *d.Repeats == 0 {
		return "never"
	}
	return count(int(*d.Repeats), "time", "times") + ", octet for octet under the same id"
}

func (d *deliveryOutput) writeReceipts(w io.Writer) error {
	if len(d.Receipts) == 0 {
		_, err := fmt.Fprintln(w, "\nNo receipt was asked for.")
		return err
	}
	for _, r := range d.Receipts {
		fmt.Fprintf(w, "\nReceipt %s\n", printable(r.MessageID))
		t := newTable(w)
		t.pair("kind", r.Kind)
		t.pair("disposition", r.Disposition)
		t.pair("MIC", r.MIC)
		t.pair("stored", when(r.CreatedAt))
		t.pair("sent", r.sent())
		if err := t.flush(); err != nil {
			return err
		}
	}
	return nil
}

// sent tells how a receipt went out.
func (r storedReceipt) sent() string {
	switch {
	case r.AsyncURL == "":
		return "as the answer to the message"
	case r.DeliveredAt.IsZero():
		return "to " + r.AsyncURL + ": not taken yet"
	}
	return when(r.DeliveredAt) + " to " + r.AsyncURL
}

func (d *deliveryOutput) writeDocuments(w io.Writer) error {
	if len(d.Documents) == 0 {
		_, err := fmt.Fprintln(w, "\nNo document came of it: all it held was known already.")
		return err
	}
	fmt.Fprintln(w)
	t := newTable(w, "DOCUMENT", "REFERENCE", "MESSAGES", "VERDICT", "STATE", "SIZE", "FORWARDED")
	for _, doc := range d.Documents {
		t.row(doc.ID, doc.Reference, summary(doc.MessageTypes), doc.Verdict, doc.State, size(doc.Size), when(doc.ForwardedAt))
	}
	return t.flush()
}
