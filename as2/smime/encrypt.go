package smime

import (
	"crypto/cipher"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
)

// Encrypt reads src and writes it to dst as an envelope that each of the
// certificates' RSA keys opens. Ciphers: "aes-128-cbc", "aes-192-cbc",
// "aes-256-cbc" and "3des-cbc" make an EnvelopedData, "aes-128-gcm",
// "aes-192-gcm" and "aes-256-gcm" an AuthEnvelopedData.
//
// It streams. What src holds in memory (it has a method Len), and up to 1 MiB
// of anything, is written in DER, more in BER.
func Encrypt(dst io.Writer, src io.Reader, to []*x509.Certificate, cipher string) error {
	s, err := writable(cipher)
	if err != nil {
		return err
	}
	key := make([]byte, s.key)
	rand.Read(key) // crypto/rand.Read never fails
	recipients, err := wrapAll(key, to)
	if err != nil {
		return err
	}
	block, err := s.block(key)
	if err != nil {
		return fmt.Errorf("smime: encrypting: %w", err)
	}
	length := int64(-1)
	if sized, ok := src.(interface{ Len() int }); ok {
		length = int64(sized.Len())
	}
	if s.gcm {
		err = sealGCM(dst, src, s, block, recipients, length)
	} else {
		err = sealCBC(dst, src, s, block, recipients, length)
	}
	if err != nil {
		return fmt.Errorf("smime: encrypting: %w", err)
	}
	return nil
}

// writable finds a cipher by its name.
func writable(name string) (suite, error) {
	for _, oid := range []string{
		oidAES + "\x02", oidAES + "\x16", oidAES + "\x2a", oidAES + "\x06", oidAES + "\x1a", oidAES + "\x2e", oid3DES,
	} {
		if s := suiteOf(oid); s.name == name {
			s.oid = oid
			return s, nil
		}
	}
	return suite{}, fmt.Errorf("smime: no envelopes are made with cipher %q", name)
}

// wrapAll makes the RecipientInfos (RFC 5652 §6.2.1), with the content key
// encrypted by RSAES-PKCS1-v1_5, which every receiver reads.
func wrapAll(key []byte, to []*x509.Certificate) ([]byte, error) {
	if len(to) == 0 {
		return nil, errors.New("smime: encrypting needs a recipient")
	}
	var infos [][]byte
	for _, cert := range to {
		if cert == nil {
			return nil, errors.New("smime: a recipient's certificate is missing")
		}
		public, ok := cert.PublicKey.(*rsa.PublicKey)
		if !ok {
			return nil, fmt.Errorf("smime: cannot encrypt to the %v key of %q", cert.PublicKeyAlgorithm, cert.Subject)
		}
		if !usableRSA(public) {
			return nil, fmt.Errorf("smime: cannot encrypt to the key of %q: it has %d bits", cert.Subject, public.N.BitLen())
		}
		//lint:ignore SA1019 what every AS2 product reads; OAEP is not in RFC 4130
		encrypted, err := rsa.EncryptPKCS1v15(rand.Reader, public, key)
		if err != nil {
			return nil, fmt.Errorf("smime: encrypting to %q: %w", cert.Subject, err)
		}
		infos = append(infos, derTLV(tagSequence, derInteger(0), issuerAndSerial(cert),
			derAlgorithm(oidRSA, derNull), derTLV(tagOctetString, encrypted)))
	}
	return derTLV(tagSet, infos...), nil
}

// envelopeLayers are the elements around the ciphertext; after is the size of
// what follows it.
func envelopeLayers(kind string, recipients, algorithm []byte, after int) []layer {
	return []layer{
		{tag: tagSequence, before: derOID(kind)},
		{tag: tagContext0},
		{tag: tagSequence, before: append(derInteger(0), recipients...), after: after},
		{tag: tagSequence, before: append(derOID(oidData), algorithm...)},
	}
}

func sealCBC(dst io.Writer, src io.Reader, s suite, block cipher.Block, recipients []byte, length int64) error {
	size := block.BlockSize()
	iv := make([]byte, size)
	rand.Read(iv)
	algorithm := derAlgorithm(s.oid, derTLV(tagOctetString, iv))
	if length >= 0 {
		length = (length/int64(size) + 1) * int64(size)
	}
	out := newShell(dst, envelopeLayers(oidEnveloped, recipients, algorithm, 0), tagImplicit0, length)
	mode := cipher.NewCBCEncrypter(block, iv)
	buf := make([]byte, maxBuffer)
	for {
		n, err := readFull(src, buf[:maxBuffer-size])
		last := err == io.EOF
		if err != nil && !last {
			return err
		}
		if last {
			pad := size - n%size
			for i := range pad {
				buf[n+i] = byte(pad)
			}
			n += pad
		}
		mode.CryptBlocks(buf[:n], buf[:n])
		if _, err := out.Write(buf[:n]); err != nil {
			return err
		}
		if last {
			return out.Close(nil)
		}
	}
}

func sealGCM(dst io.Writer, src io.Reader, s suite, block cipher.Block, recipients []byte, length int64) error {
	nonce := make([]byte, nonceSize)
	rand.Read(nonce)
	hash, err := newGHASH(block)
	if err != nil {
		return err
	}
	params := derTLV(tagSequence, derTLV(tagOctetString, nonce), derInteger(blockSize)) // RFC 5084 §3.2
	layers := envelopeLayers(oidAuthEnveloped, recipients, derAlgorithm(s.oid, params), 2+blockSize)
	out := newShell(dst, layers, tagImplicit0, length)
	stream := gcmStream(block, nonce)
	buf := make([]byte, ghashPiece)
	for {
		n, err := readFull(src, buf)
		last := err == io.EOF
		if err != nil && !last {
			return err
		}
		stream.XORKeyStream(buf[:n], buf[:n])
		hash.write(buf[:n])
		if _, err := out.Write(buf[:n]); err != nil {
			return err
		}
		if last {
			tag := hash.tag(block, nonce, nil)
			return out.Close(derTLV(tagOctetString, tag[:]))
		}
	}
}
