package tenant_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ratiba/ratiba/internal/money"
	"github.com/ratiba/ratiba/internal/tenant"
)

const good = `
slug: glow
name: Glow Spa
vertical: spa
app: booking
country: KE
locale: sw
time_zone: Africa/Nairobi
currency: KES
assistant: Zuri
house_rules: No smoking.
quiet_time_ms: 800
llm_role_overrides:
  answer_shaper: {ladder: [{provider: openai, model: m, threshold: 0.8}]}
numbers:
  - {provider: meta, id: "100", display: "0700 000 000", token_env: GLOW_TOKEN, app_secret_env: GLOW_SECRET}
  - {provider: 360dialog, id: "100", display: "+254700000002", token_env: GLOW_KEY, webhook_secret_env: GLOW_HOOK}
admins:
  - {name: Wanjiku, phone: "0711 000 000"}
  - {name: Otieno, phone: "+254711000001", role: staff, language: en}
mpesa: {shortcode: "174379", passkey_env: PASSKEY, consumer_key_env: KEY, consumer_secret_env: SECRET}
booking: {services: [{id: massage}]}
`

const thresholds = `
handoff_thresholds:
  low_conf_intent_threshold: 0.65
  low_conf_intent_consecutive_turns: 2
  low_conf_slot_threshold: 0.5
  low_conf_slot_max_reprompts: 1
  sentiment_negative_consecutive_turns: 1
  policy_tripwire_refund_threshold_kes: 100
  budget_breach_max_turns: 40
  budget_breach_max_tokens: 20000
`

func TestParseReadsAGoodDefinition(t *testing.T) {
	t.Parallel()
	got, err := tenant.Parse([]byte(good))
	if err != nil {
		t.Fatal(err)
	}
	want := tenant.Tenant{
		Slug: "glow", Name: "Glow Spa", Vertical: "spa", App: "booking", Country: "KE", Locale: "sw", TimeZone: "Africa/Nairobi", Currency: "KES",
		Assistant: "Zuri", HouseRules: "No smoking.", QuietTime: 800 * time.Millisecond,
		Numbers: []tenant.Number{
			{Provider: "meta", ID: "100", Display: "+254700000000", TokenEnv: "GLOW_TOKEN", AppSecretEnv: "GLOW_SECRET"},
			{Provider: "360dialog", ID: "100", Display: "+254700000002", TokenEnv: "GLOW_KEY", WebhookEnv: "GLOW_HOOK"},
		},
		Admins: []tenant.Admin{
			{Name: "Wanjiku", Phone: "+254711000000", Role: tenant.Owner, Language: "sw"},
			{Name: "Otieno", Phone: "+254711000001", Role: tenant.Staff, Language: "en"},
		},
		Mpesa: &tenant.Mpesa{
			Shortcode: "174379", Type: "paybill", PasskeyEnv: "PASSKEY", ConsumerKeyEnv: "KEY", ConsumerSecretEnv: "SECRET",
		},
		Thresholds: tenant.BaseThresholds("spa"), CostSoft: money.USD / 20, CostHard: money.USD / 5, AnnouncementCost: money.USD * 225 / 10_000,
		Models:   []byte(`{"answer_shaper":{"ladder":[{"model":"m","provider":"openai","threshold":0.8}]}}`),
		Settings: []byte(`{"services":[{"id":"massage"}]}`),
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Parse (-want +got):\n%s", diff)
	}
	if got.Location().String() != "Africa/Nairobi" {
		t.Errorf("Location = %v", got.Location())
	}
	if a := got.AdminByPhone("+254711000001"); a == nil || a.Name != "Otieno" {
		t.Errorf("AdminByPhone = %v, want Otieno", a)
	}
	if a := got.AdminByPhone("+254700000000"); a != nil {
		t.Errorf("AdminByPhone = %v, want none", a)
	}
	if loc := (&tenant.Tenant{TimeZone: "Moon/Base"}).Location(); loc != time.UTC {
		t.Errorf("an unknown zone: %v, want UTC", loc)
	}
}

