"""Messages between the owner of a node's engine and its members, and batches in shared memory."""

import pickle
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, NoReturn, TypeAlias

import numpy as np
import numpy.typing as npt

from headrace.core import engine
from headrace.core.errors import add_note
from headrace.pipeline.run.node.pass_end import NodePassEnd
from headrace.pipeline.workers.sending import PackedError
from headrace.pipeline.workers.shared_segments import FilledSegments, Segment, SegmentPool

__all__ = [
    "Begun",
    "EngineFailure",
    "Failed",
    "Join",
    "Later",
    "LocatedColumns",
    "NodeSkip",
    "OwnColumns",
    "PackedColumns",
    "Place",
    "Produced",
    "ReadingsMessage",
    "StageNumbers",
    "Stalled",
    "Taken",
]

# In columns that are pickled, smaller arrays are too. A longer pickle is put into the segment.
_LEAST_BYTES: Final = 1 << 10
_MOST_PICKLED: Final = 1 << 14
# The kinds of dtypes whose arrays are described by a dtype and a shape.
_PLAIN_KINDS: Final = frozenset("biufc")
# A placeholder for the remedy, which the member fills in.
_REMEDY: Final = "\0"

# The pass, the position, the hash and the number of hashed examples; see `engine.OrderPoint`.
Point: TypeAlias = tuple[int, int, int, int]
# The dtype and the shape of an array.
Layout: TypeAlias = tuple[str, tuple[int, ...]]


class Place(NamedTuple):
    """A position from which a lane can start.

    Attributes:
        step: The number of batches before the position, since the iteration began.
        checkpoint: The engine's checkpoint, or None for the beginning.
        point: The last known point of the global order, or None if there is no order.
        parts: The number of examples of each part of a mix, since the iteration began.
    """

    step: int
    checkpoint: list[Any] | None
    point: Point | None
    parts: list[int]


class Join(NamedTuple):
    """Informs the owner which batches a member needs.

    Attributes:
        rank: The local rank.
        shard: The index of the member's share.
        has_begun: Whether an owner has served this member before.
        step: The number of batches that the program has taken.
        places: The last positions, including the one at `step`.
    """

    rank: int
    shard: int
    has_begun: bool
    step: int
    places: list[Place]


class Begun(NamedTuple):
    """Reports that all ranks have joined, and at which step the engine starts."""

    process: int


class Taken(NamedTuple):
    """Reports that the program has taken batches.

    Attributes:
        step: The number of batches that the program has taken.
        num_sent: How many of the batches taken since the last message came from this owner.
        unused: The segments that are unused now.
    """

    step: int
    num_sent: int
    unused: list[int]


class StageNumbers(NamedTuple):
    """A stage's readings; see `engine.StageReadings`."""

    examples: int
    num_bytes: int
    busy: float
    computing: float
    starving: float
    fill: float | None
    padding: float | None
    left_out: int = 0


class ReadingsMessage(NamedTuple):
    """The readings of the owner's engine; see `engine.Readings`."""

    stages: list[StageNumbers]
    tasks_busy: float = 0.0
    tasks_computing: float = 0.0
    idle: float = 0.0
    consumer_waiting: float = 0.0
    budget_waiting: float = 0.0

    @classmethod
    def of(cls, readings: engine.Readings) -> "ReadingsMessage":
        """Copies the readings of an engine."""
        stages = [
            StageNumbers(*(getattr(s, n) for n in StageNumbers._fields)) for s in readings.stages
        ]
        return cls(stages, *(getattr(readings, name) for name in cls._fields[1:]))


