package lex

// units are the numbers below ten, as both languages write them. Swahili ones
// come with the prefixes of the nouns people count here: watu wawili, masaa
// mawili, miezi miwili.
var units = map[string]int{
	"zero": 0, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9,
	"sifuri": 0, "moja": 1, "mbili": 2, "tatu": 3, "nne": 4, "tano": 5, "sita": 6, "saba": 7, "nane": 8, "tisa": 9,
	"mmoja": 1, "limoja": 1, "wawili": 2, "mawili": 2, "miwili": 2, "watatu": 3, "matatu": 3, "mitatu": 3,
	"wanne": 4, "manne": 4, "minne": 4, "watano": 5, "matano": 5, "mitano": 5, "mosi": 1, "pili": 2,
}

var teens = map[string]int{
	"ten": 10, "eleven": 11, "twelve": 12, "thirteen": 13, "fourteen": 14, "fifteen": 15, "sixteen": 16,
	"seventeen": 17, "eighteen": 18, "nineteen": 19,
}

var tens = map[string]int{
	"twenty": 20, "thirty": 30, "forty": 40, "fourty": 40, "fifty": 50, "sixty": 60, "seventy": 70, "eighty": 80, "ninety": 90,
}

var swahiliTens = map[string]int{
	"kumi": 10, "ishirini": 20, "thelathini": 30, "arobaini": 40, "hamsini": 50, "sitini": 60, "sabini": 70,
	"themanini": 80, "tisini": 90,
}

var ordinals = map[string]int{
	"first": 1, "second": 2, "third": 3, "fourth": 4, "fifth": 5, "sixth": 6, "seventh": 7, "eighth": 8, "ninth": 9,
	"tenth": 10, "eleventh": 11, "twelfth": 12, "thirteenth": 13, "fourteenth": 14, "fifteenth": 15, "sixteenth": 16,
	"seventeenth": 17, "eighteenth": 18, "nineteenth": 19, "twentieth": 20, "thirtieth": 30,
	"kwanza": 1, "pili": 2,
}

// ReadNumber reads the cardinal that begins at token i, in digits or in words
// of either language ("forty five", "kumi na mbili"), and returns its value and
// the token after it.
func ReadNumber(toks []Token, i int) (value, next int, ok bool) {
	if i < 0 || i >= len(toks) {
		return 0, i, false
	}
	t := toks[i]
	if t.Kind == Number {
		return t.Value, i + 1, t.Value >= 0
	}
	if t.Kind != Word {
		return 0, i, false
	}
	if n, found := units[t.Text]; found {
		return n, i + 1, true
	}
	if n, found := teens[t.Text]; found {
		return n, i + 1, true
	}
	if n, found := tens[t.Text]; found {
		j := i + 1
		if j < len(toks) && toks[j].Raw == "-" {
			j++
		}
		if j < len(toks) && toks[j].Kind == Word {
			if u, found := units[toks[j].Text]; found && u > 0 && teenless(toks[j].Text) {
				return n + u, j + 1, true
			}
		}
		return n, i + 1, true
	}
	if n, found := swahiliTens[t.Text]; found {
		if i+2 < len(toks) && toks[i+1].Text == "na" && toks[i+2].Kind == Word {
			if u, found := units[toks[i+2].Text]; found && u > 0 && !teenless(toks[i+2].Text) {
				return n + u, i + 3, true
			}
		}
		return n, i + 1, true
	}
	return 0, i, false
}

// teenless reports whether a unit is an English word.
func teenless(w string) bool {
	switch w {
	case "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "zero":
		return true
	}
	return false
}

// ReadOrdinal reads the ordinal that begins at token i ("3rd", "third", "ya
// tatu" without its "ya", "twenty first") and returns its value and the token
// after it. A Swahili ordinal is a cardinal, so only "kwanza" and "pili" are
// ordinals by themselves.
func ReadOrdinal(toks []Token, i int) (value, next int, ok bool) {
	if i < 0 || i >= len(toks) {
		return 0, i, false
	}
	t := toks[i]
	if t.Kind == Number && i+1 < len(toks) && toks[i+1].Glued {
		switch toks[i+1].Text {
		case "st", "nd", "rd", "th":
			return t.Value, i + 2, t.Value >= 0
		}
		return 0, i, false
	}
	if t.Kind != Word {
		return 0, i, false
	}
	if n, found := ordinals[t.Text]; found {
		return n, i + 1, true
	}
	if n, found := tens[t.Text]; found {
		j := i + 1
		if j < len(toks) && toks[j].Raw == "-" {
			j++
		}
		if j < len(toks) {
			if u, found := ordinals[toks[j].Text]; found && u < 10 {
				return n + u, j + 1, true
			}
		}
	}
	return 0, i, false
}
