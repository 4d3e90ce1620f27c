package model

import (
	"regexp"
	"strings"
)

// moment is one clock time in a text.
type moment struct {
	at, end int
	minutes int
	sure    float64
}

const swNumber = `kumi na (?:moja|mbili)|moja|mbili|tatu|nne|tano|sita|saba|nane|tisa|kumi`

var (
	swTime   = regexp.MustCompile(`\bsaa\s+(` + swNumber + `|\d{1,2})(?:[:.](\d{2}))?(\s+na\s+nusu|\s+u\s+nusu|\s+na\s+robo|\s+kasoro\s+robo|\s+kasorobo|\s+na\s+dakika\s+\w+)?(?:\s+(?:ya\s+|za\s+)?(asubuhi|mchana|alasiri|jioni|usiku|alfajiri))?`)
	colon    = regexp.MustCompile(`\b(\d{1,2})[:.](\d{2})\s*(am|pm|a\.m|p\.m)?\b`)
	meridiem = regexp.MustCompile(`\b(\d{1,2})\s*(am|pm|a\.m|p\.m)\b`)
	pastTo   = regexp.MustCompile(`\b(half past|quarter past|quarter to)\s+(\d{1,2}|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve)(?:\s*(am|pm))?\b`)
	oclock   = regexp.MustCompile(`\b(?:at|after|from|before|by|until|till|around|about|and|to)\s+(\d{1,2}|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve)(?:\s+o'?clock)?\b`)
	middle   = regexp.MustCompile(`\b(noon|midday)\b`)

	afterCue  = regexp.MustCompile(`(?:\bafter|\bfrom|\bsince|\bbaada ya|\bkuanzia|\bkutoka|\bany ?time after)\s+$`)
	beforeCue = regexp.MustCompile(`(?:\bbefore|\bby|\buntil|\btill|\bkabla ya|\bhadi|\bmpaka)\s+$`)
	between   = regexp.MustCompile(`\b(?:between|kati ya)\s+$`)
	dayPart   = regexp.MustCompile(`\b(morning|asubuhi|afternoon|mchana|alasiri|evening|jioni|tonight|usiku|night)\b`)
)

// readTime reads the times of a text without its dates.
func readTime(text string, w *when) {
	all := moments(text)
	var plain *moment
	for i, m := range all {
		before := text[:m.at]
		switch {
		case notBefore.MatchString(before):
		case between.MatchString(before) && i+1 < len(all):
			w.from, w.to = clockText(m.minutes), clockText(all[i+1].minutes)
			return
		case afterCue.MatchString(before):
			w.from = clockText(m.minutes)
		case beforeCue.MatchString(before):
			w.to = clockText(m.minutes)
		default:
			plain = &all[i]
		}
	}
	switch {
	case plain != nil:
		w.time, w.timeSure = clockText(plain.minutes), plain.sure
		w.from, w.to = "", ""
	case w.from == "" && w.to == "":
		partOfDay(text, w)
	}
}

// partOfDay reads a range from a word such as jioni, unless it is a greeting.
func partOfDay(text string, w *when) {
	for _, m := range dayPart.FindAllStringIndex(text, -1) {
		before := strings.TrimRight(text[:m[0]], " ")
		if strings.HasSuffix(before, "good") || strings.HasSuffix(before, "habari za") || strings.HasSuffix(before, "habari ya") {
			continue
		}
		switch text[m[0]:m[1]] {
		case "morning", "asubuhi":
			w.from, w.to = "08:00", "12:00"
		case "afternoon", "mchana", "alasiri":
			w.from, w.to = "12:00", "17:00"
		case "evening", "jioni":
			w.from, w.to = "16:00", "19:00"
		default:
			w.from, w.to = "18:00", "21:00"
		}
	}
}

