# Every target sets up what it needs by itself; a second run is quick.
PY := .venv/bin/python
# For cmake, if the system has none; and where rustup puts cargo, for a shell started before that.
export PATH := $(PATH):$(CURDIR)/.venv/bin:$(or $(CARGO_HOME),$(HOME)/.cargo)/bin

.PHONY: help dev quick demo test test-all test-tensorflow test-frameworks test-ray test-gpu test-sanitizers stress check bench docs wheel clean
.DEFAULT_GOAL := help

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-15s  %s\n", $$1, $$2 }' Makefile

dev: ## set up .venv, build the engine in release mode, install the package in place; 9 to 14 minutes the first time, seconds later
	@tools/set_up.sh

quick: ## build the engine without optimising it, and run the tests near what changed
	@PROFILE=quick tools/set_up.sh
	@$(PY) -m tools.quick

demo: dev ## write real digits to TFRecords, train on them through a pipeline, evaluate
	@.venv/bin/headrace demo

test: dev ## run the tests of each change: of the engine, of the package, and models of its locks; 11 to 18 minutes on two cores
	@tools/test.sh

test-all: dev ## run all tests, for hours, with new random choices, or some: PARTS="tensorflow pipelines" SEED=7 repeats a run
	@tools/test_all.sh $(PARTS)

test-tensorflow: dev ## run one table of programs under TensorFlow and under headrace, and compare
	$(PY) -m tensorflow_comparison

test-frameworks: dev ## run what needs PyTorch, JAX, Polars, DuckDB or pandas; installs them, several GB
	@tools/test_frameworks.sh

test-ray: dev ## run what needs Ray, in an environment of its own; installs it, 700 MB
	@tools/test_ray.sh

test-gpu: dev ## run what needs a GPU, in the environment of test-frameworks or with PYTHON=...; fails without one
	@tools/test_gpu.sh

stress: dev ## faults, damage, leaks and schedules by the thousand; takes hours; `.venv/bin/python -m stress --list` names its parts
	$(PY) -m stress

test-sanitizers: ## run the engine's tests under AddressSanitizer and ThreadSanitizer; builds everything again
	@tools/sanitizers.sh

check: dev ## formats, lints, types, stub, layers
	@tools/check.sh

bench: dev ## measure beside other libraries, as ratios inside one run; installs them; takes more than an hour
	$(PY) -m benchmarks
	$(PY) -m benchmarks.scaling
	$(PY) -m benchmarks.memory

docs: dev ## write the pages that come from the package, and a static site in build/site
	@tools/docs.sh

wheel: dev ## build a wheel for Linux in dist/, and try it with each Python that is found
	@tools/wheel.sh

clean: ## remove everything that the other targets made
	rm -rf .venv .libraries .frameworks .ray .ray-bench .docs .wheel .deny dist build .bench benchmarks/results stress/results target .mypy_cache .ruff_cache .pytest_cache .hypothesis python/headrace/_native*.so
