"""Memory that a worker fills and the program uses without copying it."""

import os

import numpy as np
import pytest

from headrace.pipeline.workers.shared_segments import FilledSegments, SegmentPool

SIZE = 1000


def received(pool: SegmentPool, filled: FilledSegments, value: int):
    """Sends an array from a pool, and returns its segment's number and the array."""
    segment, offsets = pool.fill([np.full(SIZE, value, np.uint8)])
    if segment.descriptor >= 0:
        filled.add(segment.number, os.dup(segment.descriptor), segment.size)
        segment.close()
    [array] = filled.pieces(segment.number, [(offsets[0], SIZE)])
    return segment.number, array


def test_segment_is_filled_again_when_nothing_refers_to_it():
    pool, filled = SegmentPool(), FilledSegments(num_kept=4)
    first, array = received(pool, filled, 1)
    pool.release(filled.unused())
    second, other = received(pool, filled, 2)
    assert second != first
    assert (array == 1).all()
    del array
    pool.release(filled.unused())
    third, again = received(pool, filled, 3)
    assert third == first
    assert (other == 2).all()
    assert (again == 3).all()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_segment_that_a_forked_child_may_use_is_not_filled_again():
    pool, filled = SegmentPool(), FilledSegments(num_kept=4)
    number, array = received(pool, filled, 1)
    can_read, may_look = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.read(can_read, 1)
            os._exit(0 if (array == 1).all() else 1)
        finally:
            os._exit(2)
    del array
    pool.release(filled.unused())
    assert pool.dropped == [number]
    filled.drop(pool.dropped)
    assert received(pool, filled, 2)[0] != number
    os.write(may_look, b"x")
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    os.close(can_read)
    os.close(may_look)


@pytest.mark.parametrize("num_more", [1, 100])
def test_pieces_that_are_already_in_the_segment_stay_there(num_more):
    pool = SegmentPool()
    for value in range(3):
        taken = pool.take(SIZE)
        taken[:] = value
        pieces = [np.full(SIZE, value + 10 + n, np.uint8) for n in range(num_more)]
        pieces = [pieces[0], taken, *pieces[1:]]
        segment, offsets = pool.fill(pieces)
        for piece, offset in zip(pieces, offsets, strict=True):
            assert (segment.data[offset : offset + SIZE] == piece).all()
        # The first time, a hundred pieces don't fit, so all of them move to a larger segment.
        assert np.shares_memory(taken, segment.data) == (num_more == 1 or value > 0)
        assert segment.append(np.zeros(segment.size, np.uint8)) is None
        segment.close()
        del taken, pieces, piece
        pool.release([segment.number])
