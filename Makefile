# Everything is made in .venv, from pyproject.toml, on a machine that has Python and make.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
TYPECHECK := build/typecheck
PACKAGES := nclue_cli nclue_construct nclue_core nclue_dataset nclue_http nclue_metric \
            nclue_reconstruct nclue_stats nclue_systems

.PHONY: demo test lint types format wheel clean tesseract

demo: $(VENV)/.core tesseract  ## load and score the embedded benchmark
	$(BIN)/nclue demo

test: $(VENV)/.dev tesseract  ## run the tests
	$(BIN)/python -m pytest -n 2 --dist loadfile

lint: $(VENV)/.dev types  ## style and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/.dev $(TYPECHECK)/nclue_metric
	$(BIN)/mypy $(addprefix -p ,$(PACKAGES))

format: $(VENV)/.dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

wheel: $(VENV)/.dev
	$(BIN)/python -m build --wheel --outdir dist .

clean:
	rm -rf $(VENV) build dist *.egg-info

tesseract:
	@command -v tesseract >/dev/null || \
	  echo "Tesseract is not installed; what needs it is skipped. Install it with:" \
	       "apt-get install -y tesseract-ocr"

# `evaluate` wants the metric's modules flat in metrics/n_clue, so that one folder cannot bear the
# name it is imported by (nclue_metric): mypy is shown a copy under that name.
$(TYPECHECK)/nclue_metric: $(wildcard metrics/n_clue/*.py) Makefile
	rm -rf $(TYPECHECK)
	mkdir -p $@
	cp metrics/n_clue/*.py $@/

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10))' || \
	  { echo "n-Clue needs Python 3.10 or newer; name one with: make PYTHON=python3.12"; exit 1; }
	$(PYTHON) -m venv $(VENV)

$(VENV)/.core: $(BIN)/python pyproject.toml
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e .
	touch $@

$(VENV)/.dev: $(BIN)/python pyproject.toml
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e ".[dev]"
	touch $@ $(VENV)/.core
