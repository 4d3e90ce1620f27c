package understand

import "strings"

// set makes a word set of a text.
func set(words string) map[string]bool {
	out := make(map[string]bool)
	for w := range strings.FieldsSeq(words) {
		out[w] = true
	}
	return out
}

var (
	// courtesy may stand beside an answer without changing it.
	courtesy = set(`please plz pls plis kindly thanks thank you thankyou thx tx asante ahsante asanteni sana tafadhali tafadhalini shukran
		shukrani boss bro sis dear sir madam maam mam hun friend rafiki bwana dada kaka mkuu mzee much so very lot hi hello hey habari
		aki love nashukuru bwanae tena grateful appreciated buda wasee msee mkubwa basi sorry samahani tu`)

	yesWords = set(`yes yea yeah yeap yep yup yap yas yess yass y ndiyo ndio ndo naam eeh eh ehe ee sawa sawasawa sawia ok okay okey oky oki k kk
		poa fiti sure surely correct confirm confirmed agreed absolutely definitely certainly perfect proceed hakika nakubali nimekubali
		thibitisha nathibitisha endelea kabisa fine exactly alright aight`)

	noWords = set(`no nope nah nop noo hapana la siyo sio sitaki zii negative wrong incorrect nevermind wacha acha usifanye usiendelee`)

	yesEmoji = set(`👍 ✅ 👌 ✔ 💯 🆗 ☑`)
	// thankEmoji close a conversation where nothing was asked.
	thankEmoji = set(`🙏 ❤ 😊 🥰 😍 🤗 🎉 💐 💕`)
	noEmoji    = set(`👎 ❌ 🚫 ✖ 🙅`)

	// function holds the words of both languages that carry no meaning of their
	// own here: a text made of them and of what was recognised is understood.
	function = set(`i im id ive ill you youre u ur r we were they he she it its my your our the a an is are am was be been do does did have has had
		will would can could should shall may might must to of for on in at by with from and or but if that this these those there here then so
		too very just also only any some please want need like get got make take come see let lets looking look one ones me us him her them what
		when where which who how about up out as not no yes ok okay hi hello hey dear good morning afternoon evening day night thanks thank
		kindly maybe possible possibly wondering wanted know tell could wish hope hoping interested would prefer actually instead sorry oh well
		mind rather still again now later soon around between after before until till next s t m d ll re
		na ya wa za la cha vya kwa ni si kwenye katika kama lakini au ama ili kwamba hii hiyo huo huu hizo hizi hilo hili hicho hiki ile yake
		yangu yako yetu wangu wako wetu langu lako changu chako zangu zako mimi wewe sisi nyinyi sana tu pia bado tafadhali asante nataka
		ningependa naomba naweza niweze nina ninataka nahitaji ninahitaji taka kutaka kuna je sasa basi haya tena sawa ndio ndiyo hapana siyo
		sio samahani habari mambo vipi niaje iwe itakuwa naeza ningetaka nilikuwa nikiwa mnaweza unaweza tunaweza mko uko niko kuja nije
		nikuje naja nitakuja kupata pata kufanya fanya kufanyiwa nifanyiwe kuwa tunataka tungependa natafuta kutoka hadi mpaka saa siku
		yoyote yeyote wowote hapo huko hapa leo kesho mtu watu hivi gani lini booking appointment book slot session miadi nafasi kuweka weka
		niwekee niwekeeni reservation time date tarehe spot opening available availability free schedule make set up hey there preferably
		number mpesa m-pesa namba nambari simu phone line though works work greetings karibu
		oclock same following pm am ksh kes bob minute minutes min mins dakika hour hours hr hrs`)

	// weak words do not name a service or a person by themselves.
	weak = set(`full body back hot deep half head hand hands foot feet face set day basic classic express men mens man women womens ladies kids adult
		first new home visit session service services treatment package clinic kliniki dr doctor mr mrs ms miss salon spa large small long short
		special premium standard one two will may mark hope saa hour hours half daktari dkt mwalimu teacher lesson lessons check visit test lisaa moja mbili dakika minute minutes`)

	greetingWords = set(`hi hello hey hallo helo hy hie heyy hii habari habarini hujambo hamjambo mambo vipi niaje sasa shikamoo salama salamu salaam
		greetings morning afternoon evening good gud day ya za yako zenu leo asubuhi mchana jioni wakuu how are you doing there all team guys yo savannah
		everyone mko poa uko aje wadau hope well today na u r to the folks ni gani`)

	thanksWords = set(`thanks thank you thankyou thx tx asante ahsante asanteni shukran shukrani nashukuru sana so much very a lot appreciate appreciated
		it really for your the help na kwa msaada wako wenu nimeshukuru mungu akubariki awabariki ubarikiwe mbarikiwe bless god everything
		all many indeed i bye goodbye kwaheri baadaye great ok okay sawa poa perfect cool awabariki you huduma service nashukuru`)

	byeWords = set(`bye goodbye byebye kwaheri cheers later baadaye see you u on monday tuesday wednesday thursday friday saturday sunday jumatatu jumanne jumatano alhamisi ijumaa jumamosi jumapili soon tomorrow have a nice good great lovely day evening weekend siku njema
		usiku mwema jioni tutaonana tuonane kesho then thanks thank asante ok okay sawa poa take care night goodnight you too for now`)

	negators = set(`not dont doesnt didnt never cant cannot wont isnt no sitaki sihitaji sikutaka si sio siyo hapana bila without stop havent wasnt hakuna sijapata sijaweza siwezi sitaweza`)
)
