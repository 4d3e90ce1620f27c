//go:build !race

package modelcheck

// Raced says that the race detector watches, under which everything is many
// times slower.
const Raced = false
