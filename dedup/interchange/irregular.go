package interchange

// An irregularity is a deviation that is read through and reported.
type irregularity uint8

// The order is that in which an interchange lists them.
const (
	junkBefore irregularity = iota
	junkAfter
	unrecognised
	tooMany
	utf16Text
	ebcdicText
	noHeader
	oddServiceChars
	newlineTerminator
	oddHeaderLayout
	blankBeforeTerminator
	wideTerminator
	splitDateTime
	headerTooLong
	noSender
	noRecipient
	noControl
	controlNotNumeric
	identityLong
	identityTooLong
	badTestIndicator
	truncated
	noTrailer
	lastUnterminated
	trailerControl
	trailerCount
	mixedGroups
	noGroupTrailer
	groupControl
	groupCount
	strayGroupTrailer
	noMessageTrailer
	messageControl
	messageCount
	strayMessageTrailer
	noMessageType
	binaryLength
	typesCut
	listsCut
	malformed
	outOfBounds
	badCharacters
	unknownEntity
	documentType
	badEncoding
	noRoot
	noDocument
	besideEvents
	duplicateMember
	irregularities
)

var irregularTexts = [irregularities]string{
	junkBefore:            "unknown octets before the header",
	junkAfter:             "unknown octets after the trailer",
	unrecognised:          "content not recognised after an interchange",
	tooMany:               "too many interchanges, the rest is not told apart",
	utf16Text:             "text in UTF-16, which has no identity",
	ebcdicText:            "text in EBCDIC, which has no identity",
	noHeader:              "messages without an interchange header",
	oddServiceChars:       "unusable service characters in UNA",
	newlineTerminator:     "line break in place of the segment terminator",
	oddHeaderLayout:       "ISA is not of fixed length",
	blankBeforeTerminator: "blank before the segment terminator",
	wideTerminator:        "segment terminator of several octets",
	splitDateTime:         "date and time are two elements of UNB",
	headerTooLong:         "header too long",
	noSender:              "no sender",
	noRecipient:           "no recipient",
	noControl:             "no control reference",
	controlNotNumeric:     "control number is not numeric",
	identityLong:          "identity element longer than the standard allows",
	identityTooLong:       "identity element too long to be used",
	badTestIndicator:      "test indicator is not in the code list",
	truncated:             "next header before the trailer",
	noTrailer:             "no trailer",
	lastUnterminated:      "last segment is not terminated",
	trailerControl:        "control reference differs in the trailer",
	trailerCount:          "count in the trailer is wrong",
	mixedGroups:           "messages inside and outside of groups",
	noGroupTrailer:        "group without trailer",
	groupControl:          "group reference differs in its trailer",
	groupCount:            "count in a group trailer is wrong",
	strayGroupTrailer:     "group trailer without group",
	noMessageTrailer:      "message without trailer",
	messageControl:        "message reference differs in its trailer",
	messageCount:          "segment count of a message is wrong",
	strayMessageTrailer:   "message trailer without message",
	noMessageType:         "message without a usable type",
	binaryLength:          "length of binary data is wrong",
	typesCut:              "too many message types, not all are listed",
	listsCut:              "too many messages, not all are listed",
	malformed:             "markup is not well-formed",
	outOfBounds:           "markup is nested too deeply or has too long a part",
	badCharacters:         "octets or characters that the format forbids",
	unknownEntity:         "reference to an entity",
	documentType:          "document type declaration",
	badEncoding:           "character encoding not supported",
	noRoot:                "no root element in the first 64 KiB",
	noDocument:            "no business document in the envelope",
	besideEvents:          "content beside the events",
	duplicateMember:       "member of a JSON object given twice",
}

// An irregularSet collects irregularities without allocating.
type irregularSet uint64

func (s *irregularSet) add(i irregularity) { *s |= 1 << i }

func (s irregularSet) texts() []string {
	var list []string
	for i, text := range irregularTexts {
		if s&(1<<i) != 0 {
			list = append(list, text)
		}
	}
	return list
}
