package main

import (
	"cmp"
	"crypto"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"firstcopy/as2"
	"firstcopy/internal/as2client"
	"firstcopy/mdn"
)

const sendLong = `Sends a file, or standard input for "-", as an AS2 message (RFC 4130), and judges the answer: HTTP status, disposition,
content digest (MIC), and the receipt's signature if --receipt-cert says who may sign it.

It exits with 0 only if the message was accepted and nothing is wrong with the receipt. With --async-listen the receipt
is waited for on a connection of its own.

With --count the message is sent so many times, each under its own Message-ID, to measure a receiver. All messages are
built, signed and encrypted beforehand, and held in memory. They are copies of one interchange, unless --vary gives a text
in the file, such as its interchange reference REF0000001, that is replaced by another number of the same length in each.`

// sendFlags are the flags of firstcopy send, as given.
type sendFlags struct {
	url, from, to         string
	signCert, signKey     string
	digest                string
	encryptCert, cipher   string
	compress              string
	receipt               string
	mics, receiptCerts    []string
	asyncListen, asyncURL string
	subject, contentType  string
	fileName, messageID   string
	timeout               time.Duration
	saveReceipt           string
	messages, concurrency int
	vary                  string
	varyStart             int64
	fileNameSet           bool
}

func newSendCommand(a *app) *cobra.Command {
	f := &sendFlags{}
	cmd := &cobra.Command{
		Use:   "send --url URL --from NAME --to NAME [flags] FILE|-",
		Short: "Send a file over AS2 and check the receipt",
		Long:  sendLong,
		Example: "  firstcopy send --url http://127.0.0.1:4080/as2 --from ACME --to HUB --sign-cert acme.crt --sign-key acme.key \\\n" +
			"    --encrypt-cert hub.crt --receipt-cert hub.crt invoice.edi",
		Args: oneArgument("a FILE, or - for standard input"),
		RunE: func(cmd *cobra.Command, args []string) error {
			f.fileNameSet = cmd.Flags().Changed("file-name")
			return a.send(cmd, f, args[0])
		},
	}
	f.register(cmd)
	return cmd
}

func (f *sendFlags) register(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.url, "url", "", "`URL` to post to")
	flags.StringVar(&f.from, "from", "", "our AS2 `NAME`")
	flags.StringVar(&f.to, "to", "", "the receiver's AS2 `NAME`")
	flags.StringVar(&f.signCert, "sign-cert", "", "our certificate, PEM or DER `FILE`; signs the message")
	flags.StringVar(&f.signKey, "sign-key", "", "its private key, unencrypted PEM `FILE`")
	flags.StringVar(&f.digest, "digest", "sha-256", "digest of the signature: sha1, sha-256, sha-384, sha-512")
	flags.StringVar(&f.encryptCert, "encrypt-cert", "", "the receiver's certificate, PEM or DER `FILE`; encrypts the message")
	flags.StringVar(&f.cipher, "cipher", "aes-256-cbc", "aes-128-cbc, aes-192-cbc, aes-256-cbc, 3des-cbc, aes-128-gcm, aes-192-gcm or aes-256-gcm")
	flags.StringVar(&f.compress, "compress", "none", "compress (RFC 5402): none, before-sign or after-sign")
	flags.StringVar(&f.receipt, "receipt", "signed", "the receipt to ask for: signed, unsigned, none")
	flags.StringSliceVar(&f.mics, "mic", []string{"sha-256"}, "content digests to ask for, in order of preference")
	flags.StringArrayVar(&f.receiptCerts, "receipt-cert", nil, "certificate `FILE` that may sign the receipt; may be repeated")
	flags.StringVar(&f.asyncListen, "async-listen", "", "ask for an asynchronous receipt and wait for it at this `ADDRESS`")
	flags.StringVar(&f.asyncURL, "async-url", "", "`URL` for the asynchronous receipt; by default that of --async-listen")
	flags.StringVar(&f.subject, "subject", "", "Subject of the message")
	flags.StringVar(&f.contentType, "content-type", "", "media type of the file; by default guessed from its beginning")
	flags.StringVar(&f.fileName, "file-name", "", "file `NAME` to send; by default FILE's own")
	flags.StringVar(&f.messageID, "message-id", "", "Message-ID, sent as it stands; by default a new one")
	flags.DurationVar(&f.timeout, "timeout", time.Minute, "how long to wait for an answer, and then for an asynchronous receipt")
	flags.StringVar(&f.saveReceipt, "save-receipt", "", "write the receipt, a MIME entity, to this `FILE`")
	flags.IntVar(&f.messages, "count", 1, "number of messages to send")
	flags.IntVar(&f.concurrency, "concurrency", 1, "how many of them at a time")
	flags.StringVar(&f.vary, "vary", "", "`TEXT` in the file to replace by a number of its length, another in each message")
	flags.Int64Var(&f.varyStart, "vary-start", -1, "first of these numbers; by default a random one")
}

