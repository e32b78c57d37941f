# `make demo` and `make test` need Python 3.11+, make and a package index; nothing else.
# Each target builds .venv from the hash-locked requirements by itself.
PYTHON ?= python3
CORES ?= all
CONFIG ?= config/paper.yaml
# Every job and hundreds of tests are processes of their own: none compiles again what another has compiled.
unexport PYTHONDONTWRITEBYTECODE

VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check
LOCK := uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header \
	--custom-compile-command "make lock" pyproject.toml requirements/build.in
RUN := $(BIN)/dams run --cores $(CORES)

.DEFAULT_GOAL := help
.PHONY: help demo test paper sepsis beyond lint docs bench lock clean

help: ## Show this list
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "make %-7s %s\n", $$1, $$2}'

demo: $(VENV)/pipeline ## Run the whole pipeline on embedded data (about a minute)
	$(RUN) config/quickstart.yaml

test: $(VENV)/dev ## Run every test
	$(BIN)/python -m pytest

paper: $(VENV)/pipeline ## Regenerate the paper (CONFIG=… for another study, CORES=… for fewer cores)
	$(RUN) $(CONFIG)

sepsis: $(VENV)/dev ## Compare two real hospitals with known losses, on open data (some minutes)
	$(RUN) config/sepsis.yaml

# Beside dams alone it runs methods of skada, which is among the packages for development.
beyond: $(VENV)/dev ## Compare all methods under known mechanisms of loss and shift (some minutes)
	$(RUN) config/beyond.yaml

lint: $(VENV)/dev ## Check style, types, layers and workflow
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/snakefmt --check Snakefile workflow
	$(BIN)/snakemake --lint

docs: $(VENV)/dev ## Build the site, docs/_build/html/index.html (about a minute, no network)
	OMP_NUM_THREADS=1 $(BIN)/python -m sphinx --fail-on-warning --keep-going -b html docs docs/_build/html
	$(BIN)/python -m pytest -q -n0 tests/test_docs_browser.py

bench: $(VENV)/dev ## Measure speed and renew its tables, benchmarks/README.md (some twenty minutes)
	$(BIN)/python -m benchmarks

lock: ## Renew the locked requirements (needs uv)
	$(LOCK) --extra pipeline -o requirements/pipeline.txt
	$(LOCK) --extra dev -c requirements/pipeline.txt -o requirements/dev.txt

clean: ## Remove .venv, caches, the built site and results that are not in git
	rm -rf $(VENV) docs/_build docs/generated .snakemake .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
	@git clean -qfdX results 2>/dev/null || echo "results/ is left as it is: only git tells what came with the code."

# A stamp file per set of requirements: an unchanged lock installs nothing.
$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "dams needs Python 3.11 or newer; PYTHON=… names one")'
	$(PYTHON) -m venv $(VENV)

$(VENV)/pipeline: requirements/pipeline.txt pyproject.toml | $(VENV)/bin/python
	$(PIP) install --quiet --require-hashes -r $<
	$(PIP) install --quiet --no-deps --no-build-isolation --editable .
	@touch $@

# Most modules of these are never imported: what is, is compiled then.
$(VENV)/dev: requirements/dev.txt $(VENV)/pipeline | $(VENV)/bin/python
	$(PIP) install --quiet --no-compile --require-hashes -r $<
	@touch $@
