package gateway

import (
	"firstcopy/as2"
	"firstcopy/dedup/interchange"
)

// scan finds the interchanges of a payload. Each document of a multipart payload is looked at by itself (RFC 6362), so that
// what one of them lacks at its end is not looked for in the next.
// ahead may have looked at it already.
func scan(spool *Spool, attachments []as2.Attachment, ahead *early) ([]interchange.Interchange, []Origin, error) {
	var all []interchange.Interchange
	var origins []Origin
	for _, a := range attachments {
		var found []interchange.Interchange
		var known bool
		var err error
		if a.Start == 0 && a.End == spool.Size() {
			found, known, err = ahead.result()
		}
		if !known {
			found, err = interchange.Scan(spool.Section(a.Start, a.End))
		}
		if err != nil {
			return nil, nil, &ErrUnavailable{Err: err}
		}
		if len(all)+len(found) > interchange.MaxInterchanges+len(attachments) {
			return nil, nil, &as2.Error{Kind: as2.KindMalformed, Detail: "The message has too many interchanges."}
		}
		for i := range found {
			found[i].Start += a.Start
			found[i].End += a.Start
			origins = append(origins, Origin{FileName: a.FileName, ContentType: oneLine(a.ContentType)})
		}
		all = append(all, found...)
	}
	return all, origins, nil
}
