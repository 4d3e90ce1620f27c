package bench

import (
	"context"
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/ratiba/ratiba/internal/clock"
	"github.com/ratiba/ratiba/internal/db/dbtest"
	"github.com/ratiba/ratiba/internal/fault"
	"github.com/ratiba/ratiba/internal/store"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// small is a run that shows that everything is there; its speed means nothing.
func small(t *testing.T) Options {
	t.Helper()
	return Options{
		Store: SQLite, Dir: t.TempDir(), Tenants: 2, Contacts: 6, Span: time.Second, Rate: 20,
		Progress: func(format string, args ...any) { t.Logf(format, args...) },
	}
}

// want checks that figures are there. How fast it was depends on the machine.
func want(t *testing.T, r Report, names ...string) {
	t.Helper()
	for _, name := range names {
		if _, ok := r.Map()[name]; !ok {
			t.Errorf("%s is missing:\n%s", name, r.Table())
		}
	}
}

func TestTurn(t *testing.T) {
	t.Parallel()
	r, err := Turn(t.Context(), small(t))
	if err != nil {
		t.Fatal(err)
	}
	want(t, r, "turns_per_s", "turn_p99_ms", "ack_p99_ms", "half_turns_per_s", "half_turn_p99_ms", "cpu_ms_per_turn")
	if got := r.Value("model_calls_per_turn"); got != 0.333 {
		t.Errorf("%v model calls a turn, want the three seams once a conversation", got)
	}
	if r.Value("turn_p50_ms") > r.Value("turn_p99_ms") {
		t.Errorf("the median is above the 99th percentile\n%s", r.Table())
	}
	if got := len(r.Map()); got != len(r.Figures) {
		t.Errorf("%d figures have %d names", len(r.Figures), got)
	}
}

func TestTurnOnPostgres(t *testing.T) {
	t.Parallel()
	opt := small(t)
	opt.Store, opt.DSN = Postgres, dbtest.Postgres(t)
	for range 2 { // the second finds the database as empty as the first
		r, err := Turn(t.Context(), opt)
		if err != nil {
			t.Fatal(err)
		}
		want(t, r, "turns_per_s", "half_turn_p99_ms", "conversations")
	}
}

func TestWebhook(t *testing.T) {
	t.Parallel()
	r, err := Webhook(t.Context(), small(t))
	if err != nil {
		t.Fatal(err)
	}
	want(t, r, "ack_p50_ms", "ack_p99_ms", "max_webhooks_per_s")
	if r.Value("webhooks") <= 0 {
		t.Errorf("nothing was delivered:\n%s", r.Table())
	}
}

func TestMemory(t *testing.T) {
	t.Parallel()
	r, err := Memory(t.Context(), small(t), 20)
	if err != nil {
		t.Fatal(err)
	}
	want(t, r, "resident_before_mib", "resident_filled_mib", "resident_serving_mib")
	if r.Value("open_threads") != 20 {
		t.Errorf("%v threads are open, want 20", r.Value("open_threads"))
	}
}

func TestStart(t *testing.T) {
	t.Parallel()
	r, err := Start(t.Context(), small(t))
	if err != nil {
		t.Fatal(err)
	}
	want(t, r, "start_ms", "resident_mib")
}

// A run that produced wrong results has no figures: what is missing, and what
// is too much, is found.
func TestTheAuditFindsWhatIsWrong(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	w, err := newWorld(ctx, store.Config{Dir: t.TempDir()}, 1)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := w.close(); err != nil {
			t.Error(err)
		}
	}()
	w.pump.Start(ctx)
	var turns, acks series
	person := talk{
		w: w, b: w.businesses[0], phone: "+254700000001", turns: &turns, acks: &acks, arrival: func(context.Context) error { return nil },
	}
	if err := person.hold(ctx); err != nil {
		t.Fatal(err)
	}
	if _, err := w.audit(ctx, 1); err != nil {
		t.Errorf("one conversation was held: %v", err)
	}
	for _, wrong := range []int{0, 2} {
		if _, err := w.audit(ctx, wrong); err == nil || !strings.Contains(err.Error(), "confirmed paid bookings: 1, want") {
			t.Errorf("one conversation was held, %d are audited: %v", wrong, err)
		}
	}
	if got := len(turns.all); got != turnsPer {
		t.Errorf("%d turns were timed, want %d", got, turnsPer)
	}
	// A customer who says hello and goes has no booking.
	person.phone = "+254700000002"
	if err := person.greet(ctx); err != nil {
		t.Fatal(err)
	}
	if _, err := w.audit(ctx, 1); err == nil || !strings.Contains(err.Error(), "turns: 10, want 9") {
		t.Errorf("a turn too many: %v", err)
	}
}

