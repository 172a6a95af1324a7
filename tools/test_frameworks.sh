#!/usr/bin/env bash
# Runs the tests that need PyTorch, JAX, their trainers or libraries that read Arrow. The first run installs these into their own
# environments (several GB). The tests use the package in this directory. If some tests fail, the others still run.
# `--nightly` kills longer trainings.
set -euo pipefail
cd "$(dirname "$0")/.."

testing=(pytest pytest-timeout pytest-xdist hypothesis 'numpy>=1.26' 'protobuf>=5.26')
status=0

environment() { # name, requirements... Sets `venv`, and installs what is not installed yet.
    venv=.frameworks/$1
    shift
    local requirements=("$@" "${testing[@]}")
    if [ "$(cat "$venv/installed" 2>/dev/null)" != "${requirements[*]}" ]; then
        printf '== installing %s into %s\n' "$*" "$venv"
        .venv/bin/python -m venv --clear "$venv"
        "$venv/bin/python" -m pip install --quiet "${requirements[@]}"
        printf '%s\n' "${requirements[*]}" >"$venv/installed"
    fi
}

# Most tests spend seconds on importing a framework, some in several processes, so each has more time than in `make test`.
run() { PYTHONPATH=$PWD/python "$venv/bin/python" -m pytest --numprocesses=2 --timeout=600 "$@" || status=$?; }

environment main torch lightning accelerate transformers trl torchdata grain 'mlx[cpu]' torchft-nightly torchvision albumentations \
    opencv-python-headless tifffile imagecodecs pillow tokenizers cloudpickle jax keras ml_dtypes polars duckdb fastparquet datasets \
    h5py zarr array_record pandas pyarrow nbclient ipykernel ipywidgets mlxtend datatrove orjson megatron-core \
    torchaudio librosa soundfile 'click>=8.1' 'tqdm>=4.66'
run -k 'jax or torch or resume or frameworks or outputs or loops or order or functions or language_models or old_programs' \
    tests/tf1/programs/test_tensorflow1_examples.py tests/test_readme.py tests/programs/test_benchmarks.py \
    tests/pipeline/outputs/test_outputs.py tests/pipeline/outputs/test_loops.py tests/pipeline/outputs/test_loaders_with_workers.py
run "$@" tests/pipeline/outputs/test_killed_trainers.py
run tests/pipeline/outputs/test_hf.py tests/pipeline/outputs/test_grain.py tests/pipeline/outputs/test_mlx.py \
    tests/pipeline/outputs/test_packed_attention.py tests/pipeline/outputs/test_megatron.py tests/pipeline/outputs/test_torchft.py \
    tests/pipeline/outputs/test_torchrun.py tests/pipeline/run/test_mesh_ranks.py tests/keras tests/torch tests/ops/augment \
    tests/programs/test_examples.py tests/programs/test_function_examples.py tests/ops/image/test_patches_libraries.py \
    tests/ops/image/test_wide_libraries.py tests/ops/strings/test_chat_libraries.py tests/ops/audio/test_audio_libraries.py \
    tests/pipeline/functions/test_global_generators.py tests/pipeline/functions/test_torch_generator.py \
    tests/pipeline/generated/test_table_files.py tests/pipeline/sources/test_indexed.py \
    tests/pipeline/sources/test_indexed_libraries.py tests/pipeline/sources/test_tables.py \
    tests/pipeline/sources/test_token_writers.py tests/pipeline/sources/tables/test_arrow.py \
    tests/pipeline/sources/tables/test_table_columns.py tests/pipeline/stages/test_schedules.py \
    tests/pipeline/stages/test_without_steps.py tests/pipeline/values/test_python_values.py tests/pipeline/views/test_notebooks.py

# torchtitan requires an older `datasets`.
environment torchtitan torch 'torchtitan>=0.3'
run tests/pipeline/outputs/test_torchtitan.py

# NeMo Automodel needs other versions and 6 GB, so only `AUTOMODEL=1 tools/test_frameworks.sh` installs it.
if [ "${AUTOMODEL:-}" = 1 ]; then
    environment automodel 'nemo-automodel==0.7.*'
    run tests/pipeline/outputs/test_automodel.py
fi
exit "$status"
