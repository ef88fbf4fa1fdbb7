# `make train` and `make test` do all that is needed on a fresh machine. PYTHON names the interpreter (3.11 or newer):
#   make test PYTHON=python3.12
PYTHON ?= python3
CONFIG ?= configs/quickstart.toml
VENV := .venv
PY := $(VENV)/bin/python
STAMP := $(VENV)/.installed
PYTEST_ARGS ?= -n auto --dist loadfile
BENCH_ARGS ?=

.PHONY: help venv train test test-slow lint bench playthroughs docs clean
.DELETE_ON_ERROR:

help:  ## this list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 20

venv: $(STAMP)  ## make .venv and install everything into it (nothing is done again until the files below change)

# The stamp is written last: an installation that was interrupted is taken up again, one that is complete is left alone.
$(STAMP): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else "coyote_env needs Python 3.11 or newer; $(PYTHON) is " + sys.version.split()[0] + ". Name another: make $(MAKECMDGOALS) PYTHON=python3.11")'
	$(PYTHON) -m venv $(VENV)
	$(PY) -m pip install --quiet --disable-pip-version-check -c constraints.txt torch
	$(PY) -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[train,test,lint]'
	@touch $@

train: $(STAMP)  ## train the quick start (or CONFIG=...) by self-play
	$(PY) -m training.selfplay $(CONFIG)

# The engine's tests run three times: compiled, compiled with bounds checks, and as plain Python. An out-of-range read in a
# record is silent garbage in the first and an error in the other two. One process compiles before several need it.
ENGINE_TESTS = $(shell grep -l 'mark\.engine' tests/test_*.py)

test: $(STAMP)  ## run all tests but the slow ones
	$(PY) -c 'import coyote_env.coyote_v0, coyote_env.coyote.bots, coyote_env.scout_v0, coyote_env.scout.bots'
	$(PY) -m pytest $(PYTEST_ARGS)
	NUMBA_DISABLE_JIT=1 $(PY) -m pytest $(PYTEST_ARGS) -m 'engine and not slow' $(ENGINE_TESTS)
	NUMBA_BOUNDSCHECK=1 $(PY) -c 'import coyote_env.coyote_v0, coyote_env.scout_v0'
	NUMBA_BOUNDSCHECK=1 $(PY) -m pytest $(PYTEST_ARGS) -m 'engine and not slow' $(ENGINE_TESTS)

test-slow: $(STAMP)  ## run the slow tests
	$(PY) -m pytest -m slow -n auto --dist worksteal  # most are mutants, all in one file

lint: $(STAMP)  ## ruff and mypy
	$(PY) -m ruff check .
	$(PY) -m mypy

bench: $(VENV)/.bench  ## measure speed and memory, beside games that PettingZoo ships
	$(PY) -m tests.bench $(BENCH_ARGS)

$(VENV)/.bench: $(STAMP)
	$(PY) -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[bench]'
	@touch $@

playthroughs: $(STAMP)  ## write tests/playthroughs anew; read the diff before you commit it
	$(PY) -m tests.make_playthroughs

docs: $(STAMP)  ## write the generated parts of all documents anew; read the diff before you commit it
	$(PY) -m tests.make_docs

clean:  ## remove .venv, caches and builds (runs/ stays)
	rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
