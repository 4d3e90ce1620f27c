package tenant

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/nyaruka/phonenumbers"
	"golang.org/x/text/currency"

	"github.com/ratiba/ratiba/internal/config"
	"github.com/ratiba/ratiba/internal/money"
)

// definition is a tenant's YAML file. The app's own section stands under the
// app's name.
type definition struct {
	Slug       string         `yaml:"slug"`
	Name       string         `yaml:"name"`
	Vertical   string         `yaml:"vertical"`
	App        string         `yaml:"app"`
	Country    string         `yaml:"country"`
	Locale     string         `yaml:"locale"`
	TimeZone   string         `yaml:"time_zone"`
	Currency   string         `yaml:"currency"`
	Assistant  string         `yaml:"assistant"`
	HouseRules string         `yaml:"house_rules"`
	QuietMS    *int           `yaml:"quiet_time_ms"`
	CostSoft   string         `yaml:"cost_ceiling_soft_usd"`
	CostHard   string         `yaml:"cost_ceiling_hard_usd"`
	ContactDay string         `yaml:"cost_ceiling_contact_day_usd"`
	TenantDay  string         `yaml:"cost_ceiling_tenant_day_usd"`
	Operations string         `yaml:"cost_ceiling_operations_day_usd"`
	Models     map[string]any `yaml:"llm_role_overrides"`
	Slack      string         `yaml:"slack_channel"`
	Thresholds map[string]any `yaml:"handoff_thresholds"`
	Notice     *int           `yaml:"handoff_admin_notice_seconds"`
	Reminder   *int           `yaml:"handoff_admin_reminder_seconds"`
	Escalation *int           `yaml:"handoff_escalation_seconds"`
	Numbers    []struct {
		Provider     string `yaml:"provider"`
		ID           string `yaml:"id"`
		Display      string `yaml:"display"`
		TokenEnv     string `yaml:"token_env"`
		AppSecretEnv string `yaml:"app_secret_env"`
		WebhookEnv   string `yaml:"webhook_secret_env"`
		Account      string `yaml:"account_id"`
	} `yaml:"numbers"`
	Admins []struct {
		Name     string `yaml:"name"`
		Phone    string `yaml:"phone"`
		Role     string `yaml:"role"`
		Language string `yaml:"language"`
		Staff    string `yaml:"staff"`
	} `yaml:"admins"`
	ConfirmTools []string `yaml:"confirm_tools"`
	Announcement string   `yaml:"announcement_cost_usd"`
	Mpesa        *struct {
		Shortcode         string `yaml:"shortcode"`
		Till              string `yaml:"till"`
		Type              string `yaml:"type"`
		PasskeyEnv        string `yaml:"passkey_env"`
		ConsumerKeyEnv    string `yaml:"consumer_key_env"`
		ConsumerSecretEnv string `yaml:"consumer_secret_env"`
		Initiator         string `yaml:"initiator"`
		CredentialEnv     string `yaml:"security_credential_env"`
	} `yaml:"mpesa"`
	Pesapal *struct {
		ConsumerKeyEnv    string `yaml:"consumer_key_env"`
		ConsumerSecretEnv string `yaml:"consumer_secret_env"`
	} `yaml:"pesapal"`
	Booking map[string]any `yaml:"booking"`
}

// Defaults of a definition.
const (
	defaultQuiet    = 1200 * time.Millisecond
	defaultCostSoft = "0.05"
	defaultCostHard = "0.20"
	// What Meta takes for a marketing template to Kenya.
	defaultAnnouncement = "0.0225"
)

var (
	slugForm    = regexp.MustCompile(`^[a-z][a-z0-9]{1,30}$`)
	envForm     = regexp.MustCompile(`^[A-Z][A-Z0-9_]*$`)
	accountForm = regexp.MustCompile(`^\d{5,20}$`)
	countryForm = regexp.MustCompile(`^[A-Z]{2}$`)
)

