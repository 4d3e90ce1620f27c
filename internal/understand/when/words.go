package when

import (
	"strings"
	"time"
)

var weekdays = map[string]time.Weekday{
	"monday": time.Monday, "tuesday": time.Tuesday, "wednesday": time.Wednesday, "thursday": time.Thursday,
	"friday": time.Friday, "saturday": time.Saturday, "sunday": time.Sunday,
	"mon": time.Monday, "tue": time.Tuesday, "tues": time.Tuesday, "wed": time.Wednesday, "weds": time.Wednesday,
	"thu": time.Thursday, "thur": time.Thursday, "thurs": time.Thursday, "fri": time.Friday, "sat": time.Saturday, "sun": time.Sunday,
	"jumatatu": time.Monday, "jumanne": time.Tuesday, "jumatano": time.Wednesday, "alhamisi": time.Thursday,
	"ijumaa": time.Friday, "jumamosi": time.Saturday, "jumapili": time.Sunday,
	"jtatu": time.Monday, "jnne": time.Tuesday, "jtano": time.Wednesday, "jmosi": time.Saturday, "jpili": time.Sunday,
	"alhamis": time.Thursday, "ijuma": time.Friday, "jumaatatu": time.Monday, "wensday": time.Wednesday, "wendesday": time.Wednesday,
}

// jumas are the second halves of weekdays written in two words.
var jumas = map[string]time.Weekday{"tatu": time.Monday, "nne": time.Tuesday, "tano": time.Wednesday, "mosi": time.Saturday, "pili": time.Sunday}

// longWeekdays are the ones recognised with a typing slip.
var longWeekdays = []string{
	"monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday",
	"jumatatu", "jumanne", "jumatano", "alhamisi", "jumamosi", "jumapili",
}

var months = map[string]time.Month{
	"january": 1, "february": 2, "march": 3, "april": 4, "may": 5, "june": 6, "july": 7, "august": 8, "september": 9,
	"october": 10, "november": 11, "december": 12,
	"jan": 1, "feb": 2, "mar": 3, "apr": 4, "jun": 6, "jul": 7, "aug": 8, "sep": 9, "sept": 9, "oct": 10, "nov": 11, "dec": 12, "des": 12,
	"januari": 1, "februari": 2, "machi": 3, "aprili": 4, "mei": 5, "juni": 6, "julai": 7, "agosti": 8, "septemba": 9,
	"oktoba": 10, "novemba": 11, "desemba": 12, "disemba": 12, "febuary": 2, "feburary": 2, "decemba": 12,
}

var tomorrows = map[string]bool{
	"tomorrow": true, "tommorow": true, "tomorow": true, "tommorrow": true, "tomorro": true, "tmrw": true, "tmr": true,
	"tomorrows": true, "tmrws": true, "tmrow": true, "tomoro": true, "2moro": true, "tomoz": true, "kesho": true, "keshoo": true, "kexho": true,
}

// part is a part of the day: the window it names, and the wider window in
// which a clock time beside it may lie.
type part struct {
	from, to       int // minutes; to is exclusive
	lenient, until int // until may pass midnight
}

var (
	morning   = part{6 * 60, 12 * 60, 4 * 60, 12*60 - 1}
	afternoon = part{12 * 60, 17 * 60, 12 * 60, 18*60 + 59}
	evening   = part{17 * 60, 21 * 60, 15 * 60, 22*60 + 59}
	night     = part{19 * 60, 23*60 + 59, 18 * 60, 29*60 + 59}
	alfajiri  = part{4 * 60, 7 * 60, 3 * 60, 7 * 60}
	asubuhi   = part{6 * 60, 12 * 60, 4 * 60, 12*60 - 1}
	mchana    = part{12 * 60, 16 * 60, 11 * 60, 17 * 60}
	alasiri   = part{15 * 60, 17 * 60, 14 * 60, 18 * 60}
	jioni     = part{16 * 60, 19 * 60, 15 * 60, 20*60 + 59}
	lunch     = part{12 * 60, 14 * 60, 12 * 60, 15 * 60}
)

var dayParts = map[string]part{
	"morning": morning, "mrng": morning, "mornings": morning, "evenings": evening, "evng": evening, "morn": morning, "mornin": morning, "afternoon": afternoon, "afternoons": afternoon, "noonish": lunch,
	"evening": evening, "eve": evening, "night": night, "tonight": night, "tonite": night, "lunchtime": lunch, "afternon": afternoon, "aftenoon": afternoon,
	"alfajiri": alfajiri, "asubuhi": asubuhi, "asubui": asubuhi, "mchana": mchana, "alasiri": alasiri, "jioni": jioni, "usiku": night, "mapema": morning,
}

