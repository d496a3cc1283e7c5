# Everything here works from a fresh clone and needs only Python 3.11+ with pip and venv.
PYTHON ?= python3
# With PINNED=1 exactly the versions of requirements/ci.txt, checked by their hashes, in an environment of their own.
VENV := $(if $(PINNED),.venv-pinned,.venv)
PINS := $(if $(PINNED),requirements/ci.txt)
BIN := $(VENV)/bin
BENCH := .venv-bench
CODE := src tests benchmarks scripts examples soak

.PHONY: help demo lab test test-long coverage test-extras soak soak-quick pins audit sbom lint docs dist bench bench-quick clean

help:
	@echo "make demo        set up, run a system end to end, leave pictures and results in demo/"
	@echo "make lab         set up and open the lab in the browser"
	@echo "make test        set up and run the tests"
	@echo "make test-long   the tests that take minutes"
	@echo "make coverage    the tests, with the lines that they reach; a page in htmlcov/"
	@echo "make test-extras the tests that need optional packages, in the environment of the peers"
	@echo "make soak        hours of random systems, bad input, faults and load; docs/guarantees.md says what for"
	@echo "make pins        choose versions for requirements/ci.txt anew; PINNED=1 tests with exactly these"
	@echo "make audit       known advisories against the pinned versions; ADVISORIES=FILE reads OSV records offline"
	@echo "make sbom        the pinned packages as a CycloneDX list, sbom.cdx.json"
	@echo "make lint        formatting, lint and types"
	@echo "make docs        build the documentation into site/"
	@echo "make dist        wheel and sdist in dist/, built twice and compared byte by byte"
	@echo "make bench       measure beside the peers, in an environment of its own"
	@echo "make clean       remove what these commands made"

# Without written bytecode each of the many processes that the tests start compiles every module.
unexport PYTHONDONTWRITEBYTECODE

# A stamp is newer than pyproject.toml once the environment holds what it asks for; then no network
# is needed. Modules are compiled when they are first imported, which is faster than all at once.
PIP := $(BIN)/python -m pip install --disable-pip-version-check --no-compile
PINNED_ONLY := $(if $(PINNED),--no-deps --no-build-isolation)

$(VENV)/.ready: pyproject.toml $(PINS)
	@test -x $(BIN)/python || { echo "Making $(VENV)/ with $(PYTHON)"; $(PYTHON) -m venv $(VENV); }
	$(if $(PINNED),$(PIP) --quiet --require-hashes -r requirements/ci.txt)
	@echo "Installing dalembert and the packages it needs into $(VENV)/ (about 0.9 GB; a minute or two)"
	@{ $(PIP) $(PINNED_ONLY) -e .; echo $$? > $(VENV)/.status; } \
		| awk '/^Collecting/ {print "  " $$2; fflush()} /^Installing/ {print "  installing"; fflush()}'; \
		exit $$(cat $(VENV)/.status)
	@$(BIN)/python -c "import dalembert.integrate.task"
	@touch $@

$(VENV)/.ready-test: $(VENV)/.ready
	@echo "Installing the test tools into $(VENV)/ (about 0.3 GB)"
	@$(PIP) --quiet $(PINNED_ONLY) -e ".[test]"
	@touch $@

$(VENV)/.ready-lint: $(VENV)/.ready
	@echo "Installing ruff, mypy and pyright into $(VENV)/ (about 0.3 GB)"
	@$(PIP) --quiet $(PINNED_ONLY) -e ".[lint]"
	@touch $@

demo: $(VENV)/.ready
	@$(BIN)/python scripts/demo.py

$(VENV)/.ready-lab: $(VENV)/.ready
	@echo "Installing the server of the lab into $(VENV)/"
	@$(PIP) --quiet $(PINNED_ONLY) -e ".[lab]"
	@touch $@

lab: $(VENV)/.ready-lab
	$(BIN)/dalembert lab examples

dist: $(VENV)/.ready
	@$(PIP) --quiet "hatchling>=1.24"
	$(BIN)/python scripts/build_twice.py dist

test: $(VENV)/.ready-test
	$(BIN)/python -m pytest -q -n 2 --dist worksteal

test-long: $(VENV)/.ready-test
	$(BIN)/python -m pytest -q -n 2 --dist worksteal -m long

$(VENV)/.ready-coverage: $(VENV)/.ready-test
	@$(PIP) --quiet $(PINNED_ONLY) -e ".[coverage]"
	@touch $@

coverage: $(VENV)/.ready-coverage
	$(BIN)/python -m pytest -q -n 2 --dist worksteal --cov=dalembert --cov-report=term:skip-covered --cov-report=html:htmlcov

$(BENCH)/.ready-extras: pyproject.toml
	test -x $(BENCH)/bin/python || $(PYTHON) -m venv $(BENCH)
	$(BENCH)/bin/python -m pip install --quiet --disable-pip-version-check -e ".[dev,heyoka,sundials,jax,contact-shapes]"
	touch $@

test-extras: $(BENCH)/.ready-extras
	$(BENCH)/bin/python -m pytest -q -m extras tests/unit/integrate
	$(BENCH)/bin/python -m pytest -q tests/unit/export/test_to_jax.py

soak: $(VENV)/.ready-test
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e ".[soak]"
	$(BIN)/python -m soak
	$(BIN)/python scripts/guarantees.py

soak-quick: $(VENV)/.ready-test
	$(BIN)/python -m soak --quick

pins: $(VENV)/.ready-test
	$(BIN)/python -m pip install --quiet --disable-pip-version-check uv
	$(BIN)/python scripts/pin.py

# Known advisories against the pinned versions: from a registry, or with ADVISORIES=FILE from OSV records on disk.
audit: $(VENV)/.ready-test
ifdef ADVISORIES
	$(BIN)/python scripts/supply_chain.py audit $(ADVISORIES)
else
	$(BIN)/python -m pip install --quiet --disable-pip-version-check pip-audit
	$(BIN)/python -m pip_audit --progress-spinner off --strict --require-hashes --disable-pip -r requirements/ci.txt
endif

sbom: $(VENV)/.ready-test
	$(BIN)/python scripts/supply_chain.py sbom -o sbom.cdx.json

lint: $(VENV)/.ready-test $(VENV)/.ready-lint
	$(BIN)/ruff format --check $(CODE)
	$(BIN)/ruff check $(CODE)
	$(BIN)/mypy
	$(BIN)/python -m pytest -q -m types tests/architecture/test_types.py

$(VENV)/.ready-docs: $(VENV)/.ready
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e ".[docs]"
	touch $@

docs: $(VENV)/.ready-docs
	$(BIN)/python scripts/build_docs.py

$(BENCH)/.ready: pyproject.toml benchmarks/peers-requirements.txt
	test -x $(BENCH)/bin/python || $(PYTHON) -m venv $(BENCH)
	$(BENCH)/bin/python -m pip install --quiet --disable-pip-version-check -e . -r benchmarks/peers-requirements.txt
	touch $@

bench: $(BENCH)/.ready
	$(BENCH)/bin/python benchmarks/run.py --resume

bench-quick: $(BENCH)/.ready
	$(BENCH)/bin/python benchmarks/run.py --quick

clean:
	rm -rf .venv .venv-pinned $(BENCH) demo site docs/generated htmlcov .coverage
