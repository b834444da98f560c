# Everything here needs Go and nothing else; PostgreSQL is fetched where it is
# not installed. Variables can be set on the command line: make test PKG=./mdn/...

GO          ?= go
PKG         ?= ./...
FUZZTIME    ?= 30s
ROUNDS      ?= 20
SOAK        ?= 10m
MUTANTS     ?= -mutants
BENCH       ?= .
ARGS        ?=
PEER        ?=
RECORD      ?=
STATICCHECK ?= honnef.co/go/tools/cmd/staticcheck@v0.8.2

# withpg runs a command beside a private PostgreSQL server, one for all
# packages; FIRSTCOPY_TEST_DATABASE_URL names another server instead.
WITHPG := $(GO) run ./internal/pgtest/cmd/withpg

.DEFAULT_GOAL := help
.PHONY: help build demo check test race soak fuzz bench crash interop peerbench

help: ## show this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  %-9s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

build: ## build bin/firstcopy
	$(GO) build -trimpath -o bin/firstcopy ./cmd/firstcopy

demo: build ## build and run the demonstration (ARGS='...' for its flags)
	bin/firstcopy demo $(ARGS)

check: ## formatting, vet, staticcheck, direction of imports
	@unformatted=$$(gofmt -l .); if [ -n "$$unformatted" ]; then \
		printf 'not gofmt-ed:\n%s\n' "$$unformatted" >&2; exit 1; fi
	$(GO) vet ./...
	$(GO) vet -tags failpoint ./...
	$(GO) vet -tags interop ./internal/interop
	$(GO) run $(STATICCHECK) ./...
	$(GO) test -count=1 .

# Four packages at a time: half of them wait for servers most of the time.
test: ## all tests in random order (PKG=./mdn/... for some)
	$(WITHPG) -- $(GO) test -p 4 -shuffle=on $(PKG)

race: ## the same under the race detector
	$(WITHPG) -- $(GO) test -p 4 -race -shuffle=on $(PKG)

soak: ## fifty SFTP partners, good and bad, for ten minutes under the race detector (SOAK=1m for less)
	$(WITHPG) -- $(GO) test -race -count=1 -timeout 60m -run TestSoak -v ./internal/sftpproof -args -soak $(SOAK)

fuzz: ## every fuzz target for FUZZTIME each
	@targets=$$($(GO) test -list '^Fuzz' $(PKG)) || { printf '%s\n' "$$targets" >&2; exit 1; }; \
	printf '%s\n' "$$targets" | \
		awk '/^Fuzz/ { name[++n] = $$1 } $$1 == "ok" { for (i = 1; i <= n; i++) print $$2, name[i]; n = 0 }' | \
	while read -r package target; do \
		echo "fuzz $$package $$target for $(FUZZTIME)"; \
		$(GO) test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) "$$package" </dev/null || exit 1; \
	done

bench: ## benchmarks, against a database that flushes to disk (BENCH=regexp)
	$(WITHPG) -fsync -- $(GO) test -run '^$$' -bench '$(BENCH)' -benchmem $(PKG)

crash: ## kill gateway and database between every two steps, ROUNDS times over, and programs that are wrong on purpose
	$(WITHPG) -- $(GO) test -count=1 -timeout 60m -tags failpoint -v ./internal/crashtest -args -rounds $(ROUNDS) $(MUTANTS)

interop: ## live against other AS2 software, which it installs (PEER=name for one, RECORD=1 for new vectors)
	$(WITHPG) -- $(GO) test -count=1 -timeout 30m -tags interop ./internal/interop -args \
		$(if $(PEER),-peer $(PEER)) $(if $(RECORD),-record)

peerbench: ## CPU time of other AS2 receivers and ours under one load, into docs/performance.md
	$(WITHPG) -fsync -- $(GO) test -count=1 -timeout 30m -tags interop ./internal/interop -v -run TestThroughput -args \
		-measure $(if $(PEER),-peer $(PEER))
