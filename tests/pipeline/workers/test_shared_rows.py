"""Rows in memory shared with a worker: each is copied once, when the function returns it."""

import numpy as np
import pytest

from headrace.pipeline.values.types import Spec
from headrace.pipeline.workers.remote import memory_file
from headrace.pipeline.workers.shared_arrays import Arena, Layout
from headrace.pipeline.workers.shared_rows import SharedRows

F32, I64 = np.dtype(np.float32), np.dtype(np.int64)


@pytest.fixture
def arena():
    arena = Arena(memory_file())
    yield arena
    arena.close()


def read_from(arena, rows):
    """Returns the columns that another process reads of the rows."""
    return [Layout.read_from(arena, position) for position in rows.locations()]


def test_rows_of_equal_shape_are_contiguous_copies(arena):
    rows = SharedRows(arena, {"x": Spec(F32, (None,)), "n": Spec(I64, ())}, 3, set())
    buffer = np.zeros(4, np.float32)
    for number in range(3):
        buffer[:] = number
        rows.add("map(f)", {"n": number, "x": buffer[::2]})
    assert [position[:3] for position in rows.locations()] == [
        ("array", F32, (3, 2)),
        ("array", I64, (3,)),
    ]
    x, n = read_from(arena, rows)
    assert x.tolist() == [[0, 0], [1, 1], [2, 2]]
    assert n.tolist() == [0, 1, 2]


def test_unexpected_number_of_rows_grows_the_memory(arena):
    rows = SharedRows(arena, {"x": Spec(F32, (None,)), "s": Spec(str, ())}, 1, set())
    for number in range(100):
        rows.add("flat_map(f)", {"x": np.full(1000, number, np.float32), "s": str(number)})
    x, strings = read_from(arena, rows)
    assert np.array_equal(x, np.repeat(np.arange(100, dtype=np.float32), 1000).reshape(100, 1000))
    assert strings.tolist() == [str(number).encode() for number in range(100)]


def test_rows_of_different_shapes_are_read_with_their_components(arena):
    apart = set()
    for _ in range(2):
        rows = SharedRows(arena, {"x": Spec(I64, (None,)), "n": Spec(I64, ())}, 5, apart)
        for length in (2, 2, 0, 3, 2):
            rows.add("map(f)", {"x": np.arange(length), "n": length})
        x, n = read_from(arena, rows)
        assert [row.tolist() for row in x] == [[0, 1], [0, 1], [], [0, 1, 2], [0, 1]]
        assert n.tolist() == [2, 2, 0, 3, 2]
        assert apart == {"x"}


def test_failed_row_leaves_no_values_behind(arena):
    rows = SharedRows(arena, {"s": Spec(bytes, ()), "x": Spec(I64, ())}, 4, set())
    with pytest.raises(ValueError, match="the component 'x' has an int that cannot be represented"):
        rows.add("map(f)", {"s": b"0", "x": 2**63})
    rows.add("map(f)", {"s": b"1", "x": 1})
    with pytest.raises(ValueError, match="the component 'x' has an int that cannot be represented"):
        rows.add("map(f)", {"s": b"2", "x": 2**63})
    with pytest.raises(TypeError, match=r"the component 'x' has the types float64, int64"):
        rows.add("map(f)", {"s": b"3", "x": 1.0})
    rows.add("map(f)", {"s": b"4", "x": 4})
    strings, x = read_from(arena, rows)
    assert (strings.tolist(), x.tolist()) == ([b"1", b"4"], [1, 4])


def test_rows_beyond_the_kept_ones_are_dropped(arena):
    rows = SharedRows(arena, {"s": Spec(bytes, ()), "x": Spec(I64, (None,))}, 2, set())
    for number in range(5):
        rows.add("flat_map(f)", {"s": b"%d" % number, "x": [number] * 2})
    rows.keep(3)
    rows.add("flat_map(f)", {"s": b"9", "x": [9, 9]})
    strings, x = read_from(arena, rows)
    assert strings.tolist() == [b"0", b"1", b"2", b"9"]
    assert x.tolist() == [[0, 0], [1, 1], [2, 2], [9, 9]]


def test_rows_too_large_to_be_contiguous_are_read(arena):
    rows = SharedRows(arena, {"x": Spec(np.dtype(np.uint8), (None,))}, 1000, set())
    for number in range(3):
        rows.add("map(f)", {"x": np.full(100_000, number, np.uint8)})
    [x] = read_from(arena, rows)
    assert np.array_equal(x, np.repeat(np.arange(3, dtype=np.uint8), 100_000).reshape(3, -1))
