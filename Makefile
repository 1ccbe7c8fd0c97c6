# Everything runs in .venv, which `make` builds from pyproject.toml and the pinned constraints.txt.
PYTHON ?= python3
BIN := .venv/bin
READY := .venv/ready
MATHEMATICS := $(addprefix tests/,laws numbers privacy mechanisms statistics)

.PHONY: demo serve test quick debian lint format stub bench docs clean

demo: $(READY)   ## plan, fit, certificate, report and ledger on the bundled Adult data
	$(BIN)/discreet demo --out out --fresh

serve: $(READY)  ## a filled example of the service, at http://127.0.0.1:8000; tokens are in out/service/tokens.txt
	@test -d out/service || $(BIN)/discreet service example out/service
	$(BIN)/discreet serve out/service

test: $(READY) debian     ## the whole test suite, warnings as errors
	$(BIN)/python -m pytest -n 2 --dist worksteal -q

quick: $(READY)  ## the mathematics in under a minute: laws, numbers, privacy, mechanisms, statistics
	$(BIN)/python -m pytest -n 2 --dist worksteal -q -m "not slow" $(MATHEMATICS)

debian:          # the report's pages are looked at in a real browser; ICU and citext need a server that has them
	@{ command -v chromium && ls /usr/lib/postgresql; } >/dev/null 2>&1 || { \
	  echo "installing Debian's chromium and postgresql for the tests"; \
	  apt-get update -qq && apt-get install -y -qq chromium postgresql >/dev/null; }

lint: $(READY)   ## style and strict types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(READY)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

stub: $(READY)   ## the names that type checkers read of the package, from the catalogue
	$(BIN)/python -m discreet.stub

bench: $(READY)  ## ratios measured side by side; minutes
	for script in $(filter-out %peers.py %sizes.py,$(wildcard benchmarks/*.py)); do $(BIN)/python $$script || exit 1; done

docs: $(READY)   ## the documentation as a site, strictly: a broken link is an error
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

$(READY): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || \
	  { echo "discreet needs Python 3.11 or later with venv; installing Debian's"; \
	    apt-get update -qq && apt-get install -y -qq python3 python3-venv; }
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[dev]'
	@touch $(READY)

clean:
	rm -rf .venv site out .pytest_cache .mypy_cache .ruff_cache .hypothesis
