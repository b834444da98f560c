package as2client

import (
	"crypto"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"

	"firstcopy/mdn"
)

// storedMessage is a Prepared as it is kept between two attempts.
type storedMessage struct {
	MessageID string            `json:"message_id"`
	Header    []mdn.Field       `json:"header"`
	Body      []byte            `json:"body"`
	Receipt   mdn.Request       `json:"receipt"`
	MICs      map[string][]byte `json:"mics"` // by the digest's name
}

// Marshal is a message made by [Prepare] in one piece, to be stored and posted
// again to the octet.
func (p Prepared) Marshal() ([]byte, error) {
	if p.large != nil {
		return nil, errors.New("a large message is not kept in one piece")
	}
	s := storedMessage{MessageID: p.MessageID, Header: p.Header, Body: p.Body, Receipt: p.Receipt, MICs: map[string][]byte{}}
	for h, digest := range p.mics {
		s.MICs[mdn.NameOf(h)] = digest
	}
	return json.Marshal(s)
}

// Unmarshal reads what Marshal wrote. Where the message goes, and whose
// signature its receipt may have, is said anew: agreements change.
func Unmarshal(stored []byte, url string, receiptSigners []*x509.Certificate) (Prepared, error) {
	var s storedMessage
	if err := json.Unmarshal(stored, &s); err != nil {
		return Prepared{}, fmt.Errorf("stored message: %w", err)
	}
	if err := checkURL(url); err != nil {
		return Prepared{}, err
	}
	p := Prepared{URL: url, MessageID: s.MessageID, Header: s.Header, Body: s.Body, Receipt: s.Receipt,
		mics: map[crypto.Hash][]byte{}, signers: receiptSigners}
	for name, digest := range s.MICs {
		h, known := mdn.HashByName(name)
		if !known {
			return Prepared{}, fmt.Errorf("stored message: digest %q", name)
		}
		p.mics[h] = digest
	}
	return p, nil
}
