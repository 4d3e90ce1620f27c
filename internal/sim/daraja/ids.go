package daraja

import (
	"crypto/rand"
	"fmt"
	"math/big"
	"strings"
	"time"
)

// eat is East Africa Time, which Daraja stamps everything with.
func eat() *time.Location { return time.FixedZone("EAT", 3*60*60) }

func random(n int64) int64 {
	v, _ := rand.Int(rand.Reader, big.NewInt(n)) // never fails with rand.Reader.
	return v.Int64()
}

// newRequestID makes an id of the form 12345-12345678-1.
func newRequestID() string {
	return fmt.Sprintf("%d-%d-1", 10_000+random(90_000), 10_000_000+random(90_000_000))
}

// newCheckoutID makes the id of a prompt: the moment to the millisecond, then
// the payer's nine digits. Two prompts never share one. Callers hold mu.
func (s *Simulator) newCheckoutID(now time.Time, phone string) string {
	for ms := now.Nanosecond() / int(time.Millisecond); ; ms++ {
		id := fmt.Sprintf("ws_CO_%s%03d%s", now.In(eat()).Format("02012006150405"), ms, lastNine(phone))
		if s.byID[id] == nil {
			return id
		}
	}
}

func lastNine(phone string) string { return phone[max(0, len(phone)-9):] }

// newReceipt makes an M-Pesa receipt number of ten characters: letters for year
// and month, a character for the day, then seven at random. Callers hold mu.
func (s *Simulator) newReceipt(now time.Time) string {
	const days = "123456789ABCDEFGHIJKLMNOPQRSTUV"
	const signs = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	local := now.In(eat())
	const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	head := string([]byte{letters[(local.Year()-2006)%len(letters)], letters[local.Month()-1], days[local.Day()-1]})
	for {
		var b strings.Builder
		b.WriteString(head)
		for range 7 {
			b.WriteByte(signs[random(int64(len(signs)))])
		}
		if r := b.String(); !s.receipts[r] {
			s.receipts[r] = true
			return r
		}
	}
}
