package understand

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/ratiba/ratiba/internal/llm"
	"github.com/ratiba/ratiba/internal/understand/lex"
)

// maxPhrased bounds what a model may write to a customer, in runes.
const maxPhrased = 700

// Shape asks a model to say a draft better: to rephrase a question
// (llm.ClarificationRephraser), to answer one from facts (llm.AnswerShaper), or
// to say that the assistant is back after a human (llm.Reorientation).
// What it writes must hold every fact word for word, no digits, amounts or
// links that are in neither the facts nor the draft, and stay short; otherwise
// the text is empty and the draft is what is said. Its only error is
// llm.ErrBudget's: a hard cost ceiling kept the model from being asked.
func (u *Understander) Shape(ctx context.Context, role llm.Role, facts []string, draft, lang string, belongs IDs) (text, callID string, err error) {
	if u.cfg.Model == nil {
		return "", "", nil
	}
	vars := map[string]string{
		"assistant_name": belongs.Voice.Assistant, "business_name": belongs.Voice.Business, "language": lang,
		"house_rules": belongs.Voice.HouseRules, "facts": lines(facts),
	}
	schema := u.phrased
	switch {
	case role == llm.Reorientation:
		vars["draft"], schema = draft, u.returning
	case role == llm.ClarificationRephraser:
		vars["draft"], vars["attempt"] = draft, strconv.Itoa(max(1, belongs.Attempt))
	case role == llm.AnswerShaper:
		vars["expecting"] = belongs.Expecting
		if draft != "" && len(facts) == 0 {
			vars["facts"] = "- " + strings.ReplaceAll(draft, "\n", " ")
		}
	default:
		return "", "", nil
	}
	res, err := u.call(ctx, role, vars, lex.Clean(belongs.Said), schema, belongs)
	if err != nil {
		return "", "", budget(err)
	}
	var out struct {
		Text       string  `json:"text"`
		Message    string  `json:"message"`
		Confidence float64 `json:"confidence"`
	}
	if json.Unmarshal(res.JSON, &out) != nil || out.Confidence < Doubt {
		return "", res.CallID, nil //nolint:nilerr // the draft stands.
	}
	text = strings.TrimSpace(cmp.Or(out.Text, out.Message))
	if !faithful(text, facts, draft) {
		u.cfg.Logger.LogAttrs(ctx, slog.LevelWarn, "understand.answer_refused", belongs.attrs(role)...)
		return "", res.CallID, nil
	}
	return text, res.CallID, nil
}

// budget is err if it is a hard cost ceiling's. Other failures are logged, and
// the draft stands.
func budget(err error) error {
	if errors.Is(err, llm.ErrBudget) {
		return err
	}
	return nil
}

func lines(facts []string) string {
	var b strings.Builder
	for _, f := range facts {
		b.WriteString("- " + strings.ReplaceAll(f, "\n", " ") + "\n")
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// faithful reports whether a phrasing holds what it was given and adds nothing
// that could be a commitment.
func faithful(text string, facts []string, draft string) bool {
	if text == "" || utf8.RuneCountInString(text) > max(maxPhrased, 2*utf8.RuneCountInString(draft)) || !utf8.ValidString(text) {
		return false
	}
	for _, f := range facts {
		if !strings.Contains(text, strings.TrimSpace(f)) {
			return false
		}
	}
	source := strings.Join(facts, "\n") + "\n" + draft
	given, written := figures(source), figures(text)
	for _, n := range written {
		if !slices.Contains(given, n) {
			return false
		}
	}
	return !addsLink(text, source)
}

// figures are the runs of digits of a text with the separators inside them, so
// that 3,500 and 35,00 differ, and its sums spelled with k.
func figures(s string) []string {
	var out []string
	for i := 0; i < len(s); {
		if s[i] < '0' || s[i] > '9' {
			i++
			continue
		}
		j := i + 1
		for j < len(s) && (s[j] >= '0' && s[j] <= '9' || (s[j] == ',' || s[j] == '.' || s[j] == ':' || s[j] == '/') && j+1 < len(s) && s[j+1] >= '0' && s[j+1] <= '9') {
			j++
		}
		run := s[i:j]
		if j < len(s) && (s[j] == '%' || s[j] == 'k' || s[j] == 'K') {
			run += s[j : j+1]
		}
		out = append(out, run)
		i = j
	}
	return out
}

// addsLink reports whether a text holds a link or an address that its source
// does not.
func addsLink(text, source string) bool {
	for word := range strings.FieldsSeq(strings.ToLower(text)) {
		word = strings.Trim(word, ".,!?;:()[]<>*_\"'")
		if !linkish(word) {
			continue
		}
		if !strings.Contains(strings.ToLower(source), word) {
			return true
		}
	}
	return false
}

func linkish(word string) bool {
	if strings.Contains(word, "://") || strings.HasPrefix(word, "www.") || strings.Contains(word, "@") {
		return true
	}
	at := strings.LastIndexByte(word, '.')
	if at <= 0 || at == len(word)-1 {
		return false
	}
	host := word
	if slash := strings.IndexByte(word, '/'); slash > 0 {
		host = word[:slash]
	}
	top := host[strings.LastIndexByte(host, '.')+1:]
	if len(top) < 2 || len(top) > 12 {
		return false
	}
	for i := range len(top) {
		if top[i] < 'a' || top[i] > 'z' {
			return false
		}
	}
	return true
}