// Parse reads a tenant's YAML definition and names every fault at once, beside
// a Tenant of what could be read. The app's own section is checked by the app.
func Parse(raw []byte) (Tenant, error) {
	var d definition
	if err := yaml.UnmarshalWithOptions(raw, &d, yaml.Strict()); err != nil {
		return Tenant{}, fmt.Errorf("read tenant definition: %w", err)
	}
	c := &checker{}
	t := Tenant{
		Slug: d.Slug, Name: d.Name, Vertical: d.Vertical, App: d.App, Country: d.Country, Locale: d.Locale,
		TimeZone: d.TimeZone, Currency: d.Currency, Assistant: d.Assistant, HouseRules: d.HouseRules, QuietTime: defaultQuiet,
		Slack: d.Slack, ConfirmTools: d.ConfirmTools,
	}
	c.want(d.Slack == "" || config.SlackChannel(d.Slack), "slack_channel", "#name or a channel's id")
	if d.QuietMS != nil {
		t.QuietTime = time.Duration(*d.QuietMS) * time.Millisecond
		c.want(t.QuietTime >= 0 && t.QuietTime <= 6*time.Second, "quiet_time_ms", "a number from 0 to 6000")
	}
	c.identity(t)
	c.numbers(d, &t)
	c.admins(d, &t)
	c.mpesa(d, &t)
	c.pesapal(d, &t)
	c.costs(d, &t)
	c.thresholds(d, &t)
	c.handoffClock(d, &t)
	if len(d.Models) > 0 {
		models, err := json.Marshal(d.Models)
		c.want(err == nil, "llm_role_overrides", "roles that can be read")
		t.Models = models
	}
	if d.Booking != nil {
		settings, err := json.Marshal(d.Booking)
		c.want(err == nil, "booking", "a section that can be read")
		t.Settings = settings
	}
	return t, errors.Join(c.faults...)
}

// checker collects faults by path.
type checker struct{ faults []error }

func (c *checker) want(ok bool, path, want string) {
	if !ok {
		c.faults = append(c.faults, fmt.Errorf("%s: want %s", path, want))
	}
}

func (c *checker) identity(t Tenant) {
	c.want(slugForm.MatchString(t.Slug), "slug", "2 to 31 lower-case letters and digits, a letter first")
	c.want(t.Name != "" && len(t.Name) <= 60, "name", "the business's name, at most 60 bytes")
	c.want(t.Vertical != "", "vertical", "the kind of business, such as spa")
	c.want(t.App != "", "app", "the app that serves it, such as booking")
	c.want(countryForm.MatchString(t.Country), "country", "two capital letters, such as KE")
	c.want(t.Locale == "en" || t.Locale == "sw", "locale", "en or sw")
	c.want(t.Assistant != "" && len(t.Assistant) <= 30, "assistant", "the assistant's name, at most 30 bytes")
	_, err := time.LoadLocation(t.TimeZone)
	c.want(err == nil && t.TimeZone != "" && t.TimeZone != "Local", "time_zone", "an IANA zone, such as Africa/Nairobi")
	_, err = currency.ParseISO(t.Currency)
	c.want(err == nil, "currency", "an ISO 4217 code, such as KES")
}

