package pesapal

import (
	"encoding/json"
	"net/url"

	"github.com/ratiba/ratiba/internal/fault"
)

// MaxNotification bounds a notification, in bytes. PesaPal's own have under 300.
const MaxNotification = 4 << 10

// Notification says that an order has news. It proves nothing: anybody may send
// one, and what the news are only a query can tell.
type Notification struct {
	TrackingID string
	Reference  string
	Type       string
}

// ParseNotification reads a notification from the address it came to and from
// its body, JSON or a form: PesaPal calls with either. The error is a
// fault.Invalid or fault.TooLarge.
func ParseNotification(query url.Values, body []byte) (Notification, error) {
	if len(body) > MaxNotification {
		return Notification{}, fault.E(fault.TooLarge, "The notification is too long.")
	}
	var w struct {
		TrackingID str `json:"OrderTrackingId"`
		Reference  str `json:"OrderMerchantReference"`
		Type       str `json:"OrderNotificationType"`
	}
	from := func(v url.Values) {
		w.TrackingID, w.Reference, w.Type = str(v.Get("OrderTrackingId")), str(v.Get("OrderMerchantReference")), str(v.Get("OrderNotificationType"))
	}
	from(query)
	if w.TrackingID == "" && len(body) > 0 && json.Unmarshal(body, &w) != nil {
		form, err := url.ParseQuery(string(body))
		if err != nil {
			return Notification{}, fault.Wrap(err, fault.Invalid, "The notification is not readable.")
		}
		from(form)
	}
	n := Notification{TrackingID: bounded(w.TrackingID), Reference: bounded(w.Reference), Type: bounded(w.Type)}
	if n.TrackingID == "" || n.Reference == "" {
		return n, fault.E(fault.Invalid, "The notification names no order.")
	}
	return n, nil
}

// Acknowledgement is what a notification is answered with: until it is, with
// status 200, it is sent again.
type Acknowledgement struct {
	Type       string `json:"orderNotificationType"`
	TrackingID string `json:"orderTrackingId"`
	Reference  string `json:"orderMerchantReference"`
	Status     int    `json:"status"`
}

// Acknowledge answers a notification.
func (n Notification) Acknowledge(status int) Acknowledgement {
	return Acknowledgement{Type: n.Type, TrackingID: n.TrackingID, Reference: n.Reference, Status: status}
}
