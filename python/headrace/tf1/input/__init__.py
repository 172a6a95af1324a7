"""Input pipelines: producers fill queues with names or slices, and batchers create batches."""

from headrace.tf1.input.batching import batch, batch_join, shuffle_batch, shuffle_batch_join
from headrace.tf1.input.filenames import match_filenames_once
from headrace.tf1.input.maybe_batching import (
    maybe_batch,
    maybe_batch_join,
    maybe_shuffle_batch,
    maybe_shuffle_batch_join,
)
from headrace.tf1.input.producers import (
    input_producer,
    limit_epochs,
    range_input_producer,
    slice_input_producer,
    string_input_producer,
)

__all__ = [
    "batch",
    "batch_join",
    "input_producer",
    "limit_epochs",
    "match_filenames_once",
    "maybe_batch",
    "maybe_batch_join",
    "maybe_shuffle_batch",
    "maybe_shuffle_batch_join",
    "range_input_producer",
    "shuffle_batch",
    "shuffle_batch_join",
    "slice_input_producer",
    "string_input_producer",
]
