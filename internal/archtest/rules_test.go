package archtest_test

import (
	"maps"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"
)

// TestRulesFindFaults proves on small trees that every rule can fail, and that
// it accepts the same tree put right.
func TestRulesFindFaults(t *testing.T) {
	t.Parallel()
	long := "package graph\n" + strings.Repeat("\n", maxFileLines)
	var promiseRows strings.Builder
	for i := range promises {
		promiseRows.WriteString("\n| P" + strconv.Itoa(i+1) + " x |")
	}
	decision := "Status: accepted\n\n## Context\n\n## Decision\n\n## Consequences\n"
	tests := []struct {
		name string
		rule func(*tree) []string
		bad  map[string]string
		good map[string]string // over bad; an empty text removes the file
		want string
	}{
		{
			"an engine that imports an app", direction,
			map[string]string{"internal/tool/a.go": `package tool; import _ "github.com/ratiba/ratiba/internal/app/booking"`},
			map[string]string{"internal/tool/a.go": `package tool; import _ "github.com/ratiba/ratiba/internal/graph"`},
			"comes after it in the layer table",
		},
		{
			"a package without a place", direction,
			map[string]string{"internal/novelty/a.go": `package novelty`},
			map[string]string{"internal/novelty/a.go": "", "internal/ids/a.go": `package ids`},
			"has no place",
		},
		{
			"a product that knows its simulator", direction,
			map[string]string{"internal/server/a.go": `package server; import _ "github.com/ratiba/ratiba/internal/sim"`},
			map[string]string{"internal/server/a.go": `package server`},
			"must not know",
		},
		{
			"a simulator that knows the product", direction,
			map[string]string{"internal/sim/daraja/a.go": `package daraja; import _ "github.com/ratiba/ratiba/internal/payment"`},
			map[string]string{"internal/sim/daraja/a.go": `package daraja; import _ "github.com/ratiba/ratiba/internal/money"`},
			"nothing of the product but leaves",
		},
		{
			"an adapter that imports another", direction,
			map[string]string{"internal/httpd/a.go": `package httpd; import _ "github.com/ratiba/ratiba/internal/store"`},
			map[string]string{"internal/httpd/a.go": `package httpd; import _ "github.com/ratiba/ratiba/internal/fault"`},
			"adapters do not know each other",
		},
		{
			"an app that runs turns", direction,
			map[string]string{"internal/app/booking/a.go": `package booking; import _ "github.com/ratiba/ratiba/internal/turn"`},
			map[string]string{"internal/app/booking/a.go": `package booking; import _ "github.com/ratiba/ratiba/internal/app"`},
			"never runs a turn",
		},
		{
			"a test double in the product", direction,
			map[string]string{"internal/app/booking/a.go": `package booking; import _ "github.com/ratiba/ratiba/internal/app/booking/desk/desktest"`},
			map[string]string{"internal/app/booking/a.go": "", "internal/app/booking/a_test.go": `package booking; import _ "github.com/ratiba/ratiba/internal/app/booking/desk/desktest"`},
			"stay in tests",
		},
		{
			"a test's server in the product", direction,
			map[string]string{"internal/store/a.go": `package store; import _ "github.com/ratiba/ratiba/internal/db/dbtest"`},
			map[string]string{"internal/store/a.go": "", "internal/app/booking/desk/desktest/a.go": `package desktest; import _ "github.com/ratiba/ratiba/internal/db/dbtest"`},
			"stay in tests",
		},
		{
			"a graph with a context", pureGraph,
			map[string]string{"internal/graph/a.go": `package graph; import _ "context"`},
			map[string]string{"internal/graph/a.go": `package graph; import _ "github.com/ratiba/ratiba/internal/ids"`},
			"graph imports context",
		},
		{
			"SQL in a turn", sqlPlaces,
			map[string]string{"internal/turn/a.go": `package turn; import _ "database/sql"`},
			map[string]string{"internal/turn/a.go": "", "internal/app/booking/bookingsql/a.go": `package bookingsql; import _ "database/sql"`},
			"belongs to db",
		},
		{
			"a driver outside db", sqlPlaces,
			map[string]string{"internal/store/a.go": `package store; import _ "modernc.org/sqlite"`},
			map[string]string{"internal/store/a.go": "", "internal/db/a.go": `package db; import _ "modernc.org/sqlite"`},
			"only internal/db",
		},
		{
			"a driver in a test", sqlPlaces,
			map[string]string{"internal/store/a_test.go": `package store; import _ "github.com/jackc/pgx/v5"`},
			map[string]string{"internal/store/a_test.go": "", "internal/db/dbtest/a.go": `package dbtest; import _ "github.com/jackc/pgx/v5"`},
			"only internal/db",
		},
		{
			"a clock read under another name", clockOnly,
			map[string]string{"internal/turn/a.go": `package turn; import t "time"; var x = t.Now`},
			map[string]string{"internal/turn/a.go": "", "internal/clock/a.go": `package clock; import "time"; var x = time.Now`},
			"time.Now",
		},
		{
			"a test that sleeps", clockOnly,
			map[string]string{"internal/turn/a_test.go": `package turn; import "time"; func f() { time.Sleep(1) }`},
			map[string]string{"internal/turn/a_test.go": `package turn; import "time"; func f() { time.NewTimer(1) }`},
			"time.Sleep",
		},
		{
			"a setting read where it is used", environmentOnly,
			map[string]string{"internal/server/a.go": `package server; import "os"; var x = os.Getenv("X")`},
			map[string]string{"internal/server/a.go": "", "cmd/ratiba/a.go": `package main; import "os"; var x = os.Getenv("X")`},
			"only cmd reads",
		},
		{
			"a test that reads a setting itself", environmentOnly,
			map[string]string{"internal/db/a_test.go": `package db; import "os"; var x = os.Getenv("X")`},
			map[string]string{"internal/db/a_test.go": "", "internal/db/dbtest/a.go": `package dbtest; import "os"; var x = os.Getenv("X")`},
			"only cmd reads",
		},
		{
			"a print", environmentOnly,
			map[string]string{"internal/server/a.go": `package server; import "fmt"; func f() { fmt.Println() }`},
			map[string]string{"internal/server/a.go": `package server; import "fmt"; var x = fmt.Sprint()`},
			"fmt.Println",
		},
		{
			"an init", noInit,
			map[string]string{"internal/turn/a.go": `package turn; func init() {}`},
			map[string]string{"internal/turn/a.go": `package turn; type t int; func (t) init() {}`},
			"init",
		},
		{
			"a long file", sizes,
			map[string]string{"internal/graph/a.go": long},
			map[string]string{"internal/graph/a.go": "", "internal/graph/a_test.go": long},
			"at most 500",
		},
		{
			"a long function", sizes,
			map[string]string{"internal/graph/a.go": "package graph\nfunc f() {" + strings.Repeat("\n", maxFunctionLines) + "}"},
			map[string]string{"internal/graph/a.go": "package graph\nfunc f() {\n}"},
			"f has 81 lines",
		},
		{
			"a package that says nothing", documented,
			map[string]string{"internal/graph/a.go": "package graph"},
			map[string]string{"internal/graph/a.go": "// Package graph decides.\npackage graph"},
			"no package comment",
		},
		{
			"work put off in a comment", finished,
			map[string]string{"internal/turn/a.go": "package turn\n// TODO later\n"},
			map[string]string{"internal/turn/a.go": "package turn\n// why\n"},
			"finish it",
		},
		{
			"a tool without a definition", toolFolders,
			map[string]string{
				"internal/app/booking/tools/x/handler.go":      "package x",
				"internal/app/booking/tools/x/handler_test.go": "package x",
				"internal/app/booking/tools/x/metadata.yaml":   "{version: 1, owner: a, safety_class: read, audit_log_required: false}",
			},
			map[string]string{"internal/app/booking/tools/x/definition.json": `{"name":"x","description":"Does x."}`},
			"definition.json is missing",
		},
		{
			"a prompt without an owner", promptFolders,
			map[string]string{"internal/prompt/x/system.md": "You sort.", "internal/prompt/x/metadata.yaml": "{version: 1, role: x, eval_baseline: none}"},
			map[string]string{"internal/prompt/x/metadata.yaml": "{version: 1, role: x, eval_baseline: none, owner: a}"},
			"owner is missing",
		},
		{
			"prompts owned by a team alone", owners,
			map[string]string{".github/CODEOWNERS": strings.Join(owned, " @ratiba/team\n") + " @ratiba/team\n"},
			map[string]string{".github/CODEOWNERS": strings.Join(owned, " @ratiba/team @wanjiku\n") + " @wanjiku\n"},
			"names no person",
		},
		{
			"an event that is not listed", eventsListed,
			map[string]string{"internal/turn/a.go": `package turn; func f() { r.log(ctx, level, "turn.odd") }`},
			map[string]string{eventList: "| `turn.odd` | |\n"},
			"turn.odd is not in",
		},
		{
			"an event with a changing type", eventsListed,
			map[string]string{"internal/turn/a.go": `package turn; func f() { r.Logger.LogAttrs(ctx, level, name) }`},
			map[string]string{"internal/turn/a.go": `package turn; func f() { r.Logger.LogAttrs(ctx, level, "a."+state) }`, eventList: "| `a.done` | |\n"},
			"is a constant",
		},
		{
			"a listed event nobody logs", eventsListed,
			map[string]string{eventList: "| `turn.gone` | |\n"},
			map[string]string{"internal/turn/a.go": `package turn; func f() { slog.Info("turn.gone") }`},
			"logged nowhere",
		},
		{
			"a decision outside the index", decisions,
			map[string]string{"docs/adr/0001-x.md": decision, "docs/adr/README.md": ""},
			map[string]string{"docs/adr/README.md": "[x](0001-x.md)"},
			"not in the index",
		},
		{
			"a third set-up command", setUp,
			map[string]string{
				"README.md": "```sh\nmake demo\nmake prepare\nmake test\n```\n", "Makefile": "demo:\ntest:\n",
				".ci/run": "#!/bin/bash\nset -euo pipefail\ncd \"$(dirname \"$0\")/..\"\nmake test\n",
			},
			map[string]string{"README.md": "```sh\nmake demo\nmake test   # all of it\n```\n"},
			"make prepare",
		},
		{
			"a check that forgives", setUp,
			map[string]string{
				"README.md": "```sh\nmake demo\nmake test\n```\n", "Makefile": "demo:\ntest:\n",
				".ci/run": "set -euo pipefail\ncd \"$(dirname \"$0\")/..\"\nmake test || true\n",
			},
			map[string]string{".ci/run": "set -euo pipefail\ncd \"$(dirname \"$0\")/..\"\nmake test\n"},
			".ci/run",
		},
		{
			"a promise that names no test", promisesProved,
			map[string]string{"ARCHITECTURE.md": promiseRows.String() + "`TestP7Gone`"},
			map[string]string{"internal/db/a_test.go": "package db; func TestP7Gone() {}"},
			"TestP7Gone, which is no test",
		},
		{
			"a promise left out", promisesProved,
			map[string]string{"ARCHITECTURE.md": strings.Replace(promiseRows.String(), "| P9 ", "| P99 ", 1)},
			map[string]string{"ARCHITECTURE.md": promiseRows.String()},
			"no row for promise P9",
		},
		{
			"a link to nowhere", links,
			map[string]string{"README.md": "[the list](docs/list.md#part)"},
			map[string]string{"docs/list.md": "Here."},
			"docs/list.md, which is not there",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			faults := tt.rule(made(t, tt.bad))
			if !strings.Contains(strings.Join(faults, "\n"), tt.want) {
				t.Errorf("faults = %q, want one with %q", faults, tt.want)
			}
			right := maps.Clone(tt.bad)
			maps.Copy(right, tt.good)
			if faults := tt.rule(made(t, right)); len(faults) > 0 {
				t.Errorf("put right: faults = %q, want none", faults)
			}
		})
	}
}

// made is a tree of the given files.
func made(t *testing.T, files map[string]string) *tree {
	t.Helper()
	m := fstest.MapFS{}
	for name, text := range files {
		if text != "" {
			m[name] = &fstest.MapFile{Data: []byte(text)}
		}
	}
	tr, err := load(m)
	if err != nil {
		t.Fatal(err)
	}
	return tr
}