// moments lists the times of a text in their order.
func moments(text string) []moment {
	var all []moment
	add := func(loc []int, at, minutes int, sure float64) {
		for _, m := range all {
			if at < m.end && m.at < loc[1] {
				return
			}
		}
		i := 0
		for i < len(all) && all[i].at < at {
			i++
		}
		all = append(all[:i], append([]moment{{at: at, end: loc[1], minutes: minutes, sure: sure}}, all[i:]...)...)
	}
	for _, m := range swTime.FindAllStringSubmatchIndex(text, -1) {
		if minutes, sure, ok := swahili(group(text, m, 1), group(text, m, 2), group(text, m, 3), group(text, m, 4)); ok {
			add(m, m[0], minutes, sure)
		}
	}
	for _, m := range pastTo.FindAllStringSubmatchIndex(text, -1) {
		h, _ := count(group(text, m, 2))
		shift := map[string]int{"half past": 30, "quarter past": 15, "quarter to": -15}[group(text, m, 1)]
		minutes, sure, ok := english(h, 0, group(text, m, 3))
		if ok {
			add(m, m[0], minutes+shift, sure)
		}
	}
	for _, m := range colon.FindAllStringSubmatchIndex(text, -1) {
		minutes, sure, ok := english(atoi(group(text, m, 1)), atoi(group(text, m, 2)), group(text, m, 3))
		if ok {
			add(m, m[0], minutes, sure)
		}
	}
	for _, m := range meridiem.FindAllStringSubmatchIndex(text, -1) {
		if minutes, sure, ok := english(atoi(group(text, m, 1)), 0, group(text, m, 2)); ok {
			add(m, m[0], minutes, sure)
		}
	}
	for _, m := range oclock.FindAllStringSubmatchIndex(text, -1) {
		h, _ := count(group(text, m, 1))
		if minutes, sure, ok := english(h, 0, ""); ok && !strings.HasPrefix(strings.TrimSpace(text[m[1]:]), "min") {
			add(m, m[2], minutes, min(sure, 0.65))
		}
	}
	for _, m := range middle.FindAllStringIndex(text, -1) {
		add(m, m[0], 12*60, 0.97)
	}
	return all
}

// english reads an hour of the clock. Without am or pm a small one is taken
// for the afternoon, less surely.
func english(h, m int, half string) (minutes int, sure float64, ok bool) {
	if h > 23 || m > 59 {
		return 0, 0, false
	}
	switch {
	case half != "" && (h < 1 || h > 12):
		return 0, 0, false
	case strings.HasPrefix(half, "p"):
		return (h%12+12)*60 + m, 0.97, true
	case strings.HasPrefix(half, "a"):
		return h%12*60 + m, 0.97, true
	case h >= 1 && h <= 6:
		return (h+12)*60 + m, 0.65, true
	case h < 13:
		return h*60 + m, 0.72, true
	}
	return h*60 + m, 0.97, true
}

// swahili reads a time that is counted from six in the morning or evening.
func swahili(hour, digits, tail, part string) (minutes int, sure float64, ok bool) {
	h, ok := count(hour)
	if !ok || h > 23 {
		return 0, 0, false
	}
	if digits != "" {
		minutes = atoi(digits)
	}
	tail = strings.TrimSpace(tail)
	switch {
	case strings.HasSuffix(tail, "nusu"):
		minutes = 30
	case strings.HasSuffix(tail, "na robo"):
		minutes = 15
	case strings.HasPrefix(tail, "kasoro"):
		minutes = -15
	case strings.HasPrefix(tail, "na dakika"):
		if n, ok := count(strings.TrimSpace(strings.TrimPrefix(tail, "na dakika"))); ok && n < 60 {
			minutes = n
		}
	}
	if minutes > 59 {
		return 0, 0, false
	}
	if h == 0 || h > 12 {
		return h*60 + minutes, 0.95, true // 24 hours, in a Swahili sentence.
	}
	sure = 0.95
	day := (h%12 + 6) * 60 // seven in the morning to six in the evening
	switch part {
	case "asubuhi":
		if h == 10 || h == 11 {
			day -= 12 * 60
		}
	case "mchana", "alasiri":
	case "jioni":
		if h < 10 {
			day += 12 * 60
		}
	case "usiku", "alfajiri":
		if h != 12 {
			day = (h + 18) % 24 * 60
		}
	default:
		sure = 0.85
	}
	if h == 12 && part != "asubuhi" && part != "alfajiri" {
		day = 18 * 60
	}
	return day + minutes, sure, true
}
