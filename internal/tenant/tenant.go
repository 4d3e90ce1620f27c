// Package tenant is the vocabulary for one business and its settings.
package tenant

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/ratiba/ratiba/internal/ids"
	"github.com/ratiba/ratiba/internal/money"
)

// Role is what an admin may do.
type Role string

// Roles.
const (
	Owner Role = "owner"
	Staff Role = "staff"
)

// Admin is a registered person of the business who writes to the same number.
type Admin struct {
	Name     string `json:"name"`
	Phone    string `json:"phone"` // E.164
	Role     Role   `json:"role"`
	Language string `json:"language"` // en or sw
	// Staff is the member of staff whose calendar is theirs; "" is the one of
	// their name.
	Staff string `json:"staff,omitempty"`
}

// Calendar is the id of the member of staff whose calendar is the admin's.
func (a Admin) Calendar() string {
	if a.Staff != "" {
		return a.Staff
	}
	return strings.ToLower(strings.Join(strings.Fields(a.Name), "_"))
}

// Number is one WhatsApp number of the business. Secrets are names of
// environment variables, never values.
type Number struct {
	Provider     string `json:"provider"`             // meta or 360dialog
	ID           string `json:"id"`                   // the provider's id of the number (phone_number_id)
	Display      string `json:"display"`              // E.164 as people dial it
	TokenEnv     string `json:"token_env"`            // access token or API key
	AppSecretEnv string `json:"app_secret_env"`       // meta: signs webhooks
	WebhookEnv   string `json:"webhook_env"`          // 360dialog: secret in the webhook's path
	Account      string `json:"account_id,omitempty"` // meta: id of the WhatsApp business account, by which templates are looked up
}

// Mpesa is the business's Daraja app. Secrets are names of environment variables.
type Mpesa struct {
	Shortcode         string `json:"shortcode"`
	Till              string `json:"till,omitempty"` // the till money goes to, when it differs
	Type              string `json:"type"`           // paybill or till
	PasskeyEnv        string `json:"passkey_env"`
	ConsumerKeyEnv    string `json:"consumer_key_env"`
	ConsumerSecretEnv string `json:"consumer_secret_env"`
	// Initiator and the credential that Safaricom's portal made of its password
	// are what gives payments back; without them people do.
	Initiator     string `json:"initiator,omitempty"`
	CredentialEnv string `json:"security_credential_env,omitempty"`
}

// Pesapal is the business's PesaPal account. Secrets are names of environment
// variables.
type Pesapal struct {
	ConsumerKeyEnv    string `json:"consumer_key_env"`
	ConsumerSecretEnv string `json:"consumer_secret_env"`
}

// Tenant is one business.
type Tenant struct {
	ID         ids.TenantID `json:"id"`
	Slug       string       `json:"slug"`
	Name       string       `json:"name"`
	Vertical   string       `json:"vertical"` // spa, salon, barbershop, dental, ..., lettings, lawn_care
	App        string       `json:"app"`      // booking, ...
	Country    string       `json:"country"`  // ISO 3166-1 alpha-2: how local phone numbers are read
	Locale     string       `json:"locale"`   // en or sw
	TimeZone   string       `json:"time_zone"`
	Currency   string       `json:"currency"`
	Assistant  string       `json:"assistant"`
	HouseRules string       `json:"house_rules"`
	Numbers    []Number     `json:"numbers"`
	Admins     []Admin      `json:"admins"`
	Slack      string       `json:"slack_channel,omitempty"` // where people decide for models: #name or an id; the installation's when empty
	Mpesa      *Mpesa       `json:"mpesa,omitempty"`         // nil: no prompts on phones
	Pesapal    *Pesapal     `json:"pesapal,omitempty"`       // nil: no links to pay by card
	Thresholds Thresholds   `json:"thresholds"`
	// How long a customer waits for a person until they are told that one is
	// called, until admins are reminded, and until another admin is asked by name.
	// 0 is the default.
	NoticeSeconds     int `json:"handoff_admin_notice_seconds,omitempty"`
	ReminderSeconds   int `json:"handoff_admin_reminder_seconds,omitempty"`
	EscalationSeconds int `json:"handoff_escalation_seconds,omitempty"`

	CostSoft money.Pico `json:"cost_ceiling_soft_pico"`
	CostHard money.Pico `json:"cost_ceiling_hard_pico"`
	// What a contact's, the business's and its operations' day may cost; 0 is the
	// platform's default.
	CostContactDay    money.Pico      `json:"cost_ceiling_contact_day_pico,omitempty"`
	CostTenantDay     money.Pico      `json:"cost_ceiling_tenant_day_pico,omitempty"`
	CostOperationsDay money.Pico      `json:"cost_ceiling_operations_day_pico,omitempty"`
	Models            json.RawMessage `json:"llm_role_overrides,omitempty"` // the roles that other models serve here, as llm.ParseOverrides reads them
	QuietTime         time.Duration   `json:"quiet_time"`
	// AnnouncementCost is what one template of a broadcast costs at most.
	AnnouncementCost money.Pico `json:"announcement_cost_pico"`
	// ConfirmTools are writes that the business's people confirm before they happen.
	ConfirmTools []string        `json:"confirm_tools,omitempty"`
	Settings     json.RawMessage `json:"settings"` // the app's own section
	Version      int64           `json:"version"`  // raised on every change; recorded with each turn
}

// Location reads the business's zone, which costs the reading of a file: who
// needs it often keeps it. A definition with an unknown zone never
// becomes a Tenant, so the fallback to UTC is for zero values only.
func (t *Tenant) Location() *time.Location {
	loc, err := time.LoadLocation(t.TimeZone)
	if err != nil {
		return time.UTC
	}
	return loc
}

// AdminByPhone returns the admin with that phone, or nil.
func (t *Tenant) AdminByPhone(phone string) *Admin {
	for i := range t.Admins {
		if t.Admins[i].Phone == phone {
			return &t.Admins[i]
		}
	}
	return nil
}
