# make demo   the dashboard on the bundled generator
# make test   style, types, layers and all tests
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check

.DEFAULT_GOAL := help
.PHONY: help demo test check pytest format wheels site release clean

help:
	@grep -E '^# make' Makefile | cut -c3-

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

# A stamp per set of packages: a second `make` starts at once.
$(VENV)/.demo: pyproject.toml constraints.txt | $(VENV)/bin/python
	$(PIP) install --quiet -c constraints.txt -e '.[demo]'
	@touch $@

$(VENV)/.dev: pyproject.toml constraints.txt | $(VENV)/bin/python
	$(PIP) install --quiet -c constraints.txt -e '.[demo,dev]'
	@touch $@ $(VENV)/.demo

demo: $(VENV)/.demo
	$(BIN)/mgtop demo $(ARGS)

test: check pytest

check: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

# Most tests wait for processes: two workers halve the time, also on two cores. A file's tests stay
# together, since they share programs.
pytest: $(VENV)/.dev
	$(BIN)/python -m pytest -n auto --dist loadfile $(ARGS)

# make format  let ruff put the code in order
format: $(VENV)/.dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# make wheels  wheel and sdist of mgtop and mgtop-probe in dist/
wheels: $(VENV)/.dev
	$(BIN)/python -m build --outdir dist .
	$(BIN)/python -m build --outdir dist mgtop/probe

# make site    the documentation as a site, in site/
site: $(VENV)/.dev
	$(BIN)/python docs/make_site.py

# make release  builds everything twice, installs it in clean environments of every Python, uses it
release: $(VENV)/.dev
	$(BIN)/python .ci/release.py --tests $(ARGS)

clean:
	rm -rf $(VENV) dist build site .pytest_cache .mypy_cache .ruff_cache .hypothesis