// check finds what cannot be meant before anything is read or sent.
func (f *sendFlags) check() error {
	for _, required := range []struct{ name, value string }{{"url", f.url}, {"from", f.from}, {"to", f.to}} {
		if required.value == "" {
			return usagef("--%s is missing", required.name)
		}
	}
	async := f.asyncListen != "" || f.asyncURL != ""
	switch {
	case (f.signCert == "") != (f.signKey == ""):
		return usagef("--sign-cert and --sign-key go together")
	case f.receipt != "signed" && f.receipt != "unsigned" && f.receipt != "none":
		return usagef("--receipt is signed, unsigned or none, not %q", f.receipt)
	case f.receipt == "none" && (async || f.saveReceipt != ""):
		return usagef("--receipt none leaves nothing to wait for or to save")
	case f.saveReceipt != "" && f.asyncURL != "" && f.asyncListen == "":
		return usagef("--save-receipt needs --async-listen: a receipt to --async-url comes by somewhere else")
	case f.messages < 1 || f.concurrency < 1:
		return usagef("--count and --concurrency are 1 or more")
	case f.messages > 1 && f.messageID != "":
		return usagef("--message-id is for one message: with --count each has its own")
	case f.messages > 1 && f.saveReceipt != "":
		return usagef("--save-receipt is for one message")
	case f.timeout <= 0:
		return usagef("--timeout is more than 0")
	}
	return nil
}

// send sends what the flags say.
func (a *app) send(cmd *cobra.Command, f *sendFlags, file string) error {
	if err := f.check(); err != nil {
		return err
	}
	large, err := f.openLarge(file)
	if err != nil {
		return err
	}
	var payloads variation
	if large != nil {
		defer large.Close()
	} else if payloads, err = f.readPayload(cmd.InOrStdin(), file); err != nil {
		return err
	}
	partner, err := f.partner()
	if err != nil {
		return err
	}
	s := &sending{flags: f, partner: partner, client: as2client.Client{HTTP: as2client.NewHTTP(f.concurrency)}}
	defer s.client.HTTP.CloseIdleConnections()
	if err := s.listen(); err != nil {
		return err
	}
	if s.listener != nil {
		defer s.listener.Close()
	}
	s.options = as2client.Options{Subject: f.subject, ContentType: f.contentType, FileName: f.name(file), MessageID: f.messageID}
	if f.messages > 1 {
		return a.sendLoad(cmd, s, payloads)
	}
	var prepared as2client.Prepared
	if large != nil {
		prepared, err = as2client.PrepareLarge(s.partner, large, s.options)
	} else {
		prepared, err = as2client.Prepare(s.partner, payloads.of(0), s.options)
	}
	if err != nil {
		return err
	}
	defer prepared.Close()
	return a.sendOne(cmd, s, prepared)
}

// maxInMemory is the size of a payload from which its message is made in a
// temporary file.
const maxInMemory = 16 << 20

