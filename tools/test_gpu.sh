#!/usr/bin/env bash
# Runs the tests that need a GPU, in the environment of test_frameworks.sh. To use another Python that has PyTorch and JAX with
# CUDA support, set PYTHON=/path/to/python3. To install JAX with CUDA support, run `pip install 'jax[cuda12]'`.
set -euo pipefail
cd "$(dirname "$0")/.."

python=${PYTHON:-.frameworks/main/bin/python}
[ -x "$(command -v "$python")" ] || {
    printf 'test-gpu: there is no %s. Run make test-frameworks, or name a Python with PyTorch: make test-gpu PYTHON=python3\n' "$python" >&2
    exit 1
}
HEADRACE_TEST_GPU=1 PYTHONPATH=$PWD/python "$python" -m pytest tests/pipeline/outputs/test_outputs_on_a_gpu.py