class LocatedColumns(NamedTuple):
    """A batch in a segment of shared memory.

    Attributes:
        num_rows: The number of rows.
        layouts: The dtype and the shape of each of a column's arrays. Strings have two arrays. A
            column without layouts is pickled.
        pickled: The pickled columns, without large arrays, or None if they are the first location.
        segment: The number of the segment.
        size: The size of the segment if it is new. The descriptor comes with the message.
        locations: The offset and the size of each array.
        dropped: The segments that the receiver must forget.
    """

    num_rows: int
    layouts: list[tuple[Layout, ...]]
    pickled: bytes | None
    segment: int
    size: int
    locations: tuple[tuple[int, int], ...]
    dropped: tuple[int, ...]

    @property
    def num_bytes(self) -> int:
        """The size of the arrays."""
        return sum(size for _, size in self.locations)

    @property
    def segments(self) -> list[int]:
        """The numbers of the segments that contain the batch."""
        return [self.segment]

    def received(self, descriptors: Sequence[int], segments: FilledSegments) -> None:
        """Maps the segment, if it is new."""
        segments.drop(self.dropped)
        if self.size:
            if not descriptors:
                raise RuntimeError(
                    "options: node='shared': a batch could not be received, because too many files "
                    "are open. Raise the limit with `ulimit -n`."
                )
            segments.add(self.segment, descriptors[0], self.size)

    def unpacked(self, segments: FilledSegments) -> Any:
        """Returns the columns. Their arrays use the memory of the segment."""
        parts = iter(segments.pieces(self.segment, self.locations))
        pickled: Any = next(parts) if self.pickled is None else self.pickled
        columns = [
            [np.ndarray(shape, dtype, next(parts)) for dtype, shape in layouts]
            for layouts in self.layouts
        ]
        others = iter(pickle.loads(pickled, buffers=parts) if len(pickled) else ())
        return self.num_rows, [_column(arrays) if arrays else next(others) for arrays in columns]


def _column(arrays: list[npt.NDArray[Any]]) -> Any:
    return tuple(arrays) if len(arrays) > 1 else arrays[0]


class OwnColumns:
    """A batch for the rank in the owner's process, which gets the batch itself, not a copy."""

    segments: Final[list[int]] = []

    def __init__(self, columns: object) -> None:
        self.num_bytes: Final = _num_bytes(columns)
        self._columns = columns

    def received(self, descriptors: Sequence[int], segments: FilledSegments) -> None:
        """Does nothing, because the batch uses no segment."""

    def unpacked(self, segments: FilledSegments) -> Any:
        """Returns the columns, and forgets them."""
        columns, self._columns = self._columns, None
        return columns


def _num_bytes(columns: object) -> int:
    """Returns the size of the arrays in lists and tuples."""
    if isinstance(columns, list | tuple):
        return sum(map(_num_bytes, columns))
    return int(getattr(columns, "nbytes", 0))


class PackedColumns:
    """A batch that is copied to one or more members."""

    def __init__(self, num_rows: int, columns: Sequence[Any]) -> None:
        self._num_rows: Final = num_rows
        self._layouts: Final[list[tuple[Layout, ...]]] = []
        self._parts: list[npt.NDArray[np.uint8]] = []
        others = []
        for column in columns:
            arrays = _plain_arrays(column)
            self._layouts.append(tuple([(array.dtype.str, array.shape) for array in arrays]))
            self._parts += [array.reshape(-1).view(np.uint8) for array in arrays]
            if not arrays:
                others.append(column)
        pickled = pickle.dumps(others, 5, buffer_callback=self._add) if others else b""
        self._pickled: bytes | None = pickled
        if len(pickled) > _MOST_PICKLED:
            self._parts.insert(0, np.frombuffer(pickled, np.uint8))
            self._pickled = None
        self.num_bytes = sum(part.nbytes for part in self._parts)

    def _add(self, buffer: pickle.PickleBuffer) -> bool:
        try:
            raw = buffer.raw()
        except BufferError:  # The buffer is not contiguous.
            return True
        if raw.nbytes < _LEAST_BYTES:
            return True
        self._parts.append(np.frombuffer(raw, np.uint8))
        return False

    def located(self, pool: SegmentPool) -> tuple[LocatedColumns, Segment | None]:
        """Copies the batch to a segment. Returns the segment too if it is new."""
        segment, offsets = pool.fill(self._parts)
        is_new = segment.descriptor >= 0
        dropped, pool.dropped = tuple(pool.dropped), []
        sizes = (part.nbytes for part in self._parts)
        located = LocatedColumns(
            self._num_rows,
            self._layouts,
            self._pickled,
            segment.number,
            segment.size if is_new else 0,
            tuple(zip(offsets, sizes, strict=True)),
            dropped,
        )
        return located, segment if is_new else None


