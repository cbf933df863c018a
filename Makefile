# Every target sets itself up in .venv; nothing else on the machine is touched.
PYTHON ?= python3.11
BIN := .venv/bin
# Versions are locked where they were tried: on Python 3.11. Other versions take what pyproject allows.
LOCKED = $(shell $(PYTHON) -c "import sys; print('-c constraints.txt' * (sys.version_info[:2] == (3, 11)))")

.DEFAULT_GOAL := help
.PHONY: help setup constraints demo test test-slow test-all test-browser test-mjlab test-lowest fuzz kill-test check format benchmark clean

help:            ## this text
	@grep -E '^[a-z-]+: .*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 16

setup: .venv/ready   ## create .venv and install gapless into it

.venv/ready: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet $(LOCKED) --editable '.[dev]'
	touch $@

constraints: setup  ## lock the versions that are installed now
	@{ head -2 constraints.txt; $(BIN)/python -m pip freeze --exclude-editable | sed 's/+cpu$$//'; } > constraints.new
	mv constraints.new constraints.txt

.venv-lowest/ready: pyproject.toml lowest.txt
	$(PYTHON) -m venv .venv-lowest
	.venv-lowest/bin/python -m pip install --quiet -c lowest.txt --editable '.[logs,plots,policies]' \
		pytest pytest-xdist hypothesis pandas
	touch $@

demo: setup      ## record a hidden H1-2 under loads, close its gap, write the report to out/demo
	$(BIN)/gapless demo --out out/demo

test: setup      ## the default tests, under ten minutes on two cores
	$(BIN)/python -m pytest -n 2 -m "not slow and not browser and not mjlab"

test-slow: setup ## the slow tests alone: long trainings, every command and program of the pages
	$(BIN)/python -m pytest -n 2 -m "slow and not browser and not mjlab"

test-all: setup  ## every test, the slow ones too
	$(BIN)/python -m pytest -n 2 -m "not browser and not mjlab"

test-browser: setup  ## the report and the viewer in headless Chromium
	@command -v chromium chromedriver > /dev/null || { \
		echo "chromium is missing: apt-get install chromium chromium-driver"; exit 1; }
	$(BIN)/python -m pip install --quiet --editable '.[browser]'
	$(BIN)/python -m pytest tests/browser -m browser

fuzz: setup      ## 100,000 damaged files of every reader; goes on where it was stopped
	PYTHONPATH=tests $(BIN)/python -m fuzz.campaign --count 100000 --out out/fuzz

kill-test: setup ## 200 SIGKILLs over every long command, then the disk, the memory and the clock
	PYTHONPATH=tests $(BIN)/python -m kills.campaign --count 200 --out out/kills

test-lowest: .venv-lowest/ready  ## the tests with the lowest versions that pyproject.toml allows
	.venv-lowest/bin/python -m pytest -n 2 -m "not slow and not browser" \
		tests/test_artifact.py tests/test_errors.py tests/robots tests/recordings tests/worlds/test_mujoco_world.py \
		tests/parameters tests/measurement/test_gap.py tests/measurement/test_replay.py tests/policies tests/identification/test_identifying.py

test-mjlab: .venv-mjlab/ready  ## exported packages in mjlab itself, on the CPU, in .venv-mjlab
	MJLAB_WARP_QUIET=1 .venv-mjlab/bin/python -m pytest tests/in_mjlab tests/learning/test_wandb_log.py

.venv-mjlab/ready: pyproject.toml
	$(PYTHON) -m venv .venv-mjlab
	.venv-mjlab/bin/python -m pip install --quiet --upgrade pip
	.venv-mjlab/bin/python -m pip install --quiet 'torch>=2.7,<2.14' 'pytest>=8.4' \
		--editable '.[mjlab,policies,logs,wandb]'
	touch $@

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
	rm -rf .venv .venv-lowest .venv-mjlab out .pytest_cache .ruff_cache
