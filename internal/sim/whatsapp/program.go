package whatsapp

import (
	"fmt"
	"net/http"
	"strconv"

	"github.com/ratiba/ratiba/internal/fault"
	"github.com/ratiba/ratiba/internal/sim/face"
)

func code(n int) string { return strconv.Itoa(n) }

// failureMode says how a programmed failure shows.
type failureMode string

const (
	modeHTTP   failureMode = "http"          // the send is refused
	modeStatus failureMode = "status"        // the send is taken and reported as failed
	modeLost   failureMode = "lose_response" // the send is taken and delivered, the answer is lost
)

// maxTimes bounds how often a program applies, and maxDelay how long one
// waits, in milliseconds.
const (
	maxTimes = 100_000
	maxDelay = 10 * 60 * 1000
)

// failure programs the next sends: POST /sim/whatsapp/next. Without Phone and
// BSUID it applies to anybody. Code 0 with a delay is a slow success.
type failure struct {
	Phone   string      `json:"phone"`
	BSUID   string      `json:"bsuid"`
	Code    int         `json:"code"`
	Mode    failureMode `json:"mode"`
	Times   int         `json:"times"`
	DelayMS int         `json:"delay_ms"`
}

// statusPlan programs the statuses of the next messages: POST
// /sim/whatsapp/statuses. Order lists them as they are posted; leaving one out
// is allowed, and so is repeating one. Deliveries posts each that often.
type statusPlan struct {
	Phone      string   `json:"phone"`
	BSUID      string   `json:"bsuid"`
	Order      []string `json:"order"`
	Deliveries int      `json:"deliveries"`
	DelayMS    int      `json:"delay_ms"` // before each
	Times      int      `json:"times"`
}

func applies(phone, bsuid string, p *person) bool {
	return (phone == "" || phone == p.phone) && (bsuid == "" || bsuid == p.bsuid)
}

// takeFailure uses up the first program that applies to p. Callers hold mu.
func (s *Simulator) takeFailure(p *person) *failure {
	for i, f := range s.failures {
		if !applies(f.Phone, f.BSUID, p) {
			continue
		}
		if f.Times--; f.Times == 0 {
			s.failures = append(s.failures[:i], s.failures[i+1:]...)
		}
		return f
	}
	return nil
}

func (s *Simulator) takePlan(p *person) *statusPlan {
	for i, plan := range s.plans {
		if !applies(plan.Phone, plan.BSUID, p) {
			continue
		}
		if plan.Times--; plan.Times == 0 {
			s.plans = append(s.plans[:i], s.plans[i+1:]...)
		}
		return plan
	}
	return nil
}

func checkProgram(times *int, delayMS int) error {
	if *times == 0 {
		*times = 1
	}
	if *times < 1 || *times > maxTimes {
		return fault.E(fault.Invalid, fmt.Sprintf(`"times" must be from 1 to %d.`, maxTimes))
	}
	if delayMS < 0 || delayMS > maxDelay {
		return fault.E(fault.Invalid, fmt.Sprintf(`"delay_ms" must be from 0 to %d.`, maxDelay))
	}
	return nil
}

type done struct {
	OK bool `json:"ok"`
}

func (s *Simulator) faceNext(w http.ResponseWriter, r *http.Request) (any, error) {
	var f failure
	if err := face.Read(w, r, &f); err != nil {
		return nil, err
	}
	if err := checkProgram(&f.Times, f.DelayMS); err != nil {
		return nil, err
	}
	if f.Mode == "" {
		f.Mode = modeHTTP
	}
	switch {
	case f.Mode != modeHTTP && f.Mode != modeStatus && f.Mode != modeLost:
		return nil, fault.E(fault.Invalid, `"mode" must be http, status or lose_response.`)
	case f.Mode == modeLost && f.Code != 0:
		return nil, fault.E(fault.Invalid, `A lost response has no "code": the message is taken.`)
	case f.Mode != modeLost && f.Code == 0 && f.DelayMS == 0:
		return nil, fault.E(fault.Invalid, `"code" is missing: the error to answer, such as 131047.`)
	case f.Code < 0:
		return nil, fault.E(fault.Invalid, `"code" must be a positive number.`)
	}
	f.Phone = face.Digits(f.Phone)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failures = append(s.failures, &f)
	return done{OK: true}, nil
}

func (s *Simulator) faceStatuses(w http.ResponseWriter, r *http.Request) (any, error) {
	var plan statusPlan
	if err := face.Read(w, r, &plan); err != nil {
		return nil, err
	}
	if err := checkProgram(&plan.Times, plan.DelayMS); err != nil {
		return nil, err
	}
	if plan.Deliveries == 0 {
		plan.Deliveries = 1
	}
	if plan.Deliveries < 1 || plan.Deliveries > maxDeliveries {
		return nil, fault.E(fault.Invalid, fmt.Sprintf(`"deliveries" must be from 1 to %d.`, maxDeliveries))
	}
	for _, status := range plan.Order {
		if status != statusSent && status != statusDelivered && status != statusRead {
			return nil, fault.E(fault.Invalid, `"order" lists sent, delivered and read.`)
		}
	}
	if plan.Order == nil {
		plan.Order = []string{statusSent, statusDelivered, statusRead}
	}
	plan.Phone = face.Digits(plan.Phone)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.plans = append(s.plans, &plan)
	return done{OK: true}, nil
}

// settings are the standing choices: POST /sim/whatsapp/settings. What is left
// out stays as it is; the answer tells all.
type settings struct {
	WindowMode *WindowMode `json:"window_mode"`
	AutoRead   *bool       `json:"auto_read"`
}

func (s *Simulator) faceSettings(w http.ResponseWriter, r *http.Request) (any, error) {
	var set settings
	if err := face.Read(w, r, &set); err != nil {
		return nil, err
	}
	if m := set.WindowMode; m != nil && *m != WindowHTTP && *m != WindowStatus {
		return nil, fault.E(fault.Invalid, `"window_mode" must be http or status.`)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if set.WindowMode != nil {
		s.windowMode = *set.WindowMode
	}
	if set.AutoRead != nil {
		s.autoRead = *set.AutoRead
	}
	mode, auto := s.windowMode, s.autoRead
	return settings{WindowMode: &mode, AutoRead: &auto}, nil
}