func (c *checker) numbers(d definition, t *Tenant) {
	c.want(len(d.Numbers) > 0, "numbers", "at least one WhatsApp number")
	seen := map[string]bool{}
	for i, n := range d.Numbers {
		path := fmt.Sprintf("numbers[%d].", i)
		c.want(n.Provider == "meta" || n.Provider == "360dialog", path+"provider", "meta or 360dialog")
		c.want(n.ID != "", path+"id", "the provider's id of the number")
		c.want(n.ID == "" || !seen[n.Provider+":"+n.ID], path+"id", "a number that stands here once")
		seen[n.Provider+":"+n.ID] = true
		c.want(n.Account == "" || accountForm.MatchString(n.Account), path+"account_id", "the digits of the WhatsApp business account's id")
		display, ok := phone(n.Display, t.Country)
		c.want(ok, path+"display", "the number people dial, such as +254700000000")
		c.want(envForm.MatchString(n.TokenEnv), path+"token_env", "the name of an environment variable")
		if n.Provider == "meta" {
			c.want(envForm.MatchString(n.AppSecretEnv), path+"app_secret_env", "the name of an environment variable")
		} else {
			c.want(envForm.MatchString(n.WebhookEnv), path+"webhook_secret_env", "the name of an environment variable")
		}
		t.Numbers = append(t.Numbers, Number{
			Provider: n.Provider, ID: n.ID, Display: display, TokenEnv: n.TokenEnv, AppSecretEnv: n.AppSecretEnv, WebhookEnv: n.WebhookEnv,
			Account: n.Account,
		})
	}
}

func (c *checker) admins(d definition, t *Tenant) {
	c.want(len(d.Admins) > 0, "admins", "at least one person who is told and can take over")
	seen := map[string]bool{}
	for i, a := range d.Admins {
		path := fmt.Sprintf("admins[%d].", i)
		number, ok := phone(a.Phone, t.Country)
		c.want(ok, path+"phone", "a phone number, such as +254700000000")
		c.want(!ok || !seen[number], path+"phone", "a phone no other admin has")
		seen[number] = true
		c.want(a.Name != "", path+"name", "the person's name")
		if a.Role == "" {
			a.Role = string(Owner)
		}
		c.want(slices.Contains([]string{string(Owner), string(Staff)}, a.Role), path+"role", "owner or staff")
		if a.Language == "" {
			a.Language = t.Locale
		}
		c.want(a.Language == "en" || a.Language == "sw", path+"language", "en or sw")
		t.Admins = append(t.Admins, Admin{Name: a.Name, Phone: number, Role: Role(a.Role), Language: a.Language, Staff: a.Staff})
	}
}

func (c *checker) mpesa(d definition, t *Tenant) {
	m := d.Mpesa
	if m == nil {
		return
	}
	if m.Type == "" {
		m.Type = "paybill"
	}
	c.want(m.Type == "paybill" || m.Type == "till", "mpesa.type", "paybill or till")
	c.want(regexp.MustCompile(`^\d{5,7}$`).MatchString(m.Shortcode), "mpesa.shortcode", "5 to 7 digits")
	for _, secret := range []struct{ key, env string }{
		{"passkey_env", m.PasskeyEnv}, {"consumer_key_env", m.ConsumerKeyEnv}, {"consumer_secret_env", m.ConsumerSecretEnv},
	} {
		c.want(envForm.MatchString(secret.env), "mpesa."+secret.key, "the name of an environment variable")
	}
	c.want((m.Initiator == "") == (m.CredentialEnv == "") && (m.CredentialEnv == "" || envForm.MatchString(m.CredentialEnv)),
		"mpesa.security_credential_env", "the name of an environment variable, together with mpesa.initiator or not at all")
	t.Mpesa = &Mpesa{
		Initiator: m.Initiator, CredentialEnv: m.CredentialEnv,
		Shortcode: m.Shortcode, Till: m.Till, Type: m.Type, PasskeyEnv: m.PasskeyEnv,
		ConsumerKeyEnv: m.ConsumerKeyEnv, ConsumerSecretEnv: m.ConsumerSecretEnv,
	}
}

// maxPesapalSlug leaves room for a reference that names the business in the 50
// characters that PesaPal takes.
const maxPesapalSlug = 19

