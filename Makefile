# esched. "make help" lists the targets.

SHELL := /bin/bash
.DELETE_ON_ERROR:
.SHELLFLAGS := -eu -o pipefail -c

GO      ?= go
BIN     := bin/esched
DEV     := .cache/dev
LDFLAGS := -s -w
# One package at a time: several of them start whole Dask clusters.
TEST    := $(GO) test -race -p 1 -timeout 15m

# The interpreters that the tests on real Dask use, made by "make setup".
python = $$($(BIN) env $(1) --json 2>/dev/null | python3 -c 'import json,sys; print(json.load(sys.stdin)["path"] + "/bin/python")')

.PHONY: help build run test unit lint bench setup apt check-format clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-8s %s\n", $$1, $$2 }' Makefile

build: ## build bin/esched
	@mkdir -p bin
	CGO_ENABLED=0 $(GO) build -trimpath -ldflags '$(LDFLAGS)' -o $(BIN) ./cmd/esched

run: build ## run experiments.toml on this machine and write a report
	$(BIN) run

test: setup ## all tests: unit, real Dask (two versions), end to end, browser
	@export ESCHED_FORBID_SKIP=1 PATH="$$PWD/$(DEV)/bin:$$PATH"; \
	export ESCHED_TEST_PYTHON="$(call python,default)" ESCHED_TEST_PYTHON_OLD="$(call python,dask-2024.5)"; \
	echo "Dask under test: $$ESCHED_TEST_PYTHON, $$ESCHED_TEST_PYTHON_OLD"; \
	$(TEST) ./...

unit: ## the tests that need nothing but Go (others are skipped, with the reason)
	$(GO) test -race -short ./...

lint: $(DEV)/ready ## formatting, vet, staticcheck, ruff
	@out=$$(gofmt -l $$(git ls-files '*.go')); test -z "$$out" || { echo "gofmt would change:"; echo "$$out"; exit 1; }
	$(GO) mod tidy -diff
	$(GO) vet ./...
	$(GO) tool staticcheck ./...
	$(DEV)/bin/ruff check .

bench: build ## the figures of the README, against two native Dask arms (about an hour)
	bench/run.sh

setup: build apt $(DEV)/ready ## what the tests need: Python environments, Chromium
	$(BIN) env default >/dev/null
	$(BIN) env dask-2024.5 >/dev/null

apt:
	@command -v chromium >/dev/null || { \
	  apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends chromium fonts-dejavu-core >/dev/null; } || \
	  { echo "Chromium is missing and could not be installed."; echo "Try: apt-get install chromium (as root)"; exit 1; }

$(DEV)/ready: deploy/pyenv/locks/dev.txt
	@rm -rf $(DEV) && python3 -m venv $(DEV)
	@$(DEV)/bin/pip install -q --disable-pip-version-check --require-hashes -r $<
	@touch $@

clean: ## remove what was built (not runs/, not the Python environments)
	rm -rf bin .cache
