package sftpproof_test

import (
	"fmt"
	"time"

	"firstcopy/internal/sftptest"
)

// misfits are the bad half of the soak.
func (s *soak) misfits() []*soaking {
	var all []*soaking
	add := func(name string, script sftptest.Script) *soaking {
		p := s.partner(fmt.Sprintf("%s%02d", name, len(all)), script)
		all = append(all, p)
		return p
	}
	for range 3 {
		add("slow", sftptest.Script{Trickle: 2 * time.Millisecond})
	}
	for range 3 {
		p := add("far", sftptest.Script{})
		p.address = sftptest.StartDelay(s.tb, p.address, 200*time.Millisecond).Address
	}
	for p := sftptest.AtConnect; p <= sftptest.AtFirstRequest; p++ {
		add("dead", sftptest.Script{Mute: p})
	}
	for range 3 {
		p := add("flapping", sftptest.Script{})
		p.act = func(tick int) {
			p.server.Change(func(script *sftptest.Script) {
				script.HangUp = []sftptest.Point{sftptest.Never, sftptest.AtConnect}[tick%2]
			})
			p.server.Disconnect()
		}
	}
	hostile := []sftptest.Twist{
		sftptest.LongReads(100), sftptest.ShortReads(10), sftptest.Truncated(4, sftptest.Readdir), sftptest.Oversized(1<<31, sftptest.Read),
		sftptest.WrongID(sftptest.Open), sftptest.ListsForEver(), sftptest.Silent(sftptest.Read), sftptest.HangsUpAfter(5),
		sftptest.Answers(sftptest.OK, "", sftptest.Read), sftptest.Denies(sftptest.Open), sftptest.DeniesChange(),
		sftptest.LosesAnswer(sftptest.Remove), sftptest.Lists("../../escape.edi", "nul\x00.edi", "two\nlines.edi"),
	}
	for i := range 8 {
		p := add("hostile", sftptest.Script{})
		p.act = func(tick int) {
			p.server.Change(func(script *sftptest.Script) {
				script.Twists = []sftptest.Twist{script.Twists[0], hostile[(i+tick)%len(hostile)]}
			})
		}
	}
	huge := add("huge", sftptest.Script{})
	for i := range 20_000 {
		huge.server.Files.Put(fmt.Sprintf("in/%06d.tmp", i), "never meant to be taken")
	}
	add("refusing", sftptest.Script{Auth: []sftptest.Auth{sftptest.ByPassword("no longer the one")}})
	return all
}
