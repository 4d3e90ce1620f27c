package archtest_test

import (
	"fmt"
	"go/ast"
	"go/token"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// eventList is where every event is described.
const eventList = "docs/events.md"

var (
	eventForm = regexp.MustCompile(`^[a-z][a-z0-9_]*(\.[a-z][a-z0-9_]*){1,2}$`)
	eventRow  = regexp.MustCompile("(?m)^\\| `([^`]+)` \\|")
)

// logged is an event type found in the code. With prefix, it is the constant
// part of one whose last word is a value.
type logged struct {
	name   string
	prefix bool
	at     string
}

// loggerNames are what loggers are called; methods of anything else are no events.
var loggerNames = []string{"log", "Logger", "logger", "slog"}

// messageArgument tells which argument of a call is an event's type, -1 when
// the call logs nothing.
func messageArgument(f *source, call *ast.CallExpr) int {
	sel, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return -1
	}
	switch sel.Sel.Name {
	case "LogAttrs":
		return 2
	case "log":
		if f.dir == "internal/turn" {
			return 2
		}
		return -1
	}
	receiver := ""
	switch x := sel.X.(type) {
	case *ast.Ident:
		receiver = x.Name
	case *ast.SelectorExpr:
		receiver = x.Sel.Name
	}
	if !slices.Contains(loggerNames, receiver) {
		return -1
	}
	switch sel.Sel.Name {
	case "Debug", "Info", "Warn", "Error":
		return 0
	case "DebugContext", "InfoContext", "WarnContext", "ErrorContext":
		return 1
	case "Log":
		return 2
	}
	return -1
}

// loggedEvents finds every event type in the product and what it cannot read.
func loggedEvents(t *tree) (events []logged, faults []string) {
	for _, f := range t.files {
		if f.test {
			continue
		}
		for _, decl := range f.ast.Decls {
			fn, ok := decl.(*ast.FuncDecl)
			if !ok {
				continue
			}
			ast.Inspect(fn, func(n ast.Node) bool {
				call, ok := n.(*ast.CallExpr)
				if !ok {
					return true
				}
				i := messageArgument(f, call)
				if i < 0 || i >= len(call.Args) {
					return true
				}
				if arg, ok := call.Args[i].(*ast.Ident); ok && fn.Name.Name == "log" && arg.Name == "event" {
					return true // turn's helper, whose callers are read
				}
				e, ok := eventOf(call.Args[i])
				if !ok {
					faults = append(faults, fmt.Sprintf("%s: an event's type is a constant of two or three words such as turn.committed", t.at(call)))
					return true
				}
				e.at = t.at(call)
				events = append(events, e)
				return true
			})
		}
	}
	return events, faults
}

func eventOf(arg ast.Expr) (logged, bool) {
	if sum, ok := arg.(*ast.BinaryExpr); ok && sum.Op == token.ADD {
		lit, ok := sum.X.(*ast.BasicLit)
		if !ok {
			return logged{}, false
		}
		name, err := strconv.Unquote(lit.Value)
		return logged{name: name, prefix: true}, err == nil && eventForm.MatchString(name+"x")
	}
	lit, ok := arg.(*ast.BasicLit)
	if !ok || lit.Kind != token.STRING {
		return logged{}, false
	}
	name, err := strconv.Unquote(lit.Value)
	return logged{name: name}, err == nil && eventForm.MatchString(name)
}

// eventsListed checks that code and list agree.
func eventsListed(t *tree) []string {
	events, faults := loggedEvents(t)
	listed := map[string]bool{}
	for _, m := range eventRow.FindAllStringSubmatch(t.text(eventList), -1) {
		if listed[m[1]] {
			faults = append(faults, fmt.Sprintf("%s: %s is listed twice", eventList, m[1]))
		}
		listed[m[1]] = true
	}
	known := func(e logged, name string) bool {
		return e.name == name || e.prefix && strings.HasPrefix(name, e.name)
	}
	for _, e := range events {
		found := false
		for name := range listed {
			found = found || known(e, name)
		}
		if !found {
			faults = append(faults, fmt.Sprintf("%s: %s is not in %s", e.at, e.name, eventList))
		}
	}
	for name := range listed {
		if !slices.ContainsFunc(events, func(e logged) bool { return known(e, name) }) {
			faults = append(faults, fmt.Sprintf("%s: %s is logged nowhere", eventList, name))
		}
	}
	slices.Sort(faults)
	return slices.Compact(faults)
}

func TestEventsAreListed(t *testing.T) {
	t.Parallel()
	holds(t, eventsListed)
}
