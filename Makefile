# make build     the program, ./scruple
# make test      build, vet and test everything but what e2e has; installs postgresql (Debian) where it is missing
# make e2e       the program as it is installed: killed, with faults, in a browser, at full size, with every suite;
#                installs chromium (Debian) where it is missing
# make soak      workers of a shared store: 200 are killed, the server restarts 20 times, links to it are cut, held and
#                slow for longer than anybody waits (make e2e has 10 kills, 2 restarts and short faults); KILLS=n for
#                others. It says how many answers on record were lost, and how many requests were repeated
# make lint      staticcheck
# make race      the concurrent packages under the race detector; installs gcc (Debian) where it is missing
# make simulate  the simulations of coverage, power and verdicts that make test leaves out; verdicts of SEEDS studies
# make validity  how often verdicts are wrong, by simulation of whole studies; REPS of each kind, CELLS by name
# make cross     the program for every system that releases are made for
# make bench     the benchmarks docs/performance.md speaks of
# make fuzz      every fuzz target for a while
# make update    rewrite golden files after a change that is meant

GO ?= go
FUZZTIME ?= 30s
REPS ?= 1000
CELLS ?=
SEEDS ?= 100
KILLS ?= 200
STATICCHECK = honnef.co/go/tools/cmd/staticcheck@v0.8.2
TARGETS = linux/amd64 linux/arm64 darwin/amd64 darwin/arm64 windows/amd64 windows/arm64

# Under the race detector: packages that start goroutines, but for tests that take one step after
# the other many times, and of the suites, which are ten times slower there, the tests that use a
# bench from many.
CONCURRENT = ./internal/serve ./internal/ledger ./internal/annotate ./internal/view ./internal/run ./internal/experiment ./internal/suites/qa ./internal/store ./internal/worker ./internal/score ./internal/dataset ./internal/model/... ./internal/suites/rerank/evidence
STEPS = ^(TestWalk|TestAmend|TestAmendOlderFormat|TestArchive|TestArchivesOfCopies|TestArchivesThatAreNotThere|TestMigrate|TestExamine|TestTablesOfAnotherUser|TestAddressesThatCannotBeUsed|TestExampleOfAGrownRun|TestPairTwice|TestManyPassages|TestOldDraftsAreNotInMemory|TestTheLargestAnswerIsKept|TestAgreementOnNumbers|TestBlanksOfTables)$$
SUITES = ./internal/suites/extraction ./internal/suites/rerank ./internal/suites/rerank/method ./stats

# With the flags of the README's build the packages are compiled once for it and for the
# checks. Half of the time that linking the tests takes is for debuggers' tables. Compilers and
# commands that live for a tenth of a second spend a quarter of it on collecting garbage, if they
# are left to.
CHECK = GOFLAGS=-trimpath GOGC=400
TEST = $(CHECK) $(GO) test -vet=off -ldflags='-s -w'

# Leaving SQLite out by -gcflags would save half of the time, but the copies of generic functions
# that its packages have, such as those of sync.Map, would order nothing for the detector.
RACE = CGO_ENABLED=1 $(TEST) -race

