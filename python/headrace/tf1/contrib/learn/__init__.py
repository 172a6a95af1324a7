"""`tf.contrib.learn`: input functions, but no estimators."""

from typing import TYPE_CHECKING

from headrace.tf1.contrib.learn import datasets, io
from headrace.tf1.contrib.learn.io import (
    queue_parsed_features,
    read_batch_examples,
    read_batch_features,
    read_batch_record_features,
    read_keyed_batch_examples,
    read_keyed_batch_examples_shared_queue,
    read_keyed_batch_features,
    read_keyed_batch_features_shared_queue,
)
from headrace.tf1.estimator.mode_keys import LearnModeKeys as ModeKeys
from headrace.tf1.namespace import namespace

if TYPE_CHECKING:
    from headrace.tf1.contrib.learn.runs import run_n

__all__ = [
    "ModeKeys",
    "datasets",
    "io",
    "queue_parsed_features",
    "read_batch_examples",
    "read_batch_features",
    "read_batch_record_features",
    "read_keyed_batch_examples",
    "read_keyed_batch_examples_shared_queue",
    "read_keyed_batch_features",
    "read_keyed_batch_features_shared_queue",
    "run_n",
]

if not TYPE_CHECKING:  # Hidden from mypy, so that mypy still reports unknown names.
    # Names that need protocol buffers are loaded on first use.
    late = {"run_n": "headrace.tf1.contrib.learn.runs"}
    __getattr__, __dir__ = namespace(__name__, __all__, late)
