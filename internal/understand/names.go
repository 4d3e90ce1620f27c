package understand

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/ratiba/ratiba/internal/understand/langid"
	"github.com/ratiba/ratiba/internal/understand/lex"
)

// maxNameWords and maxNameRunes bound what is taken for a name.
const (
	maxNameWords = 4
	maxNameRunes = 60
)

// Introductions: the first always gives a name, the second only when it was
// asked for.
var (
	introduces = lex.CompileAll(`
		my|the name is
		my name's|names
		name is
		jina langu ni|naitwa?
		jina langu|yangu? iwe|liwe
		jina yangu ni|naitwa?
		niite|mniite|uniite
		ni mimi
		change|correct|update the|my? name to
		name should|to be
		jina ni
		naitwa|ninaitwa|waniita
		call me
		you can call me`)
	mayIntroduce = lex.CompileAll(`
		im|iam
		i am
		this is
		its
		it is
		mimi ni
		mimi
		ni
		name
		jina
		under
		for
		kwa jina la
		put|book|reserve|have|make it|this|that|them? under|for|in? the|my? name|names? of?
		use the|my? name
		andika|weka|tumia|iandike|iweke jina|kwa? la|ya? jina|la?`)
)

// nameStops end a name.
var nameStops = set(`and na i im id ninataka nataka naomba from kutoka here hapa please tafadhali asante thanks my number namba phone simu is ni but
	lakini for kwa the a would want need like at on to ya wa za yes no ndio ndiyo hapana sawa ok okay with who me you back call now later tomorrow
	today kesho leo when if in again asap not same next my nafasi zangu miadi wacha nimebook nilibook nimeweka niliweka niangalie nione naona nionyeshe onyesha`)

// introduction reads a name that is given as one: "my name is". Its words are
// nobody else's.
func (r *reading) introduction() {
	sp, ok := lex.FindAny(introduces, r.toks)
	if !ok {
		if r.named.To > r.named.From {
			if end, ok := r.take(r.named.From, true); ok {
				r.called = lex.Span{From: r.named.From, To: end}
			}
		}
		return
	}
	if end, ok := r.take(sp.To, r.req.Expect.wants(SlotName)); ok {
		r.mark(sp)
		r.called = lex.Span{From: sp.To, To: end}
	}
}

// name reads a name that answers the question for it.
func (r *reading) name() {
	asked := r.req.Expect.wants(SlotName)
	if r.in.Name != "" || !asked || r.in.Answer != "" || asksWhetherBot(r.toks) {
		return
	}
	for _, p := range mayIntroduce {
		sp, ok := p.Find(r.toks)
		if !ok || !r.quietBefore(sp.From) {
			continue
		}
		if _, ok := r.take(sp.To, true); ok {
			r.mark(sp)
			r.namesake()
			return
		}
	}
	at := 0
	for at < len(r.toks) && (r.toks[at].Kind != lex.Word || courtesy[r.toks[at].Text] || yesWords[r.toks[at].Text]) {
		at++
	}
	if rest := r.restFrom(at); rest >= 1 && rest <= maxNameWords && !r.asks() {
		if _, ok := r.take(at, true); ok {
			r.namesake()
		}
	}
}

// namesake drops a member of staff who was found in nothing but the name that
// was asked for: a customer may be called Grace as well.
func (r *reading) namesake() {
	staff, ok := r.in.Entities[KindStaff]
	if !ok {
		return
	}
	for word := range strings.FieldsSeq(staff.Span) {
		if !strings.Contains(strings.ToLower(r.in.Name), strings.ToLower(word)) {
			return
		}
	}
	delete(r.in.Entities, KindStaff)
}

// quietBefore reports whether nothing but courtesy stands before token i.
func (r *reading) quietBefore(i int) bool {
	for _, t := range r.toks[:i] {
		if t.Kind == lex.Number || t.Kind == lex.Word && !courtesy[t.Text] && !yesWords[t.Text] && !noWords[t.Text] {
			return false
		}
	}
	return true
}

func (r *reading) restFrom(at int) int {
	n := 0
	for _, t := range r.toks[min(at, len(r.toks)):] {
		if t.Kind == lex.Number {
			return maxNameWords + 1
		}
		if t.Kind == lex.Word && !courtesy[t.Text] {
			n++
		}
	}
	return n
}

// take reads a name at token i. What is a common word is no name, unless it is
// written with a capital where names are awaited.
func (r *reading) take(i int, asked bool) (end int, ok bool) {
	end = i
	var parts []string
	for end < len(r.toks) && len(parts) < maxNameWords {
		t := r.toks[end]
		if t.Kind == lex.Mark && (t.Raw == "." || t.Raw == "-") && len(parts) > 0 && end+1 < len(r.toks) && r.toks[end+1].Kind == lex.Word {
			end++
			continue
		}
		if asked && t.Text == "wa" && len(parts) > 0 && end+1 < len(r.toks) && r.toks[end+1].Kind == lex.Word && capital(r.toks[end+1].Raw) {
			parts = append(parts, t.Raw) // Wambui wa Kamau
			end++
			continue
		}
		if t.Kind != lex.Word || nameStops[t.Text] && !namesToo[t.Raw] || courtesy[t.Text] || !letters(t.Raw) {
			break
		}
		if r.known[end] && len(parts) == 0 && !asked {
			break
		}
		if (langid.Common(t.Text) || function[t.Text]) && !capital(t.Raw) {
			break
		}
		if len(parts) == 0 && !namesToo[t.Raw] && (greetingWords[t.Text] || yesWords[t.Text] || noWords[t.Text] || intentWord[t.Text]) {
			break
		}
		parts = append(parts, titled(t.Raw))
		end++
	}
	if len(parts) == 0 {
		return i, false
	}
	name := strings.Join(parts, " ")
	if utf8.RuneCountInString(name) > maxNameRunes || utf8.RuneCountInString(name) < 2 {
		return i, false
	}
	r.in.Name = name
	r.mark(lex.Span{From: i, To: end})
	return end, true
}

