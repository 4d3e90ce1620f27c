package whatsapp

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
)

// sendLimit bounds the body of a send, in bytes.
const sendLimit = 1 << 20

// sendRequest is the body of POST /messages: a message, or a read receipt.
type sendRequest struct {
	Product       string `json:"messaging_product"`
	RecipientType string `json:"recipient_type"`
	To            string `json:"to"`
	Recipient     string `json:"recipient"` // BSUID; the phone in To wins
	Type          string `json:"type"`
	Opaque        string `json:"biz_opaque_callback_data"`
	Context       *struct {
		MessageID string `json:"message_id"`
	} `json:"context"`

	Status    string `json:"status"`
	MessageID string `json:"message_id"`
	Typing    *struct {
		Type string `json:"type"`
	} `json:"typing_indicator"`

	Text        *textSend      `json:"text"`
	Interactive *interactive   `json:"interactive"`
	Template    *templateSend  `json:"template"`
	Reaction    *reactionSend  `json:"reaction"`
	Location    *Place         `json:"location"`
	Contacts    []contactEntry `json:"contacts"`
	Image       *mediaSend     `json:"image"`
	Audio       *mediaSend     `json:"audio"`
	Video       *mediaSend     `json:"video"`
	Document    *mediaSend     `json:"document"`
	Sticker     *mediaSend     `json:"sticker"`
}

type textSend struct {
	Body string `json:"body"`
}

type interactive struct {
	Type   string `json:"type"`
	Header *struct {
		Type string `json:"type"`
		Text string `json:"text"`
	} `json:"header"`
	Body *struct {
		Text string `json:"text"`
	} `json:"body"`
	Footer *struct {
		Text string `json:"text"`
	} `json:"footer"`
	Action *action `json:"action"`
}

type action struct {
	Name    string `json:"name"`
	Button  string `json:"button"`
	Buttons []struct {
		Type  string `json:"type"`
		Reply Choice `json:"reply"`
	} `json:"buttons"`
	Sections   []Section `json:"sections"`
	Parameters struct {
		DisplayText string `json:"display_text"`
		URL         string `json:"url"`
	} `json:"parameters"`
}

type templateSend struct {
	Name     string `json:"name"`
	Language struct {
		Code string `json:"code"`
	} `json:"language"`
	Components []struct {
		Type       string          `json:"type"`
		SubType    string          `json:"sub_type"`
		Index      json.RawMessage `json:"index"` // the platform takes "0" and 0
		Parameters []struct {
			Type    string `json:"type"`
			Text    string `json:"text"`
			Payload string `json:"payload"`
		} `json:"parameters"`
	} `json:"components"`
}

type reactionSend struct {
	MessageID string `json:"message_id"`
	Emoji     string `json:"emoji"`
}

type mediaSend struct {
	ID       string `json:"id"`
	Link     string `json:"link"`
	Caption  string `json:"caption"`
	Filename string `json:"filename"`
}

type contactEntry struct {
	Name struct {
		FormattedName string `json:"formatted_name"`
	} `json:"name"`
	Phones []struct {
		Phone string `json:"phone"`
		WaID  string `json:"wa_id"`
	} `json:"phones"`
}

// parseSend reads the body of a send.
func parseSend(raw []byte) (*sendRequest, *apiError) {
	var req sendRequest
	dec := json.NewDecoder(bytes.NewReader(raw))
	if err := dec.Decode(&req); err != nil {
		if te, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
			return nil, misshaped("Param %s must be a %s.", te.Field, te.Type)
		}
		return nil, misshaped("The request body is not valid JSON.")
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, misshaped("The request body is not valid JSON.")
	}
	if req.Type == "" {
		req.Type = "text"
	}
	return &req, nil
}
