"""Cuts sequences into segments, with a state that passes from each segment to the next.

Source: `tf.contrib.training.SequenceQueueingStateSaver` in TensorFlow 1.15. TensorFlow has more
checks: here, shapes that are known while the graph is built are not compared again when the graph
runs.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from headrace.core.dtypes import int32, string
from headrace.graph import (
    Operation,
    Tensor,
    TensorLike,
    colocate_with,
    control_dependencies,
    name_scope,
)
from headrace.ops.control.control_flow import Assert
from headrace.tf1 import ops
from headrace.tf1.ops.queues import Barrier, TakenFromBarrier

__all__ = ["NextQueuedSequenceBatch", "SequenceQueueingStateSaver"]

# The components that precede the caller's components in an element.
_LENGTH, _TOTAL_LENGTH, _NEXT_KEY, _SEQUENCE, _SEQUENCE_COUNT, _NUM_OWN = range(6)

# The element that represents an example in the counting queue. Its value is not used.
_TOKEN = 1

_Tensors = dict[str, Tensor]


class NextQueuedSequenceBatch:
    """A batch of segments from different sequences, created by `SequenceQueueingStateSaver`.

    Args:
        state_saver: The state saver of the batch.
    """

    def __init__(self, state_saver: SequenceQueueingStateSaver) -> None:
        self._saver = state_saver
        taken = state_saver._take()
        values = taken.values
        self._indices, self._keys = taken.indices, taken.keys
        self._length, self._total_length = values[_LENGTH], values[_TOTAL_LENGTH]
        self._next_key = values[_NEXT_KEY]
        self._sequence, self._sequence_count = values[_SEQUENCE], values[_SEQUENCE_COUNT]
        self._sequences: dict[str, Any]
        self._context: dict[str, Any]
        self._sequences, self._context, states = state_saver._parts(values[_NUM_OWN:])
        self._batch_size = ops.squeeze(ops.shape(self._length))
        self._is_done = self._sequence + 1 >= self._sequence_count
        # When a sequence ends, another one can enter.
        num_done = ops.reduce_sum(ops.cast(self._is_done, int32))
        with control_dependencies([state_saver._examples.dequeue_many(num_done)]):
            self._states = {name: ops.identity(state) for name, state in states.items()}

    @property
    def total_length(self) -> Tensor:
        """The lengths of the whole sequences, an int32 vector."""
        return self._total_length

    @property
    def length(self) -> Tensor:
        """The number of steps in each segment, without padding.

        An int32 vector with values from 0 to `num_unroll`.
        """
        return self._length

    @property
    def batch_size(self) -> Tensor:
        """The number of segments, an int32 scalar."""
        return self._batch_size

    @property
    def insertion_index(self) -> Tensor:
        """The arrival number of each sequence, an int64 vector. Numbers start at -2**63."""
        return self._indices

    @property
    def key(self) -> Tensor:
        """The key of each segment, such as "00001_of_00003:key", a string vector."""
        return self._keys

    @property
    def next_key(self) -> Tensor:
        """The key of the next segment of each sequence, or "STOP:key" if there is none."""
        return self._next_key

    @property
    def sequence(self) -> Tensor:
        """The index of each segment in its sequence, starting at 0, an int32 vector."""
        return self._sequence

    @property
    def sequence_count(self) -> Tensor:
        """The number of segments in each sequence, an int32 vector."""
        return self._sequence_count

    @property
    def context(self) -> dict[str, Any]:
        """The components of the whole sequences by name, in a new dict: one row per segment."""
        return dict(self._context)

    @property
    def sequences(self) -> dict[str, Any]:
        """The segments by name, in a new dict: tensors of shape (batch size, `num_unroll`, ...)."""
        return dict(self._sequences)

    def state(self, state_name: str) -> Tensor:
        """Returns the states at the start of the segments.

        Args:
            state_name: The name of the state.

        Returns:
            A tensor with one row per segment. The row of a sequence's first segment is the initial
            state. Other rows are the states saved with the previous segments.

        Raises:
            KeyError: If the state does not exist.
        """
        return self._states[state_name]

    def save_state(self, state_name: str, value: TensorLike, name: str | None = None) -> Operation:
        """Adds an operation that saves the states for the next segments.

        The operation must run for each batch and each state, because the next segments wait for it.

        Args:
            state_name: The name of the state.
            value: The states, with the shape of `state(state_name)`.
            name: Name of the scope.

        Raises:
            InvalidArgumentError: At run time, if the shapes differ.
            KeyError: If the state does not exist.
            ValueError: If the static shapes differ.
        """
        if state_name not in self._states:
            raise KeyError(f"state was not declared: {state_name}")
        default = "InputQueueingStateSaver_SaveState"
        with name_scope(name, default, [value]), colocate_with(self._saver._examples.queue_ref):
            goes_on = ops.reshape(ops.where(ops.logical_not(self._is_done)), [-1])
            keys = ops.gather(self._next_key, goes_on)
            states = ops.identity(value, name=f"convert_{state_name}")
            states.shape.assert_is_compatible_with(self._states[state_name].shape)
            expected = ops.shape(self._states[state_name])
            text = f"Shape of tensor {states.name} should be: "
            is_same = ops.reduce_all(ops.equal(expected, ops.shape(states)))
            shown: list[TensorLike] = [text, expected, ", shape received: ", ops.shape(states)]
            with control_dependencies([Assert(is_same, shown)]):
                states = ops.identity(states, name="shape_checked")
            return self._saver.barrier.insert_many(
                self._saver._component_index("state", state_name),
                keys,
                ops.gather(states, goes_on),
                name=f"BarrierInsertState_{state_name}",
            )


class SequenceQueueingStateSaver:
    """Cuts sequences into segments of equal length and returns them in batches.

    A batch has one segment from each of `batch_size` sequences. Sequences are returned in order of
    arrival, and the segments of a sequence follow each other. A queue runner must run
    `prefetch_op`.

    Args:
        batch_size: The number of segments in a batch, an integer or a scalar int32.
        num_unroll: The number of steps in a segment.
        input_length: The number of steps in the sequence that are not padding, a scalar int32.
        input_key: The key of the sequence, a scalar string. Sequences that are held at the same
            time must have different keys.
        input_sequences: The components of the sequence, by name: tensors with one row per step,
            including padding. The number of rows is a multiple of `num_unroll`. The shape of a row
            must be known.
        input_context: The values for the whole sequence, by name: tensors of known shape.
        initial_states: The states at the start of a sequence, by name. Their shapes must be known.
        capacity: The number of sequences that are held at the same time. Defaults to no limit.
        allow_small_batch: Whether batches can be smaller at the end of the input.
        name: Name of the scope.

    Raises:
        TypeError: If an argument has the wrong type.
        ValueError: If a shape is unknown, a name contains a colon, `input_sequences` or
            `initial_states` is empty, or `capacity` is less than `batch_size`.
    """

    def __init__(
        self,
        batch_size: TensorLike,
        num_unroll: int,
        input_length: TensorLike,
        input_key: TensorLike,
        input_sequences: Mapping[str, TensorLike],
        input_context: Mapping[str, TensorLike],
        initial_states: Mapping[str, TensorLike],
        capacity: int | None = None,
        allow_small_batch: bool = False,
        name: str | None = None,
    ) -> None:
        if capacity is not None and isinstance(batch_size, int) and capacity < batch_size:
            raise ValueError("capacity must be larger or equal to batch_size")
        self._batch_size, self._num_unroll = batch_size, num_unroll
        self._allow_small_batch = allow_small_batch
        # The queue has one element for each sequence in the saver, however many segments it has.
        self._examples = ops.FIFOQueue(capacity, [int32], shapes=[[]])
        with colocate_with(self._examples.queue_ref):
            if not isinstance(initial_states, Mapping):
                raise TypeError("initial_states must be a dictionary")
            if not initial_states:
                raise ValueError(
                    "initial_states may not be empty: at least one state variable is required to "
                    "properly enqueue split sequences to run in separate iterations"
                )
            _check_names("state name", initial_states)
            values = [
                *(input_length, input_key),
                *_values(input_sequences, "sequences"),
                *_values(input_context, "context"),
            ]
            with name_scope(name, "InputQueueingStateSaver", values) as scope:
                self._scope = scope
                self._convert(
                    input_length, input_key, input_sequences, input_context, initial_states
                )
                self._barrier = self._make_barrier()
        self._prefetch_op: Operation | None = None
        self._next_batch: NextQueuedSequenceBatch | None = None

    @property
    def name(self) -> str:
        """The scope of the operations."""
        return self._scope

    @property
    def barrier(self) -> Barrier:
        """The barrier that holds the segments."""
        return self._barrier

    @property
    def batch_size(self) -> TensorLike:
        """The number of segments in a batch."""
        return self._batch_size

    @property
    def num_unroll(self) -> int:
        """The number of steps in a segment."""
        return self._num_unroll

    @property
    def prefetch_op(self) -> Operation:
        """The operation that adds one sequence, waiting while the saver is full."""
        if self._prefetch_op is None:
            with name_scope(None), name_scope(self._scope):
                self._prefetch_op = self._make_prefetch_op()
        return self._prefetch_op

    @property
    def next_batch(self) -> NextQueuedSequenceBatch:
        """The next batch of segments, always as the same object."""
        _ = self.prefetch_op
        if self._next_batch is None:
            with name_scope(None), name_scope(self._scope):
                self._next_batch = NextQueuedSequenceBatch(self)
        return self._next_batch

    def close(self, cancel_pending_enqueues: bool = False, name: str | None = None) -> Operation:
        """Adds an operation that ends the input: no more sequences are accepted.

        Args:
            cancel_pending_enqueues: Whether unfinished sequences are dropped. If False, their
                remaining segments are still returned.
            name: Name of the scope.
        """
        with name_scope(name, "SQSSClose", [self._prefetch_op]) as scope:
            barrier = self._barrier.close(cancel_pending_enqueues, "BarrierClose")
            examples = self._examples.close(cancel_pending_enqueues, "FIFOClose")
            return ops.group(barrier, examples, name=scope)

    def _convert(
        self,
        length: TensorLike,
        key: TensorLike,
        sequences: Mapping[str, TensorLike],
        context: Mapping[str, TensorLike],
        states: Mapping[str, TensorLike],
    ) -> None:
        """Converts the arguments to tensors, and checks their shapes and types."""
        self._length = ops.convert_to_tensor(length, name="length")
        self._key = ops.convert_to_tensor(key, name="key")
        if not sequences:
            raise ValueError("must have at least one sequence tensor")
        _check_names("sequence key", sequences)
        _check_names("context key", context)
        self._sequences = _tensors(sequences, "sequence")
        self._context = _tensors(context, "context")
        self._states = _tensors(states, "state")
        for label, tensor, dtype in (("length", self._length, int32), ("key", self._key, string)):
            if tensor.dtype.base_dtype != dtype:
                raise TypeError(f"{label} dtype must be {dtype.name}, but received: {tensor.dtype}")
            tensor.set_shape([])
        self._padded_length = self._check_lengths()

    def _check_lengths(self) -> Tensor:
        """Adds length checks to each run, and returns the sequence's padded length."""
        lengths = {name: ops.shape(tensor)[0] for name, tensor in self._sequences.items()}
        first, padded = next(iter(lengths.items()))
        is_multiple = ops.logical_and(
            ops.equal(ops.mod(padded, self._num_unroll), 0), ops.not_equal(padded, 0)
        )
        text = f"Tensor {self._sequences[first].name} should be a multiple of: {self._num_unroll}"
        remedy = ". Consider setting pad=True."
        checks = [Assert(is_multiple, [f"{text}, but saw value: ", padded, remedy])]
        for name, length in lengths.items():
            if name != first:
                text = f"Dimension 0 of tensor labeled sorted_sequences_{name} should be: "
                shown: list[TensorLike] = [text, padded, ", received: ", length]
                checks.append(Assert(ops.equal(length, padded), shown))
        text = "Input length should be <= than length from sequences:"
        is_within = ops.less_equal(self._length, padded)
        checks.append(Assert(is_within, [text, self._length, " vs. ", padded]))
        with control_dependencies(checks):
            return ops.identity(padded, name="padded_length")

    def _make_barrier(self) -> Barrier:
        segments = [
            (tensor.dtype.base_dtype, [self._num_unroll, *tensor.shape.as_list()[1:]])
            for tensor in self._sequences.values()
        ]
        others = [*self._context.values(), *self._states.values()]
        wholes = [(tensor.dtype.base_dtype, tensor.shape.as_list()) for tensor in others]
        own: list[Any] = [
            (string if number == _NEXT_KEY else int32, []) for number in range(_NUM_OWN)
        ]
        types, shapes = zip(*own, *segments, *wholes, strict=True)
        return Barrier(list(types), list(shapes))

    def _component_index(self, kind: str, name: str) -> int:
        """Returns the index of a component of the barrier."""
        kinds = {"sequence": self._sequences, "context": self._context, "state": self._states}
        names = [(one, each) for one, tensors in kinds.items() for each in tensors]
        return _NUM_OWN + names.index((kind, name))

    def _parts(self, values: list[Tensor]) -> tuple[_Tensors, _Tensors, _Tensors]:
        """Returns the sequences, context and states of a batch by name."""
        rest = iter(values)
        sequences, context, states = (
            {name: next(rest) for name in tensors}
            for tensors in (self._sequences, self._context, self._states)
        )
        return sequences, context, states

    def _take(self) -> TakenFromBarrier:
        return self._barrier.take_many(
            self._batch_size, self._allow_small_batch, name="BarrierTakeMany"
        )

    def _make_prefetch_op(self) -> Operation:
        num_unroll, barrier = self._num_unroll, self._barrier
        count = ops.floordiv(self._padded_length, num_unroll)
        rows = ops.expand_dims(count, 0)
        sequence = ops.range(count)
        ones = ops.ones(rows, dtype=int32)
        left = ops.maximum(0, self._length - num_unroll * sequence)
        written = [ops.as_string(number, width=5, fill="0") for number in (sequence, count)]
        keys = ops.string_join(
            [written[0], "_of_", written[1], ":", self._key], name="StringJoinCurrentKeys"
        )
        stop = ops.expand_dims(ops.string_join(["STOP:", self._key], name="StringJoinStop"), 0)
        next_keys = ops.concat([ops.slice(keys, [1], [-1]), stop], 0, name="concat_next_keys")

        def insert(index: int, values: Tensor, name: str) -> Operation:
            return barrier.insert_many(index, keys, values, name=f"BarrierInsert{name}")

        first = insert(_SEQUENCE, sequence, "Sequence")
        inserts = [
            first,
            insert(_SEQUENCE_COUNT, count * ones, "SequenceCount"),
            insert(_NEXT_KEY, next_keys, "NextKey"),
            insert(_LENGTH, ops.minimum(num_unroll, left), "Length"),
            insert(_TOTAL_LENGTH, self._length * ones, "TotalLength"),
        ]
        for name, tensor in self._context.items():
            times = ops.concat([rows, [1] * len(tensor.shape.as_list())], 0)
            values = ops.tile(ops.expand_dims(tensor, 0), times, name=f"tile_context_{name}")
            inserts.append(
                insert(self._component_index("context", name), values, f"Context_{name}")
            )
        for name, tensor in self._sequences.items():
            shape: Any = [-1, num_unroll, *tensor.shape.as_list()[1:]]
            values = ops.reshape(tensor, shape, name=f"reshape_sequences_{name}")
            inserts.append(
                insert(self._component_index("sequence", name), values, f"Sequences_{name}")
            )
        token = self._examples.enqueue([_TOKEN])
        # All segments of a sequence get the same number, because their keys are inserted together
        # before anything else.
        with control_dependencies([first, token]):
            for name, tensor in self._states.items():
                inserts.append(
                    barrier.insert_many(
                        self._component_index("state", name),
                        ops.stack([keys[0]]),
                        ops.stack([tensor]),
                        name=f"BarrierInitialInsertState_{name}",
                    )
                )
        return ops.group(token, *inserts, name="StateSaverPrefetchGroup")


def _values(tensors: object, label: str) -> list[TensorLike]:
    if not isinstance(tensors, Mapping):
        raise TypeError(f"{label} must be a dict")
    return list(tensors.values())


def _check_names(label: str, names: Mapping[Any, TensorLike]) -> None:
    for name in names:
        if not isinstance(name, str):
            raise TypeError(f"{label} must be {'a ' if 'name' in label else ''}string: {name}")
        if ":" in name:
            raise ValueError(f"{label} may not have a colon: '{name}'")


def _tensors(items: Mapping[str, TensorLike], label: str) -> _Tensors:
    """Returns tensors of known shapes, sorted by name. Only the length of a sequence may vary."""
    tensors = {
        name: ops.convert_to_tensor(value, name=f"{label}_{name}")
        for name, value in sorted(items.items())
    }
    is_sequence = label == "sequence"
    for name, tensor in tensors.items():
        shape = tensor.shape
        if is_sequence and shape.rank is not None:
            shape = shape[1:]
        if not shape.is_fully_defined():
            raise ValueError(
                f"Shape for {label} {name} is not fully defined "
                f"{'(ignoring first dimension)' if is_sequence else ''}: {tensor.shape}"
            )
    return tensors