// intentWord are words that are never a name by themselves.
var intentWord = set(`cancel book change reschedule price massage facial help menu stop start services skip none why what who ghairi badilisha futa msaada bei`)

func letters(s string) bool {
	for _, r := range s {
		if !unicode.IsLetter(r) && !unicode.IsMark(r) && r != '\'' {
			return false
		}
	}
	return true
}

func capital(s string) bool {
	r, _ := utf8.DecodeRuneInString(s)
	return unicode.IsUpper(r)
}

// titled gives a name typed in small letters its capital.
func titled(s string) string {
	r, size := utf8.DecodeRuneInString(s)
	return string(unicode.ToTitle(r)) + s[size:]
}

// phone reads the phone number a person typed, when there is exactly one.
func (r *reading) phone() {
	found := ""
	for i := 0; i < len(r.toks); i++ {
		if r.toks[i].Kind != lex.Number {
			continue
		}
		from, to, digits := i, i+1, len(r.toks[i].Raw)
		for to < len(r.toks) && digits < 16 {
			k := to
			if r.toks[k].Kind == lex.Mark && (r.toks[k].Raw == "-" || r.toks[k].Raw == "(" || r.toks[k].Raw == ")") && k+1 < len(r.toks) {
				k++
			}
			if r.toks[k].Kind != lex.Number {
				break
			}
			digits += len(r.toks[k].Raw)
			to = k + 1
		}
		i = to - 1
		if digits < 7 || digits > 15 {
			continue
		}
		if from > 0 && r.toks[from-1].Raw == "+" {
			from--
		}
		n := e164(lex.Join(r.text, r.toks, lex.Span{From: from, To: to}), r.req.Region)
		if n == "" {
			continue
		}
		r.mark(lex.Span{From: from, To: to})
		r.beside(from)
		if found != "" && found != n {
			return // two numbers: a model or a question settles which
		}
		found = n
	}
	if found != "" {
		r.in.Phone = found
	}
}

// beside notes the capitalised words just before a phone number, at token i, for
// the name that goes with it: "tomorrow at 11, Joyce Auma 0712345678".
func (r *reading) beside(i int) {
	from := i
	for from > 0 && i-from < maxNameWords && r.toks[from-1].Kind == lex.Word && capital(r.toks[from-1].Raw) &&
		!langid.Common(r.toks[from-1].Text) && !function[r.toks[from-1].Text] && !courtesy[r.toks[from-1].Text] {
		from--
	}
	if from > 0 && from < i && r.toks[from-1].Raw == "," {
		r.named = lex.Span{From: from, To: i}
	}
}

var anyStaff = lex.CompileAll(`
	any|either staff|therapist|stylist|barber|doctor|dentist|nurse|tutor|masseuse|masseur|beautician|technician|person|provider|of|one
	with|by|na|to anyone|anybody|whoever|yeyote|yoyote
	anyone|anybody|whoever is|s? fine|ok|okay|good|available|free|will|works|can|you|there
	no preference
	doesnt|dont matter|mind who
	i dont mind
	whoever is|s? available|free
	mtu|mhudumu|daktari|mwalimu|kinyozi|msusi|fundi yeyote|yoyote
	yeyote tu|aliye|atakayekuwa|aliyepo|ambaye|yule
	yeyote yupo|anaweza|sawa|awe|ako
	mtu|mhudumu yeyote|yoyote|any`)

var notStaff = lex.CompileAll(`
	is anyone|anybody there|here|home|available
	anyone|anybody there|here|home|around
	kuna mtu`)

// noMatter are answers to the question for a person that leave the choice.
var noMatter = lex.CompileAll(`
	doesnt|dont matter|mind|care
	does|do not matter|mind|care
	no one|body in? specific|particular|special
	nobody|noone in? specific|particular|special`)

var bareAny = set("any anyone anybody whoever either yeyote yoyote wowote haijalishi")

// staff reads "anyone will do".
func (r *reading) staff() {
	if len(r.req.Nouns[KindStaff]) == 0 && !r.req.Expect.wants(KindStaff) {
		return
	}
	if _, ok := lex.FindAny(notStaff, r.toks); ok && !r.req.Expect.wants(KindStaff) {
		return
	}
	if sp, ok := lex.FindAny(anyStaff, r.toks); ok {
		r.in.AnyStaff = true
		r.mark(sp)
		return
	}
	if !r.req.Expect.wants(KindStaff) {
		return
	}
	if sp, ok := lex.FindAny(noMatter, r.toks); ok {
		r.in.AnyStaff = true
		r.mark(sp)
	}
	for i, t := range r.toks {
		if bareAny[t.Text] {
			r.in.AnyStaff = true
			r.known[i] = true
		}
	}
}
