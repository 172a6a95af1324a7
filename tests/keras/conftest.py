"""Tests of `headrace.keras`, which run where Keras is installed."""

import os
from importlib.util import find_spec

if find_spec("keras"):
    # This process only compares values, but Keras needs a backend.
    backend = next(filter(find_spec, ("jax", "torch", "tensorflow")))
    os.environ.setdefault("KERAS_BACKEND", backend)
else:
    collect_ignore_glob = ["test_*.py"]
