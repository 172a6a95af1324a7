"""Results of Python functions: each row is the value that the function returned for it."""

import subprocess
import sys

import ml_dtypes
import numpy as np
import pytest

import headrace as hr


def rows(count=20):
    return hr.arrays({"n": np.arange(count)})


def test_function_can_reuse_its_result_array():
    buffer = np.zeros((3, 4), np.float32)

    def fill(example):
        buffer[:] = example["n"]
        return {"x": buffer, "view": buffer[:, ::2], "one": buffer[0, 0]}

    [batch] = rows().map(fill).batch(20)
    expected = np.repeat(np.arange(20, dtype=np.float32), 12).reshape(20, 3, 4)
    assert np.array_equal(batch["x"], expected)
    assert np.array_equal(batch["view"], expected[:, :, ::2])
    assert np.array_equal(batch["one"], np.arange(20, dtype=np.float32))
    assert not np.shares_memory(batch["x"], buffer)


def test_flat_map_iterator_can_reuse_its_array():
    buffer = np.zeros(2, np.int64)

    def several(example):
        for number in range(int(example["n"]) % 3):
            buffer[:] = [example["n"], number]
            yield {"x": buffer}

    outputs = [tuple(example["x"].tolist()) for example in rows(9).flat_map(several)]
    assert outputs == [(n, number) for n in range(9) for number in range(n % 3)]


def test_shapes_can_change_at_any_row():
    lengths = [2, 2, 2, 5, 2, 0, 3]

    def list_of(example):
        return {"x": np.full(lengths[int(example["n"])], example["n"], np.int32)}

    outputs = [example["x"] for example in rows(7).map(list_of)]
    assert [array.tolist() for array in outputs] == [
        [number] * length for number, length in enumerate(lengths)
    ]
    assert {array.dtype for array in outputs} == {np.dtype(np.int32)}


def test_row_with_a_bad_component_leaves_no_values_behind():
    def make(example):
        return {"n": example["n"], "x": np.ones(4), "bad": 2**64 if example["n"] % 4 == 1 else 1}

    [batch] = rows(16).map(make).skip_errors(16).batch(16)
    assert batch["n"].tolist() == [n for n in range(16) if n % 4 != 1]
    assert batch["x"].shape == (12, 4)
    assert batch["bad"].tolist() == [1] * 12


def test_failing_flat_map_call_leaves_no_rows_behind():
    def several(example):
        yield {"n": example["n"]}
        if example["n"] == 3:
            raise OSError("torn")
        yield {"n": -example["n"]}

    [batch] = rows(6).flat_map(several).skip_errors(6).batch(20)
    assert batch["n"].tolist() == [0, 0, 1, -1, 2, -2, 4, -4, 5, -5]


def test_int_beyond_64_bits_is_rejected():
    with pytest.raises(ValueError, match="the component 'x' has an int that cannot be represented"):
        list(rows(3).map(lambda example: {"x": 2**63 if example["n"] == 2 else 1}))


@pytest.mark.parametrize("other", [np.int32(1), 1.0, True, np.ones((), np.float32), b"1"])
def test_type_mismatch_with_the_first_value_is_rejected(other):
    with pytest.raises(TypeError, match=r"the component 'x' has the types .*int64"):
        list(rows(3).map(lambda example: {"x": 1 if example["n"] < 2 else other}))


def test_extension_dtypes_are_distinguished_from_dtypes_of_equal_size():
    def make(example):
        dtype = ml_dtypes.bfloat16 if example["n"] < 2 else np.uint16
        return {"x": np.ones(3, dtype)}

    with pytest.raises(TypeError, match=r"the component 'x' has the types bfloat16, uint16"):
        list(rows(3).map(make))


def test_non_native_byte_order_and_empty_lists_are_accepted():
    def make(example):
        number = int(example["n"])
        return {"x": np.array([number], ">i4"), "y": [0.5] * (number % 2), "z": bool(number % 2)}

    outputs = list(rows(4).map(make))
    assert [example["x"].tolist() for example in outputs] == [[0], [1], [2], [3]]
    assert {example["x"].dtype for example in outputs} == {np.dtype(np.int32)}
    assert [example["y"].tolist() for example in outputs] == [[], [0.5], [], [0.5]]
    assert [bool(example["z"]) for example in outputs] == [False, True, False, True]


def test_large_rows_are_copied_completely():
    def make(example):
        return {"x": np.full((300, 400), example["n"], np.float32)}

    for number, example in enumerate(rows(7).map(make)):
        assert example["x"].shape == (300, 400)
        assert (example["x"] == number).all()


def test_each_batch_has_its_own_copy_of_the_results():
    buffer = np.zeros(4, np.int64)

    def add(batch):
        buffer[: len(batch["n"])] = batch["n"] + 1
        return {"n": buffer[: len(batch["n"])], "words": [str(n) for n in batch["n"].tolist()]}

    batches = list(rows(10).batch(4).map(add))
    assert [batch["n"].tolist() for batch in batches] == [[1, 2, 3, 4], [5, 6, 7, 8], [9, 10]]
    assert [list(batch["words"]) for batch in batches] == [
        ["0", "1", "2", "3"],
        ["4", "5", "6", "7"],
        ["8", "9"],
    ]
    assert all(batch["n"].flags.writeable for batch in batches)


FAULTS = """
import resource
import numpy as np
import headrace as hr

ones = np.ones((64, 64, 3), np.float32)
rows = hr.arrays({"n": np.arange(4000)}).map(lambda example: {"x": ones + example["n"]}).batch(32)
faults = []
for number, batch in enumerate(rows):
    if number in (62, 124):
        faults.append(resource.getrusage(resource.RUSAGE_SELF).ru_minflt)
print((faults[1] - faults[0]) / (62 * 32))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="counts pages as Linux does")
def test_result_memory_is_reused_between_examples():
    done = subprocess.run(
        [sys.executable, "-c", FAULTS], capture_output=True, text=True, timeout=120, check=True
    )
    # A result has twelve pages.
    assert float(done.stdout) < 6
