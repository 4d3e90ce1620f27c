# Two commands set Ratiba up: `make demo` shows it, `make test` proves it.
# Everything else is for those who change it.

SHELL := /bin/bash
.DELETE_ON_ERROR:
.PHONY: check-model demo build test suites check chaos fuzz bench lint clean

# What the demo is told, such as ARGS="--addr 127.0.0.1:9000 --data ./demo-data".
ARGS ?=

# The packages whose statements the tests must reach, and how far.
FLOOR    := 85
COVERED  := graph turn app/booking/calendar understand channel/whatsapp
COVERPKG := $(shell echo $(foreach p,$(COVERED),./internal/$(p)) ./internal/understand/... | tr ' ' ',')

SOURCES := $(shell find cmd internal -type f ! -name '*_test.go' ! -path '*/testdata/*' 2>/dev/null)

demo: build
	./bin/ratiba demo $(ARGS)

build: bin/ratiba

bin/ratiba: go.mod go.sum $(SOURCES)
	go build -o bin/ratiba ./cmd/ratiba

# The packages whose suites run on SQLite, and then once more on PostgreSQL.
BOTH := ./internal/store ./internal/app/booking/... ./internal/demo ./internal/server

# Everything: needs a C compiler (the race detector), Chromium (the phone page),
# PostgreSQL and Redis. scripts/needs.sh installs them from Debian when they are
# missing; scripts/services.sh starts a PostgreSQL and a Redis for this run
# alone. RATIBA_WITHOUT=postgres,redis does without those it names.
test:
	scripts/needs.sh
	scripts/format.sh
	go mod tidy -diff
	go vet ./...
	go -C oracles mod tidy -diff
	go -C oracles vet ./...
	go -C oracles test -count=1 ./...
	RATIBA_PG_FSYNC=off scripts/services.sh $(MAKE) --no-print-directory suites
	$(MAKE) --no-print-directory chaos

# What `make test` runs beside the servers.
suites:
	@mkdir -p build
	CGO_ENABLED=1 go test -race -shuffle=on -count=1 -p 2 -timeout 25m -skip '^TestChaos$$' \
		-coverpkg=$(COVERPKG) -coverprofile=build/cover.out ./...
	scripts/cover.sh build/cover.out $(FLOOR) $(COVERED)
ifeq ($(findstring postgres,$(RATIBA_WITHOUT)),)
	RATIBA_TEST_BACKEND=postgres CGO_ENABLED=1 go test -race -shuffle=on -count=1 -p 2 -timeout 25m $(BOTH)
else
	@echo 'test: without postgres, these are not run once more on it: $(BOTH)'
endif

# The inner loop: no race detector, no browser, cached results.
check:
	scripts/format.sh
	go vet ./...
	RATIBA_PG_FSYNC=off scripts/services.sh \
		go test -short -p 2 -skip '^(TestBrowser|TestChaos$$)' $$(go list ./... | grep -v '/internal/sim/page$$')

# Kills the real binary under load and counts what is lost; CHAOS has the run's
# flags, and without any it is the short one. docs/proof/README.md explains it.
CHAOS ?= -nodes 2 -for 20s $(if $(RATIBA_WITHOUT),-store sqlite)
chaos:
	RATIBA_WITHOUT="redis,$(RATIBA_WITHOUT)" scripts/services.sh bash -c 'go test ./internal/chaos -run "^TestChaos$$" -count=1 -v -timeout 0 \
		-args -chaos -pg "$$RATIBA_TEST_PG_BIN:$$RATIBA_TEST_PG_DATA" $(CHAOS)'

# The model check as deep as it goes: minutes to an hour.
check-model:
	go test ./internal/modelcheck -run PromisesHold -count=1 -v -timeout 60m -args -outside 4

# Each fuzz target for FUZZTIME beyond its seeds, which `make test` runs.
FUZZTIME ?= 30s
fuzz:
	scripts/fuzz.sh $(FUZZTIME)

bench:
	scripts/services.sh go test -run '^$$' -bench . -benchmem ./...

lint: bin/golangci-lint
	bin/golangci-lint run ./...

bin/golangci-lint: tools/go.mod tools/go.sum
	go build -C tools -o ../bin/golangci-lint github.com/golangci/golangci-lint/v2/cmd/golangci-lint

clean:
	rm -rf bin build
