"""Tests of `headrace.torch`, which run if PyTorch is installed."""

from importlib.util import find_spec

if not find_spec("torch"):
    collect_ignore_glob = ["test_*.py"]
