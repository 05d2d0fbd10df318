.DEFAULT_GOAL := help

# The first of these that is 3.11 or newer makes the environment; `make env PYTHON=python3.12` asks for a certain one.
PYTHON ?= python3 python3.13 python3.12 python3.11
EXTRAS := embedded,langchain,mlflow,openai,otel,pandas,postgres,pydantic-ai,ray,tables,text,wandb,web

BIN := .venv/$(if $(filter Windows_NT,$(OS)),Scripts,bin)
READY := .venv/ready
# Python 3.11 cannot always trace a thread that starts while another does, and says so.
UNTRACED := ignore:Exception ignored in thread started by:pytest.PytestUnraisableExceptionWarning
# The packages that decide what a verdict is and that none is lost; pyproject.toml has the floor of their coverage.
DECIDING := domain evaluators stats engine store
# Tests of these packages through the functions of the library, and of their batches.
OF_DECIDING := batches test_api.py test_compare.py
QUICK := $(DECIDING) models suites test_api.py test_compare.py
DEMO_READY := .venv/demo-ready
# Tests start the command again and again, which must not compile the whole package each time.
export PYTHONDONTWRITEBYTECODE :=
# Matrices here are small: a second thread for each would wait for the first, and keep a core busy meanwhile.
export OPENBLAS_NUM_THREADS := 1
PYTEST := $(BIN)/python -m pytest -rfEs
# A folder or a file of tests, or several.
FOLDER ?= tests/domain
# The files that mark tests as long, and the folders that do: to collect all others takes a worker half a minute.
LONG = $$(grep -rl 'mark\.long\b' --include='test_*.py' --include=conftest.py tests | sed 's,/conftest\.py$$,,')
# Tests wait for browsers, servers and programs for half of their time, which four workers more make use of.
WORKERS = --workers=$$($(BIN)/python -c 'import os; print((os.cpu_count() or 1) + $(1))')
FIND_PYTHON := for python in $(PYTHON); do \
		"$$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && break; \
		python=; \
	done; \
	[ -n "$$python" ] || { echo 'Evenhand needs Python 3.11 or newer; of "$(PYTHON)" none is. Name one: make env PYTHON=...' >&2; exit 1; }

.PHONY: help demo env test test-fast test-long test-sweep test-guards test-steady test-times check format docs screenshots bench bench-peers build constraints

help:  ## Show this list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/\1|\2/p' $(MAKEFILE_LIST) | awk -F'|' '{ printf "make %-12s %s\n", $$1, $$2 }'

demo: $(DEMO_READY)  ## Judge a small suite with a model on this machine (fetches 1.1 GB once)
	$(BIN)/evenhand demo build/demo

# What the demo needs and no more; the tests' tools come on top of it.
$(DEMO_READY): pyproject.toml constraints.txt
	@$(FIND_PYTHON); [ -x $(BIN)/python ] || "$$python" -m venv .venv
	@echo 'Installing Evenhand into .venv, which takes half a minute the first time ...'
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt --editable '.[embedded,web]'
	@touch $@

env: $(READY)  ## Make the environment in .venv, or bring it up to date

$(READY): pyproject.toml constraints.txt
	@$(FIND_PYTHON); [ -x $(BIN)/python ] || "$$python" -m venv .venv
	@echo 'Installing into .venv, which takes a minute or two the first time ...'
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet -c constraints.txt --editable '.[$(EXTRAS)]' --group dev
	@touch $@

test: env  ## Run all tests but the long ones
	$(PYTEST) $(call WORKERS,4) -m 'not long and not sweep' --seconds test $(RECORD)

test-fast: env  ## Run the quick tests of the packages in the middle, with few examples of each property
	$(PYTEST) $(call WORKERS,1) -m 'not slow and not long and not sweep' -p no:schemathesis --hypothesis-profile=fast \
		--ignore=tests/models/adapters --ignore=tests/models/wire $(addprefix tests/,$(QUICK))

test-long: env  ## Run the long tests, and measure how much of the packages that decide is covered
	$(PYTEST) $(call WORKERS,4) -m 'long and not sweep' --seconds long $(RECORD) $(LONG)
	$(BIN)/python -m coverage erase
	$(BIN)/python -m coverage run -m pytest $(call WORKERS,1) -q -m 'not slow and not long and not sweep' \
		-W '$(UNTRACED)' -p no:schemathesis --hypothesis-profile=fast $(addprefix tests/,$(DECIDING) $(OF_DECIDING))
	$(BIN)/python -m coverage combine --quiet
	$(BIN)/python -m coverage report

test-sweep: env  ## Run what takes hours and is in no CI: simulations at full draws, very many faults and kills, searches
	$(PYTEST) $(call WORKERS,0) -m sweep --timeout=3600
	$(PYTEST) $(call WORKERS,0) -m 'hypothesis and not long and not sweep' --hypothesis-profile=search --timeout=3600

test-guards: env  ## Bring back past defects, one by one, and demand that a test notices each
	$(BIN)/python -m tests.guards.run

test-steady: env  ## Run the tests of FOLDER again and again, in random order and on a busy machine
	$(BIN)/python -m tests.harness.steady $(FOLDER)

test-times:  ## Measure what all tests take, on a quiet machine, and write the table in docs/design/tests.md anew
	$(MAKE) test test-long RECORD=--record-seconds
	$(BIN)/python -m tests.harness.table

check: env  ## Check format, lint, types and layers
	$(BIN)/ruff format --check
	$(BIN)/ruff check
	$(BIN)/mypy
	$(BIN)/lint-imports

format: env  ## Format the code and mend what the linter can
	$(BIN)/ruff format
	$(BIN)/ruff check --fix

docs: env  ## Write the reference anew and build the site into build/docs
	$(BIN)/python -m docs.generate
	$(BIN)/python -m sphinx -q -W --keep-going -c docs . build/docs
	@echo 'Open build/docs/index.html'

screenshots: env  ## Take the pictures of the web pages for the documentation
	$(BIN)/python -m docs.screenshots

bench: env  ## Measure what a judgment costs
	$(BIN)/python -m bench.run

bench-peers: env  ## Measure Evenhand beside its peers, whose runners are in PEERS
	$(BIN)/python -m bench.peers "$(PEERS)"

build: env  ## Build the wheel and the sdist into dist/
	$(BIN)/python -m build

constraints:  ## Renew constraints.txt with the newest versions that work together
	@$(FIND_PYTHON); rm -rf build/newest && "$$python" -m venv build/newest
	build/newest/bin/python -m pip install --quiet --upgrade pip
	build/newest/bin/python -m pip install --quiet '.[$(EXTRAS)]' --group dev
	build/newest/bin/python -m pip freeze --exclude evenhand > constraints.txt
	rm -rf build/newest
