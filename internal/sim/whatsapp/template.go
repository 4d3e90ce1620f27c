package whatsapp

import (
	"fmt"
	"strconv"
	"strings"
)

// fill checks a template send against the approved templates and returns what
// the phone shows. Callers hold mu.
func (s *Simulator) fill(t *templateSend) (*Received, *apiError) {
	known, ok := s.template(t.Name, t.Language.Code)
	if !ok {
		return nil, coded(132001, fmt.Sprintf("template name (%s) does not exist in %s", t.Name, t.Language.Code))
	}
	if known.Status != "" && known.Status != approved {
		return nil, coded(132001, fmt.Sprintf("template name (%s) is %s in %s", t.Name, strings.ToLower(known.Status), t.Language.Code))
	}
	filled := &FilledTemplate{Name: t.Name, Language: t.Language.Code, Parameters: []string{}}
	payloads := make([]string, known.Buttons)
	for _, c := range t.Components {
		switch strings.ToLower(c.Type) {
		case "body":
			for _, p := range c.Parameters {
				if e := checkParameter(p.Type, p.Text); e != nil {
					return nil, e
				}
				filled.Parameters = append(filled.Parameters, p.Text)
			}
		case "button":
			index, err := strconv.Atoi(strings.Trim(string(c.Index), `"`))
			if err != nil || index < 0 || index >= known.Buttons || len(c.Parameters) != 1 {
				return nil, coded(132000, fmt.Sprintf("the template has %d buttons", known.Buttons))
			}
			payloads[index] = c.Parameters[0].Payload
		case "header":
		default:
			return nil, misshaped("Param template['components'] has the unknown type %q.", c.Type)
		}
	}
	if got := len(filled.Parameters); got != known.Params {
		return nil, coded(132000, fmt.Sprintf("body: number of localizable_params (%d) does not match the expected number of params (%d)", got, known.Params))
	}
	for i, payload := range payloads {
		filled.Buttons = append(filled.Buttons, known.quickReply(i, payload))
	}
	return &Received{Type: "template", Template: filled, Text: known.text(filled.Parameters)}, nil
}

// quickReply is button i as the phone shows it.
func (t Template) quickReply(i int, payload string) Choice {
	title := fmt.Sprintf("Button %d", i+1)
	if i < len(t.Titles) {
		title = t.Titles[i]
	}
	if payload == "" {
		payload = title // A quick reply without payload sends its title.
	}
	return Choice{ID: payload, Title: title}
}

func (s *Simulator) template(name, language string) (Template, bool) {
	for _, t := range s.templates {
		if t.Name == name && t.Language == language {
			return t, true
		}
	}
	return Template{}, false
}

// checkParameter holds a body parameter to the platform's rule: no newline, no
// tab, no run of four or more spaces.
func checkParameter(kind, text string) *apiError {
	if kind != "text" {
		return nil
	}
	if strings.TrimSpace(text) == "" {
		return coded(131008, "Parameter of type text is missing text value")
	}
	if length(text) > maxTemplateParam || strings.ContainsAny(text, "\n\r\t") || strings.Contains(text, "    ") {
		return coded(132012, "Param text cannot have new-line/tab characters or more than 4 consecutive spaces")
	}
	return nil
}

// text returns the template's body with its parameters, empty when the body is
// not known here.
func (t Template) text(parameters []string) string {
	pairs := make([]string, 0, 2*len(parameters))
	for i, p := range parameters {
		pairs = append(pairs, fmt.Sprintf("{{%d}}", i+1), p)
	}
	return strings.NewReplacer(pairs...).Replace(t.Body)
}
