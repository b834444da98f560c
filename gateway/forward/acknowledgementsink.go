package forward

import (
	"context"

	"github.com/google/uuid"

	"firstcopy/partners"
)

// AcknowledgementSink takes acknowledgements to partners over one channel. Send is called at least once for each
// transmission; it must do no harm when it is called again after it has succeeded.
type AcknowledgementSink interface {
	Send(ctx context.Context, a *partners.Agreement, s *Sending) (Evidence, error)
}

// Sending is one transmission of an acknowledgement on its way to a sink.
type Sending struct {
	Transmission    uuid.UUID // the same one for every attempt
	Channel         string
	Acknowledgement Acknowledgement
	message         []byte // of AS2, once it is built
}

// Evidence is what a sink brings back of an acknowledgement that has arrived.
type Evidence struct {
	Where   string         // it now is
	Receipt []byte         // the partner's, if the channel has any
	Detail  map[string]any // for the account
}

// acknowledgementSink is the one for a channel, nil if there is none: AS2 is the outbox's own.
func (o *Outbox) acknowledgementSink(channel string) AcknowledgementSink {
	if channel == channelAS2 {
		return as2Sink{outbox: o}
	}
	return o.config.AcknowledgementSinks[channel]
}

const (
	channelAS2  = "as2"
	channelSFTP = "sftp"
)

// AcknowledgementChannel is the channel on which a delivery's acknowledgements go: the one that it came on. It is "" if the
// agreement has no address there, so that they are stored and shown, and sent nowhere.
func AcknowledgementChannel(delivery string, agreement *partners.Agreement) string {
	switch {
	case delivery == channelAS2 && agreement.AS2.URL != "",
		delivery == channelSFTP && agreement.SFTP != nil && agreement.SFTP.Folders.Acknowledgement != "":
		return delivery
	}
	return ""
}
