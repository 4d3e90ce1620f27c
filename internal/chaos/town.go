package chaos

import (
	"fmt"

	"github.com/ratiba/ratiba/internal/tenant"
)

// business is one tenant of the run.
type business struct {
	yaml   []byte
	def    tenant.Tenant
	number string // to write to
	admins []string
	lang   string
}

// settleTown invents the businesses. Half of them have a hold of one minute, so
// that reservations run out while processes die; half are reached through
// 360dialog.
func settleTown(n int) ([]business, error) {
	out := make([]business, n)
	for i := range out {
		lang, hold, provider := "en", 10, "provider: meta"
		secrets := fmt.Sprintf("app_secret_env: C%02d_APP_SECRET", i)
		if i%2 == 1 {
			lang, hold = "sw", 1
		}
		if i%4 >= 2 {
			provider, secrets = "provider: 360dialog", fmt.Sprintf("webhook_secret_env: C%02d_WEBHOOK_SECRET", i)
		}
		b := business{lang: lang, number: fmt.Sprintf("+2547115%05d", i)}
		for a := range 2 {
			b.admins = append(b.admins, fmt.Sprintf("+2547225%03d%02d", i, a))
		}
		b.yaml = fmt.Appendf(nil, form, i, i, lang, provider, 7000000+i, b.number, i, secrets, b.admins[0], lang, b.admins[1],
			600100+i, i, i, i, hold)
		var err error
		if b.def, err = tenant.Parse(b.yaml); err != nil {
			return nil, fmt.Errorf("business %d: %w", i, err)
		}
		out[i] = b
	}
	return out, nil
}

// form is a business's definition.
const form = `
slug: chaos%02d
name: Chaos Spa %02d
vertical: spa
app: booking
country: KE
locale: %s
time_zone: Africa/Nairobi
currency: KES
assistant: Amani
quiet_time_ms: 300
numbers:
  - {%s, id: "%d", display: "%s", token_env: C%02d_TOKEN, %s}
admins:
  - {name: Wanjiku, phone: "%s", role: owner, language: %s}
  - {name: Otieno, phone: "%s", role: staff, language: en}
mpesa: {shortcode: "%d", type: paybill, passkey_env: C%02d_PASSKEY, consumer_key_env: C%02d_KEY, consumer_secret_env: C%02d_SECRET}
booking:
  address: "Moi Avenue, Nairobi"
  policy: {notice_minutes: 60, horizon_days: 60, cancel_hours: 2, hold_minutes: %d, max_holds: 2}
  services:
    - key: massage
      name: {en: "Massage", sw: "Masaji"}
      aliases: ["massage", "masaji"]
      minutes: 60
      buffer_after: 15
      interval: 30
      price: 3000
      deposit: 500
      staff: [grace, amina]
    - key: facial
      name: {en: "Facial", sw: "Usafishaji wa uso"}
      aliases: ["facial", "uso"]
      minutes: 45
      buffer_before: 15
      interval: 30
      price: 2500
      deposit: 400
      staff: [amina, njeri]
    - key: manicure
      name: {en: "Manicure", sw: "Manicure"}
      aliases: ["manicure", "kucha"]
      minutes: 30
      interval: 30
      price: 1200
      staff: [njeri]
  staff:
    - {key: grace, name: Grace, hours: {mon-sun: ["08:00-20:00"]}}
    - {key: amina, name: Amina, hours: {mon-sun: ["08:00-20:00"]}}
    - {key: njeri, name: Njeri, hours: {mon-sun: ["08:00-20:00"]}}
`
