package interchange

import "slices"

// torn are the deviations that a payload shows while it is still being written,
// or after writing it was broken off: what stands at the end is not there, or
// is not what the beginning promised. A last segment without its terminator is
// none of them: when the trailer has the right reference, nothing else can be
// missing.
var torn = [...]irregularity{truncated, noTrailer, trailerControl, trailerCount, noGroupTrailer,
	groupControl, groupCount, noMessageTrailer, messageControl, messageCount, binaryLength, unrecognised}

// Missing lists, as constant short texts, what makes the interchange look like
// one of which octets are missing; nil for one that is whole. It is for channels
// that cannot tell the end of a transmission otherwise.
func (ic *Interchange) Missing() []string {
	var all []string
	for _, i := range torn {
		if slices.Contains(ic.Irregular, irregularTexts[i]) {
			all = append(all, irregularTexts[i])
		}
	}
	if len(all) == 0 && !ic.Complete && ic.Standard != Content {
		all = append(all, irregularTexts[noTrailer])
	}
	return all
}
