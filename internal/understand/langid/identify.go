package langid

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/ratiba/ratiba/internal/understand/lex"
)

// Mixed is the language Identify reports for English and Swahili in one text.
const Mixed = "mixed"

// What it takes for a text to be told for another language, found on texts of
// other people and on the development split of ours.
const (
	foreignWord = 2.0  // what a word of another language adds, over the share of such words
	ownWord     = 1.2  // what the everyday words of English or Swahili take away, over their share
	foreignFrom = -0.2 // the sum from which a text is in another language
	bareFrom    = 0.3  // the same for up to three words of which none is known
	mixedFrom   = 0.2  // share of the lesser language from which a text is mixed
	mixedLong   = 0.25 // the same for a text of more than eight words
)

// evidence is what the words of a text say.
type evidence struct {
	words              int
	english, englishly float64 // function words; everyday words
	swahili, verbs     float64 // everyday words; words built like a verb
	shared             int     // words both languages use: they tell neither from the other
	foreign, pidgin    int
	spelled            float64 // by how much another language spells it better
	lesserE, lesserS   int     // words that can make a text mixed: no names
	borrowed           int     // of these, everyday English words
	loans              int     // English words that Swahili has taken over: booking, massage
}

// Identify names the language a text is in: English, Swahili, both at once
// (Mixed), or Other. It says what a text is; Detect says in which language to
// answer it. Without a word the language is Other.
func Identify(toks []lex.Token) string {
	e := weighAll(toks)
	switch {
	case e.words == 0:
		return Other
	case e.elsewhere():
		return Other
	case e.mixed():
		return Mixed
	}
	switch en, sw := e.english+e.englishly, e.swahili+e.verbs; {
	case sw > 0 && en == 0:
		return Swahili
	case en > 0 && sw == 0:
		return English
	}
	language, _ := Detect(toks)
	if language == Other && e.swahili+e.verbs > e.english+e.englishly {
		return Swahili
	}
	if language == Other {
		return English
	}
	return language
}

func weighAll(toks []lex.Token) evidence {
	t := load()
	var e evidence
	var sp spelling
	for i := range toks {
		if toks[i].Kind != lex.Word || i > 0 && toks[i].Glued && (toks[i-1].Raw == "@" || toks[i-1].Raw == "#") {
			continue
		}
		w := toks[i].Text
		e.words++
		sp.add(t, w)
		name := e.words > 1 && named(toks[i].Raw) && !day(w) || place[w]
		switch {
		case english[w] >= 0.6:
			e.english++
			e.lesserE += count(!name)
		case english[w] == 0.25:
			e.shared++
			e.loans++
		case english[w] > 0, swahili[w] > 0 && swahili[w] <= 0.5:
			e.shared++
		case pidgin[w]:
			e.pidgin++
		case swahili[w] > 0, sheng[w], nouns[w]:
			e.swahili++
			e.lesserS += count(!name) + count(swahili[w] >= 2)
		case content[w]:
			e.englishly++
			e.lesserE += count(!name)
			e.borrowed += count(!name)
		case blend(w):
			e.verbs++
			e.lesserE++
			e.lesserS++
		case foreign[w], foreignMore[w]:
			e.foreign++
		case verb(w):
			e.verbs++
			e.lesserS += count(!name)
		}
	}
	e.spelled = sp.foreign(t)
	return e
}

// openings are what Swahili puts before a verb that it borrows.
var openings = [...]string{"ku", "ni", "tu", "wa", "nina", "ana", "una", "mna", "wana", "tuna", "ina", "nime", "nita", "uta", "mta", "ume", "mme"}

// blend reports whether a word is an English verb in Swahili dress: kucancel,
// mnaaccept, nireschedule.
func blend(w string) bool {
	for _, o := range openings {
		if stem, ok := strings.CutPrefix(w, o); ok && len(stem) >= 4 && (english[stem] >= 0.6 || content[stem]) && !syllabic(stem) {
			return true
		}
	}
	return false
}

func count(yes bool) int {
	if yes {
		return 1
	}
	return 0
}

// named reports whether a word is written like a name.
func named(raw string) bool {
	r, _ := utf8.DecodeRuneInString(raw)
	return unicode.IsUpper(r)
}

// day reports whether a word is a day of the week, which English writes with a
// capital.
func day(w string) bool {
	return strings.HasSuffix(w, "day") || strings.HasPrefix(w, "juma") || w == "ijumaa" || w == "alhamisi"
}

// place holds words that are no evidence of mixing: names of the region, and
// words that mean something else in the other language.
var place = fields("kenya tanzania uganda nairobi mombasa la lake tuna wake me juma")

// elsewhere reports whether a text is in neither language.
func (e evidence) elsewhere() bool {
	if e.pidgin > 0 && e.swahili+e.verbs <= float64(e.pidgin) {
		return true
	}
	known := e.english+e.englishly+e.swahili+e.verbs+float64(e.shared) > 0
	n := float64(e.words)
	sum := e.spelled + foreignWord*float64(e.foreign)/n - ownWord*max(e.english+0.3*e.englishly, e.swahili+0.7*e.verbs)/n
	switch {
	case e.words <= 3 && known && e.foreign == 0:
		return false
	case e.words <= 3 && !known:
		return sum > bareFrom
	}
	return sum > foreignFrom
}

// mixed reports whether words of both languages stand in a text, names apart.
// One borrowed noun ("naomba location yenu") makes no text mixed.
func (e evidence) mixed() bool {
	if e.lesserE == 1 && e.borrowed == 1 && e.loans == 0 {
		return false
	}
	lesser, from := min(e.lesserE, e.lesserS), mixedFrom
	if e.words > 8 {
		from = mixedLong
	}
	return lesser > 0 && float64(lesser) >= from*float64(e.lesserE+e.lesserS)
}
