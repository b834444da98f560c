package interchange

// What the fields of an Interchange are for XML and JSON.
//
// The Sender of a document that is known by a number is who gave the number, as
// scheme and identifier, "0088:4012345000009", and SenderQualifier is what else
// the number counts in: the year of issue (UBL, CII), the revision (GS1 XML
// without a header). Where a header names the parties, SenderQualifier and
// RecipientQualifier are what it says of their kind (SBDH Authority, cXML
// Credential domain, AS4 PartyId type). Written has the kinds in any case.
//
// Control is, in this order of choice:
//
//	UBL    cbc:UUID in lower case; cbc:ID
//	CII    ram:ID of the document
//	SBDH   InstanceIdentifier
//	AS4    eb:MessageId, of several units the sorted list
//	EPCIS  the keys of the events, as a sorted list
//	GS1    InstanceIdentifier of the header; entityIdentification
//	cXML   payloadID
//
// Lists have blanks between, and are digested if they are longer than 512
// octets. The recipient is not needed; nor is the sender of AS4, EPCIS and cXML,
// whose references are unique without it. Header, Separators and Groups are
// empty.
//
// There is a Message for every business document: the one of UBL, CII and cXML,
// those in an envelope, the units of AS4, the events of EPCIS.
