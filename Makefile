# Every target sets itself up in .venv; nothing else on the machine is touched.
PYTHON ?= python3.11
BIN := .venv/bin

.DEFAULT_GOAL := help
.PHONY: help setup demo test test-slow test-all test-browser check format benchmark clean

help:            ## this text
	@grep -E '^[a-z-]+: .*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 16

setup: .venv/ready   ## create .venv and install gapless into it

.venv/ready: pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --editable '.[dev]'
	touch $@

demo: setup      ## record a hidden H1-2 under loads, close its gap, write the report to out/demo
	$(BIN)/gapless demo --out out/demo

test: setup      ## the default tests, under ten minutes on two cores
	$(BIN)/python -m pytest -n 2 -m "not slow and not browser"

test-slow: setup ## the slow tests alone: long trainings, every command and program of the pages
	$(BIN)/python -m pytest -n 2 -m "slow and not browser"

test-all: setup  ## every test, the slow ones too
	$(BIN)/python -m pytest -n 2 -m "not browser"

test-browser: setup  ## the report and the viewer in headless Chromium
	@command -v chromium chromedriver > /dev/null || { \
		echo "chromium is missing: apt-get install chromium chromium-driver"; exit 1; }
	$(BIN)/python -m pip install --quiet --editable '.[browser]'
	$(BIN)/python -m pytest tests/browser -m browser

check: setup     ## format, lint, types
	$(BIN)/ruff format --check src tests benchmarks examples
	$(BIN)/ruff check src tests benchmarks examples
	$(BIN)/pyright

format: setup    ## rewrite to the project's format
	$(BIN)/ruff format src tests benchmarks examples
	$(BIN)/ruff check --fix src tests benchmarks examples

benchmark: setup ## speed and memory, each against a named baseline of the same run
	$(BIN)/python benchmarks/replay_speed.py
	$(BIN)/python benchmarks/import_speed.py
	$(BIN)/python benchmarks/memory.py
	$(BIN)/python benchmarks/collect_speed.py
	$(BIN)/python benchmarks/optimal_excitation.py --robot so101_pair --seconds 8
	$(BIN)/python -m pip install --quiet --editable '.[benchmarks]'
	$(BIN)/python benchmarks/sysid_baseline.py
	$(BIN)/python benchmarks/halo_study.py --optimisers gauss-newton --starts nominal
	$(BIN)/python benchmarks/two_stage.py --cases b
	$(BIN)/python benchmarks/residual_torque.py
	$(BIN)/python benchmarks/gradient_against_ppo.py --minutes 20

clean:           ## remove what the other targets made
	rm -rf .venv out .pytest_cache .ruff_cache
