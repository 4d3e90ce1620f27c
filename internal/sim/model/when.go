package model

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// when is what a text says about time, as the seam answers it.
type when struct {
	date, time, from, to string
	dateSure, timeSure   float64
}

// readWhen reads the dates and times of a text. Of several the last counts,
// and what is negated does not.
func readWhen(text string, today time.Time) when {
	lower := strings.ToLower(strings.ReplaceAll(text, "’", "'"))
	var w when
	date, sure, rest := readDate(lower, today)
	w.date, w.dateSure = date, sure
	readTime(rest, &w)
	return w
}

// found is one date in a text.
type found struct {
	at, end int
	day     time.Time
	sure    float64
}

var weekdays = map[string]time.Weekday{
	"monday": time.Monday, "mon": time.Monday, "jumatatu": time.Monday, "j3": time.Monday, "jtatu": time.Monday,
	"tuesday": time.Tuesday, "tue": time.Tuesday, "tues": time.Tuesday, "jumanne": time.Tuesday, "jnne": time.Tuesday,
	"wednesday": time.Wednesday, "wed": time.Wednesday, "jumatano": time.Wednesday, "jtano": time.Wednesday,
	"thursday": time.Thursday, "thu": time.Thursday, "thur": time.Thursday, "thurs": time.Thursday, "alhamisi": time.Thursday, "alhamis": time.Thursday,
	"friday": time.Friday, "fri": time.Friday, "ijumaa": time.Friday, "ijumaaa": time.Friday,
	"saturday": time.Saturday, "sat": time.Saturday, "jumamosi": time.Saturday, "jmosi": time.Saturday,
	"sunday": time.Sunday, "sun": time.Sunday, "jumapili": time.Sunday, "jpili": time.Sunday,
}

var months = map[string]time.Month{
	"jan": 1, "january": 1, "januari": 1, "feb": 2, "february": 2, "februari": 2, "mar": 3, "march": 3, "machi": 3,
	"apr": 4, "april": 4, "aprili": 4, "may": 5, "mei": 5, "jun": 6, "june": 6, "juni": 6, "jul": 7, "july": 7, "julai": 7,
	"aug": 8, "august": 8, "agosti": 8, "sep": 9, "sept": 9, "september": 9, "septemba": 9, "oct": 10, "october": 10, "oktoba": 10,
	"nov": 11, "november": 11, "novemba": 11, "dec": 12, "december": 12, "desemba": 12,
}

var (
	isoDate   = regexp.MustCompile(`\b(\d{4})-(\d{2})-(\d{2})\b`)
	slashDate = regexp.MustCompile(`\b(\d{1,2})[/.](\d{1,2})(?:[/.](\d{2,4}))?\b`)
	dayMonth  = regexp.MustCompile(`\b(\d{1,2})(?:st|nd|rd|th)?(?:\s+of|\s+ya)?\s+([a-z]{3,9})\b`)
	monthDay  = regexp.MustCompile(`\b([a-z]{3,9})\s+(\d{1,2})(?:st|nd|rd|th)?\b`)
	dayAlone  = regexp.MustCompile(`\b(?:tarehe\s+(\d{1,2})|(?:the\s+)?(\d{1,2})(?:st|nd|rd|th))\b`)
	inDays    = regexp.MustCompile(`\b(?:in (\d+|two|three|four|five) days?|baada ya siku (\d+|mbili|tatu|nne|tano))\b`)
	relative  = regexp.MustCompile(`\b(day after tomorrow|kesho\s?kutwa|mtondo(?:goo)?|tomorrow|tommorow|tomorow|tmrw|tmr|2moro|kesho|today|tonight|leo)\b`)
	weekday   = regexp.MustCompile(`\b(next\s+)?([a-z]+3?)(\s+(?:ijayo|next week|wiki ijayo))?\b`)
)

// readDate returns the date, how sure it is, and the text without the dates,
// so that their digits are not read as times.
func readDate(text string, today time.Time) (string, float64, string) {
	var all []found
	add := func(loc []int, day time.Time, sure float64) {
		for _, f := range all {
			if loc[0] < f.end && f.at < loc[1] {
				return
			}
		}
		all = append(all, found{at: loc[0], end: loc[1], day: day, sure: sure})
	}
	calendarDates(text, today, add)
	for _, m := range inDays.FindAllStringSubmatchIndex(text, -1) {
		if n, ok := count(group(text, m, 1) + group(text, m, 2)); ok && n < 400 {
			add(m, today.AddDate(0, 0, n), 0.93)
		}
	}
	for _, m := range relative.FindAllStringSubmatchIndex(text, -1) {
		add(m, today.AddDate(0, 0, distance(group(text, m, 1))), 0.97)
	}
	for _, m := range weekday.FindAllStringSubmatchIndex(text, -1) {
		wd, ok := weekdays[group(text, m, 2)]
		if !ok || strings.HasPrefix(group(text, m, 2), "sun") && strings.HasSuffix(text[:m[0]], "the ") {
			continue
		}
		day, sure := comingWeekday(today, wd), 0.94
		if m[2] >= 0 || m[6] >= 0 {
			day, sure = followingWeek(today, wd), 0.8
		}
		add(m, day, sure)
	}
	for _, m := range dayAlone.FindAllStringSubmatchIndex(text, -1) {
		if n, ok := count(group(text, m, 1) + group(text, m, 2)); ok && n >= 1 && n <= 31 {
			add(m, comingDay(today, n), 0.85)
		}
	}
	return last(text, all)
}

