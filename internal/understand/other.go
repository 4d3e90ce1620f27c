package understand

import "github.com/ratiba/ratiba/internal/understand/lex"

// forOther are words that say that what is asked for is for somebody else.
var forOther = lex.CompileAll(`
	for|of a|the|our? friend|colleague|neighbour|neighbor
	for my|our Q? mum|mom|mother|mama|dad|father|wife|husband|daughter|son|sister|brother|friend|girlfriend|boyfriend|boss|kid|child|baby|aunt|auntie|uncle|cousin|grandma|grandmother|grandfather|niece|nephew|client|colleague|fiance|fiancee|partner
	for someone|somebody|another else|person
	her|his|their name is|are
	ya|wa|za|kwa|la mama|baba|mke|mume|dada|kaka|rafiki|mtoto|binti|bosi|nyanya|shangazi|mjomba|mchumba|mpenzi|mwanangu|mfanyakazi yangu|wangu|yake
	ya|wa|za|kwa|la mamangu|babangu|mkewangu|dadangu|kakangu|rafikiangu|mwanangu|bintiyangu|mumewangu
	yeye anaitwa
	anaitwa
	jina lake`)

// other reads for whom it is.
func (r *reading) other() {
	_, said := lex.FindAny(forOther, r.toks)
	r.in.ForOther = said || r.req.Expect.Other
}
