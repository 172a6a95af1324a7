"""`tf.contrib.slim`: data sets, but no layers or training.

Source: `tf.contrib.slim` in TensorFlow 1.15.
"""

from typing import TYPE_CHECKING

from headrace.tf1.adapters.variables import create_global_step
from headrace.tf1.contrib import losses, metrics
from headrace.tf1.contrib.slim import (
    data_decoder,
    data_provider,
    dataset,
    dataset_data_provider,
    parallel_reader,
    prefetch_queue,
    queues,
    tfexample_decoder,
)
from headrace.tf1.contrib.slim.labels import one_hot_encoding
from headrace.tf1.namespace import namespace
from headrace.tf1.ops.variables.global_step import (
    get_global_step,
    get_or_create_global_step,
)
from headrace.tf1.ops.variables.initialization import local_variables as get_local_variables

__all__ = [
    "create_global_step",
    "data_decoder",
    "data_provider",
    "dataset",
    "dataset_data_provider",
    "get_global_step",
    "get_local_variables",
    "get_or_create_global_step",
    "losses",
    "metrics",
    "one_hot_encoding",
    "parallel_reader",
    "prefetch_queue",
    "queues",
    "tfexample_decoder",
]

if not TYPE_CHECKING:  # Hidden from mypy, so that mypy still reports unknown names.
    __getattr__, __dir__ = namespace(__name__, __all__)
