package turn

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"time"

	"github.com/ratiba/ratiba/internal/app"
	"github.com/ratiba/ratiba/internal/graph"
	"github.com/ratiba/ratiba/internal/handoff"
	"github.com/ratiba/ratiba/internal/ids"
	"github.com/ratiba/ratiba/internal/mailbox"
	"github.com/ratiba/ratiba/internal/outbox"
	"github.com/ratiba/ratiba/internal/thread"
	"github.com/ratiba/ratiba/internal/understand"
)

// decideStages decides everything of the turn that a conflict may change, from
// the step to the words, and builds the commit.
func (r *run) decideStages(ctx context.Context) error {
	r.reads, r.tools, r.writes, r.phrases, r.unpaid = maps.Clone(r.known), nil, nil, nil, 0
	r.lines, r.effects, r.timers, r.tasks, r.posts, r.signal = nil, nil, nil, nil, nil, ""
	r.other, r.others, r.withdraw, r.settleFirst, r.opens = nil, nil, false, "", r.snap.Thread != nil
	r.contact, r.afterwards = r.snap.Contact, nil
	r.shown, r.holds = false, nil
	r.marker, r.aboutThread, r.aboutCode, r.spoken = "", "", "", 0
	r.begin()
	start := r.e.cfg.Clock.Now()
	if err := r.decide(ctx); err != nil {
		return err
	}
	r.stage(ctx, "shape", start)
	if r.replay != nil {
		r.unpaid = r.replay.Unpaid
	}
	r.th.Counters.OverBudget += r.unpaid // what was said stands; a person answers next
	return r.build()
}

func (r *run) decide(ctx context.Context) error {
	switch r.path {
	case pathAdmin:
		if only, err := r.showHeld(ctx); only || err != nil {
			return err
		}
		return r.adminTurn(ctx)
	case pathRelay:
		return r.relayToHuman(ctx)
	case pathPolite:
		return r.polite(ctx, "platform_cannot_read")
	case pathSlow:
		return r.polite(ctx, "platform_too_fast")
	case pathOptOut:
		return r.optOut(ctx)
	case pathUnreadable:
		return r.unreadableTurn(ctx)
	case pathPoison:
		return r.poisonTurn(ctx)
	case pathMissed:
		return r.missedTurn(ctx)
	case pathRequest:
		r.opens = true
		return r.requestTurn(ctx)
	case pathSteps:
		return r.stepsTurn(ctx)
	case pathNothing, pathHold, pathQuiet:
		return nil
	case pathPayment, pathPaymentCheck, pathTimer, pathDecided, pathNotice, pathExpired, pathUndelivered, pathClock, pathLater, pathEngaged,
		pathBriefed, pathTranslated, pathResume:
	}
	return r.decideEvent(ctx)
}

// decideEvent is decide for what no message brought.
func (r *run) decideEvent(ctx context.Context) error {
	switch r.path {
	case pathPayment:
		return r.paymentTurn(ctx)
	case pathPaymentCheck:
		r.paymentCheck()
	case pathTimer:
		return r.timerTurn(ctx)
	case pathDecided:
		return r.decidedTurn(ctx)
	case pathNotice:
		return r.noticeTurn(ctx)
	case pathExpired:
		r.expire()
	case pathUndelivered:
		return r.undelivered(ctx)
	case pathClock:
		return r.clockTurn(ctx)
	case pathLater:
		r.laterTurn()
	case pathEngaged:
		return r.engagedTurn()
	case pathBriefed:
		return r.briefedTurn(ctx)
	case pathTranslated:
		return r.translatedTurn(ctx)
	case pathResume:
		r.armTTL()
		return r.resumeTurn(ctx)
	case pathNothing, pathAdmin, pathRelay, pathHold, pathQuiet, pathPolite, pathRequest, pathSteps, pathPoison, pathUnreadable, pathSlow,
		pathMissed, pathOptOut:
	}
	return nil
}

// unreadableTurn gives a thread to people whose state this build cannot read.
func (r *run) unreadableTurn(ctx context.Context) error {
	return r.handOver(ctx, graph.Handover{Signal: handoff.ToolError, Detail: "the conversation is of another version: " + r.unreadable.Error()})
}

