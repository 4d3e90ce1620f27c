package archtest_test

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"testing"
)

// layer is one row of the table. A package imports only what stands before it
// in its own row, or in a row above.
type layer struct {
	name     string
	packages []string // below internal/, in order; a last element * matches every folder there
}

// layers is the architecture's import direction, from the inside out. A new
// package gets a place here first.
var layers = []layer{
	{"leaves", []string{"ics", "ids", "clock", "fault", "money", "redact", "lenient", "config", "db", "db/dbtest"}},
	{"vocabulary", []string{"tenant", "contact", "message", "thread"}},
	{"messages", []string{"channel", "mailbox", "coord", "coord/coordtest", "outbox"}},
	{"decisions", []string{"graph", "tool"}},
	{"models", []string{"llm", "llm/ledgertest", "prompt", "understand/lex", "understand/langid", "understand/when", "understand"}},
	{"capabilities", []string{"handoff", "payment", "wording", "people", "broadcast", "retrieve", "template"}},
	{"contract", []string{"app"}},
	{"turn", []string{"turn"}},
	{"apps", []string{
		"app/booking/calendar", "app/booking/bookingsql", "app/booking/desk", "app/booking/tools/*", "app/booking/tools",
		"app/booking/desk/desktest", "app/booking/flow", "app/booking/notices", "app/booking", "app/admin",
	}},
	{"adapters", []string{"store", "coord/redis", "channel/whatsapp", "channel/voice", "llm/openai", "llm/anthropic", "payment/mpesa", "payment/pesapal", "fetch", "notify/slack", "httpd", "telemetry", "mcp"}},
	{"composition", []string{"server"}},
	{"laboratory", []string{
		"sim/face", "sim/journal", "sim/courier", "sim/whatsapp", "sim/daraja", "sim/pesapal", "sim/voice", "sim/slack", "sim/model", "sim/page", "sim/page/pagetest", "sim", "demo", "bench/lap", "bench", "doctor", "chaos", "modelcheck", "golden", "eval", "archtest",
	}},
	{"command", []string{"cmd/ratiba"}},
}

// contracts are what an adapter named after a technology may know beside
// leaves and vocabulary: the contract it implements. store implements several.
var contracts = map[string][]string{
	"coord/redis":      {"coord"},
	"channel/whatsapp": {"channel"},
	"channel/voice":    {"channel"},
	"llm/openai":       {"llm"},
	"llm/anthropic":    {"llm"},
	"payment/mpesa":    {"payment"},
	"payment/pesapal":  {"payment"},
	"notify/slack":     {"channel", "llm", "wording"},
	"httpd":            {},
	"mcp":              {"graph"},
	"telemetry":        {},
}

// place is where a package stands: its row, and its rank among all packages.
type place struct {
	layer string
	rank  int
	entry string
}

// placeOf finds a package, named without internal/, in the table.
func placeOf(pkg string) (place, bool) {
	rank := 0
	for _, l := range layers {
		for _, entry := range l.packages {
			rank++
			if ok, err := path.Match(entry, pkg); err == nil && ok {
				return place{l.name, rank, entry}, true
			}
		}
	}
	return place{}, false
}

// short names a package of this module as the table does; "" for others'.
func short(importPath string) string {
	rest, ours := strings.CutPrefix(importPath, module+"/")
	if !ours {
		return ""
	}
	return strings.TrimPrefix(rest, "internal/")
}

func app(pkg string) string {
	if parts := strings.Split(pkg, "/"); len(parts) > 1 && parts[0] == "app" {
		return parts[1]
	}
	return ""
}

// direction checks every import between this module's packages.
func direction(t *tree) []string {
	var faults []string
	for dir, files := range t.packages() {
		from := strings.TrimPrefix(dir, "internal/")
		here, ok := placeOf(from)
		if !ok {
			faults = append(faults, fmt.Sprintf("%s: has no place in the layer table of internal/archtest and ARCHITECTURE.md: decide who may import it, then add it", dir))
			continue
		}
		for _, f := range files {
			for imported, spec := range f.imports() {
				to := short(imported)
				if to == "" {
					continue
				}
				there, ok := placeOf(to)
				if !ok {
					continue // reported where its files are
				}
				if reason := refused(from, to, here, there); reason != "" {
					faults = append(faults, fmt.Sprintf("%s: %s imports %s: %s", t.at(spec), from, to, reason))
				}
			}
		}
	}
	slices.Sort(faults)
	return faults
}

