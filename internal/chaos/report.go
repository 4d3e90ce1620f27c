package chaos

import (
	"fmt"
	"maps"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Report is what a run found.
type Report struct {
	Options  Options
	Began    time.Time
	Took     time.Duration
	Machine  string
	Binary   string // what the command under test calls itself
	Kills    int
	Settled  bool // nothing was under way when the product was stopped
	Load     Load
	Totals   Totals
	Findings []Finding
}

// Count is how many findings a column has.
func (r Report) Count(c Column) int {
	n := 0
	for _, f := range r.Findings {
		if f.Column == c {
			n++
		}
	}
	return n
}

// Sound reports that the run settled, every column but Unavoidable is empty,
// and an upgrade met conversations under way.
func (r Report) Sound() bool {
	tried := !r.Options.Upgrade || r.Totals.Carried > 0
	return tried && r.Settled && len(r.Findings) == r.Count(Unavoidable) && len(r.Load.Stalled) == 0
}

// Command is how to carry the same schedule out again.
func (r Report) Command() string {
	o := r.Options
	if o.Kills == 0 {
		o.Kills = -1 // 0 asks for the usual number
	}
	s := fmt.Sprintf("-store %s -nodes %d -for %v -kills %d -rate %g -tenants %d -seed %d", o.Store, o.Nodes, o.For, o.Kills, o.Rate, o.Tenants, o.Seed)
	if o.Outages.Redis {
		s += " -redis-outage"
	}
	if o.Outages.Postgres != nil {
		s += " -postgres-restart"
	}
	if o.Upgrade {
		s += " -upgrade"
	}
	return `make chaos CHAOS="` + s + `"`
}

// machine says what the run ran on.
func machine() string {
	model := "unknown processor"
	if raw, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		for line := range strings.Lines(string(raw)) {
			if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
				model = strings.TrimSpace(value)
				break
			}
		}
	}
	return fmt.Sprintf("%s/%s, %d cores, %s", runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), model)
}

// Markdown is a section of a page for each run.
func Markdown(title string, reports []Report) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n\n", title)
	b.WriteString("The product runs as processes of its own under load; they are killed with `kill -9` at random instants while the network\n" +
		"drops, repeats, delays and reorders webhooks and loses answers. Afterwards an auditor compares the databases with the\n" +
		"providers' journal. Every row but the last must be 0.\n\n")
	b.WriteString("| counted |")
	for _, r := range reports {
		fmt.Fprintf(&b, " %s |", runName(r))
	}
	b.WriteString("\n|---|" + strings.Repeat("---:|", len(reports)) + "\n")
	for _, c := range Columns() {
		row(&b, string(c), reports, func(r Report) string { return strconv.Itoa(r.Count(c)) })
	}
	b.WriteString("\n| the run |" + strings.Repeat(" |", len(reports)) + "\n|---|" + strings.Repeat("---:|", len(reports)) + "\n")
	for _, f := range figures() {
		row(&b, f.name, reports, f.of)
	}
	for _, r := range reports {
		details(&b, r)
	}
	return b.String()
}

func runName(r Report) string {
	nodes := "1 process"
	if r.Options.Nodes > 1 {
		nodes = fmt.Sprintf("%d processes", r.Options.Nodes)
	}
	return map[string]string{Embedded: "SQLite", PostgreSQL: "PostgreSQL"}[r.Options.Store] + ", " + nodes
}

func row(b *strings.Builder, name string, reports []Report, of func(r Report) string) {
	fmt.Fprintf(b, "| %s |", name)
	for _, r := range reports {
		fmt.Fprintf(b, " %s |", of(r))
	}
	b.WriteString("\n")
}

type figure struct {
	name string
	of   func(r Report) string
}

func figures() []figure {
	n := func(of func(r Report) int) func(r Report) string {
		return func(r Report) string { return strconv.Itoa(of(r)) }
	}
	return []figure{
		{"kills", n(func(r Report) int { return r.Kills })},
		{"customers", n(func(r Report) int { return r.Load.Customers })},
		{"conversations completed", n(func(r Report) int { return r.Load.Completed })},
		{"conversations without an answer", n(func(r Report) int { return len(r.Load.Stalled) })},
		{"conversations carried on by the next version", func(r Report) string {
			if !r.Options.Upgrade {
				return "no upgrade"
			}
			return strconv.Itoa(r.Totals.Carried)
		}},
		{"chats taken and handed back by people", n(func(r Report) int { return r.Load.Handoffs })},
		{"messages in", n(func(r Report) int { return r.Totals.MessagesIn })},
		{"messages out", n(func(r Report) int { return r.Totals.MessagesOut })},
		{"turns committed", n(func(r Report) int { return r.Totals.Turns })},
		{"M-Pesa prompts", n(func(r Report) int { return r.Totals.Prompts })},
		{"M-Pesa charges", n(func(r Report) int { return r.Totals.Charged })},
		{"paid bookings", n(func(r Report) int { return r.Totals.PaidBookings })},
		{"webhook deliveries", n(func(r Report) int { return r.Totals.Deliveries })},
		{"of these repeated by the provider", n(func(r Report) int { return r.Totals.Redeliveries })},
		{"webhooks the network dropped, repeated or delayed", n(func(r Report) int { return r.Totals.WebhookFaults })},
		{"calls it refused, slowed or lost", n(func(r Report) int { return r.Totals.CallFaults })},
		{"sends whose answer it lost", n(func(r Report) int { return r.Totals.InDoubt })},
		{"sends repeated by the product", n(func(r Report) int { return r.Totals.Resent })},
		{"settled", func(r Report) string { return map[bool]string{true: "yes", false: "**no**"}[r.Settled] }},
		{"took", func(r Report) string { return r.Took.Round(time.Second).String() }},
	}
}

// details are a run's particulars and its findings.
func details(b *strings.Builder, r Report) {
	fmt.Fprintf(b, "\n## %s\n\n", runName(r))
	fmt.Fprintf(b, "- %s, on %s\n- %s\n- `%s`\n", r.Began.UTC().Format("2006-01-02 15:04 UTC"), r.Machine, r.Binary, r.Command())
	var goals []string
	for _, g := range slices.Sorted(maps.Keys(r.Load.Goals)) {
		goals = append(goals, fmt.Sprintf("%s %d", g, r.Load.Goals[g]))
	}
	fmt.Fprintf(b, "- customers: %s\n", strings.Join(goals, ", "))
	if len(r.Findings) > 0 {
		b.WriteString("\n| column | business | finding |\n|---|---|---|\n")
		for _, f := range r.Findings {
			fmt.Fprintf(b, "| %s | %s | %s |\n", f.Column, f.Business, strings.ReplaceAll(f.What, "|", "/"))
		}
	}
	for _, s := range r.Load.Stalled {
		fmt.Fprintf(b, "\n- no answer: %s", strings.ReplaceAll(s, "\n", " "))
	}
	if len(r.Load.Stalled) > 0 {
		b.WriteString("\n")
	}
}
