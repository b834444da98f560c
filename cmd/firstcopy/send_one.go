package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"firstcopy/internal/as2client"
)

// sentOutput is what became of one message.
type sentOutput struct {
	MessageID  string             `json:"message_id"`
	HTTPStatus int                `json:"http_status"`
	Accepted   bool               `json:"accepted"`
	Pending    bool               `json:"pending"` // the receipt is to come somewhere else
	Seconds    float64            `json:"seconds"` // until the answer
	Receipt    *sentReceiptOutput `json:"receipt,omitempty"`
	Problems   []string           `json:"problems,omitempty"`
}

type sentReceiptOutput struct {
	MessageID   string `json:"message_id"`
	Disposition string `json:"disposition"`
	Text        string `json:"text"`
	MIC         string `json:"mic"`
	MICOK       bool   `json:"mic_ok"`
	Signed      bool   `json:"signed"`
	SignatureOK bool   `json:"signature_ok"`
	Signer      string `json:"signer,omitempty"`

	pinned bool // there was a certificate to check the signature with
}

// sendOne sends one message and reports on it.
func (a *app) sendOne(cmd *cobra.Command, s *sending, prepared as2client.Prepared) error {
	answer, err := s.post(cmd.Context(), prepared)
	if err != nil {
		return sendFault(err, answer)
	}
	out := newSentOutput(prepared, answer, len(s.partner.ReceiptSigners) > 0)
	if answer.Pending && s.listener != nil {
		late, waitErr := s.await(cmd.Context(), prepared)
		if err = waitErr; err == nil {
			late.Status, late.Duration = answer.Status, answer.Duration
			answer = late
			out = newSentOutput(prepared, answer, len(s.partner.ReceiptSigners) > 0)
		}
	}
	if printErr := a.print(cmd, out, func(w io.Writer) error { return out.write(w, s.partner.Receipt.AsyncURL) }); printErr != nil {
		return printErr
	}
	if answer.HasReceipt && s.flags.saveReceipt != "" {
		if err := os.WriteFile(s.flags.saveReceipt, answer.Entity(), 0o644); err != nil {
			return fmt.Errorf("saving the receipt: %w", err)
		}
	}
	if err == nil {
		err = answer.Err()
	}
	return sendFault(err, answer)
}

func (s *sending) post(ctx context.Context, p as2client.Prepared) (as2client.Answer, error) {
	ctx, cancel := context.WithTimeout(ctx, s.flags.timeout)
	defer cancel()
	return s.client.Post(ctx, p)
}

// await waits for an asynchronous receipt.
func (s *sending) await(ctx context.Context, p as2client.Prepared) (as2client.Answer, error) {
	ctx, cancel := context.WithTimeout(ctx, s.flags.timeout)
	defer cancel()
	return s.listener.Wait(ctx, p)
}

func newSentOutput(p as2client.Prepared, a as2client.Answer, pinned bool) sentOutput {
	out := sentOutput{MessageID: p.MessageID, HTTPStatus: a.Status, Accepted: a.Positive(), Pending: a.Pending,
		Seconds: a.Duration.Seconds(), Problems: a.Problems}
	if !a.HasReceipt {
		return out
	}
	out.Receipt = &sentReceiptOutput{
		MessageID: a.ReceiptMessageID(), Disposition: a.Receipt.Disposition.String(), Text: strings.ToValidUTF8(a.Receipt.HumanText, "?"),
		MIC: a.Receipt.MIC.String(), MICOK: a.MICOK, Signed: a.Receipt.Signed, SignatureOK: a.SignatureOK, pinned: pinned,
	}
	if a.Signer != nil {
		out.Receipt.Signer = a.Signer.Subject.String()
	}
	return out
}

func (o sentOutput) write(w io.Writer, asyncURL string) error {
	t := newTable(w)
	took := time.Duration(o.Seconds * float64(time.Second)).Round(time.Millisecond)
	t.row("HTTP status:", fmt.Sprintf("%d %s, in %s", o.HTTPStatus, http.StatusText(o.HTTPStatus), took))
	t.row("Message-ID:", o.MessageID)
	r := o.Receipt
	switch {
	case r != nil:
		t.row("Disposition:", r.Disposition)
		t.row("MIC:", r.mic())
		t.row("Signature:", r.signature())
		t.row("Receipt:", r.MessageID)
		if !o.Accepted && r.Text != "" {
			t.row("Receipt says:", strings.Join(strings.Fields(r.Text), " "))
		}
	case o.Pending:
		t.row("Receipt:", "none yet; it was asked for at "+asyncURL)
	default:
		t.row("Receipt:", "none")
	}
	return t.flush()
}

func (r *sentReceiptOutput) mic() string {
	switch {
	case r.MIC == "":
		return "none in the receipt"
	case r.MICOK:
		return "matches: " + r.MIC
	}
	return "DOES NOT MATCH: " + r.MIC
}

func (r *sentReceiptOutput) signature() string {
	switch {
	case !r.Signed:
		return "none: the receipt is unsigned"
	case r.SignatureOK:
		return "valid, by " + r.Signer
	case !r.pinned:
		return "not checked: --receipt-cert says who may sign"
	}
	return "NOT VALID"
}