// refused says why one package may not import another, "" when it may.
func refused(from, to string, here, there place) string {
	inner := there.layer == "leaves" || there.layer == "vocabulary"
	switch {
	case double(to) && !double(from):
		return "test doubles stay in tests"
	case there.layer == "laboratory" && here.layer != "laboratory" && here.layer != "command":
		return "the product must not know that it is simulated or tested"
	case strings.HasPrefix(from, "sim") && there.layer != "leaves" && !strings.HasPrefix(to, "sim"):
		return "the simulated world speaks the providers' formats and knows nothing of the product but leaves"
	case app(from) != "" && app(to) != "" && app(from) != app(to):
		return "apps are islands: what two of them need belongs to the platform"
	case here.layer == "apps" && there.layer == "turn":
		return "an app brings its parts through the app contract and never runs a turn"
	case here.layer == "adapters" && there.layer == "adapters":
		return "adapters do not know each other; server joins them"
	case contracts[from] != nil && !inner && !slices.Contains(contracts[from], to):
		return "an adapter knows leaves, vocabulary and the contract it implements"
	case there.entry == here.entry && to != from:
		return "packages of one kind do not know each other"
	case there.rank > here.rank:
		return fmt.Sprintf("%s comes after it in the layer table (%s after %s)", to, there.layer, here.layer)
	}
	return ""
}

// stale checks that the table names nothing that is gone.
func stale(t *tree) []string {
	var faults []string
	packages := t.packages()
	for _, l := range layers {
		for _, entry := range l.packages {
			found := false
			for dir := range packages {
				if ok, err := path.Match(entry, strings.TrimPrefix(dir, "internal/")); err == nil && ok {
					found = true
				}
			}
			if !found {
				faults = append(faults, fmt.Sprintf("layer table: %s (%s) has no package", entry, l.name))
			}
		}
	}
	return faults
}

// impure are the packages of the standard library through which the outside
// would reach a graph.
var impure = []string{"context", "os", "net", "net/http", "database/sql", "log", "log/slog", "math/rand", "math/rand/v2", "crypto/rand"}

// pureGraph checks that graph decides on values alone.
func pureGraph(t *tree) []string {
	var faults []string
	for _, f := range t.packages()["internal/graph"] {
		for imported, spec := range f.imports() {
			p, ours := placeOf(short(imported))
			if slices.Contains(impure, imported) || ours && p.layer != "leaves" {
				faults = append(faults, fmt.Sprintf("%s: graph imports %s: a step is a function of its arguments; time and ids come in as values", t.at(spec), imported))
			}
		}
	}
	return faults
}

// sqlPlaces checks who speaks SQL and who opens connections.
func sqlPlaces(t *tree) []string {
	var faults []string
	for _, f := range t.files {
		dir := strings.TrimPrefix(f.dir, "internal/")
		speaks := dir == "db" || dir == "store" || app(dir) != "" && strings.HasSuffix(path.Base(dir), "sql")
		for imported, spec := range f.imports() {
			switch {
			case strings.HasPrefix(imported, "database/sql") && !speaks:
				faults = append(faults, fmt.Sprintf("%s: %s belongs to db, store or an app's own sql package", t.at(spec), imported))
			case (strings.HasPrefix(imported, "modernc.org/") || strings.HasPrefix(imported, "github.com/jackc/")) && dir != "db" && dir != "db/dbtest":
				faults = append(faults, fmt.Sprintf("%s: only internal/db opens connections and knows a driver", t.at(spec)))
			}
		}
	}
	return faults
}

func TestImportsPointInwards(t *testing.T) {
	t.Parallel()
	holds(t, direction)
}

func TestLayerTableNamesWhatExists(t *testing.T) {
	t.Parallel()
	holds(t, stale)
}

func TestGraphIsPure(t *testing.T) {
	t.Parallel()
	holds(t, pureGraph)
}

func TestSQLHasItsPlaces(t *testing.T) {
	t.Parallel()
	holds(t, sqlPlaces)
}
