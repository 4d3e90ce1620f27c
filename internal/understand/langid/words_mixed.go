package langid

import "strings"

// content are everyday English words that are no function words. Inside Swahili
// they make a text a mixed one; they say little about the language to answer in.
var content = fields(`
	jan feb mar apr jun jul aug sep sept oct nov dec lol lmk thx pls plz tx hours cash lunch dinner breakfast policy bookings booked booking appointments slots sessions prices charges rates teams fade doctors dentist barber stylist tutor reschedule available deposits payments offers stop started mani pedi haircut facial u ur r tmrw wanna gimme
	able above accept account ache add address advance afford afraid ago agree air allow alone along always amazing amount angry another answer anyone
	anything anytime anyway area arrive asap asleep attend aunt away awesome baby back bag basic beach beard beautiful become bed beginning behind
	believe best better big bill birthday black bless blood blue body both bother box boy boys braids branch break bring broken brother brown brush
	building bus business busy buy cake came cancelled cannot car card care careful cash cat cause celebrate center chair charge charged cheap check
	child children church city class clean clear clinic clothes coffee cold color comfortable coming complain complete confirmed congratulations connect
	consider consultation continue cook correct country couple course cover crazy credit cut cute daily damage daughter days dead deal dear decide deep
	delay delivery dental depends describe design details different difficult directions dirty discount doctor dog door down draw dress drink drive
	driver drop dry due during each earlier easy eat eight either eleven else emergency end english enjoy enough enter even ever everyone everything
	exactly exam excellent except excuse expect expensive experience explain express extra eye face fact family fantastic far fast father feel fell felt
	fever few final finally find finish fire fix floor follow food foot forget forgot form forward found four friend friends full fun funny future gel
	getting gift girl girlfriend glad goes going gone gonna green group grow guess guest guys hair half hand hands happen happened happy hard hate head
	health hear heard heart heavy held high hit hold holiday home hope hot house however huge hundred hungry hurry hurt husband idea important improve
	include included interested issue item itself job join joke jump keep kept kid kids kill kind kitchen knee knew lady large lately laugh learn least
	leave leaving left leg less lesson letter level life light likes line list listen little live lives load location long look looks lost love loved
	lovely low luck lunch made main makeup man manager mark market married matter meal mean means medicine meet meeting member met middle mind mine
	minute miss missed mistake moment month most mother mouth move music nail nails near nearby neck needs nervous never news nice night noise none noon
	normal nose note nothing notice nurse offer offers office often oil once one opening opposite option options order other out outside over own owner
	pack package pain paint park parking part partner party past patient people perfect perhaps person pick picture piece place plan plans play plus
	point poor post power prefer pregnant prepare present pretty previous problem product professional promise proper public push put quality question
	quick quickly quiet rain rate rather reach read ready real reason receipt receive recommend red refund relax relaxed remember remind remove reply
	report request rest return review ride right road room rude run running safe sale same school score seat seconds security seen sell send sent
	serious serve session set seven several share sharp shave shift shop short shoulder sick side sign simple since sister sit situation six size skin
	skip sleep slow small smart smell snow soft sold someone something sometimes somewhere son sore sort sound sounds space speak special spell spend
	spot squeeze staff stand start started starts stay step stop store straight street stress strong stuck student stuff stupid style such sugar suggest
	sun support suppose sweet swim table talk tall taste teach teacher teeth ten terms test text therapist thing things third thirty thought thousand
	three through tired together told took tooth top total touch towards town traffic training travel treat treatment trim trip true trust try trying
	turn twelve twenty twice two type uncle under understand unfortunately upcoming update urgent use used usually view visit voice wait waiting walk
	wanna wanted wash waste watch water way wear weather wedding weekday weekend weeks well went west whatever while white whole wife wish within woman
	women wonder word words work working works world worry worse worst worth write year years yesterday yet young yours yourself`)

// sheng are words of the mixed slang of Nairobi and short forms of chats that
// the other list lacks.
var sheng = fields(`
	aiii ako apo asubui bana chache dere doo ganji hivo ingine ivo jmosi jnne jpili jtatu juzi kanairo keshoo kexho mbogi mingi mkwanja mnaeza mtaani
	mwingi naeza ndae nipatie nipeni nitumie nitumieni nkitoka nkuje nomaa ntafika ntakuja ntapata nyingi pasafi pazuri peke pekee rada sahi sahii saivi
	saizi sawia sitoweza tafazali tao tunaeza unaeza wueh`)

