package understand

import (
	"github.com/ratiba/ratiba/internal/graph"
	"github.com/ratiba/ratiba/internal/understand/lex"
)

// rule says what a phrase speaks for, and how surely.
type rule struct {
	intent   graph.Intent
	topic    string
	strength float64
	phrases  []lex.Phrase
}

// Strengths of rules. A plain phrase acts when nothing else is left to explain;
// a hint leaves the decision to a model.
const (
	plainly = 0.93
	likely  = 0.82
	hint    = 0.62
)

var bookingNoun = "booking|bookings|appointment|appointments|appt|reservation|session|slot|miadi|buking"

// rules are read in order: the first that fits among those of equal strength
// wins, so the narrow ones stand first.
var rules = []rule{
	{graph.Question, TopicPolicy, plainly, lex.CompileAll(`
		cancellation|cancelation|cancelling|canceling|refund|reschedule|rescheduling|deposit|late|lateness policy|policies|rules|fee|fees|charges
		what if|happens|when i|we? cancel|am|reschedule|run|come late?
		what happens if
		if i am|cancel|come|arrive late?
		can|will|do i get|have my|a|the deposit|money|refund back?
		is the|my|that? deposit refundable
		your|the policy|policies|terms
		nikighairi|nikichelewa|nikiahirisha|nisipokuja
		sera ya|yenu
		nitarudishiwa|mnarudisha|mtanirudishia pesa|deposit|hela`)},
	{graph.Question, TopicPayment, plainly, lex.CompileAll(`
		how do|can|should|to i|we|one? pay
		can|may|could i|we pay with|by|via|using|later|cash|after|there|in|on|at
		do you|u|they accept|take mpesa|card|cards|cash|visa|credit|debit|payment|pesapal|paypal|m
		payment methods|method|options|modes|mode|details
		do i have|need to? pay|leave a|the|any? deposit|upfront|now|first|advance|anything?
		is there a deposit
		how much is the|your deposit
		till|paybill number|namba|gani?
		what is|s? your till|paybill
		nalipaje|nitalipaje|ninalipaje|tunalipaje
		nalipa|kulipa|nitalipa|ninalipa vipi|aje|namna|kwa|na gani|vipi|mpesa?
		mnakubali|mnachukua mpesa|card|kadi|cash|m
		naweza kulipa`)},
	{graph.Question, TopicPrice, plainly, lex.CompileAll(`
		how|hw much
		what|whats is|are|s? the|your? price|prices|cost|costs|rate|rates|charges|fee|fees|pricing
		what do|does * cost
		how * does * cost
		price|prices|cost|costs|rates|charges|pricing of|for|ya|za|list
		price|pricelist|bei list|please|gani|ya|za|yake|yenu
		bei|gharama|prices|charges ni|zenu|gani|ya|za|yake|ngapi|yenu
		ni bei|pesa|shilingi|ngapi|how gani|ngapi|much
		ni|inagharimu|mnacharge|unacharge|mnachaji|inacost|inakost|itacost|mnalipisha kiasi? ngapi|gani|how|pesa much?
		pesa|shilingi|shillings|bob|kiasi ngapi|gani
		kiasi gani
		you charge
		^ price|prices|bei|gharama|rates|charges $`)},
	{graph.Question, TopicHours, plainly, lex.CompileAll(`
		what|which time|times|hours do|does|are|is|you * open|close|opening|closing
		when do|does|is|are you|u|the|it|your * open|close|closed
		opening|working|business|operating|closing|operation hours|times|time|days
		are you|u|guys|they|yall? guys? still|also? open|closed
		do you|u|guys work|open|operate on|at|late|sundays|saturdays|weekends|sunday|saturday
		you|u guys? open|closed on|at|today|tomorrow|now|sunday|sundays|saturday|weekend|weekends|24
		how late|early are|do you
		mnafungua|mnafunga|mnafunguanga|mnafunganga|munafungua|mtafungua|mtafunga
		mko|mpo|muko wazi|open|kazini
		saa za kazi|kufungua|kufunga
		masaa ya kazi`)},
	{graph.Question, TopicLocation, plainly, lex.CompileAll(`
		where are|is|r you|u|your|the|r
		where exactly
		send|share|give|nitumie|mnitumie|tuma me|us? your|the|exact|a|pin? location|address|directions|pin
		where do|can i|we find you|u
		how do|can i|we get|reach|find to|there|you|your
		which street|building|floor|mall|town|area
		mko|mpo|muko|uko|iko|ziko|mnapatikana|mnapatikananga|munapatikana|patikana wapi|where|sehemu|mtaa|area gani?
		wapi mko|iko|mnapatikana
		mko|mpo upande|area|mtaa gani
		^ location|wapi|address|directions please|$`)},
	{graph.Question, TopicServices, plainly, lex.CompileAll(`
		what|which kind|type|types|sort|other? of? services|treatments|massages|facials|options|packages|styles|massage
		what do you|u|guys offer|do|have|provide
		what all? can|could i|you|we book|do|offer|help
		list of services
		services list|menu|do|you|offered|gani|zipi|available|zenu
		your|the|see|send|share services|menu|catalogue
		do you|u|guys also? offer|provide
		do you|u|guys also? do * too|there|here|$
		huduma gani|zipi|zenu|zote
		mnatoa|mnafanya|mnaoffer|mnafanyanga|mna huduma|nini|services|gani
		mnafanya|mnatoa|mnaoffer
		^ services|menu|huduma $`)},
	{graph.Question, TopicOther, plainly, lex.CompileAll(`
		do i need|have to? bring|carry|wear
		what|which should|do|can i bring|wear|carry
		nije|nikuje|nibebe na? nini
		nivae|nitavaa|nibebe nini`)},
	{graph.Question, TopicOther, likely, lex.CompileAll(`
		do you have|offer|got a|any|free? parking|wifi|changing|towels|gift|vouchers|voucher|shower|showers
		is there a|any|free? parking|wifi|shower
		do you|u sell|deliver|host|give|issue
		kuna|mna|mko parking|maegesho|wifi|na wifi|parking
		how long is|does|will|do|would
		what should i bring|wear|carry
		inachukua muda|dakika|masaa gani|ngapi
		muda gani`)},
	{graph.Cancel, "", plainly, lex.CompileAll(`
		cancel it|that|this|the|my|our|please|everything|all|tomorrow|todays|tomorrows|booking|bookings|appointment|reservation|session|miadi
		^ please|pls|kindly|can|could? i|you|we? cancel|ghairi|futa $
		want|need|like|have|going|wish|decided to cancel
		call off the|my
		ghairi|kughairi|nighairi|nighairie|nighairishie|futa|kufuta|nifutie|nifutieni|mnifutie|katisha|cancel|kucancel|nicancel|nicancelie miadi|booking|appointment|hiyo|yangu|ile|hii|bookings|nafasi
		nataka|naomba|ningependa|naweza|nahitaji ku? kughairi|kufuta|kucancel|kuifuta|kukancel|kuicancel
		^ cancel|ghairi|futa $`)},
	{graph.Cancel, "", hint, lex.CompileAll(`
		cancel|canceled|cancelled|cancelling|ghairi|kughairi|kucancel
		cant|cannot|wont|not make it|come|able|attend
		wont be able
		sitaweza|siwezi|sitakuja|sitafika|sintakuja kuja|kufika|tena|leo|kesho|kuhudhuria?
		forget it|about
		changed my mind`)},
	{graph.Reschedule, "", plainly, lex.CompileAll(`
		reschedule|resched|rescheduling
		postpone|postponing|shift|bring|push|move|change|switch it|this|that|the|my|our|everything booking|appointment|appt|time|date|day|slot|session|reservation|massage|to|forward|back|from|earlier|later
		change|different|another|other|new|earlier|later time|date|day|slot for my|the? booking|appointment
		change the|my time|date|day|booking|appointment|slot
		badilisha|kubadilisha|nibadilishie|mnibadilishie|badili|kubadili|nibadilishe|tubadilishe muda|saa|siku|tarehe|miadi|booking|appointment|time|date|yangu|wakati|iwe|kuwa|hiyo|ile
		hamisha|kuhamisha|nihamishie|nihamishe|ahirisha|kuahirisha|niahirishie|sogeza|kusogeza|nisogezee|songesha|kusongesha|peleka mbele?
		kureschedule|nireschedule|kupostpone|kushift`)},
	{graph.Reschedule, "", hint, lex.CompileAll(`
		move|change|shift|push|postpone|switch|bring it|that|this|forward|back|to|earlier|later|my
		another|different|other time|day|date
		make it * instead`)},
	{graph.MyBookings, "", plainly, lex.CompileAll(`
		when|what|where|whats|which|show|see|check|view|list is|are|time|day|s|me? my|our|me next|upcoming|all|the? ` + bookingNoun + `
		when|what|which time|day|date? is|are|s? my|the|our next|upcoming? ` + bookingNoun + `
		do i have any|a|an|another|the? upcoming|other|existing? ` + bookingNoun + `
		what|which time|day|date is|s my|our
		when is|s my|our
		^ my upcoming|next? ` + bookingNoun + ` please|$
		what|which ` + bookingNoun + ` do i have
		did|have i book|booked|already
		is|was my ` + bookingNoun + ` still|confirmed|on|booked|ok|okay|active|there
		miadi|booking|bookings|appointment|appointments|nafasi|mabuking yangu|zangu|zetu|yetu ni|iko|ipo|ziko|lini|saa|inaanza|zote|gani|zipi|$
		nimebook|nilibook|nimeweka|niliweka miadi|booking|nafasi? lini|saa|nini|gani|siku
		nina|niko miadi|booking|bookings|appointment|appointments|na lini|gani|zipi|ngapi|yoyote|zozote|booking|miadi|appointment
		nionyeshe|onyesha|angalia|check|naona|nione|niangalie miadi|booking|bookings|appointments|nafasi yangu|zangu
		lini|saa ni|ngapi miadi|booking|appointment yangu`)},
	{graph.Book, "", plainly, lex.CompileAll(`
		book|schedule|reserve|arrange|set|make|get|want|need|like|have|take|making|booking|fix|secure a|an|another|my|me|in|up|new|the|us|for|one? a|an|another|new|for? ` + bookingNoun + `|spot|place|space
		want|like|love|need|wish|wanna|wanted|trying|looking|help|hoping to|me|for? to? book|schedule|reserve|make|get|do|have|come
		can|could|may|shall i|we|you|u please|kindly|pls? book|schedule|reserve|get|have|come|make
		book|reserve me|us|a|an|for|my|another|in
		^ please|pls|kindly|hi|hello|hey? book
		do|would you|u have|be any|a|an|space|time|something|anything|free|availability? slots|slot|space|opening|openings|availability|appointments|appointment|available|free|time|room|spot|for
		any|is|are|have|got|what|which|there you? there? any|a|times|slots|space|openings|availability? slots|slot|space|openings|availability|available|free
		kubook|nibook|tubook|nibookie|mnibookie|nibookieni|unibookie|kubuku|nibuku|kureserve
		kuweka|weka|niwekee|niwekeeni|mniwekee|uniwekee|kupanga|panga|nipangie|nipatie|nipe|kupata|pata|nataka|naomba|ningependa|nahitaji|ninahitaji|tunataka booking|miadi|nafasi|appointment|slot|buking
		nataka|ninataka|naomba|ningependa|ningetaka|napenda|nahitaji|ninahitaji|natafuta|tunataka kuja|kufanyiwa|kufanya|kubook|kupata|kunyolewa|kusukwa|kusuka|kunyoa|kuona|kufika
		kuna|mna|mko|kunayo|iko|mnayo na? nafasi|slot|space|slots|availability
		naweza|naeza|nawezaje|twaweza|tunaweza|niweze kuja|kupata|kubook|pata|book|nikakuja|kufika
		^ booking|appointment|book|miadi|nafasi $`)},
	{graph.Complaint, "", likely, lex.CompileAll(`
		complain|complaint|complaints|complaining|malalamiko|lalamiko|kulalamika|nalalamika
		i want|need|demand a|my|full? refund|money back?
		worst|terrible|horrible|awful|unacceptable|disgusting|pathetic service|experience|salon|spa|place|massage|clinic|job|this
		very|so|really|extremely|not disappointed|unhappy|angry|upset|bad|happy|satisfied
		service was|is bad|terrible|poor|horrible|awful|not|slow
		you|they ruined|damaged|burnt|burned|destroyed|overcharged|double
		been|was charged twice|double|wrong
		huduma mbaya|mbovu|yenu
		sijaridhika|sijafurahishwa|sikufurahia|mmeniharibia|mliniharibia
		nirudishieni|rudisheni|nirudishie pesa|hela`)},
	{graph.Feedback, "", hint, lex.CompileAll(`
		feedback|review
		i|we really? loved|enjoyed|liked
		nilifurahia|nilipenda|nimefurahia|nimependa`)},
	{graph.Book, "", hint, lex.CompileAll(`
		book|booking|bookings|appointment|reservation|reserve|schedule|slot|availability|miadi|nafasi|available
		i|we want|need|would|d|like|am|wanna
		nataka|naomba|ningependa|nahitaji|ninataka|tunataka`)},
}

// asksHow finds questions about doing a thing: "how do I cancel" is no
// cancellation.
var asksHow = lex.CompileAll(`
	how do|can|to|does|would i|we|one|you
	is it possible
	what if|happens
	if i|we
	nawezaje
	inawezekana`)
