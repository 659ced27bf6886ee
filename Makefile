# Two commands matter: `make demo` runs a simulation, `make test` runs the tests. Both build .venv first.
# Tools are called as `.venv/bin/python -m ...`: scripts hold an absolute path and break when a checkout moves.

PYTHON ?= python3
PY := .venv/bin/python
STAMP := .venv/.installed

.PHONY: install demo test test-long lint bench bench-wormhole docs clean

install: $(STAMP)

demo: $(STAMP)
	$(PY) -m wormhole_core run examples/demo.toml

test: $(STAMP)
	$(PY) -m pytest -q

test-long: $(STAMP)
	$(PY) -m pytest -q -m "long or not long"

lint: $(STAMP)
	$(PY) -m ruff check .
	$(PY) -m mypy

bench: $(STAMP)
	$(PY) benchmarks/bench_packet.py

bench-wormhole: $(STAMP)
	$(PY) benchmarks/bench_wormhole.py

docs: $(STAMP)
	$(PY) -m pytest -q tests/test_docs.py tests/test_docs_hooks.py tests/test_hooks.py tests/test_tutorials.py tests/test_readme.py

clean:
	rm -rf .venv .pytest_cache .ruff_cache .mypy_cache .hypothesis build dist
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(STAMP): requirements-dev.txt constraints.txt pyproject.toml $(wildcard plugins/*/pyproject.toml)
	@$(PYTHON) -c 'import sys; v = sys.version_info; v >= (3, 11) or sys.exit("Wormhole needs Python 3.11 or newer, found %d.%d; try make PYTHON=python3.11 $(or $(MAKECMDGOALS),install)" % (v[0], v[1]))'
	$(PYTHON) -m venv .venv
	$(PY) -m pip install --quiet --disable-pip-version-check -r requirements-dev.txt
	@touch $@
