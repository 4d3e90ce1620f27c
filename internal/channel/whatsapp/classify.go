package whatsapp

import (
	"encoding/json"
	"net/http"
	"strconv"
	"time"

	"github.com/ratiba/ratiba/internal/channel"
)

// Least times to wait where the provider names none. Source: Meta's pages on
// throughput, pair rate (retry after 4^X seconds) and Graph rate limits.
const (
	waitThroughput = time.Second
	waitPair       = 4 * time.Second
	waitGraph      = time.Minute
)

// subcodeNoObject comes with code 100: the object named in the path does not
// exist, or the key may not see it.
const subcodeNoObject = 33

// ClassOf returns what follows from a provider's error code, in an answer or in
// a failed receipt. A code it does not know is Permanent. The decision rests on
// the code alone, because titles change.
func ClassOf(code int) channel.Class {
	class, known := classOf(code)
	if !known {
		return channel.Permanent
	}
	return class
}

func classOf(code int) (channel.Class, bool) {
	switch code {
	case 4, 17, 80007, // limits of the application, the user, the business account
		130429, // throughput of the number
		131064, // a limit without a documented label
		132069: // flow throttled
		return channel.Rate, true
	case 131056:
		return channel.PairRate, true
	case 1, 2, // Graph: a passing fault
		131000, 131016, // something went wrong; service unavailable
		131052, // media could not be downloaded
		131057: // account in maintenance
		return channel.Transient, true
	case 131047:
		return channel.Window, true
	case 131026, // not on WhatsApp, an old client, terms not accepted
		131030, // not on the list of a test number
		131062: // this message needs the receiver's phone
		return channel.Undeliverable, true
	case 100, 131008, 131009, // parameters
		131021,                         // receiver is the sender
		131053,                         // media could not be uploaded
		131063,                         // a defect without a documented label
		132000, 132005, 132008, 132012: // template parameters
		return channel.Defect, true
	case 3, 10, 190, // Graph: no ability, no permission, key not valid
		368, 131031, // account blocked or locked
		131005, 131042, 131048, // access denied; billing; spam limit
		131045, 133010, // number not registered
		132001, 132007, 132015, 132016, 132068: // template or flow missing, refused, paused, disabled, blocked
		return channel.Auth, true
	case 130403, 130472, 131049, 131050, 131051: // forbidden, experiment, engagement limit, opted out, type
		return channel.Permanent, true
	}
	if code >= 200 && code <= 299 { // Graph: permissions
		return channel.Auth, true
	}
	return "", false
}

// answer is what the providers write about a failure: Meta's error object,
// which 360dialog passes on, the list of the older API, and 360dialog's own meta.
type answer struct {
	Error *struct {
		Code        num  `json:"code"`
		Subcode     num  `json:"error_subcode"`
		Message     str  `json:"message"`
		IsTransient bool `json:"is_transient"`
		Data        struct {
			Details str `json:"details"`
		} `json:"error_data"`
	} `json:"error"`
	Errors []wireError `json:"errors"`
	Meta   *struct {
		Message str `json:"developer_message"`
	} `json:"meta"`
}

// classify makes the error of an answer that is no success.
func classify(status int, header http.Header, raw []byte) *channel.Error {
	e := &channel.Error{RetryAfter: retryAfter(header)}
	var a answer
	readable := json.Unmarshal(raw, &a) == nil
	var transient, said bool
	switch {
	case readable && a.Error != nil:
		said, transient = true, a.Error.IsTransient
		e.Code, e.Detail = a.Error.Code.int(), firstOf(a.Error.Data.Details, a.Error.Message)
		if e.Code == 100 && a.Error.Subcode.int() == subcodeNoObject {
			e.Class = channel.Auth
		}
	case readable && len(a.Errors) > 0:
		said = true
		e.Code, e.Detail = a.Errors[0].Code.int(), a.Errors[0].text()
	case readable && a.Meta != nil:
		e.Detail = string(a.Meta.Message)
	}
	e.Detail = cut(e.Detail, maxDetail)
	if e.Class == "" {
		e.Class = classFor(e.Code, status, said, transient)
	}
	if e.RetryAfter == 0 {
		e.RetryAfter = defaultWait(e.Class, e.Code)
	}
	return e
}

// classFor goes by the code where it is known, else by the HTTP status.
func classFor(code, status int, said, transient bool) channel.Class {
	if class, known := classOf(code); known && said {
		return class
	}
	switch {
	case transient:
		return channel.Transient
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		return channel.Auth
	case status == http.StatusTooManyRequests:
		return channel.Rate
	case status == http.StatusRequestTimeout:
		return channel.Transient
	case status >= 500: // a gateway may have failed behind the acceptance
		return channel.Unknown
	case status >= 300 && status < 400: // the address is not the provider's
		return channel.Auth
	case said:
		return channel.Permanent
	}
	return channel.Defect
}

func defaultWait(class channel.Class, code int) time.Duration {
	switch class {
	case channel.PairRate:
		return waitPair
	case channel.Rate:
		if code == 130429 {
			return waitThroughput
		}
		return waitGraph
	case channel.Transient, channel.Permanent, channel.Window, channel.Undeliverable,
		channel.Unknown, channel.Defect, channel.Auth:
	}
	return 0
}

// retryAfter reads the header's form in seconds, at most an hour.
func retryAfter(h http.Header) time.Duration {
	n, err := strconv.Atoi(h.Get("Retry-After"))
	if err != nil || n < 0 {
		return 0
	}
	return min(time.Duration(n)*time.Second, time.Hour)
}