func TestParseNamesEveryFault(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, old, with, want string }{
		{"a slug with capitals", "slug: glow", "slug: Glow", "slug: want"},
		{"no name", "name: Glow Spa", "name: ''", "name: want"},
		{"no vertical", "vertical: spa", "", "vertical: want"},
		{"no app", "app: booking", "", "app: want"},
		{"a country by name", "country: KE", "country: Kenya", "country: want"},
		{"a language we do not speak", "locale: sw", "locale: fr", "locale: want en or sw"},
		{"a zone that is none", "Africa/Nairobi", "Africa/Gotham", "time_zone: want"},
		{"the machine's own zone", "Africa/Nairobi", "Local", "time_zone: want"},
		{"a currency that is none", "currency: KES", "currency: SHILLING", "currency: want"},
		{"no assistant", "assistant: Zuri", "", "assistant: want"},
		{"a quiet time that is too long", "quiet_time_ms: 800", "quiet_time_ms: 6001", "quiet_time_ms: want"},
		{"a negative quiet time", "quiet_time_ms: 800", "quiet_time_ms: -1", "quiet_time_ms: want"},
		{"a Slack channel that is none", "currency: KES", "currency: KES\nslack_channel: escalations", "slack_channel: want #name"},
		{"an unknown provider", "provider: meta", "provider: smoke", "numbers[0].provider: want"},
		{"a number without id", `id: "100", display: "0700`, `display: "0700`, "numbers[0].id: want"},
		{"one number twice", "provider: 360dialog", "provider: meta", "numbers[1].id: want a number that stands here once"},
		{"a number nobody can dial", "0700 000 000", "12", "numbers[0].display: want"},
		{"a token in place of its variable", "GLOW_TOKEN", "EAAGxyz", "numbers[0].token_env: want"},
		{"no signing secret", ", app_secret_env: GLOW_SECRET", "", "numbers[0].app_secret_env: want"},
		{"no webhook secret", ", webhook_secret_env: GLOW_HOOK", "", "numbers[1].webhook_secret_env: want"},
		{"an admin's phone that is none", "0711 000 000", "ask me", "admins[0].phone: want a phone number"},
		{"two admins with one phone", "+254711000001", "0711000000", "admins[1].phone: want a phone no other admin has"},
		{"an admin without name", "name: Otieno, ", "", "admins[1].name: want"},
		{"an unknown role", "role: staff", "role: king", "admins[1].role: want"},
		{"an admin's unknown language", "language: en", "language: fr", "admins[1].language: want"},
		{"a shortcode with letters", "174379", "17A", "mpesa.shortcode: want"},
		{"an unknown M-Pesa type", "mpesa: {", "mpesa: {type: pochi, ", "mpesa.type: want"},
		{"a passkey in place of its variable", "passkey_env: PASSKEY", "passkey_env: bfb279", "mpesa.passkey_env: want"},
		{"a PesaPal secret in place of its variable", "mpesa:", "pesapal: {consumer_key_env: KEY, consumer_secret_env: s3cret}\nmpesa:", "pesapal.consumer_secret_env: want"},
		{"a slug too long for PesaPal's references", "slug: glow", "slug: glowglowglowglowglow\npesapal: {consumer_key_env: KEY, consumer_secret_env: SECRET}", "slug: want at most 19"},
		{"no consumer key", "consumer_key_env: KEY, ", "", "mpesa.consumer_key_env: want"},
		{"a ceiling that is no number", "currency: KES", "currency: KES\ncost_ceiling_soft_usd: cheap", "cost_ceiling_soft_usd: want"},
		{"a ceiling below nothing", "currency: KES", "currency: KES\ncost_ceiling_soft_usd: '-0.01'", "cost_ceiling_soft_usd: want"},
		{"a soft ceiling over the hard one", "currency: KES", "currency: KES\ncost_ceiling_soft_usd: '0.30'", "cost_ceiling_soft_usd: want no more"},
		{"a day that costs nothing", "currency: KES", "currency: KES\ncost_ceiling_operations_day_usd: '0'", "cost_ceiling_operations_day_usd: want dollars"},
		{"a day below a thread's ceiling", "currency: KES", "currency: KES\ncost_ceiling_contact_day_usd: '0.19'", "cost_ceiling_contact_day_usd: want no less"},
		{"a business's day below a thread's ceiling", "currency: KES", "currency: KES\ncost_ceiling_tenant_day_usd: '0.1'", "cost_ceiling_tenant_day_usd: want no less"},
		{"a threshold that is missing", "mpesa:", strings.Replace(thresholds, "  budget_breach_max_turns: 40\n", "", 1) + "mpesa:", "handoff_thresholds.budget_breach_max_turns: want a value"},
		{"a threshold that is empty", "mpesa:", strings.Replace(thresholds, "turns: 40", "turns:", 1) + "mpesa:", "handoff_thresholds.budget_breach_max_turns: want a value"},
		{"a threshold that does not exist", "mpesa:", thresholds + "  patience: 3\nmpesa:", "handoff_thresholds.patience: want no such threshold"},
		{"a threshold that is a word", "mpesa:", strings.Replace(thresholds, "40", "many", 1) + "mpesa:", "handoff_thresholds.budget_breach_max_turns: want a whole number"},
		{"half a turn", "mpesa:", strings.Replace(thresholds, "40", "40.5", 1) + "mpesa:", "handoff_thresholds.budget_breach_max_turns: want a whole number"},
		{"a certainty over one", "mpesa:", strings.Replace(thresholds, "0.65", "1.5", 1) + "mpesa:", "handoff_thresholds.low_conf_intent_threshold: want"},
		{"a slot's certainty of nothing", "mpesa:", strings.Replace(thresholds, "0.5\n", "0\n", 1) + "mpesa:", "handoff_thresholds.low_conf_slot_threshold: want"},
		{"a customer who is told at once", "mpesa:", "handoff_admin_notice_seconds: 1\nmpesa:", "handoff_admin_notice_seconds: want seconds"},
		{"reminders once a week", "mpesa:", "handoff_admin_reminder_seconds: 604800\nmpesa:", "handoff_admin_reminder_seconds: want seconds"},
		{"nobody else is ever asked", "mpesa:", "handoff_escalation_seconds: 0\nmpesa:", "handoff_escalation_seconds: want seconds"},
		{"no turns at all", "mpesa:", strings.Replace(thresholds, "40", "0", 1) + "mpesa:", "handoff_thresholds.budget_breach_max_turns: want a whole number"},
		{"a key nobody knows", "locale: sw", "locale: sw\ncolour: red", "colour"},
		{"broken YAML", "slug: glow", "slug: [", "read tenant definition"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			text := strings.Replace(good, tt.old, tt.with, 1)
			if text == good {
				t.Fatalf("%q does not occur", tt.old)
			}
			_, err := tenant.Parse([]byte(text))
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
			if err != nil && strings.Count(err.Error(), "\n") > 2 && tt.name != "a key nobody knows" && tt.name != "broken YAML" {
				t.Errorf("one mistake is told as many: %v", err)
			}
		})
	}
	_, err := tenant.Parse(nil)
	if err == nil {
		t.Fatal("an empty definition was read")
	}
	for _, path := range []string{"slug", "name", "vertical", "app", "country", "locale", "assistant", "time_zone", "currency", "numbers", "admins"} {
		if !strings.Contains("\n"+err.Error(), "\n"+path+": ") {
			t.Errorf("an empty definition: %s is not named in\n%v", path, err)
		}
	}
}

