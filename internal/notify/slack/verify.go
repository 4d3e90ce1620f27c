package slack

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/ratiba/ratiba/internal/fault"
	"github.com/ratiba/ratiba/internal/ids"
	"github.com/ratiba/ratiba/internal/llm"
)

// The headers by which Slack signs what it posts.
const (
	SignatureHeader = "X-Slack-Signature"
	TimestampHeader = "X-Slack-Request-Timestamp"
)

// freshness is how far a request's timestamp may be from now.
const freshness = 5 * time.Minute

// Verify reports whether a request comes from Slack: signature is "v0=" and the
// HMAC-SHA256 of "v0:timestamp:body" with the app's signing secret, and the
// timestamp is at most five minutes from now, real time. body is the raw bytes
// as they came. The error is a fault.Unauthorized. An empty secret verifies
// nothing.
func Verify(secret, timestamp, signature string, body []byte, now time.Time) error {
	digest, found := strings.CutPrefix(signature, "v0=")
	got, err := hex.DecodeString(digest)
	if !found || err != nil || secret == "" {
		return fault.E(fault.Unauthorized, "The request is not signed.")
	}
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte("v0:" + timestamp + ":"))
	mac.Write(body)
	if !hmac.Equal(got, mac.Sum(nil)) {
		return fault.E(fault.Unauthorized, "The request's signature is wrong.")
	}
	seconds, err := strconv.ParseInt(timestamp, 10, 64)
	if err != nil || now.Sub(time.Unix(seconds, 0)).Abs() > freshness {
		return fault.E(fault.Unauthorized, "The request is too old.")
	}
	return nil
}

// actionPrefix begins the name of each of our buttons.
const actionPrefix = "decide:"

// Tap is a button that somebody tapped.
type Tap struct {
	Tenant     ids.TenantID
	Escalation string
	Choice     int // which of the card's choices
	Place      llm.Place
	User       string // Slack's id of the person
	Name       string // what they are called, the id when nothing else is known
	Key        string // the same when the same tap is delivered again
}

// interaction is what of Slack's payload is read.
type interaction struct {
	Type string `json:"type"`
	User struct {
		ID       string `json:"id"`
		Username string `json:"username"`
		Name     string `json:"name"`
	} `json:"user"`
	Channel struct {
		ID string `json:"id"`
	} `json:"channel"`
	Container struct {
		MessageTS string `json:"message_ts"`
		ChannelID string `json:"channel_id"`
	} `json:"container"`
	Actions []struct {
		ActionID string `json:"action_id"`
		Value    string `json:"value"`
		ActionTS string `json:"action_ts"`
	} `json:"actions"`
}

// Bounds of what a genuine payload names, in bytes.
const maxName = 100

// ParseTap reads a verified body: a form with the one field payload, JSON. ours
// is false for a genuine interaction that is no tap on one of our buttons. What
// cannot be read is a fault.Invalid.
func ParseTap(body []byte) (tap Tap, ours bool, err error) {
	form, err := url.ParseQuery(string(body))
	if err != nil || len(form["payload"]) != 1 {
		return Tap{}, false, fault.E(fault.Invalid, "The form has no payload.")
	}
	var in interaction
	if err := json.Unmarshal([]byte(form.Get("payload")), &in); err != nil {
		return Tap{}, false, fault.Wrap(err, fault.Invalid, "The payload is not the JSON that is expected.")
	}
	if in.Type != "block_actions" || len(in.Actions) != 1 || !strings.HasPrefix(in.Actions[0].ActionID, actionPrefix) {
		return Tap{}, false, nil
	}
	a := in.Actions[0]
	var v value
	if err := json.Unmarshal([]byte(a.Value), &v); err != nil {
		return Tap{}, false, fault.Wrap(err, fault.Invalid, "The button's value is none of ours.")
	}
	tap = Tap{
		Tenant: v.Tenant, Escalation: v.Escalation, Choice: v.Choice, User: in.User.ID, Name: called(in),
		Place: llm.Place{Channel: in.Channel.ID, Message: in.Container.MessageTS}, Key: in.User.ID + ":" + a.ActionTS,
	}
	if tap.Place.Channel == "" {
		tap.Place.Channel = in.Container.ChannelID
	}
	for _, s := range []string{tap.User, tap.Place.Channel, tap.Place.Message, a.ActionTS, tap.Escalation, string(tap.Tenant)} {
		if s == "" || len(s) > maxName {
			return Tap{}, false, fault.E(fault.Invalid, "The payload does not say who tapped what, and where.")
		}
	}
	return tap, true, nil
}

// called is a person's name on one line, and their id, which nobody else has.
func called(in interaction) string {
	name := in.User.Name
	if name == "" {
		name = in.User.Username
	}
	name = cut(strings.Join(strings.Fields(name), " "), maxName, func(r rune) string { return string(r) })
	if name == "" || name == in.User.ID {
		return in.User.ID
	}
	return name + " (" + in.User.ID + ")"
}
