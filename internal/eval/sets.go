package eval

import (
	"embed"
	"fmt"
	"maps"
	"slices"

	"github.com/ratiba/ratiba/internal/understand"
)

//go:embed sets
var sets embed.FS

// Sets are the names of the project's own sets of examples. They were written
// for it; the split test was written before any rule was made on them.
func Sets() []string { return []string{"en", "sw", "other"} }

// Own returns one of the project's own sets, by name.
func Own(name string) ([]Row, error) {
	f, err := sets.Open("sets/" + name + ".jsonl")
	if err != nil {
		return nil, fmt.Errorf("eval: open the set %s: %w", name, err)
	}
	defer func() { _ = f.Close() }()
	return Load(name, f)
}

// businesses are what the examples' customers write to: services and staff by
// every name they go by.
var businesses = map[string]Nouns{ //nolint:gochecknoglobals // a constant table.
	"spa": {
		understand.KindService: {
			noun("m60", "Swedish massage 60 minutes", "massage", "masaji"), noun("m90", "Swedish massage 90 minutes", "massage", "masaji"),
			noun("facial", "Facial", "facial ya uso"), noun("mani", "Manicure", "kucha", "mani"), noun("pedi", "Pedicure", "pedi"),
			noun("wax", "Waxing", "wax"),
		},
		understand.KindStaff: {noun("grace", "Grace Wanjiru", "Grace"), noun("amina", "Amina Hassan", "Amina"), noun("otieno", "Otieno")},
	},
	"barber": {
		understand.KindService: {
			noun("cut", "Haircut", "kunyoa", "kunyolewa", "kunyoa nywele"), noun("shave", "Beard trim", "kunyoa ndevu", "shave"),
			noun("dread", "Dreadlocks retouch", "dreads"), noun("dye", "Hair dye", "kupaka rangi"), noun("kids", "Kids haircut", "kunyoa watoto"),
		},
		understand.KindStaff: {noun("brian", "Brian"), noun("kevo", "Kevin Mwangi", "Kevo"), noun("juma", "Juma")},
	},
	"clinic": {
		understand.KindService: {
			noun("consult", "Doctor consultation", "kuona daktari", "kuonwa na daktari"), noun("dental", "Dental check-up", "dental checkup", "kupimwa meno"),
			noun("clean", "Teeth cleaning", "kusafisha meno"), noun("lab", "Blood test", "kupima damu", "kipimo cha damu"),
			noun("anc", "Antenatal visit", "kliniki ya wajawazito"), noun("eye", "Eye test", "kupima macho", "kupimwa macho"),
		},
		understand.KindStaff: {noun("mutua", "Dr. Mutua"), noun("njeri", "Dr. Njeri Kamau", "Dr. Njeri"), noun("hassan", "Dr. Hassan")},
	},
	"tutor": {
		understand.KindService: {
			noun("math", "Mathematics lesson", "maths", "hesabu", "somo la hesabu"), noun("eng", "English lesson", "somo la Kiingereza", "Kiingereza"),
			noun("piano", "Piano lesson", "piano"), noun("swa", "Swahili lesson", "somo la Kiswahili", "Kiswahili"),
		},
		understand.KindStaff: {noun("mwangi", "Mr. Mwangi", "Mwangi"), noun("achieng", "Achieng"), noun("patel", "Ms. Patel", "Patel")},
	},
}

func noun(id string, names ...string) understand.Noun { return understand.Noun{ID: id, Names: names} }

func businessNames() []string { return slices.Sorted(maps.Keys(businesses)) }
