"""`tf.contrib.training`: bucketing by length, sequence segments, resampling and hyperparameters.

Source: `tf.contrib.training` in TensorFlow 1.15.
"""

from typing import TYPE_CHECKING

from headrace.tf1.contrib.training.bucketing import bucket, bucket_by_sequence_length
from headrace.tf1.contrib.training.hparam import HParams, parse_values
from headrace.tf1.contrib.training.resample import resample_at_rate, weighted_resample
from headrace.tf1.contrib.training.sampling import rejection_sample, stratified_sample
from headrace.tf1.contrib.training.sequences import batch_sequences_with_states
from headrace.tf1.contrib.training.state_saver import (
    NextQueuedSequenceBatch,
    SequenceQueueingStateSaver,
)
from headrace.tf1.namespace import namespace

__all__ = [
    "HParams",
    "NextQueuedSequenceBatch",
    "SequenceQueueingStateSaver",
    "batch_sequences_with_states",
    "bucket",
    "bucket_by_sequence_length",
    "parse_values",
    "rejection_sample",
    "resample_at_rate",
    "stratified_sample",
    "weighted_resample",
]

if not TYPE_CHECKING:  # Hidden from mypy, so that mypy still reports unknown names.
    __getattr__, __dir__ = namespace(__name__, __all__)
