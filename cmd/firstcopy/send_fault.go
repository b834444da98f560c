package main

import (
	"context"
	"errors"
	"net/http"

	"firstcopy/internal/as2client"
	"firstcopy/mdn"
)

// sendFault adds to an error of sending what its reader can look at.
func sendFault(err error, a as2client.Answer) error {
	if err == nil {
		return nil
	}
	var hint string
	switch {
	case errors.Is(err, as2client.ErrStatus):
		hint = statusHint(a.Status)
	case errors.Is(err, as2client.ErrNegative):
		hint = dispositionHint(a.Receipt.Disposition)
	case errors.Is(err, as2client.ErrNoReceipt) && !a.HasReceipt && errors.Is(err, context.DeadlineExceeded):
		hint = "the receiver must be able to reach --async-url, and its agreement to allow that address; it may also need more --timeout"
	case errors.Is(err, as2client.ErrNoReceipt):
		hint = "is --url the address of an AS2 endpoint?"
	case errors.Is(err, as2client.ErrOtherMessage):
		hint = "something between here and the receiver mixes up or caches answers"
	case errors.Is(err, as2client.ErrMIC):
		hint = "the receiver holds other content than was sent, or computes the digest over other octets (RFC 4130 §7.3.1)"
	case errors.Is(err, as2client.ErrSignature):
		hint = "is --receipt-cert the certificate with which the receiver signs now?"
	case errors.Is(err, context.DeadlineExceeded):
		hint = "whether the message arrived is not known; send it again with the same --message-id, or wait longer (--timeout)"
	case a.Status == 0:
		hint = "is the receiver running, and --url right? If the message may have arrived, send it again with the same --message-id"
	}
	if hint == "" {
		return err
	}
	return withHint(err, "%s", hint)
}

func statusHint(status int) string {
	switch {
	case status == http.StatusNotFound || status == http.StatusMethodNotAllowed:
		return "is the path of --url that of the AS2 endpoint?"
	case status == http.StatusForbidden || status == http.StatusUnauthorized:
		return "does the receiver know this pair of --from and --to, and want a user and password in --url?"
	case status >= 300 && status < 400:
		return "give the address it points to as --url: AS2 messages do not follow redirects"
	case status >= 500:
		return "the receiver is in trouble; send the message again later with the same --message-id"
	}
	return ""
}

func dispositionHint(d mdn.Disposition) string {
	switch d {
	case mdn.AuthenticationFailed:
		return "the receiver has another certificate of ours than --sign-cert, or none"
	case mdn.DecryptionFailed:
		return "is --encrypt-cert the receiver's certificate of today?"
	case mdn.IntegrityCheckFailed:
		return "something on the way changes the content"
	case mdn.InsufficientMessageSecurity:
		return "the agreement demands more: a signature (--sign-cert), encryption (--encrypt-cert), or a stronger --digest or --cipher"
	case mdn.UnknownTradingRelationship:
		return "does the receiver know this pair of --from and --to? Names are compared case-sensitively"
	case mdn.UnsupportedMICAlgorithms:
		return "ask for another digest with --mic"
	case mdn.UnsupportedFormat:
		return "the receiver cannot make the receipt asked for; try another --receipt"
	case mdn.InvalidMessageID:
		return "the receiver does not take this --message-id"
	}
	return ""
}
