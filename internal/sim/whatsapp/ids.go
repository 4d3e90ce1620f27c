package whatsapp

import (
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"math/big"
	"strings"
)

// Directions as they stand inside a message id.
const (
	fromBusiness byte = 0x11
	fromUser     byte = 0x12
)

// newMessageID makes an id of the platform's form: base64 over the user's
// phone, the direction and a random key.
func newMessageID(user string, direction byte) string {
	user = user[:min(len(user), 64)]
	key := make([]byte, 10)
	_, _ = rand.Read(key) // crypto/rand.Read never fails.
	text := strings.ToUpper(hex.EncodeToString(key))
	raw := []byte{0x1c, 0x18, byte(len(user))} //nolint:gosec // at most 64.
	raw = append(raw, user...)
	raw = append(raw, 0x15, 0x02, 0x00, direction, 0x18, byte(len(text))) //nolint:gosec // 20.
	raw = append(raw, text...)
	raw = append(raw, 0x00)
	return "wamid." + base64.StdEncoding.EncodeToString(raw)
}

// newNumericID makes an id of n digits, as media have.
func newNumericID(n int) string {
	limit := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(n-1)), nil)
	v, _ := rand.Int(rand.Reader, new(big.Int).Mul(limit, big.NewInt(9))) // never fails with rand.Reader.
	return v.Add(v, limit).String()
}