def _plain_arrays(column: object) -> tuple[npt.NDArray[Any], ...]:
    """Returns the arrays of a column, or nothing if a dtype and a shape don't describe them."""
    arrays = column if isinstance(column, tuple) else (column,)
    is_plain = all(
        type(array) is np.ndarray and array.dtype.kind in _PLAIN_KINDS and array.flags.c_contiguous
        for array in arrays
    )
    return arrays if is_plain else ()


@dataclass(frozen=True)
class EngineFailure:
    """An exception of the engine, as plain data."""

    arguments: tuple[Any, ...] | None
    cause: PackedError | None

    @classmethod
    def of(cls, error: BaseException) -> "EngineFailure":
        """Packs an exception."""
        if not isinstance(error, engine.EngineError):
            return cls(None, PackedError.of(error))
        *plain, cause = error.args
        return cls(tuple(plain), None if cause is None else PackedError.of(cause))

    def unpacked(self) -> BaseException:
        """Returns the exception."""
        cause = None if self.cause is None else self.cause.unpacked()
        if self.arguments is not None:
            return engine.EngineError(*self.arguments, cause)
        assert cause is not None
        return cause


@dataclass(frozen=True)
class NodeSkip:
    """A skipped example; see `engine.Failure`."""

    skipper: int
    stage: int
    file: bytes | None
    record: int | None
    offset_bytes: int | None
    row_id: list[int] | None
    reason: str
    ends_file: bool
    num_lost: int | None
    num_scanned: int
    passed: tuple[int, int]
    failure: EngineFailure

    @classmethod
    def of(cls, skipped: engine.Failure) -> "NodeSkip":
        """Copies an engine report."""
        values = {n: getattr(skipped, n) for n in cls.__dataclass_fields__ if n != "failure"}
        try:
            skipped.throw(_REMEDY)
        except BaseException as error:
            notes = getattr(error, "__notes__", [])
            if _REMEDY in notes:
                notes.remove(_REMEDY)
            failure = EngineFailure.of(error)
        return cls(**values, failure=failure)

    def throw(self, remedy: str) -> NoReturn:
        """Raises the failure, with a suggested fix; see `engine.Failure.throw`."""
        error = self.failure.unpacked()
        if isinstance(error, engine.EngineError):
            code, message, *rest = error.args
            raise engine.EngineError(code, message.replace(_REMEDY, remedy), *rest)
        add_note(error, remedy)
        raise error


class Produced(NamedTuple):
    """A batch, or the end of a lane.

    Attributes:
        place: The position after the batch.
        is_known: Whether the point of the position is exact.
        mix: The position of the mix after the batch, or None if it is unknown.
        skips: The examples skipped before the batch, and the ends of passes.
        columns: The batch, or None at the end.
        answer_after: The program reports batches once it has taken this many.
        failure: The exception at the end, if the lane has failed.
        oldest: The step of the slowest rank. Older positions are no longer needed.
        readings: The readings of the engine, sent now and then.
    """

    place: Place
    is_known: bool
    mix: list[Any] | None
    skips: list[NodeSkip | NodePassEnd]
    columns: LocatedColumns | OwnColumns | None
    answer_after: int
    failure: EngineFailure | None
    oldest: int
    readings: ReadingsMessage | None


class Later(NamedTuple):
    """Completes the position after a batch that was sent earlier."""

    step: int
    point: Point | None
    is_known: bool
    mix: list[Any] | None


class Stalled(NamedTuple):
    """Describes why the owner isn't sending anything. Empty once it continues."""

    reason: str


class Failed(NamedTuple):
    """Reports that the owner cannot continue. All members raise the exception."""

    failure: EngineFailure
