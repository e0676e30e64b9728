VENV ?= .venv
PYTHON ?= python3
BIN := $(VENV)/bin

.DEFAULT_GOAL := help

help: ## show the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 16

$(VENV)/.installed: pyproject.toml hatch_build.py
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install -qq --upgrade pip
	$(BIN)/python -m pip install -qq -e '.[dev]'
	touch $@

setup: $(VENV)/.installed ## make the environment

recommend: $(VENV)/.installed ## answer the default question from the committed data
	@$(BIN)/advisor recommend

app: $(VENV)/.installed ## open the dashboard
	@$(BIN)/advisor app

test: $(VENV)/.installed ## every check: lint, types, layers, tests
	PATH="$(CURDIR)/$(BIN):$$PATH" scripts/check

bench: $(VENV)/.installed ## measure the speed targets, as ratios
	$(BIN)/python -m pytest tests/performance -m performance -q -s -p no:xdist

$(VENV)/.torch: $(VENV)/.installed
	$(BIN)/python -m pip install -qq 'torch==2.13.0' onnx onnxruntime onnxscript
	$(BIN)/python -m pip install -qq --no-deps onnx2torch
	touch $@

test-torch: $(VENV)/.torch ## the backends that need torch and onnxruntime
	$(BIN)/python -m pytest tests -m torch -q

study: $(VENV)/.installed ## the full coverage study of the intervals (long)
	$(BIN)/python -m tests.studies.coverage --replications 2000

clean: ## remove what the targets made
	rm -rf $(VENV) test-output build dist

.PHONY: help setup recommend app test bench test-torch study clean