// foreignMore are words of other languages of the region and of travellers, as
// their function words and greetings are written in chats.
var foreignMore = fields(`
	abeg wey dey wetin sabi oga pikin wahala comot sef biko oyibo abi shebi ehn gbege chop dis dat wan gree oboy yoruba bawo nibo kedu gini nwanne ina
	kwana sannu sunan har sai yaya nagode gaskiya amma shi zan zaka wannan wani duk haka kuma ba ne ce murakaza cyangwa kugira icyo ibyo aho abo nta
	cyiza gute mbega yego ubu ejo rwose cane ariko nshuti amakuru gyebale ssebo nnyabo bulungi leero enkya jjo wano kyokka naye ddala era oba mwebale
	wange wamwe tugende wimwega atiriri nigwo niki ndirenda githi rium muthenya nindakena thengiu ber ahinya amosi nango idhi ang'o mano onge nyasaye
	erokamano nabad waan waxaan fadlan mahadsanid waa ku bonjour bonsoir salut oui non merci je il elle nous avec pour dans est sont une des les
	voudrais demain aujourd heure prix combien bom dia boa noite obrigado voce nao por favor quero amanha hoje preco quanto uma com para que ele ela
	isso aqui tem esta mas hola buenos dias gracias quiero manana hoy cuanto cuesta donde usted como pero tiene senor hallo guten danke bitte ich mochte
	morgen heute uhr wieviel kostet und nicht ist ein eine haben sie wie ciao grazie buongiorno vorrei domani oggi sono per che namaste shukriya kya
	kaise aap mujhe chahiye nahi haan marhaba ahlan inshallah wallah habibi`)

// nouns are everyday Swahili words beside those that swahili weighs.
var nouns = fields(`
	afya aina akaunti alama alizaliwa ambapo anaitwa andika angalia anza arobaini asali askari baadaye baadhi bahari baki barabara baraza baridi barua
	biashara bibi bima binti boma bure chafu chai chakula chama chanzo cheza chukua chumba chuo daktari damu darasa deni dereva dhahabu dini dola
	duniani elewa elfu elimu enda eneo familia fedha fika filamu furaha gari gazeti giza goti haifai haijalishi haiwezekani haki hali hamsini harusi
	hasara hasira hatari hatua heri hesabu hodi hospitali idadi imani inafaa inawezekana injini ishirini itafaa iwezekanavyo jambo jengo jeshi jicho
	jiji jimbo jino jirani jiwe juma jumba kabila kaburi kahawa kalamu kampuni kanisa karamu karatasi kaskazini katikati kiasi kiatu kibali kichafu
	kichwa kiini kijana kijiji kikombe kilimo kilo kimya kinyozi kioo kipimo kisiwa kisu kitabu kitambulisho kitanda kiti kodi kosa kubali kundi kupo
	kusini kutwa lango lengo likizo lipi lugha maana mabaya madaktari mafuta magari magharibi mahali maisha maji majibu majina majira makabila makosa
	malalamiko mali maneno mangapi mapema mapenzi mashariki masharti mashine masomo mateso matunda mawazo mazao mazuri mbegu mbio mboga mbunge mbwa
	mchele mchezaji mdomo mfalme mganga mgeni mgonjwa mguu mhudumu miaka mihadarati miji milima milioni mimba mingapi mjamzito mji mjini mke mkono
	mkutano mkuu mlango mlima moto moyo mpango mpenzi mpira mrefu msaada msalaba msanii msichana mtaa mtandao mtindo mtondo mtoto muda muhimu muungano
	muziki mvua mvulana mwalimu mwana mwanamke mwanamume mwanaume mwanga mwanzo mwigizaji mwili mzigo mzuri nakataa nakubali namba nambari namna nanga
	nchini ndege ndevu ndizi ndoa ndoto neno ngano ngazi ngoma nguo nguvu nyama nyanya nyasi nyimbo nyota ofisi ombi orodha pana pasi pembe pendo pepo
	pete picha pikipiki polisi pombe punda rahisi raia ramani rangi ratiba rubani saini salama samaki sauti sawasawa sehemu sekunde shamba shangazi
	shauku sheria shilingi shirika shukrani shule siasa sikio sikukuu simba soko somo subira sukari suluhu swali taarifa taifa tajiri takataka tamu
	tangazo tangu taulo tumaini tumbo twende ubao uchaguzi uchumi ufunguo ugonjwa uhuru ujumbe ukoo ukuta umbali umeme umri unyevu upande upepo upesi
	upi upya urefu uzito uzuri vifaa vijana vingapi vita vitabu vyakula vyombo wachezaji wafanyakazi wageni wakala wakati walimu wanafunzi wanaume
	wanawake wangapi wapo watoto wazee waziri wazo wema wilaya wimbo yupi zawadi ziara zipi zipo`)

// pidgin are words by which Nigerian Pidgin is told from the English around
// them.
var pidgin = fields("dey wey abeg sef biko pikin wetin comot gbege ehn oga wahala oyibo oboy shebi")

// fields is a set of the words of a text.
func fields(text string) map[string]bool {
	out := make(map[string]bool)
	for w := range strings.FieldsSeq(text) {
		out[w] = true
	}
	return out
}