// polite answers with one sentence and changes nothing else.
func (r *run) polite(ctx context.Context, text string) error {
	r.opens = true
	r.armTTL()
	return r.sayTo(ctx, r.customer(), outbox.Agent, graph.Say{Text: text})
}

// optOut notes whether the contact wants announcements. Code decides it, of one
// word and nothing beside it; what is booked goes on.
func (r *run) optOut(ctx context.Context) error {
	text := "platform_opted_in"
	r.contact.OptedOut = time.Time{}
	if understand.Announcements(texts(r.batch.Messages()), r.snap.Thread != nil) == understand.EndAnnouncements {
		text, r.contact.OptedOut = "platform_opted_out", r.now
	}
	return r.polite(ctx, text)
}

// keep makes a walk's outcome the thread's: where it rests, what it says, its
// timers and tasks.
func (r *run) keep(ctx context.Context, s stepped) error {
	r.th.Node, r.th.State = string(s.rest), s.state
	for _, t := range s.timers {
		r.timers = append(r.timers, TimerRow{Mailbox: r.claim.Key, Scope: r.th.ID, Name: t.Name, At: t.At, Data: t.Data})
	}
	if len(s.says) > 0 {
		r.th.Pending = nil // an older question is not what the next yes answers
	}
	if err := r.tell(ctx, s, outbox.Agent); err != nil {
		return err
	}
	if r.app.Flow.Ends(s.rest) {
		r.close()
		return nil
	}
	r.armTTL()
	return nil
}

// tell says what a walk says and raises its tasks, whatever thread it is on.
func (r *run) tell(ctx context.Context, s stepped, origin outbox.Origin) error {
	for _, t := range s.tasks {
		r.tasks = append(r.tasks, TaskRow{
			ID: r.ids.New(), Kind: t.Kind, Key: t.Key, Detail: t.Detail, Due: t.Due, Contact: r.snap.Contact.ID, Thread: r.threadID(),
		})
	}
	return r.say(ctx, s.says, origin)
}

func (r *run) armTTL() {
	ttl := CustomerTTL
	if r.admin != nil {
		ttl = AdminTTL
	}
	r.timers = append(r.timers, TimerRow{Mailbox: r.claim.Key, Scope: r.th.ID, Name: TTLTimer, At: r.now.Add(ttl)})
}

func (r *run) close() {
	r.th.ClosedAt, r.th.Pending = r.now, nil
	if h := r.th.Handoff; h != nil {
		r.postMissed(r.claim.Key, h.Missed) // handed back, and not yet heard by the graph
	}
	r.timers = append(r.timers, TimerRow{Mailbox: r.claim.Key, Scope: r.th.ID, Name: TTLTimer})
}

// postMissed keeps payments that came under a human from being closed away
// with the chat.
func (r *run) postMissed(key ids.MailboxKey, missed []json.RawMessage) {
	for i, raw := range missed {
		r.posts = append(r.posts, Posted{
			Mailbox: key, Event: mailbox.Event{Kind: mailbox.Missed, Data: raw}, Dedupe: fmt.Sprintf("missed:%s:%d", r.turnID, i),
		})
	}
}

// build assembles the commit of what was decided.
func (r *run) build() error {
	r.commit = Commit{
		Claim: r.claim, Batch: r.batch, TurnID: r.turnID, Started: r.batch.Items[0].ReceivedAt, Now: r.now,
		Contact: r.contact, Other: r.other, OtherBefore: r.otherBefore, Withdraw: r.withdraw, Events: r.posts,
		Timers: r.timers, Tasks: r.tasks, Tools: r.tools, Signal: r.signal, Due: r.now,
	}
	if r.opens {
		r.commit.Thread, r.commit.Before = r.th, r.before.Version
		if r.snap.Thread == nil {
			r.commit.Before = 0
		}
		for _, it := range r.batch.Items {
			r.heard(it)
		}
	}
	if len(r.arms) > 0 {
		r.th.Arms = r.arms
	}
	r.mark()
	r.wakeJobs()
	r.queue()
	r.commit.Held, r.commit.Shown = r.holds, r.shown
	for _, e := range r.effects {
		r.commit.Outbox = append(r.commit.Outbox, r.row(e))
	}
	return r.record()
}

