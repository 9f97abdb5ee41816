# Targets with a sentence after `##` are what `make help` shows.
.DEFAULT_GOAL := help
.PHONY: clients help run test stress fuzz check fix migrate bench bench-quick console lock clean FORCE
.SUFFIXES:
SHELL := /bin/sh

BIN := .venv/bin
PYTHON ?=
PYTEST = $(BIN)/pytest -q -n auto --dist loadfile --no-loadscope-reorder
COMPILE = $(BIN)/uv pip compile --quiet --no-config --universal --python-version 3.11 --generate-hashes \
	--no-emit-index-url --no-header --no-annotate $(UPGRADE)

# An environment names its folder and its Python: where the clone was moved, or the Python is gone, it is made again.
-include .venv/made.mk
ifneq ($(MADE_IN) $(wildcard $(BIN)/python),$(CURDIR) $(BIN)/python)
AGAIN := FORCE
endif

help: ## list these targets
	@sed -n 's/^\([a-z][a-z-]*\):.*## /\1\t/p' $(firstword $(MAKEFILE_LIST)) | expand -t 12

run: .venv/run ## serve on http://127.0.0.1:8000, with embedded servers where no URL is set
	@exec $(BIN)/tenantry serve

test: .venv/dev ## run every test, and name the slowest; ARGS="-k sign_in" narrows
	@exec $(PYTEST) --durations=15 --durations-min=1 $(ARGS)

stress: .venv/dev ## cut off 1,000 exports and imports, 100,000 requests of mixed tenants, 500 starts: an hour
	@TENANTRY_TEST_STARTS=50 $(BIN)/pytest -q --timeout 3600 tests/adapters/postgres/test_first_start.py -k processes
	@TENANTRY_TEST_MIXED=500 $(BIN)/pytest -q --timeout 3600 tests/http/entities/test_mixed_tenants.py
	@TENANTRY_TEST_CUTS=1000 exec $(BIN)/pytest -q tests/entrypoints/test_files.py

fuzz: .venv/dev ## run the tests that draw their cases with 1,000 each, and 200,000 hostile requests: an hour
	@TENANTRY_TEST_REQUESTS=$(or $(REQUESTS),100000) $(BIN)/pytest -q tests/http/fuzz
	@TENANTRY_TEST_EXAMPLES=$(or $(EXAMPLES),1000) exec $(PYTEST) -m drawn -rP -o timeout=3600 $(ARGS)

clients: .venv/dev .venv/clients/installed ## make, check and use clients of the OpenAPI document: a minute; needs Node 20
	@exec $(BIN)/pytest -q --timeout 120 tests/clients/check_clients.py

check: .venv/dev ## formatting, lint, types and import contracts
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo

fix: .venv/dev ## format, and mend what the linter can mend
	$(BIN)/ruff check --fix-only .
	$(BIN)/ruff format .

migrate: .venv/run ## apply the pending migrations; MESSAGE="add books" only writes one, to read first
	@exec $(BIN)/tenantry migrate $(if $(MESSAGE),--write "$(MESSAGE)")

bench: .venv/dev ## measure the service against a hand-written baseline: eleven minutes; ARGS=--growth for an hour
	@exec $(BIN)/python -m benchmarks $(ARGS)

bench-quick: .venv/dev ## the same in three minutes: one short round of the main operations
	@exec $(BIN)/python -m benchmarks --quick $(ARGS)

console: ## build the application for the browser, after a change of its sources: needs Node 20 and npm
	@cd adapters/console/source && npm ci --ignore-scripts --silent && npm run --silent check && npm run --silent build

lock: .venv/dev ## write requirements/ from pyproject.toml; UPGRADE=--upgrade takes newer versions
	$(COMPILE) pyproject.toml --extra embedded --group dev -o requirements/dev.txt
	$(COMPILE) pyproject.toml --extra embedded --group build -c requirements/dev.txt -o requirements/run.txt
	$(COMPILE) pyproject.toml -c requirements/dev.txt -o requirements/server.txt
	$(COMPILE) --group build -c requirements/dev.txt -o requirements/build.txt
	$(COMPILE) --group clients -o requirements/clients.txt

clean: ## remove the environment and all caches, but no data
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis .coverage dist
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

.venv/run: requirements/run.txt $(AGAIN)
	@$(FIND_PYTHON); "$$python" -m venv --clear .venv
	@echo "Installing what Tenantry needs: a minute, once."
	@$(INSTALL) -r requirements/run.txt
	@$(BIN)/pip install -qq --no-deps --no-build-isolation -e .
	@$(BIN)/python -m compileall -q tenantry domain application adapters entrypoints
	@echo 'MADE_IN := $(CURDIR)' > .venv/made.mk
	@touch $@

.venv/dev: .venv/run requirements/dev.txt
	@echo "Installing what the tests need."
	@$(INSTALL) -r requirements/dev.txt
	@touch $@

.venv/clients/installed: requirements/clients.txt tests/clients/package.json tests/clients/package-lock.json
	@command -v npm >/dev/null || { echo 'make clients needs Node 20 or newer, with npm.' >&2; exit 1; }
	@mkdir -p .venv/clients && cp tests/clients/package.json tests/clients/package-lock.json .venv/clients
	@cd .venv/clients && npm ci --ignore-scripts --silent --no-audit --no-fund
	@$(BIN)/python -m venv .venv/clients/python
	@.venv/clients/python/bin/pip install -qq --disable-pip-version-check --require-hashes -r requirements/clients.txt
	@touch $@

INSTALL = $(BIN)/pip install -qq --disable-pip-version-check --require-hashes

define FIND_PYTHON
for python in $(or $(PYTHON),python3 python3.13 python3.12 python3.11); do \
	"$$python" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && break; \
	python=; \
done; \
[ -n "$$python" ] || { \
	echo 'Tenantry needs Python 3.11 or newer with its venv module (on Debian: apt install python3-venv).' \
		'PYTHON=/path/to/python chooses one.' >&2; \
	exit 1; \
}
endef