func TestAStoreWithOtherBusinessesIsRefused(t *testing.T) {
	t.Parallel()
	cfg := store.Config{Dir: t.TempDir()}
	st, err := store.Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	other, err := define(1)
	if err != nil {
		t.Fatal(err)
	}
	other.Slug = "serenity"
	if _, err := st.Register(t.Context(), other, clock.Real{}.Now()); err != nil {
		t.Fatal(err)
	}
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
	if err := empty(t.Context(), cfg); fault.CodeOf(err) != fault.Conflict {
		t.Errorf("got %v, want a conflict that names the business", err)
	}
}

func TestOptionsAreChecked(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*Options){
		"an unknown database":          func(o *Options) { o.Store = "oracle" },
		"PostgreSQL without its URL":   func(o *Options) { o.Store = Postgres },
		"nobody who writes":            func(o *Options) { o.Contacts = 0 },
		"no business":                  func(o *Options) { o.Tenants = 0 },
		"a span that measures nothing": func(o *Options) { o.Span = 0 },
	} {
		opt := small(t)
		change(&opt)
		if _, err := Turn(t.Context(), opt); err == nil {
			t.Errorf("%s is taken", name)
		}
	}
	opt := small(t)
	if err := (Peer{}).measure(t.Context(), opt, &Report{}); fault.CodeOf(err) != fault.Invalid {
		t.Errorf("the peer without a database: %v", err)
	}
	opt.DSN = "postgres://nowhere"
	if err := (Peer{Source: t.TempDir()}).measure(t.Context(), opt, &Report{}); fault.CodeOf(err) != fault.NotFound {
		t.Errorf("the peer from an empty folder: %v", err)
	}
}

func TestQuantile(t *testing.T) {
	t.Parallel()
	var hundred []time.Duration
	for i := range 100 {
		hundred = append(hundred, time.Duration(i+1)*time.Millisecond)
	}
	for _, tt := range []struct {
		of   []time.Duration
		q    float64
		want float64
	}{
		{nil, 0.99, 0},
		{hundred[:1], 0.5, 1},
		{hundred[:2], 0.5, 1},
		{hundred, 0.5, 50},
		{hundred, 0.99, 99},
		{hundred, 1, 100},
	} {
		if got := quantile(tt.of, tt.q); got != tt.want {
			t.Errorf("%v of %d: %v, want %v", tt.q, len(tt.of), got, tt.want)
		}
	}
}

func TestOnlyWhatEndedWithinTheSpanCounts(t *testing.T) {
	t.Parallel()
	from := time.Date(2026, 11, 23, 6, 30, 0, 0, time.UTC)
	var s series
	for i, d := range []time.Duration{5, 4, 3, 2, 1} {
		s.add(from.Add(time.Duration(i-1)*time.Second), d)
	}
	if got := s.within(from, from.Add(3*time.Second)); len(got) != 3 || got[0] != 2 || got[2] != 4 {
		t.Errorf("got %v, want 2, 3 and 4", got)
	}
}

// Arrivals come at the rate that was asked for, whoever answers them; when the
// phase is over nobody waits any more.
func TestThePacerKeepsItsRate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const speed, seconds = 300, 20
		over, end := context.WithTimeout(t.Context(), seconds*time.Second)
		defer end()
		p := &pacer{clock: clock.Real{}, over: over, due: make(chan time.Time, 2*speed*seconds), late: &series{}}
		p.run(speed)
		if got := float64(len(p.due)); math.Abs(got/(speed*seconds)-1) > 0.05 {
			t.Errorf("%v arrivals in %d s, want about %d", got, seconds, speed*seconds)
		}
		for range cap(p.due) {
			if err := p.wait(t.Context()); err != nil {
				t.Fatalf("after the phase: %v", err)
			}
		}
	})
}
