# Every target installs what it needs on the first run. Later runs skip that.
PY := .venv/bin/python
# Finds cmake in .venv if the system has none, and cargo if this shell was started before rustup was installed.
export PATH := $(PATH):$(CURDIR)/.venv/bin:$(or $(CARGO_HOME),$(HOME)/.cargo)/bin

.PHONY: help dev quick demo test test-all test-tensorflow test-frameworks test-ray test-gpu test-sanitizers stress check bench docs wheel release-check clean
.DEFAULT_GOAL := help

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-15s  %s\n", $$1, $$2 }' Makefile

dev: ## create .venv, build the engine in release mode, install the package in place (first 9 to 14 minutes, then seconds)
	@tools/set_up.sh

quick: ## build the engine without optimisation, and run the tests close to your changes
	@PROFILE=quick tools/set_up.sh
	@$(PY) -m tools.quick

demo: dev ## write handwritten digits to TFRecords, train a network on them, evaluate it
	@.venv/bin/headrace demo

test: dev ## run the tests that every change must pass (11 to 18 minutes on two cores)
	@tools/test.sh

test-all: dev ## run all tests with a new seed (hours), or PARTS="tensorflow pipelines"; SEED=7 repeats a run
	@tools/test_all.sh $(PARTS)

test-tensorflow: dev ## run the same programs under TensorFlow and headrace, and compare the results
	$(PY) -m tensorflow_comparison

test-frameworks: dev ## run the tests that need PyTorch, JAX, Polars, DuckDB or pandas (installs several GB)
	@tools/test_frameworks.sh

test-ray: dev ## run the tests that need Ray (installs 700 MB)
	@tools/test_ray.sh

test-gpu: dev ## run the tests that need a GPU, in the environment of test-frameworks or with PYTHON=...
	@tools/test_gpu.sh

stress: dev ## inject thousands of faults, damaged files and kills (hours; `.venv/bin/python -m stress --list` lists the parts)
	$(PY) -m stress

test-sanitizers: ## run the engine's tests under AddressSanitizer and ThreadSanitizer (rebuilds everything)
	@tools/sanitizers.sh

check: dev ## check formatting, lints, types, the stub and the layers
	@tools/check.sh

bench: dev ## compare the speed with other libraries (installs them; more than an hour)
	$(PY) -m benchmarks
	$(PY) -m benchmarks.scaling
	$(PY) -m benchmarks.memory

docs: dev ## generate the reference, and build the site in build/site
	@tools/docs.sh

wheel: dev ## build wheels for Linux in dist/ (x86-64 and aarch64, glibc and musl), or TARGETS="x86_64-unknown-linux-gnu"
	@tools/wheel.sh $(TARGETS)

release-check: dev ## try everything about a release that one machine can try, and print a table (hours), or STEPS="wheels minute"
	@$(PY) -m tools.release_check $(STEPS)

clean: ## remove everything that the other targets created
	rm -rf .venv .libraries .frameworks .ray .ray-bench .docs .wheel .foreign .deny dist build .bench benchmarks/results stress/results target .mypy_cache .ruff_cache .pytest_cache .hypothesis python/headrace/_native*.so
