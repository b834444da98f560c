package forward

import (
	"context"
	"crypto/x509"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"firstcopy/internal/as2client"
	"firstcopy/internal/failpoint"
	"firstcopy/mdn"
	"firstcopy/partners"
)

// as2Sink posts acknowledgements as AS2 messages of ours, signed and encrypted as the agreement demands of the partner's own,
// and judges the receipt: it must be positive, with the digest of what was sent, and signed by a pinned certificate.
type as2Sink struct{ outbox *Outbox }

// Send posts the message and judges the answer.
func (s as2Sink) Send(ctx context.Context, a *partners.Agreement, t *Sending) (Evidence, error) {
	prepared, err := s.prepared(ctx, a, t)
	if err != nil {
		return Evidence{}, err
	}
	client := as2client.Client{HTTP: partnerClient(a.AS2.AllowPrivate)}
	answer, err := client.Post(ctx, prepared)
	if err != nil {
		return Evidence{}, err
	}
	if err := answer.Err(); err != nil {
		return Evidence{}, err
	}
	if !answer.Positive() {
		return Evidence{}, errors.New("no receipt came with the answer")
	}
	detail := map[string]any{"url": prepared.URL, "message_id": prepared.MessageID, "receipt": answer.ReceiptMessageID(),
		"disposition": answer.Receipt.Disposition.String(), "mic": answer.Receipt.MIC.String()}
	if answer.Signer != nil {
		sum := partners.Certificate{X509: answer.Signer}.Fingerprint()
		detail["signer"] = hex.EncodeToString(sum[:])
	}
	return Evidence{Where: prepared.URL, Receipt: answer.Entity(), Detail: detail}, nil
}

// prepared is the message as it was stored at the first attempt, or a new one that is stored before it goes out.
func (s as2Sink) prepared(ctx context.Context, a *partners.Agreement, t *Sending) (as2client.Prepared, error) {
	now := time.Now()
	signers := a.VerifyCertificates(now)
	if t.message != nil {
		return as2client.Unmarshal(t.message, a.AS2.URL, signers)
	}
	to, err := s.partner(a, now, signers)
	if err != nil {
		return as2client.Prepared{}, err
	}
	p, err := as2client.Prepare(to, t.Acknowledgement.Octets, as2client.Options{
		MessageID: "<" + t.Transmission.String() + "@firstcopy>", Subject: "Functional acknowledgement " + t.Acknowledgement.Control,
		FileName: string(t.Acknowledgement.Kind) + "_" + t.Acknowledgement.Control + ".edi", Date: now})
	if err != nil {
		return as2client.Prepared{}, err
	}
	stored, err := p.Marshal()
	if err != nil {
		return as2client.Prepared{}, err
	}
	tag, err := s.outbox.pool.Exec(ctx, `UPDATE acknowledgement_transmission SET message_id = $2, message = $3
		WHERE transmission_id = $1 AND state = 'pending' AND message IS NULL`, [16]byte(t.Transmission), p.MessageID, stored)
	if err != nil {
		return as2client.Prepared{}, fmt.Errorf("storing the message: %w", err)
	}
	if tag.RowsAffected() == 0 {
		return as2client.Prepared{}, errors.New("another node has just built the message")
	}
	failpoint.Hit("acknowledge.built")
	return p, nil
}

// partner is whom the message goes to, and how.
func (s as2Sink) partner(a *partners.Agreement, now time.Time, signers []*x509.Certificate) (as2client.Partner, error) {
	to := as2client.Partner{URL: a.AS2.URL, From: a.AS2.Station, To: a.AS2.ID, ReceiptSigners: signers, Receipt: mdn.Request{Wanted: true}}
	if digests := a.AS2.Require.Digests; len(digests) > 0 {
		to.Digest, _ = mdn.HashByName(preferred(digests, "sha-256"))
	}
	if ciphers := a.AS2.Require.Ciphers; len(ciphers) > 0 {
		to.Cipher = preferred(ciphers, "aes-256-cbc")
	}
	if a.AS2.Require.Signed {
		if s.outbox.config.SigningKey == nil {
			return to, errors.New("this node has no station to sign with")
		}
		key, err := s.outbox.config.SigningKey(a.AS2.Station, now)
		if err != nil {
			return to, fmt.Errorf("signing as %s: %w", a.AS2.Station, err)
		}
		to.SignKey = &key
		to.Receipt.Signed, to.Receipt.Protocol = true, "pkcs7-signature"
		to.Receipt.MICAlgorithms = []string{micName(to)}
	}
	if a.AS2.Require.Encrypted {
		certificate, ok := a.EncryptCertificate(now)
		if !ok {
			return to, errors.New("the agreement has no certificate to encrypt with now")
		}
		to.EncryptFor = []*x509.Certificate{certificate}
	}
	return to, nil
}

// preferred is one of what was agreed: the usual one if it is among them.
func preferred(agreed []string, usual string) string {
	for _, name := range agreed {
		if name == usual {
			return name
		}
	}
	return agreed[0]
}

func micName(to as2client.Partner) string {
	if to.Digest == 0 {
		return partners.DefaultMIC
	}
	return mdn.NameOf(to.Digest)
}
