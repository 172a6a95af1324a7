"""Creates batches of sequence segments, filled by a queue runner.

Source: `tf.contrib.training.batch_sequences_with_states` in TensorFlow 1.15.
"""

from collections.abc import Mapping
from typing import Any

from headrace.core.dtypes import DType, int32, int64, string
from headrace.core.errors import CancelledError, OutOfRangeError
from headrace.graph import Tensor, TensorLike, control_dependencies, name_scope
from headrace.ops.control.control_flow import Assert
from headrace.ops.sparse.tensor import SparseTensor, SparseTensorValue
from headrace.tf1 import ops
from headrace.tf1.contrib.training.state_saver import (
    NextQueuedSequenceBatch,
    SequenceQueueingStateSaver,
)
from headrace.tf1.ops.summary.scalar import scalar
from headrace.tf1.queue_runners import QueueRunner, add_queue_runner

__all__ = ["batch_sequences_with_states"]

_ENDS = (OutOfRangeError, CancelledError)

# The upper bound for the random numbers that make keys unique.
_MAX_NUMBER = 100_000_000


def batch_sequences_with_states(
    input_key: TensorLike,
    input_sequences: Mapping[str, Any],
    input_context: Mapping[str, Any],
    input_length: TensorLike | None,
    initial_states: Mapping[str, TensorLike],
    num_unroll: int,
    batch_size: TensorLike,
    num_threads: int = 3,
    capacity: int = 1000,
    allow_small_batch: bool = True,
    pad: bool = True,
    make_keys_unique: bool = False,
    make_keys_unique_seed: int | None = None,
    name: str | None = None,
) -> NextQueuedSequenceBatch:
    """Cuts sequences into segments of equal length and batches them with a queue runner.

    A batch has one segment from each of `batch_size` sequences. Once `save_state` has run for each
    state, the next batch contains the following segments.

    Args:
        input_key: The key of a sequence, a scalar string. Sequences that are held at the same time
            must have different keys.
        input_sequences: The components of a sequence, by name: dense or sparse tensors with one row
            per step. The shape of a dense row must be known.
        input_context: The values for the whole sequence, by name: dense tensors of known shape, or
            sparse tensors.
        input_length: The number of steps that are not padding, a scalar int32. It is required
            unless `pad` is True. By default, all steps count.
        initial_states: The states at the start of a sequence, by name. Their shapes must be known.
        num_unroll: The number of steps in a segment.
        batch_size: The number of segments in a batch, an integer or a scalar int32.
        num_threads: The number of threads that compute sequences.
        capacity: The number of sequences that are held at the same time.
        allow_small_batch: Whether batches can be smaller at the end of the input.
        pad: Whether sequences are padded to a multiple of `num_unroll`, with 0, False or "". If
            False, their length must already be a multiple.
        make_keys_unique: Whether a random number is appended to each key.
        make_keys_unique_seed: The seed of the random numbers.
        name: Name of the scope.

    Returns:
        The batch. Sparse tensors have the shape (batch size, `num_unroll`, ...), or (batch size,
        ...) in the context.

    Raises:
        InvalidArgumentError: At run time, if a sequence has no steps, its length is not a multiple
            of `num_unroll` and `pad` is False, or its tensors have different lengths.
        TypeError: If an argument has the wrong type.
        ValueError: If shapes are unknown, or `input_sequences` or `initial_states` is empty.
    """
    values = [*input_sequences.values(), *input_context.values(), *initial_states.values()]
    with name_scope(name, "batch_sequences_with_states", values):
        sequences = {key: _converted(key, value) for key, value in sorted(input_sequences.items())}
        if pad:
            length, sequences = _padded(sequences, num_unroll)
            input_length = length if input_length is None else input_length
        context, in_context = dict(input_context), {}
        for key, value in input_context.items():
            if isinstance(value, SparseTensor | SparseTensorValue):
                in_context[key] = SparseTensor.from_value(context.pop(key))
        rows, kinds = _serialized(sequences)
        if make_keys_unique:
            seed = make_keys_unique_seed
            number = ops.random_uniform([], maxval=_MAX_NUMBER, dtype=int32, seed=seed)
            input_key = ops.string_join([input_key, ops.as_string(number)])
        if input_length is None:
            raise ValueError("input_length is None, but it is required unless pad=True.")
        saver = SequenceQueueingStateSaver(
            batch_size,
            num_unroll,
            input_length,
            input_key,
            rows | {key: one for key, one in sequences.items() if isinstance(one, Tensor)},
            context | {key: ops.serialize_sparse(value) for key, value in in_context.items()},
            initial_states,
            capacity,
            allow_small_batch,
        )
        size = ops.cast(saver.barrier.ready_size(), "float32")
        scalar(f"queue/{saver.barrier.name}/ready_segment_batches_", size)
        threads = [saver.prefetch_op] * num_threads
        add_queue_runner(QueueRunner(saver, threads, queue_closed_exception_types=_ENDS))
        batch = saver.next_batch
        for key, kind in kinds.items():
            batch._sequences[key] = _restored(batch.sequences[key], kind, num_unroll)
        for key, value in in_context.items():
            dtype = value.values.dtype.base_dtype
            batch._context[key] = ops.deserialize_many_sparse(batch.context[key], dtype)
        return batch