// largeFile is a payload that stays on disk.
type largeFile struct {
	as2.Content
	io.Closer
}

// openLarge opens the payload if it is a large file that is sent once; nil if
// it is not.
func (f *sendFlags) openLarge(file string) (*largeFile, error) {
	if file == "-" || f.messages > 1 || f.vary != "" {
		return nil, nil
	}
	opened, err := os.Open(file)
	if err != nil {
		return nil, fmt.Errorf("reading the payload: %w", err)
	}
	info, err := opened.Stat()
	if err != nil || !info.Mode().IsRegular() || info.Size() <= maxInMemory {
		opened.Close()
		return nil, err
	}
	return &largeFile{as2.ContentAt(opened, info.Size()), opened}, nil
}

func (f *sendFlags) readPayload(in io.Reader, file string) (variation, error) {
	var payload []byte
	var err error
	if file == "-" {
		payload, err = io.ReadAll(in)
	} else {
		payload, err = os.ReadFile(file)
	}
	if err != nil {
		return variation{}, fmt.Errorf("reading the payload: %w", err)
	}
	return newVariation(f.vary, f.varyStart, f.messages, payload)
}

func (f *sendFlags) name(file string) string {
	if f.fileNameSet || file == "-" {
		return f.fileName
	}
	return filepath.Base(file)
}

// partner makes the receiver out of the flags and the files they name.
func (f *sendFlags) partner() (as2client.Partner, error) {
	p := as2client.Partner{URL: f.url, From: f.from, To: f.to, Cipher: strings.ToLower(f.cipher)}
	h, ok := mdn.HashByName(f.digest)
	if !ok || h == crypto.MD5 || h == crypto.SHA224 {
		return p, usagef("--digest is sha1, sha-256, sha-384 or sha-512, not %q", f.digest)
	}
	p.Digest = h
	switch f.compress {
	case "none":
	case "before-sign":
		p.Compress = as2.CompressBeforeSigning
	case "after-sign":
		p.Compress = as2.CompressAfterSigning
	default:
		return p, usagef("--compress is none, before-sign or after-sign, not %q", f.compress)
	}
	if f.signCert != "" {
		key, err := readSendKey(f.signCert, f.signKey)
		if err != nil {
			return p, err
		}
		p.SignKey = &key
	}
	if f.encryptCert != "" {
		certificate, err := readSendCertificate(f.encryptCert)
		if err != nil {
			return p, fmt.Errorf("--encrypt-cert: %w", err)
		}
		p.EncryptFor = append(p.EncryptFor, certificate)
	}
	for _, file := range f.receiptCerts {
		certificate, err := readSendCertificate(file)
		if err != nil {
			return p, fmt.Errorf("--receipt-cert: %w", err)
		}
		p.ReceiptSigners = append(p.ReceiptSigners, certificate)
	}
	if f.receipt != "none" {
		p.Receipt = mdn.Request{Wanted: true, Signed: f.receipt == "signed", MICAlgorithms: f.mics, AsyncURL: f.asyncURL}
	}
	return p, nil
}

// sending is what all messages of one command share.
type sending struct {
	flags    *sendFlags
	partner  as2client.Partner
	options  as2client.Options
	client   as2client.Client
	listener *as2client.ReceiptListener // nil: receipts are not waited for
}

// listen opens the place where asynchronous receipts arrive.
func (s *sending) listen() error {
	if s.flags.asyncListen == "" {
		return nil
	}
	listener, err := as2client.ListenReceipts(s.flags.asyncListen)
	if err != nil {
		return err
	}
	s.partner.Receipt.AsyncURL = cmp.Or(s.flags.asyncURL, listener.URL())
	if s.partner.Receipt.AsyncURL == "" {
		listener.Close()
		return usagef("--async-listen %s has no address for others to send to: give --async-url", s.flags.asyncListen)
	}
	s.listener = listener
	return nil
}
