# Every command a newcomer or a contributor needs; each makes the environment it runs in.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin

.PHONY: demo test browser check lint readme results clean

demo: $(VENV)/installed
	$(BIN)/rstc demo --out demo-run --overwrite

test: lint browser
	$(BIN)/pytest -n auto --dist loadfile  # a worker a core, each on one thread (tests/conftest.py)

# Chromium for the tests of the page, where it is missing.
browser:
	tools/install-browser.sh

lint: $(VENV)/installed-dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

check: test

readme: $(VENV)/installed
	$(BIN)/python benchmarks/tables.py

# The tables and the figures of the paper, from the runs in benchmarks/store.
results: $(VENV)/installed-dev readme
	$(BIN)/rstc benchmark figures --out docs/figures

# torch comes first and alone: asked for by its exact version, pip may take a CPU build.
$(VENV)/torch: constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --upgrade pip
	$(BIN)/pip install --quiet "$$(grep '^torch==' constraints.txt)"
	touch $@

$(VENV)/installed: $(VENV)/torch pyproject.toml
	$(BIN)/pip install --quiet --editable . --constraint constraints.txt
	touch $@

$(VENV)/installed-dev: $(VENV)/installed
	$(BIN)/pip install --quiet --editable '.[dev]' --constraint constraints.txt
	touch $@

clean:
	rm -rf $(VENV) demo-run .mypy_cache .ruff_cache .pytest_cache .hypothesis
