"""Messages between the owner of a node's engine and its members."""

import contextlib
import os
import threading

import numpy as np
import pytest

from headrace.core import engine
from headrace.pipeline.run.node.messages import OwnColumns, PackedColumns
from headrace.pipeline.run.node.own_channel import own_channels
from headrace.pipeline.workers.shared_segments import FilledSegments, SegmentPool


def test_batch_for_the_own_process_is_not_copied():
    array = np.arange(5)
    one, other = own_channels()
    one.send(OwnColumns((5, [array])))
    columns, descriptors = other.receive()
    assert (columns.num_bytes, descriptors) == (array.nbytes, [])
    assert columns.unpacked(None)[1][0] is array


def sent(columns, pool, segments):
    """Sends columns through shared memory, and returns their number of rows and copies."""
    located, segment = PackedColumns(7, columns).located(pool)
    located.received([] if segment is None else [os.dup(segment.descriptor)], segments)
    if segment is not None:
        segment.close()
    return located.unpacked(segments)


def large(value):
    return np.full(5000, value, np.int16)


COLUMNS = [
    np.arange(12, dtype=np.float32).reshape(3, 4),
    large(3),
    np.zeros((0, 3), np.uint8),
    np.array(True),
    np.array([1 + 2j, 3]),
    np.arange(6, dtype=">i4"),
    np.arange(20).reshape(4, 5).T,
    (np.frombuffer(b"abc", np.uint8), np.array([0, 1, 3])),
    [large(1), np.arange(2), [large(2)]],
    np.array(["text", None], object),
    np.array(["a", "bc"]),
    np.float32(0.5),
    None,
    ["x" * 20000],
]


@pytest.mark.parametrize("columns", [COLUMNS, COLUMNS[::-1], COLUMNS[:3], COLUMNS[8:], []])
def test_columns_of_any_kind_are_sent_through_shared_memory(columns):
    pool, segments = SegmentPool(), FilledSegments(num_kept=4)
    for _ in range(3):
        num_rows, received = sent(columns, pool, segments)
        assert num_rows == 7
        assert len(received) == len(columns)
        for column, copy in zip(columns, received, strict=True):
            assert type(copy) is type(column)
            np.testing.assert_equal(copy, column)
            if isinstance(column, np.ndarray):
                assert (copy.dtype, copy.shape) == (column.dtype, column.shape)
                assert copy.flags.writeable
        received = column = copy = None
        pool.release(segments.unused())


def test_segment_is_not_filled_again_while_an_array_of_the_batch_is_in_use():
    pool, segments = SegmentPool(), FilledSegments(num_kept=4)
    _, [kept, _] = sent([large(1), large(2)], pool, segments)
    part = kept[10:20].view(np.uint16)
    del kept
    for value in range(3, 6):
        _, [other] = sent([large(value)], pool, segments)
        assert (other == value).all()
        del other
        pool.release(segments.unused())
        assert part.tolist() == [1] * 10


def test_messages_within_a_process_are_handled_in_order_by_the_thread_that_sends_them():
    one, other = own_channels()
    one.send(0)
    handled, is_over = [], threading.Event()

    def serve():
        with contextlib.suppress(EOFError):
            other.serve(lambda message, _: handled.append((message, threading.get_ident())))
        is_over.set()

    thread = threading.Thread(target=serve)
    thread.start()
    number = 1
    while handled[-1:] != [(number - 1, threading.get_ident())]:
        one.send(number)
        number += 1
    one.send(number)
    assert [message for message, _ in handled] == list(range(number + 1))
    assert handled[-1][1] == threading.get_ident()
    one.close()
    assert is_over.wait(10.0)
    thread.join()


@pytest.mark.parametrize("which", range(2))
@pytest.mark.parametrize("end", ["close", "shut_down"])
def test_connection_within_a_process_ends_after_its_messages(which, end):
    ends = own_channels()
    ends[which].send("last")
    getattr(ends[which], end)()
    assert ends[1 - which].receive() == ("last", [])
    for _ in range(2):
        with pytest.raises(EOFError):
            ends[1 - which].receive()
    with pytest.raises(OSError, match="closed"):
        ends[which].send("more")


def test_pairs_of_arrays_become_strings():
    data = np.frombuffer(b"-abc", np.uint8)
    strings = engine.string_objects(data, np.array([1, 3, 3, 4]))
    assert strings.dtype == object
    assert strings.tolist() == [b"ab", b"", b"c"]
    assert engine.string_objects(data, np.array([4])).tolist() == []


@pytest.mark.parametrize(
    ("data", "offsets"),
    [
        (np.zeros(4, np.uint8), np.array([0, 5])),
        (np.zeros(4, np.uint8), np.array([-1, 2])),
        (np.zeros(4, np.uint8), np.array([3, 2])),
        (np.zeros(4, np.int8), np.array([0, 2])),
        (np.zeros(4, np.uint8), np.array([0, 2], np.int32)),
        (np.zeros(4, np.uint8), np.arange(6)[::2]),
    ],
)
def test_damaged_pairs_are_errors(data, offsets):
    with pytest.raises(ValueError, match="the strings are not a uint8 and an int64 vector"):
        engine.string_objects(data, offsets)
