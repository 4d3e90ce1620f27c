package server

import (
	"crypto/sha256"

	"github.com/ratiba/ratiba/internal/config"
	"github.com/ratiba/ratiba/internal/ids"
	"github.com/ratiba/ratiba/internal/tenant"
)

// routes is where deliveries go, for all tenants as they are served now. It is
// not changed once it is made.
type routes struct {
	meta      map[string]map[string]*business // by app secret, then by number
	dialog360 map[[sha256.Size]byte][]dialog  // by the webhook secret's hash: looking one up tells nothing of it by time
	payments  map[string]*business            // by the tenant's part of callback addresses
	slugs     map[string]*business            // by the tenant's part of references
	phones    map[string]dialled              // by the number people call
}

// dialled is a business number that was called.
type dialled struct {
	business *business
	number   string // the provider's id
}

// dialog is a number of 360dialog's.
type dialog struct {
	number, secret, signing string
	business                *business
}

func newRoutes(businesses map[ids.TenantID]*business, secrets config.Secrets) *routes {
	r := &routes{meta: map[string]map[string]*business{}, dialog360: map[[sha256.Size]byte][]dialog{}, payments: map[string]*business{}, phones: map[string]dialled{}, slugs: map[string]*business{}}
	for _, b := range businesses {
		r.payments[b.route], r.slugs[b.tenant.Slug] = b, b
		for _, n := range b.tenant.Numbers {
			r.add(b, n, secrets)
			r.phones[n.Display] = dialled{b, n.ID}
		}
	}
	return r
}

// add routes a number's deliveries, if there is a secret to verify them by.
func (r *routes) add(b *business, n tenant.Number, secrets config.Secrets) {
	switch n.Provider {
	case "meta":
		secret := secrets(n.AppSecretEnv)
		if secret == "" {
			return
		}
		if r.meta[secret] == nil {
			r.meta[secret] = map[string]*business{}
		}
		r.meta[secret][n.ID] = b
	case "360dialog":
		d := dialog{number: n.ID, secret: secrets(n.WebhookEnv), business: b}
		if d.secret == "" {
			return
		}
		if n.AppSecretEnv != "" {
			d.signing = secrets(n.AppSecretEnv)
		}
		hash := sha256.Sum256([]byte(d.secret))
		r.dialog360[hash] = append(r.dialog360[hash], d)
	}
}
