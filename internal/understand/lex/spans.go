package lex

import "strings"

// Duration is a length of time somebody wrote: "90 minutes", "dakika 90", "an
// hour and a half".
type Duration struct {
	Span
	Minutes int
}

func text(toks []Token, i int) string {
	if i < 0 || i >= len(toks) {
		return ""
	}
	return toks[i].Text
}

func minuteWord(w string) bool {
	switch w {
	case "minute", "minutes", "min", "mins", "dakika", "minuti", "minits":
		return true
	}
	return false
}

func hourWord(w string) bool {
	switch w {
	case "hour", "hours", "hr", "hrs", "h", "masaa", "lisaa":
		return true
	}
	return false
}

func partOfDay(w string) bool {
	switch w {
	case "asubuhi", "jioni", "usiku", "am", "pm", "na", "kasoro":
		return true
	}
	return false
}

// hourOfDay reports whether what stands at i makes the hour before it a time of
// day: "saa moja jioni", "saa moja na nusu".
func hourOfDay(toks []Token, i int) bool {
	if text(toks, i) != "na" {
		return partOfDay(text(toks, i))
	}
	switch text(toks, i+1) {
	case "nusu", "robo", "dakika":
		return true
	}
	return false
}

// dayHalf reports whether a word makes the number before it a time of day.
func dayHalf(w string) bool { return w != "na" && w != "kasoro" && partOfDay(w) || w == "mchana" }

// Durations finds the lengths of time in a text. A Swahili "saa moja" is a
// length only behind a word that says so ("muda wa saa moja", "kwa saa moja"):
// by itself it is a time of day.
func Durations(toks []Token) []Duration {
	var out []Duration
	for i := 0; i < len(toks); {
		if d, ok := duration(toks, i); ok {
			out = append(out, d)
			i = d.To
			continue
		}
		i++
	}
	return out
}

func duration(toks []Token, i int) (Duration, bool) {
	switch w := text(toks, i); {
	case w == "dakika" || w == "masaa" || w == "lisaa":
		n, j, ok := ReadNumber(toks, i+1)
		if !ok && w == "lisaa" {
			n, j, ok = 1, i+1, true // "massage ya lisaa"
		}
		if !ok || n == 0 || n > 600 {
			return Duration{}, false
		}
		if w != "dakika" {
			n *= 60
			n, j = andHalf(toks, j, n)
		}
		return Duration{Span{i, j}, n}, true
	case w == "ya" && text(toks, i+1) == "saa" && text(toks, i+2) == "moja" && !hourOfDay(toks, i+3):
		n, j := andHalf(toks, i+3, 60)
		return Duration{Span{i, j}, n}, true
	case (w == "kwa" || w == "muda") && (text(toks, i+1) == "saa" || text(toks, i+2) == "saa" && text(toks, i+1) == "wa"):
		j := i + 2
		if text(toks, i+1) != "saa" {
			j++
		}
		n, j, ok := ReadNumber(toks, j)
		if !ok || n == 0 || n > 4 || dayHalf(text(toks, j)) {
			return Duration{}, false
		}
		n, j = andHalf(toks, j, n*60)
		return Duration{Span{i, j}, n}, true
	case w == "saa" && text(toks, i+2) == "ya" && lengthOf(text(toks, i+3)):
		n, j, ok := ReadNumber(toks, i+1)
		return Duration{Span{i, j}, n * 60}, ok && n >= 1 && n <= 2
	case w == "nusu" && text(toks, i+1) == "saa":
		return Duration{Span{i, i + 2}, 30}, true
	case w == "half" && (text(toks, i+1) == "hour" || text(toks, i+2) == "hour" && (text(toks, i+1) == "an" || text(toks, i+1) == "a")):
		j := i + 2
		if text(toks, i+1) != "hour" {
			j++
		}
		return Duration{Span{i, j}, 30}, true
	case (w == "an" || w == "a") && text(toks, i+1) == "hour":
		n, j := andHalf(toks, i+2, 60)
		return Duration{Span{i, j}, n}, true
	}
	return numbered(toks, i)
}

