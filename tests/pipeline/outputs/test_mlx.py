"""Batches as MLX arrays, with `to_mlx`."""

import numpy as np
import pytest

import headrace as hr

mx = pytest.importorskip("mlx.core")


def test_numbers_become_mlx_arrays_and_strings_are_unchanged():
    columns = {
        "n": np.arange(6, dtype=np.int64),
        "x": np.ones((6, 2), np.float64),
        "half": np.ones(6, np.float16),
        "is_even": np.arange(6) % 2 == 0,
        "name": [f"no. {n}" for n in range(6)],
    }
    (batch,) = hr.arrays(columns).batch(6).to_mlx()
    assert {name: array.dtype for name, array in batch.items() if name != "name"} == {
        "n": mx.int64,
        "x": mx.float32,
        "half": mx.float16,
        "is_even": mx.bool_,
    }
    assert batch["x"].shape == (6, 2)
    assert batch["n"].tolist() == list(range(6))
    assert batch["name"].tolist() == columns["name"]


def test_state_follows_the_loop_although_one_batch_is_prefetched():
    pipe = hr.arrays({"n": np.arange(20)}).shuffle(seed=3).batch(3)
    whole = [batch["n"].tolist() for batch in pipe]
    for position in range(len(whole) + 1):
        batches = pipe.to_mlx()
        seen = [next(batches)["n"].tolist() for _ in range(position)]
        assert batches.position == min(3 * position, 20)
        with pipe.to_mlx(batches.state()) as resumed:
            assert seen + [batch["n"].tolist() for batch in resumed] == whole
        batches.close()


def test_values_out_of_range_are_rejected():
    with pytest.raises(ValueError, match=r"component 'x' has the float64 value 1e\+300"):
        next(hr.arrays({"x": [1.0, 1e300]}).batch(2).to_mlx())
    days = hr.arrays({"day": np.array(["2026-01-01"], "M8[D]")})
    with pytest.raises(TypeError, match=r"'day' is datetime64\[.*\], which MLX does not support"):
        next(days.batch(1).to_mlx())


def test_lists_of_arrays_become_lists():
    lists = [{"x": np.arange(n, dtype=np.float32)} for n in (1, 3)]
    (batch,) = hr.iterable(lambda: iter(lists)).batch(2, lists=("x",)).to_mlx()
    assert [array.tolist() for array in batch["x"]] == [[0], [0, 1, 2]]
