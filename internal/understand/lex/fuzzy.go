package lex

// Near reports whether two folded words differ by at most limit typing slips: a
// letter more, less or other, or two neighbours swapped.
func Near(a, b string, limit int) bool {
	if a == b {
		return true
	}
	d := len(a) - len(b)
	if limit <= 0 || d > limit || -d > limit || len(a) > 32 || len(b) > 32 {
		return false
	}
	return distance(a, b, limit) <= limit
}

// distance is the optimal string alignment distance over bytes, cut off above
// limit.
func distance(a, b string, limit int) int {
	var rows [3][33]uint8
	before, last, row := &rows[0], &rows[1], &rows[2]
	for j := 0; j <= len(b); j++ {
		last[j] = uint8(j)
	}
	for i := 1; i <= len(a); i++ {
		row[0] = uint8(i)
		least := row[0]
		for j := 1; j <= len(b); j++ {
			cost := uint8(1)
			if a[i-1] == b[j-1] {
				cost = 0
			}
			v := min(last[j]+1, row[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				v = min(v, before[j-2]+1)
			}
			row[j] = v
			least = min(least, v)
		}
		if int(least) > limit {
			return limit + 1
		}
		before, last, row = last, row, before
	}
	return int(last[len(b)])
}

// Slips is how many typing slips a word of this length may carry and still be
// recognised.
func Slips(word string) int {
	switch n := len(word); {
	case n < 4:
		return 0
	case n < 8:
		return 1
	}
	return 2
}

// Stem takes the endings off an English word that do not change what it names:
// plural and -ing.
func Stem(w string) string {
	for _, end := range [...]string{"ings", "ing", "es", "s"} {
		if n := len(w) - len(end); n >= 4 && w[n:] == end && w[n-1] != 's' {
			return w[:n]
		}
	}
	return w
}