// lengthOf reports whether what stands behind "saa moja ya" is a thing that
// takes an hour: no day and no part of one.
func lengthOf(w string) bool {
	switch w {
	case "", "asubuhi", "mchana", "jioni", "usiku", "alasiri", "alfajiri", "leo", "kesho", "ijumaa", "alhamisi", "tarehe", "siku", "wiki":
		return false
	}
	return !strings.HasPrefix(w, "juma")
}

// numbered reads "90 minutes", "1.5 hours", "2hrs", "1 hour 30 minutes".
func numbered(toks []Token, i int) (Duration, bool) {
	n, j, ok := ReadNumber(toks, i)
	if !ok {
		return Duration{}, false
	}
	half := false
	if text(toks, j) == "." && j+1 < len(toks) && toks[j+1].Kind == Number && toks[j+1].Value == 5 && toks[j+1].Glued {
		half, j = true, j+2
	}
	if text(toks, j) == "-" {
		j++
	}
	switch unit := text(toks, j); {
	case minuteWord(unit) && n > 0 && n <= 600:
		if unit == "dakika" {
			if _, _, after := ReadNumber(toks, j+1); after {
				return Duration{}, false // the number behind "dakika" is the one that counts
			}
		}
		return Duration{Span{i, j + 1}, n}, true
	case hourWord(unit) && n > 0 && n <= 12:
		if unit == "h" && !toks[j].Glued {
			return Duration{}, false
		}
		n *= 60
		if half {
			n += 30
		}
		n, end := andHalf(toks, j+1, n)
		return Duration{Span{i, end}, n}, true
	}
	return Duration{}, false
}

// andHalf takes in what may follow full hours: "and a half", "na nusu", "30
// minutes".
func andHalf(toks []Token, j, minutes int) (total, next int) {
	k := j
	if w := text(toks, k); w == "and" || w == "na" || w == "&" {
		k++
	}
	if text(toks, k) == "a" {
		k++
	}
	if w := text(toks, k); k > j && (w == "half" || w == "nusu") {
		return minutes + 30, k + 1
	}
	k = j
	if w := text(toks, k); w == "and" || w == "na" {
		k++
	}
	if n, l, ok := ReadNumber(toks, k); ok && n > 0 && n < 60 && minuteWord(text(toks, l)) {
		return minutes + n, l + 1
	}
	if n, l, ok := ReadNumber(toks, k+1); ok && text(toks, k) == "dakika" && n > 0 && n < 60 {
		return minutes + n, l
	}
	return minutes, j
}

// Amounts finds sums of money and counts of people or percent: numbers that
// are never times.
func Amounts(toks []Token) []Span {
	var out []Span
	for i := 0; i < len(toks); i++ {
		if toks[i].Kind != Number {
			continue
		}
		from, to := i, i+1
		for to+1 < len(toks) && text(toks, to) == "," && toks[to+1].Kind == Number && toks[to+1].Glued && len(toks[to+1].Raw) == 3 {
			to += 2
		}
		grouped := to > i+1
		before := text(toks, i-1)
		if before == "." || before == "/" {
			before = text(toks, i-2)
		}
		switch after := text(toks, to); {
		case currency(before):
			from = i - 1
			for from > 0 && !currency(text(toks, from)) {
				from--
			}
		case currency(after), people(after), after == "%", grouped:
			to = min(to+1, len(toks))
		case after == "k" && toks[to].Glued:
			to++
		case after == "/" && (text(toks, to+1) == "=" || text(toks, to+1) == "-"):
			to += 2
		case before == "watu" || before == "#" || before == "$":
			from = i - 1
		default:
			continue
		}
		out = append(out, Span{from, to})
		i = to - 1
	}
	return out
}

func currency(w string) bool {
	switch w {
	case "kes", "ksh", "kshs", "sh", "shs", "bob", "shilling", "shillings", "shilingi", "usd", "dollars", "tsh", "ugx":
		return true
	}
	return false
}

func people(w string) bool {
	switch w {
	case "people", "persons", "person", "pax", "guests", "adults", "kids", "children", "ladies", "guys", "watu", "percent":
		return true
	}
	return false
}
