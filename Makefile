# Every command a newcomer or a contributor needs; each makes the environment it runs in.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin

.PHONY: demo test test-slow browser check lint readme results kills chaos test-mteb test-mlflow test-spark docs docs-generated dist smoke smoke-newest \
    test-lowest lock check-dockerfile fuzz fuzz-api audit sbom clean
.SECONDARY: # what is installed stays installed

demo: $(VENV)/installed
	$(BIN)/rstc demo --out demo-run --overwrite

test: lint browser
	$(BIN)/pytest -n auto --dist loadfile  # a worker a core, each on one thread (tests/conftest.py)

# What takes longer: processes that are killed and go on, examples that train more than once; faults have `make chaos`.
test-slow: $(VENV)/installed-dev
	$(BIN)/pytest -n auto --dist loadfile -m "slow and not chaos"

# Twenty runs, killed at twenty moments and taken up again; `make test` kills eight.
kills: $(VENV)/installed-dev
	RSTC_KILLS=20 $(BIN)/pytest tests/training/test_killed_runs.py

# All faults: kills, power cuts, locks, limits, altered folders. The numbers go to a table of docs/reliability.md.
chaos: $(VENV)/installed-dev
	RSTC_KILLS=20 $(BIN)/pytest -p chaos_figures -m chaos --chaos-out=benchmarks/results/chaos.json
	$(BIN)/python benchmarks/tables.py

# With MTEB, which is too large to be among the development tools.
test-mteb: $(VENV)/installed-dev
	$(BIN)/python tools/install.py mteb
	$(BIN)/pytest tests/integrations/test_mteb.py

# With MLflow, which brings many packages, too.
test-mlflow: $(VENV)/installed-dev
	$(BIN)/python tools/install.py mlflow
	$(BIN)/pytest -rs tests/integrations/test_mlflow.py

# With Spark, which is too large to be among the development tools and needs Java.
test-spark: $(VENV)/installed-dev
	tools/install-java.sh
	$(BIN)/python tools/install.py spark
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

# The wheel and the source distribution in dist/, and what an index would object to.
dist: $(VENV)/installed-release
	tools/dist.sh $(BIN)

# Both, each installed into an empty environment and used there.
smoke: dist
	tools/smoke.sh $(PYTHON)

# The same wheel with the newest versions of everything but torch, as `pip install` takes them.
smoke-newest: dist
	tools/smoke.sh $(PYTHON) newest

# The lowest versions that pyproject.toml allows, and the tests of what depends on them most.
test-lowest:
	tools/test-lowest.sh $(PYTHON)

# Exact versions and hashes for every supported Python; UPGRADE=--upgrade takes the newest.
lock: $(VENV)/installed-release
	$(BIN)/python tools/lock.py $(UPGRADE)

# The steps of the Dockerfile, without a Docker engine.
check-dockerfile:
	$(PYTHON) tools/check_dockerfile.py

# Fuzz the readers and the model loader, SECONDS each; what is found is left in build/fuzz.
SECONDS ?= 60
fuzz: $(VENV)/installed-dev $(VENV)/installed-safety
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

# Exact versions, every file checked by its sha256 (docs/reliability.md).
$(VENV)/created:
	$(PYTHON) -m venv $(VENV)
	touch $@

$(VENV)/installed: $(VENV)/created pyproject.toml constraints-hashed.txt build-constraints.txt
	$(BIN)/python tools/install.py
	touch $@

$(VENV)/installed-%: $(VENV)/installed
	$(BIN)/python tools/install.py $*
	touch $@

clean:
	rm -rf $(VENV) build demo-run .mypy_cache .ruff_cache .pytest_cache .hypothesis
