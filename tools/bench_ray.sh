#!/usr/bin/env bash
# Installs Ray, PyTorch and TensorFlow into an environment of their own (several GB), and measures the way through Ray
# beside Ray Data. Skips what is installed. The package is taken as it is built in this directory. Arguments go to benchmarks.ray.
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
# Nothing is sent anywhere, and the cluster is for this user alone.
export RAY_USAGE_STATS_ENABLED=0 RAY_AUTH_MODE=disabled RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO=0
# Ray's processes would give way to all others (niceness 15), and what is measured to whatever else the machine does.
export RAY_worker_niceness=0
PYTHONPATH=$PWD/python:$PWD $venv/bin/python -m benchmarks.ray "$@"