def _converted(key: str, value: Any) -> Tensor | SparseTensor:
    if isinstance(value, SparseTensor | SparseTensorValue):
        return SparseTensor.from_value(value)
    try:
        return ops.convert_to_tensor(value)
    except TypeError:
        raise TypeError(
            "Unsupported input_sequences expected Tensor or SparseTensor values, got: "
            f"{type(value)} for key {key}"
        ) from None


def _length(value: Tensor | SparseTensor) -> Tensor:
    if isinstance(value, SparseTensor):
        return ops.cast(value.dense_shape[0], int32)
    return ops.shape(value)[0]


def _padded(
    sequences: dict[str, Tensor | SparseTensor], num_unroll: int
) -> tuple[TensorLike, dict[str, Tensor | SparseTensor]]:
    """Returns the length of a sequence, and its tensors padded to a multiple of `num_unroll`."""
    if isinstance(num_unroll, bool) or not isinstance(num_unroll, int):
        raise ValueError(f"Unsupported num_unroll expected int, got: {num_unroll}")
    for key in sequences:
        if not isinstance(key, str):
            raise TypeError(f"Unsupported sequences key expected string, got: {key}")
    if not sequences:
        return 0, {}
    lengths = [_length(value) for value in sequences.values() if isinstance(value, Tensor)]
    if lengths:
        text = "All sequence lengths must match, but received lengths: "
        shown: list[TensorLike] = [text, ops.stack(lengths)]
        checks = [Assert(ops.equal(length, lengths[0]), shown) for length in lengths]
        with control_dependencies(checks):
            length = ops.identity(lengths[0])
    else:
        length = ops.reduce_max(ops.stack([_length(value) for value in sequences.values()]))
    total = length + ops.mod(-length, num_unroll)
    padded: dict[str, Tensor | SparseTensor] = {}
    for key, value in sequences.items():
        if isinstance(value, SparseTensor):
            steps = ops.expand_dims(ops.cast(total, int64), 0)
            shape = ops.concat([steps, value.dense_shape[1:]], 0)
            padded[key] = SparseTensor(value.indices, value.values, shape)
        else:
            shape = ops.concat([[total - ops.shape(value)[0]], ops.shape(value)[1:]], 0)
            nothing = "" if value.dtype.base_dtype == string else 0
            rest = ops.fill(shape, ops.constant(nothing, value.dtype.base_dtype))
            padded[key] = ops.concat([value, rest], 0)
    return length, padded


def _serialized(
    sequences: dict[str, Tensor | SparseTensor],
) -> tuple[dict[str, Tensor], dict[str, DType]]:
    """Converts sparse sequences to strings for the barrier. Also returns their dtypes."""
    sparse = {key: value for key, value in sequences.items() if isinstance(value, SparseTensor)}
    rows = {key: ops.serialize_many_sparse(value) for key, value in sparse.items()}
    return rows, {key: value.values.dtype.base_dtype for key, value in sparse.items()}


def _restored(rows: Tensor, dtype: DType, num_unroll: int) -> SparseTensor:
    """Returns the sparse tensor that strings (batch size, `num_unroll`, 3) represent."""
    flat = ops.deserialize_many_sparse(ops.reshape(rows, [-1, 3]), dtype)
    unroll = ops.constant(num_unroll, int64)
    number = flat.indices[:, :1]
    indices = [ops.floordiv(number, unroll), ops.mod(number, unroll), flat.indices[:, 1:]]
    num_rows = ops.expand_dims(ops.shape(rows, out_type=int64)[0], 0)
    shape = [num_rows, ops.expand_dims(unroll, 0), flat.dense_shape[1:]]
    return SparseTensor(ops.concat(indices, 1), flat.values, ops.concat(shape, 0))
