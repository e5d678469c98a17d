# Every command of this repository; `make` lists them. On a fresh machine only Python >= 3.11 with venv, and make, are needed.

PYTHON ?= python3
ifneq ($(shell $(PYTHON) -c 'import sys; print(sys.version_info >= (3, 11))' 2>/dev/null),True)
$(error CodeSynapse needs Python 3.11 or newer and "$(PYTHON)" is not: name a newer one, as in: make PYTHON=/path/to/python3.12)
endif

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
# Two installs into one .venv at once would spoil it; pytest brings its own parallelism.
.NOTPARALLEL:

BOOT := .cache/bootstrap
BIN := .venv/bin
UV := $(BOOT)/bin/uv
ARGS ?=
STORE ?= memory
STORES := memory sqlite neo4j neo4j-2026 hugegraph-1.5 hugegraph-1.7
# Stores that a server of their own keeps; the others need Python alone.
SERVED := neo4j neo4j-2026 hugegraph-1.5 hugegraph-1.7
# Workers of pytest; 0 runs all in one process, for a debugger.
WORKERS ?= 2
# Idle workers take over tests of busy ones. Snapshots are compared only: parallel workers cannot rewrite them.
PYTEST = $(BIN)/python -m pytest -n $(WORKERS) --dist worksteal --inline-snapshot=disable

# uv installs in seconds; where it cannot be had, the bootstrap's pip does the same more slowly.
install = if [ -x $(UV) ]; then $(UV) pip install --quiet --python $(BIN)/python --compile-bytecode $(1); \
	else $(BOOT)/bin/python -m pip --python $(BIN)/python install --quiet --disable-pip-version-check $(1); fi

.PHONY: help setup serve servers servers-stop test test-all contract conformance lint format bench-mcp bench-stores bench-agents fuzz fuzz-stores mutate image-test lock clean

help: ## list the commands
	@sed -n 's/^\([a-z-]*\):[^#]*## /\1|/p' $(MAKEFILE_LIST) | while IFS='|' read -r name what; do printf '  make %-12s %s\n' "$$name" "$$what"; done

setup: ## install what needs rights on the machine: Java, Maven, curl and unzip for the graph servers, buildah and debootstrap for the image
	@$(PYTHON) -m tests.servers.tools
	@$(PYTHON) -m tests.docker.building

serve: .venv/base.stamp ## start the server; make serve ARGS="--port 0"
	@exec $(BIN)/codesynapse serve $(ARGS)

servers: .venv/dev.stamp ## start the graph servers for work by hand, print their URLs and leave them running
	@$(BIN)/python -m tests.servers start

servers-stop: .venv/dev.stamp ## end the graph servers
	@$(BIN)/python -m tests.servers stop

test: lint ## lint, then every test at its short count
	@$(PYTEST) $(ARGS)

test-all: lint .venv/java.stamp ## lint, then every test at its full count
	@CODESYNAPSE_FULL=1 $(PYTEST) $(ARGS)
	@$(MAKE) --no-print-directory image-test

image-test: .venv/dev.stamp ## build the container's image without a daemon, and run it; needs root
	@$(BIN)/python -m pytest tests/docker/image.py

contract: .venv/dev.stamp $(if $(filter %-2026,$(STORE)),.venv/java.stamp) ## run the contract suite; make contract STORE=memory|sqlite|neo4j|neo4j-2026|hugegraph-1.5|hugegraph-1.7
	@if [ -z "$(filter $(STORE),$(STORES))" ]; then echo "There is no store \"$(STORE)\" here yet; there are: $(STORES)." >&2; exit 2; fi
	@$(if $(filter $(STORE),$(SERVED)),$(BIN)/python -m tests.servers run $(STORE) --) \
		$(BIN)/python -m pytest -p codesynapse.contracts.plugin --pyargs codesynapse.contracts.suite --contract $(firstword $(subst -, ,$(STORE))) $(ARGS)

conformance: .venv/dev.stamp ## run the official conformance suite, an auditor and other people's clients; make conformance ARGS="suite clients"
	@$(BIN)/python -m tests.conformance $(ARGS)

lint: .venv/dev.stamp ## check style, types and the import laws
	@$(BIN)/ruff check --quiet .
	@$(BIN)/ruff format --quiet --check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports --no-cache

format: .venv/dev.stamp ## rewrite the sources in the common style
	@$(BIN)/ruff check --quiet --fix .
	@$(BIN)/ruff format --quiet .

bench-mcp: .venv/dev.stamp ## measure a tool call and an idle stream beside the official SDKs; make bench-mcp ARGS="--quick"
	@$(BIN)/python -m benchmarks.mcp_bench $(ARGS)

bench-stores: .venv/dev.stamp ## measure every store beside its bare client; make bench-stores ARGS="--quick"
	@$(BIN)/python -m benchmarks.stores_bench $(ARGS)

bench-agents: .venv/dev.stamp ## measure storing and recalling agent memories beside cpersona; make bench-agents ARGS="--quick"
	@$(BIN)/python -m benchmarks.agents_bench $(ARGS)

fuzz: .venv/dev.stamp ## draw bytes into every reader for ten minutes of CPU; make fuzz ARGS="--cpu-s 60 --seed 1"
	@$(BIN)/python -m tests.fuzz $(ARGS)

fuzz-stores: .venv/dev.stamp ## play drawn scripts on all stores and the law until one disagrees; make fuzz-stores ARGS="--sequences 20000 --seed 1"
	@$(BIN)/python -m tests.backends.fuzz $(ARGS)

mutate: .venv/dev.stamp ## put each known defect of the session key into a copy and see a test fail; make mutate ARGS="tenant"
	@$(BIN)/python -m tests.mutations $(ARGS)

lock: $(BOOT)/stamp ## choose the locked versions anew
	@$(UV) pip compile --quiet --upgrade --universal --python-version 3.11 --no-header --no-annotate setup.cfg --output-file requirements/base.txt
	@$(UV) pip compile --quiet --upgrade --universal --python-version 3.11 --no-header --no-annotate setup.cfg --extra dev \
		--constraint requirements/base.txt --output-file requirements/dev.txt

clean: ## remove everything that make made
	@rm -rf .venv .cache build dist .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +

# ---- installing: a stamp is younger than all that it was made from, so a second run installs nothing ----

$(BOOT)/stamp:
	@$(PYTHON) -m venv $(BOOT)
	@$(BOOT)/bin/python -m pip install --quiet --disable-pip-version-check "uv>=0.8,<1" \
		|| echo "uv cannot be installed here; pip installs instead, more slowly." >&2
	@touch $@

.venv/python.stamp: $(BOOT)/stamp
	@$(PYTHON) -m venv --without-pip .venv
	@touch $@

.venv/base.stamp: .venv/python.stamp requirements/base.txt setup.cfg pyproject.toml
	@$(call install,--requirement requirements/base.txt)
	@$(call install,--no-deps --editable .)
	@touch $@

.venv/dev.stamp: .venv/base.stamp requirements/dev.txt
	@$(call install,--requirement requirements/dev.txt)
	@touch $@

# A Java for the newest Neo4j, which the machine's may be too old for.
.venv/java.stamp: .venv/dev.stamp requirements/java.txt
	@$(call install,--requirement requirements/java.txt)
	@touch $@