func (r *run) heard(it mailbox.Item) {
	m := it.Message
	if m == nil {
		return
	}
	r.commit.Said = append(r.commit.Said, Spoken{
		Thread: r.th.ID, Direction: "in", Origin: string(r.th.Actor), ProviderID: m.ProviderID, At: it.ReceivedAt,
		Body: spokenBody{Text: m.Text, Kind: string(m.Kind), Choice: m.Choice, Attachment: m.Attachment},
	})
}

// wakeJobs has the app's jobs run that this turn's writes may have left
// something to do.
func (r *run) wakeJobs() {
	for _, j := range r.b.App.Jobs {
		if slices.ContainsFunc(r.writes, func(w graph.Write) bool { return slices.Contains(j.Wakes, w.Tool) }) {
			r.commit.Timers = append(r.commit.Timers, TimerRow{Mailbox: j.Mailbox(), Name: app.JobTimer, At: r.now})
		}
	}
}

// row fills what every effect of this turn has in common.
func (r *run) row(row outbox.Row) outbox.Row {
	if row.ID == "" {
		row.ID = r.ids.New()
	}
	row.TurnID, row.CreatedAt, row.DueAt = r.turnID, r.now, r.e.cfg.Real.Now()
	return row
}

// threadID is the thread this turn's rows belong to, "" when it writes none.
func (r *run) threadID() ids.ThreadID {
	if !r.opens {
		return ""
	}
	return r.th.ID
}

// report says that the turn is committed.
func (r *run) report(ctx context.Context) {
	attrs := []slog.Attr{
		slog.Int("messages", len(r.batch.Items)), slog.Int("lines", len(r.lines)), slog.String("driver", string(r.th.Driver)),
		slog.String("node", r.th.Node), slog.Int("model_calls", len(r.calls)), slog.Int("tier", r.in.Tier),
		slog.Float64("waited_ms", float64(r.now.Sub(r.batch.Items[0].ReceivedAt).Microseconds())/1000),
	}
	if r.commit.Cost > 0 {
		attrs = append(attrs, slog.String("cost_usd", r.commit.Cost.Dollars()))
	}
	r.log(ctx, slog.LevelInfo, "turn.committed", attrs...)
	for _, fn := range r.afterwards {
		fn()
	}
}

// poison puts a batch aside that failed too often. What a provider said of a
// payment is settled all the same: money needs no app.
func (r *run) poison(ctx context.Context) error {
	r.path, r.in, r.conflicts, r.known = pathPoison, graph.Input{}, nil, graph.Results{}
	r.understood, r.calls, r.settling = graph.Input{}, nil, nil
	if e := r.batch.Event(); e != nil && e.Kind == mailbox.Payment && r.settle() != nil {
		r.settling = nil
	}
	if err := r.decideStages(ctx); err != nil {
		return err
	}
	err := r.b.Store.Commit(ctx, &r.commit, r.settleInside)
	if errors.Is(err, errReceiptTaken) {
		r.settling.taken = true
		err = r.b.Store.Commit(ctx, &r.commit, r.settleInside)
	}
	if err == nil {
		r.report(ctx)
	}
	return err
}

// poisonTurn decides what becomes of a batch that failed too often: the
// customer gets one apology, a person gets a task, and the thread stays as it
// was.
func (r *run) poisonTurn(ctx context.Context) error {
	r.opens = false
	if len(r.batch.Messages()) > 0 && r.before.Driver != thread.HumanDriving {
		if err := r.sayTo(ctx, r.customer(), outbox.System, graph.Say{Text: "platform_apology"}); err != nil {
			return err
		}
	}
	detail := "a message could not be handled"
	if e := r.batch.Event(); e != nil {
		detail = "an event could not be handled: " + e.Kind + " " + e.Name
	}
	r.tasks = []TaskRow{{
		ID: r.ids.New(), Kind: "poison", Key: "poison:" + string(r.turnID), Detail: detail,
		Contact: r.snap.Contact.ID, Thread: r.before.ID,
	}}
	return nil
}