// greetings are rows of words that hold a word of time and speak of none. The
// key is the first word.
var greetings = map[string][][]string{
	"good":      {{"good", "morning"}, {"good", "afternoon"}, {"good", "evening"}, {"good", "night"}, {"good", "day"}, {"good", "weekend"}},
	"gud":       {{"gud", "morning"}, {"gud", "evening"}, {"gud", "afternoon"}},
	"habari":    {{"habari", "ya", "asubuhi"}, {"habari", "za", "asubuhi"}, {"habari", "ya", "mchana"}, {"habari", "za", "mchana"}, {"habari", "ya", "jioni"}, {"habari", "za", "jioni"}, {"habari", "ya", "leo"}, {"habari", "za", "leo"}, {"habari", "ya", "usiku"}, {"habari", "za", "usiku"}, {"habari", "asubuhi"}, {"habari", "jioni"}},
	"za":        {{"za", "asubuhi"}, {"za", "mchana"}, {"za", "jioni"}, {"za", "leo"}, {"za", "usiku"}},
	"usiku":     {{"usiku", "mwema"}, {"usiku", "njema"}},
	"asubuhi":   {{"asubuhi", "njema"}},
	"mchana":    {{"mchana", "mwema"}, {"mchana", "njema"}},
	"jioni":     {{"jioni", "njema"}},
	"weekend":   {{"weekend", "njema"}},
	"wikendi":   {{"wikendi", "njema"}},
	"nice":      {{"nice", "day"}, {"nice", "evening"}, {"nice", "weekend"}, {"nice", "afternoon"}, {"nice", "night"}},
	"great":     {{"great", "day"}, {"great", "evening"}, {"great", "weekend"}, {"great", "afternoon"}},
	"lovely":    {{"lovely", "day"}, {"lovely", "evening"}, {"lovely", "weekend"}, {"lovely", "afternoon"}},
	"blessed":   {{"blessed", "day"}, {"blessed", "evening"}, {"blessed", "weekend"}, {"blessed", "sunday"}},
	"are":       {{"are", "you", "today"}, {"are", "you", "this", "morning"}, {"are", "you", "this", "evening"}, {"are", "you", "doing", "today"}},
	"doing":     {{"doing", "today"}},
	"vipi":      {{"vipi", "leo"}},
	"morning":   {{"morning", "all"}, {"morning", "guys"}, {"morning", "team"}},
	"happy":     {{"happy", "sunday"}, {"happy", "friday"}, {"happy", "weekend"}},
	"24":        {{"24", "/", "7"}},
	"see":       {{"see", "you", "tomorrow"}},
	"tuonane":   {{"tuonane", "kesho"}},
	"tutaonana": {{"tutaonana", "kesho"}},
}

// follows are the words that may stand behind a bare number that is a time or a
// day: anything else makes the number a count of it.
var follows = map[string]bool{
	"on": true, "in": true, "at": true, "please": true, "plz": true, "pls": true, "and": true, "or": true, "with": true, "for": true,
	"if": true, "is": true, "to": true, "till": true, "til": true, "until": true, "thanks": true, "thank": true, "instead": true, "na": true, "au": true,
	"ama": true, "tafadhali": true, "kwa": true, "ya": true, "hadi": true, "mpaka": true, "asante": true, "today": true, "this": true,
	"next": true, "would": true, "will": true, "works": true, "work": true, "be": true, "not": true, "so": true, "because": true, "but": true,
	"onwards": true, "onward": true, "sharp": true, "ish": true, "inafaa": true, "ni": true, "hivi": true, "kamili": true,
	"then": true, "available": true, "free": true, "should": true, "can": true, "i": true, "we": true, "my": true, "the": true, "a": true,
	"by": true, "from": true, "kesho": true, "leo": true, "tomorrow": true, "sawa": true, "ok": true, "okay": true, "right": true, "st": true,
	"of": true, "ile": true, "hiyo": true, "tu": true, "ikiwezekana": true, "possible": true, "kuendelea": true, "kindly": true, "say": true,
}

func correcting(w string) bool {
	switch w {
	case "sorry", "actually", "mean", "meant", "samahani", "wait", "yaani", "instead", "rather", "bora", "correction", "pole", "hapana", "no", "badala", "sio", "siyo":
		return true
	}
	return false
}

func moving(w string) bool {
	for _, stem := range [...]string{"sogez", "hamish", "ahirish", "badilish", "songesh"} {
		if strings.Contains(w, stem) {
			return true
		}
	}
	switch w {
	case "peleke", "mpeleke", "nipeleke", "swap", "kushift", "kureschedule", "move", "change", "reschedule", "rescheduled", "shift", "switch", "postpone", "hamisha", "nihamishe", "badilisha", "kubadilisha", "nibadilishie",
		"badili", "ahirisha", "kuahirisha", "sogeza", "kusogeza", "kuhamisha", "moved", "changed", "push", "bring":
		return true
	}
	return false
}
