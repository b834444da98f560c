package interop

// requirement is a set of rows that have to be accepted; cases is a pattern of
// [path.Match] for their identifiers, which are the layers from the inside out
// and the receipt: "compressed+sha256+aes256-cbc.sync".
type requirement struct {
	peer, direction, cases string
	except                 []string // patterns of what the peer itself cannot do
}

// required is the one list of what must never break. Rows that it does not name
// may say anything.
var required = []requirement{
	{peer: "pyas2lib", direction: ToHub, cases: "plain.*"},
	{peer: "pyas2lib", direction: ToHub, cases: "aes*", except: []string{"*oaep*"}},
	{peer: "pyas2lib", direction: ToHub, cases: "sha*", except: []string{"*gcm*", "*+compressed*"}},
	{peer: "pyas2lib", direction: ToHub, cases: "compressed*"},
	{peer: "pyas2lib", direction: ToPeer, cases: "sha*", except: []string{"*gcm*"}},

	{peer: "phase2", direction: ToHub, cases: "plain.*"},
	{peer: "phase2", direction: ToHub, cases: "aes*", except: []string{"*oaep*"}},
	{peer: "phase2", direction: ToHub, cases: "sha*"},
	{peer: "phase2", direction: ToHub, cases: "compressed+sha*"},
	{peer: "phase2", direction: ToPeer, cases: "aes*", except: []string{"*gcm*"}},
	{peer: "phase2", direction: ToPeer, cases: "sha*", except: []string{"*gcm*"}},

	{peer: "openas2", direction: ToHub, cases: "plain.*"},
	{peer: "openas2", direction: ToHub, cases: "aes*", except: []string{"*oaep*"}},
	{peer: "openas2", direction: ToHub, cases: "sha*", except: []string{"*gcm*", "*pss*"}},
	{peer: "openas2", direction: ToHub, cases: "compressed+*"},
	{peer: "openas2", direction: ToPeer, cases: "plain.*"},
	{peer: "openas2", direction: ToPeer, cases: "aes*", except: []string{"*gcm*"}},
	{peer: "openas2", direction: ToPeer, cases: "sha*", except: []string{"*gcm*"}},

	{peer: "libas2", direction: ToHub, cases: "plain.*"},
	{peer: "libas2", direction: ToHub, cases: "aes*", except: []string{"*oaep*"}},
	{peer: "libas2", direction: ToHub, cases: "sha*", except: []string{"*pss*", "*.unsigned", "*+compressed*"}},

	{peer: "openssl", direction: ToHub, cases: "plain.*"},
	{peer: "openssl", direction: ToHub, cases: "aes*"},
	{peer: "openssl", direction: ToHub, cases: "sha*", except: []string{"*+compressed*"}},
	{peer: "openssl", direction: ToPeer, cases: "*"},
}

// remarks say, for the reader of the table, what of it is the peer's doing.
var remarks = map[string][]string{
	"pyas2lib": {
		"Its receiver reports no content digest for unsigned messages, against RFC 4130 §7.3.1.",
		"It does not know AuthEnvelopedData: a GCM message passes for a payload and gets a positive receipt without digest.",
		"OAEP is in its CMS functions, but no setting of a message leads to it.",
	},
	"phase2": {
		"Newer releases (com.helger.as2 5.1.8, com.helger.phase2 6.0.0) were not to be had: Maven Central has them without their parent POM.",
		"It writes GCM as EnvelopedData with the tag behind the ciphertext, which firstcopy reads, and does not read the " +
			"AuthEnvelopedData of RFC 5083: such a message passes for a payload, with a digest of the wrong octets.",
		"Whether a digest covers the MIME header, it decides by the partnership, not by the message: plain messages get a wrong one " +
			"where signed ones are agreed. Of a message that is compressed and not signed it has a digest that agrees with none of RFC 5402 §4's.",
		"With PSS it asks for the digest \"rsassa-pss-sha-256\" and takes no other name for it.",
	},
	"openas2": {
		"Of a message that is compressed alone it has another digest than that of RFC 5402 §4.3, and sends it again for ever.",
		"Newer releases were not to be had: Maven Central ends with this one.",
		"It does not know AuthEnvelopedData: a GCM message passes for a payload, with a digest of the wrong octets.",
	},
	"libas2": {
		"It runs with pkijs 2.1.90, asn1js 2.0.26 and @peculiar/webcrypto 1.1.3: with those that npm picks today it cannot sign.",
		"The last line end of what it signs is sent but not digested if it signs a multipart: no other implementation can verify its receipts, " +
			"and nothing that it sends is required here to.",
		"It reports no content digest for unsigned messages, and has none of its own to compare, except for signed messages.",
		"It writes GCM as EnvelopedData with a nonce of 16 octets for parameters, which firstcopy reads, with RSAES-OAEP (SHA-512).",
	},
	"openssl": {
		"The command makes and opens the CMS layers; HTTP, MIME and the reading of the report are the driver's. It makes no receipts: " +
			"\"accepted\" from firstcopy says that it opened the message.",
	},
}
