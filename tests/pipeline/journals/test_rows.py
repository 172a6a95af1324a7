"""Rows that are stored and read again equal the original ones."""

from tempfile import TemporaryDirectory

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import headrace as hr

DTYPES = ("bool", "int8", "uint16", "int32", "int64", "float16", "float32", "float64", "complex64")


def components():
    """The type of a component, with a strategy for its values."""
    arrays = st.tuples(st.sampled_from(DTYPES), st.integers(0, 3)).map(
        lambda kind: hnp.arrays(
            kind[0], hnp.array_shapes(min_dims=kind[1], max_dims=kind[1], min_side=0, max_side=4)
        )
    )
    times = st.just(hnp.arrays("datetime64[us]", st.integers(0, 3)))
    strings = st.sampled_from([st.binary(max_size=9), st.text(max_size=5)])
    numbers = st.sampled_from([st.integers(-(2**63), 2**63 - 1), st.floats(), st.booleans()])
    return st.one_of(arrays, times, strings, numbers)


@st.composite
def appends(draw):
    """Several lists of rows with the same components."""
    values = draw(st.dictionaries(st.text("abc.", min_size=1), components(), min_size=1))
    row = st.fixed_dictionaries(values)
    return draw(st.lists(st.lists(row, max_size=4), max_size=5))


def plain(example):
    return {
        name: (str(value.dtype), value.shape, value.tobytes())
        if isinstance(value, (np.ndarray, np.generic))
        else value
        for name, value in example.items()
    }


@given(appends())
def test_appended_rows_are_read_back(parts):
    rows = [row for part in parts for row in part]
    with TemporaryDirectory() as directory:
        with hr.Journal(directory) as journal:
            for part in parts:
                journal.append(part)
        results = [plain(example) for example in hr.journal(directory)]
    assert results == [plain(example) for example in hr.iterable(rows)]
