# make build   the program, ./scruple
# make test    everything CI checks; installs chromium (Debian) where it is missing
# make race    the concurrent packages under the race detector (needs a C compiler)
# make bench   the benchmarks docs/performance.md speaks of
# make fuzz    every fuzz target for a while
# make update  rewrite golden files after a change that is meant

GO ?= go
FUZZTIME ?= 30s

.PHONY: build test deps vet race bench fuzz update

build:
	CGO_ENABLED=0 $(GO) build -trimpath -ldflags='-s -w' -o scruple ./cmd/scruple

test: deps vet
	$(GO) test ./...

vet:
	@unformatted=$$(gofmt -l $$(git ls-files '*.go')); if [ -n "$$unformatted" ]; then echo "gofmt would change: $$unformatted"; exit 1; fi
	$(GO) vet ./...

# The report is looked at in a real browser.
deps:
	@command -v chromium >/dev/null || command -v google-chrome >/dev/null || { \
		if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
			apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends chromium >/dev/null; \
		else \
			echo "chromium is not installed: the browser test is skipped"; \
		fi; }

race:
	$(GO) test -race ./internal/run ./internal/store ./internal/score ./internal/suites/...

bench:
	$(GO) test -run '^$$' -bench . -benchmem ./...

fuzz:
	@for pkg in $$($(GO) list ./...); do \
		for target in $$($(GO) test -list '^Fuzz' $$pkg | grep '^Fuzz'); do \
			echo "$$pkg $$target"; $(GO) test -run '^$$' -fuzz "^$$target$$" -fuzztime $(FUZZTIME) $$pkg || exit 1; \
		done; \
	done

update:
	$(GO) test ./internal/report ./internal/suites/... ./internal/model/... ./cmd/scruple -update
