#!/usr/bin/env bash
# Compares readers on Ray with Ray Data. The first run installs Ray, PyTorch and TensorFlow into their own environment (several
# GB). It measures the package in this directory. Arguments are passed on to benchmarks.ray.
set -euo pipefail
cd "$(dirname "$0")/.."

venv=.ray-bench
requirements=('ray[data,train]>=2.40' torch tensorflow-cpu pyarrow pillow 'numpy>=1.26' 'protobuf>=5.26' 'click>=8.1' 'tqdm>=4.66')

if [ "$(cat $venv/installed 2>/dev/null)" != "${requirements[*]}" ]; then
    printf '== installing Ray, PyTorch and TensorFlow into %s\n' $venv
    .venv/bin/python -m venv --clear $venv
    $venv/bin/python -m pip install --quiet "${requirements[@]}"
    printf '%s\n' "${requirements[*]}" >$venv/installed
fi
# Don't send usage statistics. The cluster is private, so it needs no authentication.
export RAY_USAGE_STATS_ENABLED=0 RAY_AUTH_MODE=disabled RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO=0
# By default, Ray's processes have a niceness of 15, so other programs on the machine would distort the results.
export RAY_worker_niceness=0
PYTHONPATH=$PWD/python:$PWD $venv/bin/python -m benchmarks.ray "$@"
