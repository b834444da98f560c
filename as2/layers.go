package as2

import (
	"errors"
	"io"

	"firstcopy/as2/smime"
)

// decryptionDetail is the same for every cause (RFC 3218 §2.3).
const decryptionDetail = "The message could not be decrypted."

// openEnvelope decrypts.
//
// CBC does not authenticate: whoever has intercepted a message can post it with
// other last blocks, and learns from an answer that depends on the padding what
// these decrypt to. So the padding is not looked at where something else
// decides: a signature inside, which covers all that counts, or the demand for
// one. That leaves encrypted messages that need no signature.
func (o *opener) openEnvelope(binary io.Reader, depth int) error {
	o.opened.Encrypted = true
	env, err := smime.OpenEnvelope(binary, smime.Decryption{
		Keys: o.policy.Keys, NewSpool: o.policy.NewSpool, RC2: o.policy.namesCipher("rc2-cbc"),
	})
	o.envelopes = append(o.envelopes, env)
	if weaker := o.opened.Cipher; weaker == "" || o.policy.allowsCipher(weaker) {
		o.opened.Cipher = env.Cipher()
	}
	if err != nil {
		return err
	}
	plain := smime.NewSource(env)
	if err := o.checkStart(env, plain); err != nil {
		return err
	}
	verified := o.verified
	innerErr := o.openInner(plain, depth)
	if innerErr != nil && o.fatal(innerErr) {
		return innerErr
	}
	if err := smime.Drain(plain); err != nil {
		return err
	}
	signedInside := o.verified > verified
	if env.Damaged() && !signedInside && (!o.policy.RequireSigned || o.signatures > 0) {
		return smime.ErrDecrypt
	}
	return innerErr
}

// checkStart refuses what does not begin with a header where a signature is
// demanded, since all that is signed does. Anything else is the noise that a
// wrong key makes, with right padding once in 256 times. It is read to its end
// all the same.
func (o *opener) checkStart(env *smime.Envelope, plain *smime.Source) error {
	if !o.policy.RequireSigned || o.signatures > 0 || env.Authenticated() {
		return nil
	}
	head, err := plain.Peek(64)
	if err != nil && err != io.EOF {
		return err
	}
	if smime.PlausibleEntity(head) {
		return nil
	}
	if err := smime.Drain(plain); err != nil {
		return err
	}
	return smime.ErrDecrypt
}

// openInner goes on with what a layer holds.
func (o *opener) openInner(plain *smime.Source, depth int) error {
	inner, err := readEntity(plain)
	if err != nil {
		return err
	}
	return o.open(inner, depth+1)
}

// fatal says that an error is not about the content of a layer, so that there
// is no point in reading on.
func (o *opener) fatal(err error) bool {
	var failed *writeError
	return errors.As(err, &failed) || errors.Is(err, errTooLarge)
}

// openCompressed decompresses (RFC 5402).
func (o *opener) openCompressed(binary io.Reader, depth int) error {
	o.opened.Compressed = true
	d, err := smime.OpenCompressed(binary, smime.Expansion{Ratio: o.policy.MaxRatio, Max: o.policy.maxBody()})
	if err != nil {
		return err
	}
	plain := smime.NewSource(d)
	if err := o.openInner(plain, depth); err != nil {
		return err
	}
	return smime.Drain(plain) // the checksum comes last
}