# Modules of their own, so that the program does not depend on what they need. Most of the time of
# their tests compiles clients of other companies, which need not be fast: they are not optimised.
MODULES = $(patsubst %/go.mod,%,$(wildcard tools/*/go.mod))
PLAIN = $(foreach p,github.com google.golang.org cloud.google.com,-gcflags='$p/...=-N -l') -gcflags='github.com/scruple-eval/...='

.PHONY: build test e2e soak vet lint race simulate validity cross bench fuzz update chromium gcc postgres pgbouncer

build:
	CGO_ENABLED=0 $(GO) build -trimpath -ldflags='-s -w' -o scruple ./cmd/scruple

test: vet postgres
	$(TEST) -timeout 40m ./...
	@for m in $(MODULES); do $(CHECK) $(GO) -C $$m test $(PLAIN) -vet=off -ldflags='-s -w' -timeout 40m ./... || exit 1; done

# Twelve at once, as many tests wait for a clock; with more walks than make test, and the documented
# commands on examples.
e2e: chromium postgres pgbouncer
	$(TEST) -timeout 40m -tags e2e -count 1 -parallel 12 ./e2e
	SCRUPLE_E2E=1 $(TEST) -timeout 40m -run '^(TestWalk|TestDocumentedCommandsRun)$$' ./internal/suites/... ./cmd/scruple

soak: postgres
	SCRUPLE_KILLS='$(KILLS)' $(TEST) -timeout 90m -tags e2e -count 1 -v -run '^(TestWorkersAreKilled|TestPartitions)$$' ./e2e

vet:
	@unformatted=$$(gofmt -l $$(git ls-files '*.go')); if [ -n "$$unformatted" ]; then echo "gofmt would change: $$unformatted"; exit 1; fi
	$(CHECK) $(GO) vet -tags e2e ./...
	@for m in $(MODULES); do $(CHECK) $(GO) -C $$m vet $(PLAIN) ./... || exit 1; done

lint:
	$(CHECK) $(GO) run $(STATICCHECK) -tags e2e ./...

race: gcc
	$(RACE) -timeout 40m -skip '$(STEPS)' $(CONCURRENT)
	$(RACE) -timeout 40m -run 'TestConformance/concurrent|TestANoTLayersRunAtOnce|TestWorkersDoNotMatter|TestExchangeTest|TestBootstrapClusters|TestResults' $(SUITES)

simulate:
	SCRUPLE_SIMULATE=1 $(TEST) -timeout 40m ./stats/...
	SCRUPLE_SIMULATE=1 SCRUPLE_SEEDS='$(SEEDS)' $(TEST) -timeout 40m -run Phase1Verdicts -v ./cmd/scruple

validity:
	$(GO) run ./tools/validity -reps '$(REPS)' -cells '$(CELLS)' $(if $(PEERS),-peers)

cross:
	@for t in $(TARGETS); do \
		echo "$$t"; CGO_ENABLED=0 GOOS=$${t%/*} GOARCH=$${t#*/} $(GO) build -trimpath -ldflags='-s -w' -o /dev/null ./cmd/scruple || exit 1; \
	done

# The report is looked at in a real browser.
chromium:
	@command -v chromium >/dev/null || command -v google-chrome >/dev/null || $(call install,chromium,the browser test is skipped)

# The store is tested on a real server.
postgres:
	@ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 || command -v initdb >/dev/null || $(call install,postgresql,the store is not tested on it)

pgbouncer:
	@command -v pgbouncer >/dev/null || test -x /usr/sbin/pgbouncer || $(call install,pgbouncer,what is said of a pooler is not tested)

gcc:
	@command -v $${CC:-gcc} >/dev/null || $(call install,gcc libc6-dev,the race detector does not build)

# install PACKAGES,CONSEQUENCE installs Debian's packages as root and says
# otherwise what follows.
define install
{ \
	if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
		apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $(1) >/dev/null; \
	else \
		echo "$(1) is not installed: $(2)"; \
	fi; }
endef

bench:
	$(GO) test -run '^$$' -bench . -benchmem ./...

fuzz:
	@for pkg in $$($(GO) list ./...); do \
		for target in $$($(GO) test -list '^Fuzz' $$pkg | grep '^Fuzz'); do \
			echo "$$pkg $$target"; $(GO) test -run '^$$' -fuzz "^$$target$$" -fuzztime $(FUZZTIME) $$pkg || exit 1; \
		done; \
	done

update:
	$(GO) test ./internal/appendix ./internal/evallog ./internal/model ./internal/report ./internal/suites ./internal/suites/extraction ./internal/suites/extraction/benchmark ./internal/suites/rerank/method ./tools/convert/documents ./cmd/scruple -update
