"""Messages between the owner of a node's engine and its members."""

import numpy as np
import pytest

from headrace.core import engine
from headrace.pipeline.run.node.messages import OwnColumns
from headrace.pipeline.run.node.own_channel import own_channels


def test_batch_for_the_own_process_is_not_copied():
    array = np.arange(5)
    one, other = own_channels()
    one.send(OwnColumns((5, [array])))
    columns, descriptors = other.receive()
    assert (columns.num_bytes, descriptors) == (array.nbytes, [])
    assert columns.unpacked(None)[1][0] is array


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