func TestThresholdsAreReadWhole(t *testing.T) {
	t.Parallel()
	got, err := tenant.Parse([]byte(good + thresholds))
	if err != nil {
		t.Fatal(err)
	}
	want := tenant.Thresholds{
		LowConfIntent: 0.65, LowConfIntentTurns: 2, LowConfSlot: 0.5, LowConfSlotReprompts: 1, NegativeTurns: 1, RefundKES: 100, MaxTurns: 40, MaxTokens: 20000,
	}
	if diff := cmp.Diff(want, got.Thresholds); diff != "" {
		t.Errorf("thresholds (-want +got):\n%s", diff)
	}
}

func TestVerticalsDiffer(t *testing.T) {
	t.Parallel()
	if d, s := tenant.BaseThresholds("dental"), tenant.BaseThresholds("spa"); d.LowConfIntent <= s.LowConfIntent || d.NegativeTurns >= s.NegativeTurns {
		t.Errorf("dental %+v is not more careful than spa %+v", d, s)
	}
	if l := tenant.BaseThresholds("legal"); l.RefundKES != 10000 {
		t.Errorf("legal: refund threshold %d, want 10000", l.RefundKES)
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{
		"", good, good + thresholds, "slug: glow", "numbers: [{}]", "admins: [{phone: '+'}]", "handoff_thresholds: {a: .nan}", "booking: {1: {2: .inf}}", "&a [*a]", "mpesa: {}",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		got, err := tenant.Parse(raw)
		if err != nil {
			return
		}
		if got.Slug == "" || len(got.Numbers) == 0 || len(got.Admins) == 0 || got.CostSoft > got.CostHard || got.CostSoft < 0 ||
			got.QuietTime < 0 || got.QuietTime > 6*time.Second || got.Thresholds.MaxTurns <= 0 {
			t.Errorf("an impossible tenant was read: %+v", got)
		}
	})
}

