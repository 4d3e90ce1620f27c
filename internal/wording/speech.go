package wording

import (
	"fmt"
	"strings"
	"text/template"
	"time"
)

// funcs are what a text may call. A Swahili text says the hour as people say
// it; spell gives the Western clock beside it where a mistake would cost a visit.
func funcs(lang string) template.FuncMap {
	return template.FuncMap{
		"date":     func(t time.Time) string { return Date(lang, t) },
		"day":      func(t, now time.Time) string { return Day(lang, t, now) },
		"fullday":  func(t, now time.Time) string { return FullDay(lang, t, now) },
		"clock":    func(t time.Time) string { return Clock(lang, t) },
		"spell":    func(t time.Time) string { return Spell(lang, t) },
		"duration": func(d time.Duration) string { return Duration(lang, d) },
		"list":     func(items any) (string, error) { return listOf(lang, items) },
	}
}

func swahiliDay(d time.Weekday) string {
	return [...]string{"Jumapili", "Jumatatu", "Jumanne", "Jumatano", "Alhamisi", "Ijumaa", "Jumamosi"}[d]
}

func swahiliShortDay(d time.Weekday) string {
	return [...]string{"Jpl", "Jtt", "Jnn", "Jtn", "Alh", "Iju", "Jmo"}[d]
}

func swahiliMonth(m time.Month) string {
	return [...]string{
		"Januari", "Februari", "Machi", "Aprili", "Mei", "Juni", "Julai", "Agosti", "Septemba", "Oktoba", "Novemba", "Desemba",
	}[m-1]
}

// swahiliHour counts from six in the morning and six in the evening.
func swahiliHour(hour int) string {
	return [...]string{
		"sita", "saba", "nane", "tisa", "kumi", "kumi na moja", "kumi na mbili", "moja", "mbili", "tatu", "nne", "tano",
	}[hour%12]
}

// Date writes a day in full: "Sunday 22 November", "Jumapili, 22 Novemba". The
// time must be in the zone it is written for; so for all functions here.
func Date(lang string, t time.Time) string {
	if lang == Swahili {
		return fmt.Sprintf("%s, %d %s", swahiliDay(t.Weekday()), t.Day(), swahiliMonth(t.Month()))
	}
	return t.Format("Monday 2 January")
}

// ShortDate writes a day for a narrow place: "Sun 22 Nov", "Jpl 22 Nov".
func ShortDate(lang string, t time.Time) string {
	if lang == Swahili {
		return fmt.Sprintf("%s %d %s", swahiliShortDay(t.Weekday()), t.Day(), swahiliMonth(t.Month())[:3])
	}
	return t.Format("Mon 2 Jan")
}

// Weekday writes the day of the week alone: "Sunday", "Jumapili".
func Weekday(lang string, d time.Weekday) string {
	if lang == Swahili {
		return swahiliDay(d)
	}
	return d.String()
}

// Day says today and tomorrow by name, and any other day as Date does.
func Day(lang string, t, now time.Time) string {
	if w := dayWord(lang, t, now); w != "" {
		return w
	}
	return Date(lang, t)
}

// FullDay says the day by name and date: "tomorrow, Sunday 22 November".
func FullDay(lang string, t, now time.Time) string {
	if w := dayWord(lang, t, now); w != "" {
		return w + ", " + Date(lang, t)
	}
	return Date(lang, t)
}

func dayWord(lang string, t, now time.Time) string {
	now = now.In(t.Location())
	words := [...]string{"today", "tomorrow"}
	if lang == Swahili {
		words = [...]string{"leo", "kesho"}
	}
	for i, w := range words {
		y, m, d := now.AddDate(0, 0, i).Date()
		if ty, tm, td := t.Date(); ty == y && tm == m && td == d {
			return w
		}
	}
	return ""
}

// Clock writes a time of day as it is said: "3:00 pm", "saa tisa mchana". The
// Swahili day begins at six in the morning.
func Clock(lang string, t time.Time) string {
	if lang != Swahili {
		return t.Format("3:04 pm")
	}
	hour, minutes := t.Hour(), ""
	switch m := t.Minute(); m {
	case 0:
	case 15:
		minutes = " na robo"
	case 30:
		minutes = " na nusu"
	case 45:
		return "saa " + swahiliHour(hour+1) + " kasorobo " + partOfDay(hour)
	default:
		minutes = fmt.Sprintf(" na dakika %d", m)
	}
	return "saa " + swahiliHour(hour) + minutes + " " + partOfDay(hour)
}

// Spell writes a time of day so that nobody can mistake it: Swahili with the
// Western clock beside it, "saa tisa mchana (3:00 pm)".
func Spell(lang string, t time.Time) string {
	if lang == Swahili {
		return Clock(lang, t) + " (" + t.Format("3:04 pm") + ")"
	}
	return Clock(lang, t)
}

// ShortClock writes a time of day for a narrow place: "3:00 pm", "9:00 mchana".
func ShortClock(lang string, t time.Time) string {
	if lang != Swahili {
		return t.Format("3:04 pm")
	}
	h := (t.Hour() + 6) % 12
	if h == 0 {
		h = 12
	}
	part := partOfDay(t.Hour())
	if part == "alfajiri" {
		part = "asubuhi" // also said of these hours, and shorter
	}
	return fmt.Sprintf("%d:%02d %s", h, t.Minute(), part)
}

// ShortMoment writes a day and a time of day within the 24 characters of a
// list's row: "Sun 22 Nov, 3:00 pm", "Jpl 22 Nov 9:00 mchana".
func ShortMoment(lang string, t time.Time) string {
	if lang != Swahili {
		return ShortDate(lang, t) + ", " + ShortClock(lang, t)
	}
	return ShortDate(lang, t) + " " + ShortClock(lang, t)
}

func partOfDay(hour int) string {
	switch {
	case hour >= 4 && hour < 6:
		return "alfajiri"
	case hour >= 6 && hour < 12:
		return "asubuhi"
	case hour >= 12 && hour < 16:
		return "mchana"
	case hour >= 16 && hour < 19:
		return "jioni"
	}
	return "usiku"
}

// Duration writes a length of time. Swahili counts minutes only, because "saa
// moja" is also an hour of the day.
func Duration(lang string, d time.Duration) string {
	m := int(d.Round(time.Minute) / time.Minute)
	switch {
	case lang == Swahili:
		return fmt.Sprintf("dakika %d", m)
	case m == 1:
		return "1 minute"
	case m == 60:
		return "1 hour"
	case m >= 60 && m%60 == 0:
		return fmt.Sprintf("%d hours", m/60)
	}
	return fmt.Sprintf("%d minutes", m)
}

// List joins items as people say them: "A, B and C", "A, B na C".
func List(lang string, items []string) string {
	and := " and "
	if lang == Swahili {
		and = " na "
	}
	if n := len(items); n > 1 {
		return strings.Join(items[:n-1], ", ") + and + items[n-1]
	}
	return strings.Join(items, "")
}

func listOf(lang string, items any) (string, error) {
	switch items := items.(type) {
	case []string:
		return List(lang, items), nil
	case []any:
		words := make([]string, len(items))
		for i, e := range items {
			words[i] = fmt.Sprint(e)
		}
		return List(lang, words), nil
	}
	return "", fmt.Errorf("list: want strings, got %T", items)
}
