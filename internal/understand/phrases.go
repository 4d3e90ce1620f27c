package understand

import (
	"strings"

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

// days are the words of a day that a change is about.
const days = "monday|tuesday|wednesday|thursday|friday|saturday|sunday|today|tomorrow|leo|kesho|keshokutwa|jumatatu|jumanne|jumatano|alhamisi|ijumaa|jumamosi|jumapili|" +
	"mon|tue|tues|wed|thur|thurs|fri|sat|sun|jmosi|jpili|jtatu"

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
		if i dont|do show|come|attend|appear
		how many hours|days before|in advance can|may|should|must i|we
		can|could|may i|we cancel|reschedule|change on|last|within|without|before|same
		what if i|we need|want|have to cancel|reschedule|change
		nikitaka|tukitaka kughairi|kucancel|kubadilisha|kuahirisha
		naweza|naeza kughairi|kucancel siku|bila|kabla|dakika
		no show|noshow policy|fee|charge
		do|will you|u charge|fine a|for|me late|lateness|no|missing|if
		masaa|siku|muda mangapi|ngapi|gani kabla
		nikichelewa|nikikosa|nisipokuja mnatoza|mnakata|mtatoza|mtanitoza
		how long|late|early before? can|may|should|must? i reschedule|cancel|be|come|arrive|change
		lose|forfeit my|the? deposit|money
		nikighairi|nikichelewa|nikiahirisha|nisipokuja|nikikosa|nikicancel
		deposit|pesa inarudishwa|hurudishwa|inarudi|itarudishwa|inaenda|nitarudishiwa
		naweza|naeza|ninaweza kuchelewa|chelewa kwa|dakika
		mtanikata|mnakata|mtakata pesa|hela
		sera ya|yenu
		nitarudishiwa|mnarudisha|mtanirudishia pesa|deposit|hela`)},
	{graph.Question, TopicPayment, plainly, lex.CompileAll(`
		how do|can|should|to i|we|one? pay
		can|may|could i|we pay through|in|nikifika|pole
		must|should i|we pay|send a|the|any? deposit
		lazima nitume|nilipe|tutume deposit|pesa
		do|should|must i|we pay before|after|now|upfront|first|when|at|the
		is|are mpesa|cash|card|cards|visa ok|okay|fine|allowed|accepted
		can|may|could i|we pay the|my|a|half balance|deposit|rest|half
		do you|u|guys accept|take airtel|money|cheque|dollars|equity|paypal
		nilipe|nalipa|tulipe kabla|baada|kwanza|lini|sasa|nikifika
		mpesa|cash|kadi|card iko|ni sawa|poa|okay
		naweza|naeza kulipa|lipa salio|baki|nusu
		account|akaunti number|namba ya|for|gani
		mnapokea|mnakubali|mnachukua airtel|equity|dola|pesa
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
		mnakubali|mnachukua|mnapokea|mnaaccept|mnaacceptanga mpesa|card|cards|kadi|cash|m|bima|visa|nhif|sha|insurance|cheque
		do you|u|guys accept|take nhif|sha|insurance|cheque|cheques|bima
		natuma|nitume|nitatuma|tunatuma pesa|deposit|hela kwa? namba|number|till|wapi|gani
		deposit ni|ya? pesa? ngapi|how
		lazima|inabidi nilipe|kulipa|tulipe
		naweza|naeza|ninaweza|twaweza kulipa|lipa`)},
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
		do|does|is|are|any * rates|quote|quotation
		get|have|send a? quote|quotation|pricelist
		cheapest|cheaper|most expensive
		bei rahisi|nafuu|zaidi|chini
		weekend|student|students|group|bridal|loyalty discount|discounts|rates|offer|package|packages
		nitalipa|ninalipa|tutalipa|nilipe pesa? ngapi|kiasi
		mnawapunguzia|mnapunguza|mnapunguzia|mtapunguza
		bei iko|inakuwa|zikoje|ikoje aje|vipi|ngapi|$
		punguza|punguzia|nipunguzie|mnipunguzie|mpunguze|unipunguzie bei|pesa|kidogo
		have|any|got|give any|a|some|me? discount|discounts|offer|offers|promotions
		mko|mna|kuna|mnayo na? offer|offers|discount|discounts|punguzo
		^ price|prices|bei|gharama|rates|charges $`)},
	{graph.Question, TopicPrice, hint, lex.CompileAll(`
		is|are * expensive|affordable|cheap|pricey
		ni|iko ghali|rahisi`)},
	{graph.Question, TopicHours, plainly, lex.CompileAll(`
		^ hours|opening|timings $
		do|will you|u|guys close|open for|during|at|over
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
		masaa ya kazi
		mnafanya|mnafanyanga|mtafanya|hufanya kazi
		do|will you|u|guys open|close early|late
		is|are|will the|your|ur? * be? open|closed on|at|today|tomorrow|now|$
		mtakuwa|mtakua|itakuwa|itakua|iko|liko|kuko wazi|open|imefungwa
		hamfungui|hamfungi|hamfanyi
		mwisho|latest ni? saa|time ngapi?
		whats|what is? the latest
		mpaka|hadi|mko|mpo mpaka|hadi|till? saa ngapi
		mnafungua|mnafunga what time`)},
	{graph.Question, TopicLocation, plainly, lex.CompileAll(`
		where are|is|r you|u|your|the|r
		where exactly
		drop|send|share|nitumie|nipe me? a|the|your? pin|map|location
		how far are|is you|u|it|that|the
		is|are the? shop|place|salon|spa|clinic|office|it|you near|opposite|inside|close|next|within
		karibu na wapi
		nielekeze|nielekezeni|unielekeze|mnielekeze kutoka|jinsi|kwenu|hapo|njia
		which|what part of? town|city|nairobi
		mko|mpo|iko|liko barabara|karibu|kando|nyuma|mbele|ndani|mkabala
		nitumie|nipe ramani|mahali
		ni|iko mbali|karibu
		send|share|give|nitumie|mnitumie|tuma me|us? your|the|exact|a|pin? location|address|directions|pin
		where do|can i|we find you|u
		how do|can i|we get|reach|find to|there|you|your
		which street|building|floor|mall|town|area
		mko|mpo|muko|uko|iko|ziko|mnapatikana|mnapatikananga|munapatikana|patikana wapi|where|sehemu|mtaa|area gani?
		wapi mko|iko|mnapatikana
		mko|mpo upande|area|mtaa gani
		where do|does|is|are|will the|your|my * take place|held|happen|located|be
		mna%|muna% wapi
		duka|ofisi|salon|spa|kliniki|clinic|shop lenu|yenu|lako|yako? liko|iko|ziko wapi
		is there a? landmark
		which|what|ni|gani jengo|floor|building|street|landmark gani|are
		nipe|nipeni|nitumie|naomba maelekezo|directions|ramani|map
		maelekezo ya kufika
		^ location|wapi|address|directions please|$`)},
	{graph.Question, TopicLocation, likely, lex.CompileAll(`
		are you|u|guys in|near|along|opposite`)},
	{graph.Question, TopicServices, plainly, lex.CompileAll(`
		what|which kind|type|types|sort|other? of? services|treatments|massages|facials|options|packages|styles|massage
		what do you|u|guys offer|do|have|provide
		what all? can|could i|you|we book|offer
		list of services
		services list|menu|do|you|offered|gani|zipi|available|zenu
		your|the|see|send|share services|menu|catalogue
		do you|u|guys also? offer|provide
		do you|u|guys also? do * too|there|here|$
		huduma gani|zipi|zenu|zote
		mnatoa|mnafanya|mnaoffer|mnafanyanga|mna huduma|nini|services|gani
		mnafanya|mnatoa|mnaoffer
		^ services|menu|huduma $
		do|does|have you|u|guys have|offer|do|provide a|any|the? couples|couple|package|packages|home|mobile|home-service
		can|could you|u do|make|fix|braid|fit
		mna|mnatoa huduma ya|za
		mnaweka|mnatoboa|mnapamba|mnachuna|mnatoa
		do you|u|guys also? teach|treat|fix|braid|cater|repair|wash|make
		do you|u|guys also? do home|house|gel|bridal|hair|nails|makeup|braids
		what|which doctors|therapists|barbers|stylists|tutors|teachers|staff|specialists do you|u have
		what all? can you|u do|help me|us|with? with? $
		what is|are|s? popular|good|recommended
		what|which one? do|would you|u recommend|suggest
		ipi|gani|ambayo ni nzuri|bora|poa
		unaweza|mnaweza|waweza kufanya|kunisaidia|nisaidia na? nini
		orodha ya huduma|services
		mna|mko na? madaktari|walimu|vinyozi|wahudumu|mafundi gani|wangapi
		mna|mko na? gel|braids|nywele|dawa|kucha|makeup`)},
	{graph.Question, TopicOther, plainly, lex.CompileAll(`
		do|must i|we have to
		do i|we need
		is|are there an|a|any age|dress|lift|elevator|waiting|minimum
		do|does|have you|u have|got|employ female|male|women|lady|ladies|men|kids
		mna|kuna|mko lift|maegesho|choo|generator
		wahudumu|mhudumu wa|wakike kike|kiume?
		is|are it|this|the|they|your safe|painful|private|clean
		ni|iko salama
		does|will it|this|the hurt|pain
		are the|your * male|female|women|men|ladies|trained|qualified|certified
		who will|is|ll|s be? attending|serving|doing|handling
		who is|s the|my therapist|stylist|barber|doctor|dentist|tutor|teacher
		who will|is attend|serve|do|handle|see to? me|us|my|it
		nani atanihudumia|atanifanyia|atanishughulikia|atanisuka|ataninyoa|ataniona
		inabidi|lazima|ni lazima ni% kabla|kwanza
		what|which should|do|can i bring|wear|carry
		nije|nikuje|nibebe na? nini
		nivae|nitavaa|nibebe nini`)},
	{graph.Question, TopicOther, likely, lex.CompileAll(`
		mnasuka|mnanyoa|mnatengeneza|mnafundisha|mnafunza|mnatibu|mnapaka|mnachora|mnaosha|mnasafisha|mnafanyia|mnahudumia|mnakuja|mnashona
		do you have|offer|got a|any|free? parking|wifi|changing|towels|gift|vouchers|voucher|shower|showers
		is there a|any|free? parking|wifi|shower
		do you|u sell|deliver|host|give|issue
		kuna|mna|mko parking|maegesho|wifi|na wifi|parking
		how long is|does|will|do|would
		what should i bring|wear|carry
		inachukua|huchukua|inatake|itachukua muda|dakika|masaa|time gani|ngapi|mangapi
		inatake|inachukua|itachukua how
		how long
		parking|wifi|choo iko|ziko|ipo|available
		kuna mahali|sehemu pa|ya
		mko|mna na? wifi|parking|maji|choo
		can|may|could i|we bring|come my|a|an|with|along friend|kids|child|baby|husband|wife
		naweza|naeza kuja|kuleta|leta|nije na rafiki|mtoto|watoto|mume|mke|mtu
		muda gani`)},
	{graph.Cancel, "", plainly, lex.CompileAll(`
		cancel it|that|this|the|my|our|please|everything|all|tomorrow|todays|tomorrows|booking|bookings|appointment|reservation|session|miadi
		^ please|pls|kindly|can|could? i|you|we? cancel|ghairi|futa $
		want|need|like|have|going|wish|decided to cancel
		call off the|my
		scrap|bin|ditch my|the|that ` + bookingNoun + `
		naghairi|ninaghairi|ghairini|nighairi|futeni|mfute|nafuta miadi|booking|yote|zote|yangu|nafasi|hiyo
		sitahitaji|hatutahitaji tena? hiyo|ile|hii|yangu? miadi|booking|appointment|nafasi
		cancel|kucancel both|all|my|the|ile|hiyo|hii|zote|kila|appointment|booking|lesson|class|visit|slot
		drop|remove|delete my|the|our|this|that|both|all? ` + bookingNoun + `|lesson|class|visit|name
		nicancelie|nicancelieni|nicancel|ucancel|mcancel|mnicancelie|tucancel|kucanceli
		ku cancel
		no longer|dont need|want|require my|the|this|that? ` + bookingNoun + `
		take|remove me|my off|from|name the? list
		sihitaji|sitaki|hatuhitaji|hatutaki tena? hiyo|ile|hii|yangu? miadi|booking|appointment|nafasi
		achana|wachana na ile|hiyo|hii? miadi|booking|appointment|nafasi
		futa|ifute|zifute|mfute|ufute|katiza|ondoa|niondoe|niondolee|uondoe|toa|nitoe zote|kila|mbili|hiyo|jina|miadi|booking|nafasi|kwa
		naomba|nataka|tafadhali|kindly mghairi|ughairi|kighairi
		ghairi|kughairi|nighairi|nighairie|nighairishie|futa|kufuta|nifutie|nifutieni|mnifutie|katisha|cancel|kucancel|nicancel|nicancelie miadi|booking|appointment|hiyo|yangu|ile|hii|bookings|nafasi
		nataka|naomba|ningependa|naweza|nahitaji ku? kughairi|kufuta|kucancel|kuifuta|kukancel|kuicancel
		^ cancel|ghairi|futa $`)},
	{graph.Reschedule, "", hint, lex.CompileAll(strings.ReplaceAll(`
		cant|cannot|wont|sitaweza|siwezi|hatutaweza|able * * can|could|lets|maybe|tufanye|how we|i|about do|come|make|have|move|DAY
		siwezi|sitaweza * tufanye|tuifanye|tukutane|nataka|naomba|naweza DAY|saa|nije|kuja
		instead of DAY|saa
		badala ya DAY|saa
		tufanye|iwe DAY badala
		nimekwama|stuck|nitachelewa|late * weka|make|push|move|fanya
		siku|saa|tarehe|muda|wakati nyingine|ingine|tofauti`, "DAY", days))},
	{graph.Cancel, "", hint, lex.CompileAll(`
		cancel|canceled|cancelled|cancelling|ghairi|kughairi|kucancel
		cant|cannot|wont|not make it|come|able|attend
		wont be able
		sitaweza|siwezi|sitakuja|sitafika|sintakuja|siji|hatutaweza|hatuji|sikuji kuja|kufika|tena|leo|kesho|kuhudhuria?
		sitamake|sitoweza|sitokuja
		naumwa|mgonjwa|emergency|dharura
		forget it|about
		changed my mind`)},
	{graph.Reschedule, "", plainly, lex.CompileAll(`
		reschedule|resched|rescheduling
		postpone|postponing|shift|bring|push|move|change|switch it|this|that|the|my|our|everything booking|appointment|appt|time|date|day|slot|session|reservation|massage|to|forward|back|from|earlier|later
		change|different|another|other|new|earlier|later time|date|day|slot for my|the? booking|appointment
		change the|my time|date|day|booking|appointment|slot
		badilisha|kubadilisha|nibadilishie|mnibadilishie|badili|kubadili|nibadilishe|tubadilishe muda|saa|siku|tarehe|miadi|booking|appointment|time|date|yangu|wakati|iwe|kuwa|hiyo|ile
		hamisha|kuhamisha|nihamishie|nihamishe|ahirisha|kuahirisha|niahirishie|sogeza|kusogeza|nisogezee|songesha|kusongesha|peleka mbele?
		kureschedule|nireschedule|kupostpone|kushift|tupostpone|tureschedule|nishift|nishifti
		postpone|push|shift|bump|move|swap me|us|until|till|to
		can|could|may|is|was my|our ` + bookingNoun + `|lesson|class be earlier|later|moved|changed
		swap|shift|move|push|change * ` + bookingNoun + `|lesson|class|visit from|to|until
		change|shift|move|push|reschedule|postpone booking|appointment|miadi|slot yangu|yetu|ya|yake
		miadi|booking|appointment|nafasi yangu|yetu inaweza|iwe|ije kuwa? mapema|baadaye|kesho|leo
		i want|need|prefer|like|get a? different|another|new time|date|day|slot for
		move|shift|push|change|postpone|reschedule * to|until|till ` + days + `|next|this
		make my|our|the ` + bookingNoun + ` earlier|later
		hour|bit|little later|earlier than
		shift|move|change|push * from morning|afternoon|evening|` + days + ` to
		unihamishie|mnihamishie|nihamishie|nihamishe|niahirishe|nisogeze|tusogeze|isogezwe|ahirisha|kuahirisha
		%sogez%|%songesh% mbele|nyuma|hadi|mpaka|kidogo|iwe|booking|miadi|yangu|hiyo|kwa
		nisogezee|nisogezeeni|mnisogezee|tusogeze|isogeze|niahirishie|tuahirishe|iahirishwe|nihamishieni|ihamishe|ihamishwe|ibadilishwe
		kuchange|nichange|ubadilishe|mbadilishe|nibadilishieni|mnibadilishie time|date|saa|siku|tarehe|booking|appointment|miadi|muda|iwe|ya`)},
	{graph.Reschedule, "", hint, lex.CompileAll(`
		move|change|shift|push|postpone|switch it|that|this|forward|back|to|earlier|later|my
		bring it|that|this|everything? forward|back|earlier
		another|different|other time|day|date
		make it * instead`)},
	{graph.MyBookings, "", plainly, lex.CompileAll(`
		when|what|where|whats|which|show|see|check|view|list is|are|time|day|s|me? my|our|me next|upcoming|all|the? ` + bookingNoun + `
		when|what|which time|day|date? is|are|s? my|the|our next|upcoming? ` + bookingNoun + `
		do i have any|a|an|another|the? upcoming|other|existing? ` + bookingNoun + `
		what|which time|day|date is|s my|our
		when is|s my|our
		^ my upcoming|next? ` + bookingNoun + ` please|$
		do|did|have|can you|u have|got|get|see|find|received|receive my|our ` + bookingNoun + `
		mmepata|mna|mliona|mnaona|mlipata booking|miadi|appointment yangu|yetu
		when|what exactly is my|our ` + bookingNoun + `
		what|which day|time|date am|are i|we coming|booked
		resend|send|share my|the ` + bookingNoun + ` details
		details|maelezo za|ya booking|miadi yangu
		yangu|yetu * bado ipo|iko|ni
		just? checking|confirming my|on|the ` + bookingNoun + `
		lini|saa ngapi|siku gani nakuja|nitakuja|ninakuja
		check|confirm|know|see if|whether|kama i|im|am|ive|nime|niko? booked|book|nimebook|nimeweka
		angalia|niangalie|cheki|check kama nimebook|niko|nina|nimeweka
		am|was|are i|we still|already? booked|scheduled
		have|did|has you|u|they book|booked me|us
		niko|nko booked|kwa
		forgot|forgotten|remember|remind|nimesahau|nikumbushe|nikumbusheni * ` + bookingNoun + `|lesson|class|visit|massage|coming|nakuja|saa|time
		confirm my|the|our ` + bookingNoun + ` details|time|date
		who is|s|whos my|the|our ` + bookingNoun + ` with
		whats|what|which is|s? the? time|day|date for|of|is our|my|the ` + bookingNoun + `|lesson|class|visit|massage|facial
		see|view|check|show my|our schedule
		did|has my|the booking|appointment|payment? go|gone|went|come through
		yangu|zangu|yetu|zetu * ni|iko|ipo|ziko ya? saa|lini|siku|tarehe|what|when ngapi|gani|time|$
		what|which time|day|date ni ` + bookingNoun + ` yangu
		yangu|zangu|yetu imethibitishwa|imeconfirmiwa|imeingia|imekubaliwa|imekubali|zinazokuja|iko
		nilibook|nimebook|niliweka|nakuja|nitakuja|ninakuja|nilikuwa|nikuje * lini
		nakuja|nitakuja|ninakuja siku|saa|tarehe gani|ngapi
		mliniwekea|mmeniwekea|umeniwekea|mlinibookia|mmenibookia|ulinibookia
		nina|niko na? miadi|booking|bookings|appointment|appointments|nafasi leo|kesho|wiki|` + days + `
		what|which ` + bookingNoun + ` do i have
		did|have i book|booked|already
		is|was my ` + bookingNoun + ` still|confirmed|on|booked|ok|okay|active|there
		miadi|booking|bookings|appointment|appointments|nafasi|mabuking yangu|zangu|zetu|yetu ni|iko|ipo|ziko|lini|saa|inaanza|zote|gani|zipi
		^ miadi|booking|bookings|appointment|appointments|nafasi|mabuking yangu|zangu|zetu|yetu $
		nimebook|nilibook|nimeweka|niliweka miadi|booking|nafasi? lini|saa|nini|gani|siku
		nina|niko miadi|booking|bookings|appointment|appointments|na lini|gani|zipi|ngapi|yoyote|zozote|booking|miadi|appointment
		nionyeshe|onyesha|angalia|check|naona|nione|niangalie miadi|booking|bookings|appointments|nafasi yangu|zangu
		lini|saa ni|ngapi miadi|booking|appointment yangu`)},
	{graph.Book, "", plainly, lex.CompileAll(`
		book|schedule|reserve|arrange|set|make|get|want|need|like|have|take|making|booking|fix|secure a|an|another|my|me|in|up|new|the|us|for|one? a|an|another|new|for? ` + bookingNoun + `|spot|place|space
		want|like|love|need|wish|wanna|wanted|trying|looking|help|hoping to|me|for? to? book|schedule|reserve|make|get|do|have|come
		can|could|may|shall i|we|you|u please|kindly|pls? book|schedule|reserve|get|have|come|make
		book|reserve me|us|a|an|for|my|another|in
		put|pencil me|us down|in for|on|at
		^ please|pls|kindly|hi|hello|hey? book
		do|would you|u have|be any|a|an|space|time|something|anything|free|availability? slots|slot|space|opening|openings|availability|appointments|appointment|available|free|time|room|spot|for
		any|is|are|have|got|what|which|there you? there? any|a|times|slots|space|openings|availability? slots|slot|space|openings|availability|available|free
		kubook|nibook|tubook|nibookie|mnibookie|nibookieni|unibookie|kubuku|nibuku|kureserve
		kuweka|weka|niwekee|niwekeeni|mniwekee|uniwekee|kupanga|panga|nipangie|nipatie|nipe|kupata|pata|nataka|naomba|ningependa|nahitaji|ninahitaji|tunataka booking|miadi|nafasi|appointment|slot|buking
		nataka|ninataka|naomba|ningependa|ningetaka|napenda|nahitaji|ninahitaji|natafuta|tunataka kuja|kufanyiwa|kufanya|kubook|kupata|kunyolewa|kusukwa|kusuka|kunyoa|kuona|kufika
		kuna|mna|mko|kunayo|iko|mnayo na? nafasi|slot|space|slots|availability
		can|could you|u fit|squeeze|slot|put me|us|my in|today|tomorrow|leo|kesho|on|at
		nishikie|niandikie|niandalie|nipatie|nitafutie|nisikie slot|nafasi|miadi|space|booking|kiti
		mnaweza|mnaeza|unaweza|waweza kuniweka|niweka|nifit|kunifit|nipangia|kunipangia
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
		sijaridhika|sijafurahishwa|sikufurahia|mmeniharibia|mliniharibia|sikuridhika|sikufurahishwa
		paid|nililipa|nimelipa|nimetuma|nilituma * but|lakini|and|na|still no|not|nobody|never|hakuna|sijapata|sijaona|got
		nobody|no one|noone showed|came|attended|served|replied|picked
		i|we|ive|been waited|waiting for|since an|for|two|over|hours|hour|9|8|10
		nilisubiri|nimesubiri|nasubiri|tumesubiri masaa|saa|tangu|sana|lisaa|bila
		mmenikata|mlinikata|mmenitoza|mlinitoza|mmenicharge pesa|zaidi|mara|twice
		started|keeps chipping|peeling|falling|breaking
		was|were|is|very|so|too rude|dirty|filthy|unprofessional|cold|careless|arrogant
		alinijibu|alikuwa|walikuwa|mlikuwa|kilikuwa|ilikuwa vibaya|kiburi|chafu|kichafu|mbaya|mbovu
		yenu|yako ni poor|bad|mbaya|mbovu|terrible
		deducted|charged|imekatwa|ilikatwa|mlikata twice|mara|double|mbili
		shoddy|horrible|poor|bad|sloppy job|work
		ni|ilikuwa|kazi ni? ovyo|hovyo
		dharau|pachafu|kichafu|wachafu
		iliniumiza|aliniumiza|mliniumiza|hakujali
		trying|tried to reach|call|contact|get you
		nimejaribu|nilijaribu kuwapata|kupiga|kuwapigia
		zimetoka|imetoka|imeharibika|zimeharibika baada
		charged|overcharged me
		nirudishieni|rudisheni|nirudishie pesa|hela`)},
	{graph.Feedback, "", hint, lex.CompileAll(`
		feedback|review
		i|we really? loved|enjoyed|liked
		^ loved|enjoyed my|the|it|every
		was|were|is|did a|an|the|so|very|really|just|absolutely? amazing|wonderful|perfect|lovely|excellent|fantastic|awesome|great|beautiful|superb
		great|amazing|wonderful|lovely|fantastic|good|excellent experience|service|job|work|session|place
		the|my best therapist|barber|stylist|salon|spa|place|massage|facial
		feel|felt so|very|really? relaxed|refreshed|good|great
		would|will|highly recommend
		best massage|haircut|facial|service|experience ever
		massage|huduma|kazi bora kabisa|sana
		nyota tano
		lovely|great|good|nice|wonderful time
		you|u guys? are|r the|so|very? best|amazing|great|awesome
		nyinyi|ninyi ndio|ni bora|wazuri|fundi
		wakati|muda mzuri
		maoni|stars
		ilikuwa|ulikuwa|kilikuwa|ilikua|ni|iko|ako|yuko poa|safi|nzuri|sawa|tamu|fiti|pasafi|pazuri|vizuri|top|mikono|fundi sana|kabisa|kweli|asante|na
		kazi|huduma safi|nzuri|poa|bora
		hongera
		kila kitu kilikuwa|ilikuwa
		everything was|is
		najiskia|najisikia|nimejiskia vizuri|poa|fresh
		nilifurahia|nilipenda|nimefurahia|nimependa`)},
	{graph.Book, "", likely, lex.CompileAll(`
		is|are * available|free on|at|today|tomorrow|` + days + `
		yuko|ako|anapatikana|atakuwepo|atakuwa|uko|mko free|available|lini|leo|kesho|asubuhi|jioni|saa|` + days + `
		anything|something|slot|time earlier|later|sooner|else
		kuna|iko|mna|mko ya|na? baadaye|mapema|nyingine|ingine`)},
	{graph.Book, "", hint, lex.CompileAll(`
		need|looking|want|require a|an|some|for|to
		tufanye|naleta|nitaleta|namleta|nawaleta|anaweza kuonana
		can|could|may i|we walk|bring|drop
		anahitaji|anataka|wanataka|wanahitaji|tunahitaji|angependa|naeka|nakuja|ninakuja|nitafika|nitakuja|ntakuja|nikuje|nikujie|anyolewe|kuja|unibookie
		mtoto|mama|baba|mwanangu|mke|mume|watoto wangu|yangu
		im|am coming
		for a|an|my|the|our? ` + bookingNoun + `
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
