package when

// holiday is a day that people name instead of counting it. Only those of a
// fixed date are known: Easter and the Eids move.
type holiday struct {
	words      []string // folded, one after another
	month, day int
}

// holidays are read in order: the longer name stands before the one it begins
// with.
var holidays = []holiday{
	{[]string{"christmas", "eve"}, 12, 24},
	{[]string{"xmas", "eve"}, 12, 24},
	{[]string{"mkesha", "wa", "krismasi"}, 12, 24},
	{[]string{"christmas", "day"}, 12, 25},
	{[]string{"xmas", "day"}, 12, 25},
	{[]string{"christmas"}, 12, 25},
	{[]string{"xmas"}, 12, 25},
	{[]string{"krismasi"}, 12, 25},
	{[]string{"boxing", "day"}, 12, 26},
	{[]string{"new", "years", "eve"}, 12, 31},
	{[]string{"new", "year", "eve"}, 12, 31},
	{[]string{"new", "years", "day"}, 1, 1},
	{[]string{"new", "year", "day"}, 1, 1},
	{[]string{"mwaka", "mpya"}, 1, 1},
	{[]string{"valentines", "day"}, 2, 14},
	{[]string{"valentine", "day"}, 2, 14},
	{[]string{"valentines"}, 2, 14},
	{[]string{"valentine"}, 2, 14},
	{[]string{"labour", "day"}, 5, 1},
	{[]string{"madaraka", "day"}, 6, 1},
	{[]string{"siku", "ya", "madaraka"}, 6, 1},
	{[]string{"mashujaa", "day"}, 10, 20},
	{[]string{"siku", "ya", "mashujaa"}, 10, 20},
	{[]string{"jamhuri", "day"}, 12, 12},
	{[]string{"siku", "ya", "jamhuri"}, 12, 12},
}

// holiday reads "Boxing Day", "krismasi". "After Christmas" and "before
// Christmas" name no day.
func (s *scanner) holiday(i int) (dateItem, bool) {
	for _, h := range holidays {
		if !s.row(i, h.words) || s.is(i-1, "after", "before", "merry", "happy", "by") || s.is(i-1, "ya") && s.is(i-2, "baada", "kabla") {
			continue
		}
		return s.civil(i, i+len(h.words), 0, h.month, h.day), true
	}
	return dateItem{}, false
}
