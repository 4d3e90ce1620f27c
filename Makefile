# Two commands set Ratiba up: `make demo` shows it, `make test` proves it.
# Everything else is for those who change it.

SHELL := /bin/bash
.DELETE_ON_ERROR:
.PHONY: demo build test check fuzz bench lint clean

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

# Everything: needs a C compiler (the race detector) and Chromium (the phone
# page). scripts/needs.sh installs them from Debian when they are missing.
test:
	scripts/needs.sh
	scripts/format.sh
	go mod tidy -diff
	go vet ./...
	@mkdir -p build
	CGO_ENABLED=1 go test -race -shuffle=on -count=1 -p 2 -timeout 9m \
		-coverpkg=$(COVERPKG) -coverprofile=build/cover.out ./...
	scripts/cover.sh build/cover.out $(FLOOR) $(COVERED)

# The inner loop: no race detector, no browser, cached results.
check:
	scripts/format.sh
	go vet ./...
	go test -short -p 2 -skip '^TestBrowser' $$(go list ./... | grep -v '/internal/sim/page$$')

# Each fuzz target for FUZZTIME beyond its seeds, which `make test` runs.
FUZZTIME ?= 30s
fuzz:
	scripts/fuzz.sh $(FUZZTIME)

bench:
	go test -run '^$$' -bench . -benchmem ./...

lint: bin/golangci-lint
	bin/golangci-lint run ./...

bin/golangci-lint: tools/go.mod tools/go.sum
	go build -C tools -o ../bin/golangci-lint github.com/golangci/golangci-lint/v2/cmd/golangci-lint

clean:
	rm -rf bin build
