# Each target below sets up .venv by itself; Python 3.11+ and make are all it takes.
#   make test ARGS="-k bound -x"     extra arguments for pytest (or for the demo, or the benchmarks)
#   make setup PYTHON=python3.12     another interpreter than the first suitable one

PYTHON ?= python3 python3.13 python3.12 python3.11
ARGS ?=
VENV := .venv
BIN := $(VENV)/bin
# An unfinished set-up leaves `unfinished` behind and is thrown away by the next one; `installed` is
# written last. A .venv with neither is someone's own, and is filled rather than replaced.
UNFINISHED := $(VENV)/unfinished
INSTALLED := $(VENV)/installed

# These models are too small to share: a second thread slows them down, a second process does not.
export OMP_NUM_THREADS := 1
export MKL_NUM_THREADS := 1

.DEFAULT_GOAL := help
.PHONY: help setup demo serve test lowest pythons chemprop lint docs check bench clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "make %-8s %s\n", $$1, $$2 }' Makefile

setup: $(INSTALLED) ## make .venv with the package and its tools (once, about two minutes)

demo: $(INSTALLED) ## train a small model, find toxicophores, and write a report with pictures to out/demo
	$(BIN)/vgib demo --out out/demo $(ARGS)

serve: $(INSTALLED) ## open a page on which molecules are pasted or drawn and recognized
	$(BIN)/vgib serve --fetch-editor --open $(ARGS)

test: $(INSTALLED) ## run the tests, all but the slow ones and those that need the internet
	$(BIN)/python -m pytest -n 2 --dist loadgroup -m "not slow and not network" $(ARGS)

lowest: ## run the tests with the lowest version of each dependency that is allowed, in .venv-lowest
	@for python in $(PYTHON); do if $$python -c 'import venv' >/dev/null 2>&1; then break; fi; done; PYTHON=$$python .ci/lowest .venv-lowest $(ARGS)

pythons: ## run the tests with each Python from 3.11 to 3.13 that is installed, in .venv-3.11 and so on
	@for version in 3.11 3.12 3.13; do \
	  if python$$version -c 'import ensurepip, venv' >/dev/null 2>&1; then \
	    $(MAKE) --no-print-directory test VENV=.venv-$$version PYTHON=python$$version || exit 1; \
	  else \
	    echo "python$$version is not installed: not tested."; \
	  fi; \
	done

chemprop: ## install chemprop, which `vgib run adme` compares with, in .venv-chemprop
	@for python in $(PYTHON); do if $$python -c 'import ensurepip, venv' >/dev/null 2>&1; then break; fi; done; $$python -m venv .venv-chemprop
	.venv-chemprop/bin/python -m pip install -q --disable-pip-version-check -c constraints.txt 'chemprop>=2.2,<3'

lint: $(INSTALLED) ## look for mistakes, check the formatting, check the types, build the docs
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	@$(MAKE) --no-print-directory docs

docs: $(INSTALLED) ## build the documentation into site, without a warning
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

check: lint test ## what CI runs: lint, then test

bench: $(INSTALLED) ## measure the speed of training against the usual ways to write it
	$(BIN)/python -m benchmarks.train $(ARGS)

clean: ## remove results, builds and caches; .venv stays
	rm -rf out dist build site .mypy_cache .ruff_cache .pytest_cache .hypothesis
	find src tests benchmarks examples -name __pycache__ -type d -prune -exec rm -rf {} +

$(INSTALLED): pyproject.toml constraints.txt
	@if [ -e $(UNFINISHED) ]; then echo "An earlier set-up of $(VENV) was interrupted: starting again."; rm -rf $(VENV); fi
	@if ! $(BIN)/python -m pip --version >/dev/null 2>&1; then \
	  for python in $(PYTHON); do \
	    if $$python -c 'import ensurepip, sys, venv; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; then \
	      found=$$python; break; \
	    fi; \
	  done; \
	  if [ -z "$$found" ]; then \
	    echo "vgib needs Python 3.11 or newer with its venv module (on Debian: python3-venv); tried: $(PYTHON)." >&2; \
	    echo "Name one with: make setup PYTHON=/path/to/python" >&2; \
	    exit 1; \
	  fi; \
	  echo "Making $(VENV) with $$($$found --version)."; \
	  $$found -m venv --clear $(VENV); \
	fi
	@touch $(UNFINISHED)
	@echo "Installing vgib and its tools into $(VENV): about two minutes the first time, seconds after that."
	@$(BIN)/python -m pip install -qq --disable-pip-version-check -c constraints.txt -e '.[dev]'
	@mv $(UNFINISHED) $@
	@touch $@
