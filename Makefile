# Two commands for a newcomer: `make run` and `make test`. The virtual environment is .venv.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PORT ?= 8501
JOBS ?= 2
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check

.PHONY: run test test-all check lint bench stress screenshots docs docs-serve browser train clean help

help:
	@echo "make run          set up and open the dashboard on the embedded bundles (PORT=8501)"
	@echo "make test         set up everything and run all tests (JOBS=2 processes)"
	@echo "make test-all     the same, and every command over every shipped bundle"
	@echo "make check        lint, types, layers and the engine's tests: the inner loop"
	@echo "make lint         ruff and mypy"
	@echo "make bench        the page of benchmarks in benchmarks/RESULTS.md"
	@echo "make stress         the long forms of the load, fault and fuzz tests"
	@echo "make screenshots  pictures of every state of the dashboard into docs/images/"
	@echo "make docs         the documentation into site/; make docs-serve shows it while you write"
	@echo "make train        add torch and what voting and clusters need"

$(VENV)/.made:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "Python 3.11 or newer is needed; run make PYTHON=/path/to/python3.11"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(PIP) --quiet --no-deps --editable .
	@touch $@

$(VENV)/.run: requirements.txt $(VENV)/.made
	$(PIP) -r requirements.txt
	@touch $@

$(VENV)/.train: requirements-train.txt requirements.txt $(VENV)/.made
	$(PIP) -r requirements-train.txt
	@touch $@ $(VENV)/.run

$(VENV)/.dev: requirements-dev.txt requirements-train.txt requirements.txt $(VENV)/.made
	$(PIP) -r requirements-dev.txt
	@touch $@ $(VENV)/.train $(VENV)/.run

# Opens a browser where there is a screen; elsewhere the address that is printed can be opened by hand.
run: $(VENV)/.run
	@if [ -n "$$DISPLAY$$WAYLAND_DISPLAY" ] || [ "$$(uname)" = Darwin ]; then \
	  (sleep 4; $(BIN)/python -m webbrowser -t http://127.0.0.1:$(PORT) >/dev/null 2>&1) & fi; \
	echo "The dashboard: http://127.0.0.1:$(PORT)"; \
	exec $(BIN)/python app.py --server.port $(PORT)

train: $(VENV)/.train

# Debian's Chromium for the browser tests; without root or apt the tests that need it say so and are skipped.
browser:
	@command -v chromium >/dev/null 2>&1 || command -v google-chrome >/dev/null 2>&1 || { \
	  if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then \
	    apt-get update -qq && apt-get install -y -qq --no-install-recommends chromium fonts-dejavu-core; \
	  else \
	    echo "The browser tests need Chromium: as root, apt-get install chromium fonts-dejavu-core. Running the rest."; \
	  fi; }

# Two processes; a file's tests stay together, so that its server or browser is started once. Which files come first is
# said in tests/conftest.py: by number of tests, as is usual, a few long ones would come last.
PYTEST := $(BIN)/python -m pytest -n $(JOBS) --dist loadfile --no-loadscope-reorder

test: $(VENV)/.dev browser
	$(PYTEST)

# The same, and every command over every shipped bundle with its own time limits (`make test` walks a third).
test-all: $(VENV)/.dev browser
	CERTCORE_WALK=all $(PYTEST)

# The inner loop: lint, types, the layers of the engine and what it computes. What takes longer than a few seconds, and
# graphs of PubMed's size, wait for `make test`.
check: lint
	$(PYTEST) -q -m "not slow" tests/engine tests/messages --ignore tests/engine/test_engine_large.py

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: $(VENV)/.dev
	$(BIN)/python -m benchmarks.run

stress: $(VENV)/.dev browser
	$(BIN)/python -m stress

screenshots: $(VENV)/.dev browser
	$(BIN)/python -m tests.browser.screenshots

docs: $(VENV)/.dev
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict --quiet
	@echo "The documentation: site/index.html"

docs-serve: $(VENV)/.dev
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs serve

clean:
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache build dist *.egg-info