// last takes the last date that is not negated.
func last(text string, all []found) (string, float64, string) {
	rest := []byte(text)
	var best *found
	for i, f := range all {
		for j := f.at; j < f.end; j++ {
			rest[j] = ' '
		}
		if notBefore.MatchString(text[:f.at]) || f.day.IsZero() {
			continue
		}
		if best == nil || f.at > best.at {
			best = &all[i]
		}
	}
	if best == nil {
		return "", 0, string(rest)
	}
	return best.day.Format(time.DateOnly), best.sure, string(rest)
}

func calendarDates(text string, today time.Time, add func([]int, time.Time, float64)) {
	for _, m := range isoDate.FindAllStringSubmatchIndex(text, -1) {
		y, mo, d := atoi(group(text, m, 1)), atoi(group(text, m, 2)), atoi(group(text, m, 3))
		add(m, civil(y, mo, d), 0.98)
	}
	for _, m := range slashDate.FindAllStringSubmatchIndex(text, -1) {
		d, mo, y := atoi(group(text, m, 1)), atoi(group(text, m, 2)), group(text, m, 3)
		if strings.Contains(text[m[0]:m[1]], ".") && y == "" {
			continue // 3.30 is a time.
		}
		add(m, thisOrNext(today, y, mo, d), 0.9)
	}
	for _, m := range dayMonth.FindAllStringSubmatchIndex(text, -1) {
		if mo, ok := months[group(text, m, 2)]; ok {
			add(m, thisOrNext(today, "", int(mo), atoi(group(text, m, 1))), 0.95)
		}
	}
	for _, m := range monthDay.FindAllStringSubmatchIndex(text, -1) {
		if mo, ok := months[group(text, m, 1)]; ok {
			add(m, thisOrNext(today, "", int(mo), atoi(group(text, m, 2))), 0.95)
		}
	}
}

// civil is a date, or zero when there is no such day.
func civil(y, m, d int) time.Time {
	t := time.Date(y, time.Month(m), d, 0, 0, 0, 0, time.UTC)
	if t.Year() != y || int(t.Month()) != m || t.Day() != d {
		return time.Time{}
	}
	return t
}

func thisOrNext(today time.Time, year string, m, d int) time.Time {
	if year != "" {
		y := atoi(year)
		if y < 100 {
			y += 2000
		}
		return civil(y, m, d)
	}
	day := civil(today.Year(), m, d)
	if !day.IsZero() && day.Before(today) {
		return civil(today.Year()+1, m, d)
	}
	return day
}

func distance(word string) int {
	switch {
	case word == "today" || word == "tonight" || word == "leo":
		return 0
	case strings.HasPrefix(word, "day after") || strings.HasSuffix(word, "kutwa"):
		return 2
	case strings.HasPrefix(word, "mtondo"):
		return 3
	}
	return 1
}

// comingWeekday is the next such day after today: said on a Friday, Friday is
// in a week.
func comingWeekday(today time.Time, wd time.Weekday) time.Time {
	n := (int(wd) - int(today.Weekday()) + 7) % 7
	if n == 0 {
		n = 7
	}
	return today.AddDate(0, 0, n)
}

// followingWeek is that day of the week that begins next Monday.
func followingWeek(today time.Time, wd time.Weekday) time.Time {
	monday := today.AddDate(0, 0, 7-(int(today.Weekday())+6)%7)
	return monday.AddDate(0, 0, (int(wd)+6)%7)
}

func comingDay(today time.Time, d int) time.Time {
	for i := range 12 {
		first := time.Date(today.Year(), today.Month()+time.Month(i), 1, 0, 0, 0, 0, time.UTC)
		if day := civil(first.Year(), int(first.Month()), d); !day.IsZero() && !day.Before(today) {
			return day
		}
	}
	return time.Time{}
}

func group(text string, m []int, i int) string {
	if m[2*i] < 0 {
		return ""
	}
	return text[m[2*i]:m[2*i+1]]
}

func atoi(s string) int {
	n, _ := strconv.Atoi(s) // The pattern holds digits only.
	return n
}

var numberWords = map[string]int{
	"moja": 1, "mbili": 2, "tatu": 3, "nne": 4, "tano": 5, "sita": 6, "saba": 7, "nane": 8, "tisa": 9, "kumi": 10,
	"kumi na moja": 11, "kumi na mbili": 12,
	"one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9, "ten": 10,
	"eleven": 11, "twelve": 12,
}

func count(word string) (int, bool) {
	if n, ok := numberWords[word]; ok {
		return n, true
	}
	n, err := strconv.Atoi(word)
	return n, err == nil
}

func clockText(minutes int) string {
	minutes = ((minutes % 1440) + 1440) % 1440
	return fmt.Sprintf("%02d:%02d", minutes/60, minutes%60)
}
