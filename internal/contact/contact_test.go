package contact_test

import (
	"testing"

	"github.com/ratiba/ratiba/internal/contact"
)

func TestAPayersPhoneIsNoIdentity(t *testing.T) {
	t.Parallel()
	c := contact.Contact{Identities: []contact.Identity{{Kind: contact.BSUID, Value: "KE.1"}}, PayerPhone: "+254711000000"}
	if c.Phone() != "" || c.BSUID() != "KE.1" || c.Payer() != "+254711000000" {
		t.Errorf("got phone %q, bsuid %q, payer %q", c.Phone(), c.BSUID(), c.Payer())
	}
	c = contact.Contact{Identities: []contact.Identity{{Kind: contact.Phone, Value: "+254700000001"}}}
	if c.Phone() != c.Payer() || c.Payer() == "" || c.BSUID() != "" {
		t.Errorf("got phone %q, payer %q: want one's own phone to pay", c.Phone(), c.Payer())
	}
}
