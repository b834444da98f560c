package main

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"testing"
)

func TestDeliveryList(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	table := squeeze(s.run(t, "delivery", "list").must(t))
	contains(t, table, "DELIVERY RECEIVED PARTNER CHANNEL MESSAGE-ID SIZE INTERCHANGES SIGNED ENCRYPTED NODE\n",
		s.stuck.Delivery.String()+" 20", " +02:00 globex as2 <4@globex> ", " B 1 sha-256 aes-256-cbc gw1\n",
		s.first.Delivery.String(), " acme as2 <1@acme> ")
	for args, want := range map[string]int{
		"--partner globex": 1, "--message-id <2@acme>": 1, "--message-id 2@acme": 1, "--message-id 9@acme": 0, "--since 1h": 4, "--since 2999-01-01": 0, "--limit 2": 2,
	} {
		got := decode[[]map[string]any](t, s.run(t, append([]string{"delivery", "list", "--json"}, strings.Fields(args)...)...).must(t))
		if len(got) != want {
			t.Errorf("%s: %d deliveries, want %d", args, len(got), want)
		}
	}
}

func TestDeliveryShow(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	id := s.first.Delivery.String()
	sum := sha256.Sum256([]byte(s.payload))
	octets := hex.EncodeToString(sum[:])
	contains(t, squeeze(s.run(t, "delivery", "show", id).must(t)), "Delivery "+id+"\n", " by node gw1\n", "partner acme\n", "Message-ID <1@acme>\n",
		"from 192.0.2.1:4080\n", "signed sha-256 by CN=acme.example (", "encrypted aes-256-cbc\n", "sha256 "+octets+"\n", "file name invoice.edi\n",
		"interchanges 1\n", "repeated 1 time, octet for octet under the same id\n",
		"Receipt <receipt-1@hub>\n", "kind signed sha-256\n", "MIC bWlj, sha-256\n", "sent as the answer to the message\n",
		"DOCUMENT REFERENCE MESSAGES VERDICT STATE SIZE FORWARDED\n", document(s.first)+" R1 INVOIC first forwarded ")
	contains(t, squeeze(s.run(t, "delivery", "show", s.duplicate.Delivery.String()).must(t)), "interchanges 1, of which 1 known already",
		"No document came of it: all it held was known already.")
	out := decode[map[string]any](t, s.run(t, "delivery", "show", id, "--json").must(t))
	if out["payload_sha256"] != octets || out["repeats"] != 1.0 || out["signer_sha256"] != fingerprintOf(t) || out["delivery_id"] != id {
		t.Errorf("got %v", out)
	}
}

func TestDeliveryReceipt(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	id := s.first.Delivery.String()
	if got := s.run(t, "delivery", "show", id, "--receipt").must(t); got != string(s.first.Receipt) || got == "" {
		t.Errorf("receipt %q, the partner got %q", got, s.first.Receipt)
	}
	r := s.run(t, "delivery", "show", id, "--receipt", "--kind", "unsigned")
	if r.code != exitUsage {
		t.Errorf("exit code %d", r.code)
	}
	contains(t, r.err, `has no receipt of kind "unsigned"`, `hint: there is --kind "signed sha-256"`)
	none := s.run(t, "delivery", "show", "0195ed6e-29f2-7dbc-a4a8-9a6b52b7a8a1")
	if none.code != exitFailed {
		t.Errorf("exit code %d", none.code)
	}
	contains(t, none.err, "error: delivery 0195ed6e-29f2-7dbc-a4a8-9a6b52b7a8a1: no such delivery", "hint: firstcopy delivery list")
}
