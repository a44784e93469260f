# Every command a newcomer or a contributor needs; each makes the environment it runs in.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin

.PHONY: demo test test-slow browser check lint readme results kills chaos test-mteb test-spark docs docs-generated smoke fuzz fuzz-api audit sbom clean

demo: $(VENV)/installed
	$(BIN)/rstc demo --out demo-run --overwrite

test: lint browser
	$(BIN)/pytest -n auto --dist loadfile  # a worker a core, each on one thread (tests/conftest.py)

# What takes longer: processes that are killed and go on, examples that train more than once.
test-slow: $(VENV)/installed-dev
	$(BIN)/pytest -n auto --dist loadfile -m slow

# Twenty runs, killed at twenty moments and taken up again; `make test` kills eight.
kills: $(VENV)/installed-dev
	RSTC_KILLS=20 $(BIN)/pytest tests/training/test_killed_runs.py

# All faults: kills, power cuts, locks, limits, altered folders. The numbers go to a table of docs/reliability.md.
chaos: $(VENV)/installed-dev
	RSTC_KILLS=20 $(BIN)/pytest -p chaos_figures -m chaos --chaos-out=benchmarks/results/chaos.json
	$(BIN)/python benchmarks/tables.py

# With MTEB, which is too large to be among the development tools.
test-mteb: $(VENV)/installed-dev
	$(BIN)/pip install --quiet --editable '.[mteb]' --constraint constraints.txt
	$(BIN)/pytest tests/integrations/test_mteb.py

# With Spark, which is too large to be among the development tools and needs Java.
test-spark: $(VENV)/installed-dev
	tools/install-java.sh
	$(BIN)/pip install --quiet --editable '.[spark]' --constraint constraints.txt
	$(BIN)/pytest -rs tests/pipelines/test_spark.py

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

# The tables and the figures of the paper, from the runs in benchmarks/results/paper.
results: $(VENV)/installed-dev readme
	$(BIN)/rstc benchmark figures --out docs/figures

# What the documentation and RSTC's signature repeat of the code: settings and commands.
docs-generated: $(VENV)/installed
	$(BIN)/python tools/generate_docs.py

# The documentation as a site, in build/site; a warning is an error.
docs: $(VENV)/installed-docs
	DISABLE_MKDOCS_2_WARNING=true NO_MKDOCS_2_WARNING=true $(BIN)/mkdocs build --strict

# The wheel and the source distribution, each installed into an empty environment and used there.
smoke: $(VENV)/installed-dev
	tools/smoke.sh $(PYTHON) $(BIN)

# Fuzz the readers and the model loader, SECONDS each; what is found is left in build/fuzz.
SECONDS ?= 60
fuzz: $(VENV)/installed-safety
	mkdir -p build/fuzz
	cd build/fuzz && for what in readers models; do \
	    ../../$(BIN)/python ../../tools/fuzz.py $$what -max_total_time=$(SECONDS) -timeout=60 -rss_limit_mb=3000 || exit 1; done

# Send requests to `rstc serve` that its OpenAPI document allows, and others: EXAMPLES for each operation.
EXAMPLES ?= 300
fuzz-api: $(VENV)/installed-dev
	RSTC_API_EXAMPLES=$(EXAMPLES) $(BIN)/pytest -m slow tests/service/test_api_fuzz.py

# Known weaknesses of what we depend on. Strict: what nobody could tell about is a failure, too.
audit: $(VENV)/installed-safety
	$(BIN)/pip-audit --strict --disable-pip --no-deps --requirement constraints.txt

# What a release consists of, as CycloneDX: an environment with nothing but it is made and listed.
sbom: $(VENV)/installed-safety
	tools/sbom.sh $(PYTHON) $(BIN)

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

$(VENV)/installed-docs: $(VENV)/installed
	$(BIN)/pip install --quiet --editable '.[docs]' --constraint constraints.txt
	touch $@

$(VENV)/installed-safety: $(VENV)/installed-dev
	$(BIN)/pip install --quiet --editable '.[safety]' --constraint constraints.txt
	touch $@

clean:
	rm -rf $(VENV) build demo-run .mypy_cache .ruff_cache .pytest_cache .hypothesis
