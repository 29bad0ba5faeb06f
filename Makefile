# esched. "make help" lists the targets.

SHELL := /bin/bash
.DELETE_ON_ERROR:
.SHELLFLAGS := -eu -o pipefail -c

GO      ?= go
BIN     := bin/esched
DEV     := .cache/dev
# For builds without the Go tool's own notes of the repository (-buildvcs=false).
COMMIT  := $(shell git rev-parse --short=12 HEAD 2>/dev/null && { git diff --quiet HEAD 2>/dev/null || echo -dirty; })
LDFLAGS := -s -w -X github.com/esched/esched/cmd.commit=$(subst $() ,,$(COMMIT))
# Three packages at a time: most of them wait for processes, queues and nodes.
TEST    := $(GO) test -race -p 3 -timeout 24m

# The interpreters that the tests on real Dask use, made by "make setup".
python = $$($(BIN) env $(1) --json 2>/dev/null | python3 -c 'import json,sys; print(json.load(sys.stdin)["path"] + "/bin/python")')

# The presets that repeat the lab report's evaluation, in its order.
REPRODUCTION := montecarlo-policies montecarlo-nodes taxi-sql pipeline granularity

.PHONY: help build run reproduce test unit lint bench setup apt slurm clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-9s %s\n", $$1, $$2 }' Makefile

build: ## build bin/esched
	@mkdir -p bin
	CGO_ENABLED=0 $(GO) build -trimpath -ldflags '$(LDFLAGS)' -o $(BIN) ./cmd/esched

run: build ## run experiments.toml on this machine and write a report
	$(BIN) run

reproduce: build ## repeat the lab report's evaluation at laptop size, half an hour; one report
	@dir=runs/reproduction-$$(date +%Y-%m-%dT%H-%M-%S); \
	for preset in $(REPRODUCTION); do \
	  code=0; $(BIN) run "@$$preset" --trace 2500 --output "$$dir" || code=$$?; \
	  test $$code -eq 0 -o $$code -eq 3 || exit $$code; \
	done; \
	$(BIN) report --layout paper --output "$$dir/report.html" "$$dir"/*/

test: setup ## all tests: unit, real Dask (two versions), end to end, browser
	@export ESCHED_FORBID_SKIP=1 PATH="$$PWD/$(DEV)/bin:$$PATH"; \
	export ESCHED_TEST_PYTHON="$(call python,default)" ESCHED_TEST_PYTHON_OLD="$(call python,dask-2024.5)"; \
	echo "Dask under test: $$ESCHED_TEST_PYTHON, $$ESCHED_TEST_PYTHON_OLD"; \
	$(TEST) ./cmd ./scheduler/sidekick ./... # the longest first

unit: ## the tests that need nothing but Go (others are skipped, with the reason)
	$(GO) test -race -short ./...

lint: $(DEV)/ready ## formatting, vet, staticcheck, ruff
	@out=$$(gofmt -l $$(git ls-files '*.go')); test -z "$$out" || { echo "gofmt would change:"; echo "$$out"; exit 1; }
	$(GO) mod tidy -diff
	$(GO) vet ./...
	$(GO) tool staticcheck ./...
	$(DEV)/bin/ruff check .

bench: build ## the figures of the README, against two native Dask arms (an hour and a quarter)
	@$(MAKE) --no-print-directory slurm || echo "The figures of clusters are left out."
	bench/run.sh

setup: build apt $(DEV)/ready env-default env-dask-2024.5 ## what the tests need: Python environments, Chromium, Poppler, SLURM

env-%: build
	$(BIN) env $* >/dev/null

apt slurm:
	@missing=""; \
	test $@ = slurm || command -v chromium >/dev/null || missing+=" chromium fonts-dejavu-core"; \
	test $@ = slurm || command -v pdftotext >/dev/null || missing+=" poppler-utils"; \
	for program in slurmctld slurmd sbatch munged /usr/sbin/sshd ip; do command -v $$program >/dev/null || { \
	  missing+=" slurmctld slurmd slurm-client munge openssh-server iproute2"; break; }; done; \
	test $@ = slurm || test -e /usr/lib/security/pam_slurm.so || missing+=" libpam-slurm"; \
	test -z "$$missing" || { \
	  apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $$missing >/dev/null; } || \
	  { echo "Missing and could not be installed:$$missing"; echo "Try: apt-get install$$missing (as root)"; exit 1; }

$(DEV)/ready: deploy/pyenv/locks/dev.txt
	@rm -rf $(DEV) && python3 -m venv $(DEV)
	@$(DEV)/bin/pip install -q --disable-pip-version-check --require-hashes -r $<
	@touch $@

clean: ## remove what was built (not runs/, not the Python environments)
	rm -rf bin .cache
