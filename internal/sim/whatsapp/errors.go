package whatsapp

import (
	"crypto/rand"
	"fmt"
	"net/http"
	"strings"

	"github.com/ratiba/ratiba/internal/sim/face"
)

// codeInfo is what the platform says about an error code. Wordings other than
// those quoted in Meta's documents are ours: clients decide on the code.
type codeInfo struct {
	title   string
	details string
	http    int
}

// rateSubcode goes with the Graph API's own limits (codes 4, 17, 80007).
const rateSubcode = 2446079

func infoOf(code int) codeInfo {
	switch code {
	case 4:
		return codeInfo{"Application request limit reached", "", http.StatusTooManyRequests}
	case 17:
		return codeInfo{"User request limit reached", "", http.StatusTooManyRequests}
	case 80007:
		return codeInfo{"Business request limit reached for WhatsApp Business Account", "", http.StatusTooManyRequests}
	case 130429:
		return codeInfo{"Rate limit hit", "The number's message throughput has been reached.", http.StatusTooManyRequests}
	case 131048:
		return codeInfo{"Spam rate limit hit", "Too many earlier messages from this number were blocked or reported.", http.StatusTooManyRequests}
	case 131056:
		return codeInfo{"(Business Account, Consumer Account) pair rate limit hit", "Too many messages from this number to the same user in a short time.", http.StatusTooManyRequests}
	case 190:
		return codeInfo{"Invalid OAuth access token - Cannot parse access token", "", http.StatusUnauthorized}
	case 130403, 131005:
		return codeInfo{"Access denied", "The permission is not granted or was removed.", http.StatusForbidden}
	case 130472:
		return codeInfo{"User's number is part of an experiment", "The message was not sent because the user takes part in an experiment.", http.StatusBadRequest}
	case 131000:
		return codeInfo{"Something went wrong", "The message could not be sent because of an unknown error.", http.StatusInternalServerError}
	case 131016:
		return codeInfo{"Service unavailable", "A service is temporarily unavailable.", http.StatusServiceUnavailable}
	}
	return messageInfo(code)
}

// messageInfo is of the codes that are about one message.
func messageInfo(code int) codeInfo {
	switch code {
	case 131008:
		return codeInfo{"Required parameter is missing", "", http.StatusBadRequest}
	case 131009:
		return codeInfo{"Parameter value is not valid", "", http.StatusBadRequest}
	case 131021:
		return codeInfo{"Recipient cannot be sender", "The recipient is the sending number itself.", http.StatusBadRequest}
	case 131026:
		return codeInfo{"Message undeliverable", "The recipient is not on WhatsApp, uses an old version, or has not accepted the terms.", http.StatusBadRequest}
	case 131042:
		return codeInfo{"Business eligibility payment issue", "There is a problem with the payment method.", http.StatusBadRequest}
	case 131047:
		return codeInfo{"Re-engagement message", "More than 24 hours have passed since the recipient last wrote to this number.", http.StatusBadRequest}
	case 131049:
		return codeInfo{"This message was not delivered to maintain healthy ecosystem engagement", "Do not retry at once.", http.StatusBadRequest}
	case 131050:
		return codeInfo{"User has stopped marketing messages", "The recipient opted out.", http.StatusBadRequest}
	case 131051:
		return codeInfo{"Unsupported message type", "The message type is not supported.", http.StatusBadRequest}
	case 131052, 131053:
		return codeInfo{"Media error", "The file could not be downloaded or uploaded.", http.StatusBadRequest}
	case 131057:
		return codeInfo{"Account in maintenance mode", "Try again later.", http.StatusServiceUnavailable}
	case 131062:
		return codeInfo{"Business-scoped user id not supported", "This message needs a phone number.", http.StatusBadRequest}
	case 132000:
		return codeInfo{"Number of parameters does not match the expected number of params", "", http.StatusBadRequest}
	case 132001:
		return codeInfo{"Template name does not exist in the translation", "", http.StatusNotFound}
	case 132012:
		return codeInfo{"Parameter format does not match format in the created template", "", http.StatusBadRequest}
	}
	return codeInfo{"Message failed", "The message could not be sent.", http.StatusBadRequest}
}

// apiError is a Graph API error.
type apiError struct {
	code    int
	message string
	details string
	kind    string // the error's type; OAuthException when empty
	subcode int
	http    int
}

// coded makes the error the platform answers for code; details replace the
// usual ones.
func coded(code int, details string) *apiError {
	info := infoOf(code)
	e := &apiError{code: code, details: info.details, http: info.http}
	if details != "" {
		e.details = details
	}
	e.message = fmt.Sprintf("(#%d) %s", code, info.title)
	switch code {
	case 4, 17, 80007:
		e.message, e.subcode = info.title, rateSubcode
	case 190:
		e.message = info.title
	}
	return e
}

// misshaped is code 100: the request itself is malformed.
func misshaped(format string, args ...any) *apiError {
	return &apiError{code: 100, message: "(#100) " + fmt.Sprintf(format, args...), http: http.StatusBadRequest}
}

// invalid is code 131009: a value breaks a rule.
func invalid(format string, args ...any) *apiError {
	return coded(131009, fmt.Sprintf(format, args...))
}

func noSuchObject(id string) *apiError {
	return &apiError{
		code: 100, subcode: 33, kind: "GraphMethodException", http: http.StatusBadRequest,
		message: fmt.Sprintf("Unsupported request. Object with ID '%s' does not exist, cannot be loaded due to missing permissions, or does not support this operation", id),
	}
}

// body returns the error as the Graph API writes it.
func (e *apiError) body() map[string]any {
	kind := e.kind
	if kind == "" {
		kind = "OAuthException"
	}
	out := map[string]any{
		"message":    e.message,
		"type":       kind,
		"code":       e.code,
		"fbtrace_id": "A" + rand.Text()[:22],
	}
	if e.subcode != 0 {
		out["error_subcode"] = e.subcode
	}
	if e.subcode == rateSubcode {
		out["is_transient"] = true
	}
	if e.details != "" {
		out["error_data"] = map[string]any{"messaging_product": "whatsapp", "details": e.details}
	}
	return map[string]any{"error": out}
}

// element returns the error as it stands in a failed status.
func (e *apiError) element() map[string]any {
	_, title, found := strings.Cut(e.message, ") ")
	if !found {
		title = e.message
	}
	return map[string]any{
		"code": e.code, "title": title, "message": title,
		"error_data": map[string]any{"details": e.details},
		"href":       "/documentation/business-messaging/whatsapp/support/error-codes",
	}
}

func refuse(w http.ResponseWriter, e *apiError) { face.Write(w, e.http, e.body()) }