func TestStoredThresholdsAreWhole(t *testing.T) {
	t.Parallel()
	whole, err := json.Marshal(tenant.BaseThresholds("dental"))
	if err != nil {
		t.Fatal(err)
	}
	var got tenant.Thresholds
	if err := json.Unmarshal(whole, &got); err != nil || got != tenant.BaseThresholds("dental") || got.Check() != nil {
		t.Errorf("what was stored is read as %+v, %v, %v", got, err, got.Check())
	}
	for _, row := range []struct{ name, old, becomes, want string }{
		{"one is missing", `"budget_breach_max_turns":30,`, ``, "handoff_thresholds.budget_breach_max_turns"},
		{"one is not known", `{`, `{"patience":3,`, "patience"},
		{"one is of another kind", `"budget_breach_max_turns":30`, `"budget_breach_max_turns":"many"`, "budget_breach_max_turns"},
	} {
		raw := strings.Replace(string(whole), row.old, row.becomes, 1)
		if err := json.Unmarshal([]byte(raw), &got); err == nil || !strings.Contains(err.Error(), row.want) {
			t.Errorf("%s: %v, want %q named", row.name, err, row.want)
		}
	}
	bad := tenant.BaseThresholds("spa")
	bad.LowConfSlot, bad.NegativeTurns = 1, 0
	for _, key := range []string{"low_conf_slot_threshold", "sentiment_negative_consecutive_turns"} {
		if err := bad.Check(); err == nil || !strings.Contains(err.Error(), key) {
			t.Errorf("Check: %v, want %s named", err, key)
		}
	}
	for _, raw := range []string{"", "null", "{}", " {} "} {
		if got, faults := tenant.ParseThresholds([]byte(raw), "legal"); len(faults) > 0 || got != tenant.BaseThresholds("legal") {
			t.Errorf("%q: %+v, %v, want the vertical's", raw, got, faults)
		}
	}
}

func TestTheClockOfAHandoff(t *testing.T) {
	t.Parallel()
	var plain tenant.Tenant
	if plain.Notice() != 2*time.Minute || plain.Reminder() != 10*time.Minute || plain.Escalation() != time.Hour {
		t.Errorf("defaults %v, %v, %v", plain.Notice(), plain.Reminder(), plain.Escalation())
	}
	own, err := tenant.Parse([]byte(good + "handoff_admin_notice_seconds: 60\nhandoff_admin_reminder_seconds: 300\nhandoff_escalation_seconds: 1800\n"))
	if err != nil || own.Notice() != time.Minute || own.Reminder() != 5*time.Minute || own.Escalation() != 30*time.Minute {
		t.Errorf("the business's own: %v, %v, %v, %v", own.Notice(), own.Reminder(), own.Escalation(), err)
	}
}