func (c *checker) pesapal(d definition, t *Tenant) {
	p := d.Pesapal
	if p == nil {
		return
	}
	c.want(envForm.MatchString(p.ConsumerKeyEnv), "pesapal.consumer_key_env", "the name of an environment variable")
	c.want(envForm.MatchString(p.ConsumerSecretEnv), "pesapal.consumer_secret_env", "the name of an environment variable")
	c.want(len(t.Slug) <= maxPesapalSlug, "slug", fmt.Sprintf("at most %d characters where there is a pesapal section", maxPesapalSlug))
	t.Pesapal = &Pesapal{ConsumerKeyEnv: p.ConsumerKeyEnv, ConsumerSecretEnv: p.ConsumerSecretEnv}
}

func (c *checker) costs(d definition, t *Tenant) {
	for _, ceiling := range []struct {
		path, text, standard string
		into                 *money.Pico
	}{
		{"cost_ceiling_soft_usd", d.CostSoft, defaultCostSoft, &t.CostSoft},
		{"cost_ceiling_hard_usd", d.CostHard, defaultCostHard, &t.CostHard},
		{"announcement_cost_usd", d.Announcement, defaultAnnouncement, &t.AnnouncementCost},
	} {
		text := ceiling.text
		if text == "" {
			text = ceiling.standard
		}
		p, err := money.ParseUSD(text)
		c.want(err == nil, ceiling.path, `dollars as a decimal string, such as "0.05"`)
		*ceiling.into = p
	}
	c.want(t.CostSoft <= t.CostHard, "cost_ceiling_soft_usd", "no more than cost_ceiling_hard_usd")
	for _, day := range []struct {
		path, text string
		into       *money.Pico
	}{
		{"cost_ceiling_contact_day_usd", d.ContactDay, &t.CostContactDay},
		{"cost_ceiling_tenant_day_usd", d.TenantDay, &t.CostTenantDay},
		{"cost_ceiling_operations_day_usd", d.Operations, &t.CostOperationsDay},
	} {
		if day.text == "" {
			continue
		}
		p, err := money.ParseUSD(day.text)
		c.want(err == nil && p > 0, day.path, `dollars as a decimal string above zero, such as "0.60"`)
		*day.into = p
	}
	for _, day := range []struct {
		path string
		p    money.Pico
	}{{"cost_ceiling_contact_day_usd", t.CostContactDay}, {"cost_ceiling_tenant_day_usd", t.CostTenantDay}} {
		c.want(day.p == 0 || day.p >= t.CostHard, day.path, "no less than cost_ceiling_hard_usd")
	}
}

// thresholds takes the vertical's values where the section is empty; a section
// that is there must be whole, because a key that silently fell back would hide
// a mistake.
func (c *checker) thresholds(d definition, t *Tenant) {
	raw, err := json.Marshal(d.Thresholds)
	c.want(err == nil, "handoff_thresholds", "values that can be read")
	if d.Thresholds == nil {
		raw = nil
	}
	var faults []error
	t.Thresholds, faults = ParseThresholds(raw, t.Vertical)
	c.faults = append(c.faults, faults...)
}

// handoffClock reads how long a customer waits for a person before what happens.
func (c *checker) handoffClock(d definition, t *Tenant) {
	for _, at := range []struct {
		path    string
		written *int
		into    *int
	}{
		{"handoff_admin_notice_seconds", d.Notice, &t.NoticeSeconds},
		{"handoff_admin_reminder_seconds", d.Reminder, &t.ReminderSeconds},
		{"handoff_escalation_seconds", d.Escalation, &t.EscalationSeconds},
	} {
		if at.written != nil {
			*at.into = *at.written
			c.want(*at.into >= 10 && *at.into <= 86_400, at.path, "seconds from 10 to 86400")
		}
	}
}

// phone brings a phone number to E.164; local forms are read in the country.
func phone(text, country string) (string, bool) {
	n, err := phonenumbers.Parse(strings.TrimSpace(text), country)
	if err != nil || !phonenumbers.IsPossibleNumber(n) {
		return "", false
	}
	return phonenumbers.Format(n, phonenumbers.E164), true
}
