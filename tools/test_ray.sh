#!/usr/bin/env bash
# Runs the tests that need Ray. The first run installs Ray into its own environment (about 700 MB). The tests use the package in
# this directory. Arguments are passed on to pytest.
set -euo pipefail
cd "$(dirname "$0")/.."

venv=.ray
requirements=('ray[data]>=2.40' pyarrow pillow pytest pytest-timeout hypothesis 'numpy>=1.26' 'protobuf>=5.26' 'click>=8.1' 'tqdm>=4.66' mlxtend)

if [ "$(cat $venv/installed 2>/dev/null)" != "${requirements[*]}" ]; then
    printf '== installing Ray into %s\n' $venv
    .venv/bin/python -m venv --clear $venv
    $venv/bin/python -m pip install --quiet "${requirements[@]}"
    printf '%s\n' "${requirements[*]}" >$venv/installed
fi
# Don't send usage statistics. The clusters are private, so they need no authentication.
export RAY_USAGE_STATS_ENABLED=0 RAY_AUTH_MODE=disabled RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO=0
PYTHONPATH=$PWD/python $venv/bin/python -m pytest "${@:-tests/ray}"
