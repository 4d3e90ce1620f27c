package doctor

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/ratiba/ratiba/internal/channel"
	"github.com/ratiba/ratiba/internal/channel/whatsapp"
	"github.com/ratiba/ratiba/internal/template"
	"github.com/ratiba/ratiba/internal/tenant"
)

// askTime bounds one look at a provider's list of templates.
const askTime = 20 * time.Second

// templates says which templates must be approved for a business's numbers, and
// compares them with what the provider has, where it can be asked.
func (e *examination) templates(ctx context.Context, t tenant.Tenant) {
	all, err := template.All()
	if err != nil {
		e.faults("templates", err)
		return
	}
	var names []string
	for _, want := range all {
		names = append(names, want.Name)
	}
	for _, n := range t.Numbers {
		e.add(OK, "templates", "%s, number %s: approved in %s must be %s", t.Slug, n.ID, strings.Join(template.Languages(), " and "), strings.Join(names, ", "))
		e.registered(ctx, t, n, all)
	}
}

// registered compares one number's templates with those wanted.
func (e *examination) registered(ctx context.Context, t tenant.Tenant, n tenant.Number, all []template.Template) {
	a := channel.Account{
		Provider: channel.Provider(n.Provider), Number: n.ID, Token: e.secret(n.TokenEnv), BaseURL: e.settings.WhatsApp.MetaURL, Business: n.Account,
	}
	if a.Provider == channel.Dialog360 {
		a.BaseURL = e.settings.WhatsApp.Dialog360URL
	}
	switch {
	case e.Offline:
		e.add(Warn, "templates", "%s, number %s: not compared, because nobody outside was to be asked", t.Slug, n.ID)
		return
	case a.Token == "":
		return // its variable is named already
	case a.Provider == channel.Meta && n.Account == "":
		e.add(Warn, "templates", "%s, number %s: not compared; set numbers[].account_id to the id of the WhatsApp business account", t.Slug, n.ID)
		return
	}
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	var asks channel.Templater = whatsapp.New(whatsapp.Config{})
	have, err := asks.Templates(ctx, a)
	if err != nil {
		e.add(Fail, "templates", "%s, number %s: the provider does not list them: %v", t.Slug, n.ID, err)
		return
	}
	faults := 0
	for _, want := range all {
		for _, lang := range template.Languages() {
			if fault := amiss(want, lang, have); fault != "" {
				faults++
				e.add(Fail, "templates", "%s, number %s: %s in %s %s", t.Slug, n.ID, want.Name, lang, fault)
			}
		}
	}
	if faults == 0 {
		e.add(OK, "templates", "%s, number %s: all of them are approved", t.Slug, n.ID)
	}
}

// amiss says what is wrong with a template at the provider, "" when nothing is.
// Words may differ: Meta's reviewers ask for changes. What the product fills in
// may not.
func amiss(want template.Template, lang string, have []channel.Template) string {
	for _, t := range have {
		if t.Name != want.Name || t.Language != lang {
			continue
		}
		switch {
		case t.Status != "approved":
			return "is " + t.Status + ", not approved"
		case t.Parameters != len(want.Parameters):
			return countOf("parameters", t.Parameters, len(want.Parameters))
		case t.Buttons != len(want.Buttons[lang]):
			return countOf("buttons", t.Buttons, len(want.Buttons[lang]))
		}
		return ""
	}
	return "is not there: register it as docs/templates.md has it"
}

func countOf(what string, have, want int) string {
	return fmt.Sprintf("has %d %s, want %d", have, what, want)
}
