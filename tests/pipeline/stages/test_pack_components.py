"""Arrays with several axes in packed rows, components that are carried along, and costs."""

import re
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.pipeline.conftest import LARGE_WAYS, same

import headrace as hr
from headrace import ops
from headrace.core import errors
from headrace.testing import assert_resumes


def distilled(lengths, k=3):
    """Examples with tokens, and `k` ids and log-probabilities of a teacher for each token."""

    def examples():
        for number, length in enumerate(lengths):
            tokens = 100 * number + np.arange(1, length + 1)
            ids = 10 * tokens[:, None] + np.arange(k)
            yield {"tokens": tokens, "ids": ids, "logprobs": -ids.astype(np.float32) / 4}

    return hr.iterable(examples)


NAMES = ("tokens", "ids", "logprobs")


def test_arrays_with_several_axes_are_packed_along_the_first():
    first, second = distilled([3, 2, 4]).pack(6, NAMES, values={"logprobs": -1e9})
    assert first["tokens"].tolist() == [1, 2, 3, 101, 102, 0]
    assert first["ids"].shape == first["logprobs"].shape == (6, 3)
    assert first["ids"][:, 1].tolist() == [11, 21, 31, 1011, 1021, 0]
    assert first["logprobs"][4].tolist() == [-255.0, -255.25, -255.5]
    assert first["logprobs"][5].tolist() == [-1e9] * 3
    assert second["segment_ids"].tolist() == [1, 1, 1, 1, 0, 0]
    assert second["ids"][4:].tolist() == [[0] * 3] * 2


def test_known_axes_are_in_the_spec():
    pipe = hr.arrays({"x": np.zeros((4, 2, 5, 3), np.float16)})
    assert pipe.pack(8, "x").spec["x"] == hr.Spec(np.dtype(np.float16), (8, 5, 3))
    assert pipe.pack({0: 4, 9: 8}, "x").spec["x"] == hr.Spec(np.dtype(np.float16), (None, 5, 3))
    (row,) = pipe.pack(8, "x")
    assert row["x"].shape == (8, 5, 3)


@given(
    lengths=st.lists(st.integers(0, 12), min_size=1, max_size=40),
    split=st.booleans(),
    way=st.sampled_from(LARGE_WAYS),
)
def test_values_of_each_token_stay_with_it(lengths, split, way):
    lengths = [1, *lengths]
    rows = distilled(lengths).pack(7 if split else 12, NAMES, split, max_open=3).options(**way)
    tokens = []
    for row in rows:
        filled = row["segment_ids"] > 0
        tokens += row["tokens"][filled].tolist()
        expected = 10 * row["tokens"][filled][:, None] + np.arange(3)
        assert (row["ids"][filled] == expected).all()
        assert (row["logprobs"][filled] == -expected.astype(np.float32) / 4).all()
    assert sorted(tokens) == [
        100 * n + i for n, size in enumerate(lengths) for i in range(1, size + 1)
    ]


def test_rows_of_arrays_resume_and_can_be_batched():
    lengths = np.random.default_rng(1).integers(0, 30, 300).tolist()
    for split in (False, True):
        pipe = distilled([1, *lengths]).pack(29 - 10 * split, NAMES, split, max_open=5)
        assert next(iter(pipe.batch(4)))["ids"].shape == (4, 29 - 10 * split, 3)
        assert_resumes(pipe.batch(4), every=7)
    scheduled = distilled([1, *lengths]).pack({0: 32, 40: 64}, NAMES)
    assert {row["ids"].shape for row in scheduled} == {(32, 3), (64, 3)}


def test_nested_lists_are_packed_as_arrays(tmp_path):
    path = tmp_path / "x.jsonl"
    path.write_text(
        '{"t": [1, 2], "p": [[1, 2], [3, 4]]}\n{"t": [], "p": []}\n{"t": [3], "p": [[5, 6]]}\n'
    )
    pipe = hr.json_lines(path, columns={"t": hr.Ragged(int), "p": hr.Ragged(float, ndim=2)})
    for split in (False, True):
        (row,) = pipe.pack(4, ["t", "p"], split)
        assert row["t"].tolist() == [1, 2, 3, 0]
        assert row["p"].tolist() == [[1, 2], [3, 4], [5, 6], [0, 0]]
    path.write_text('{"p": [[1, 2], [3, 4]]}\n{"p": [[1, 2], [3]]}\n')
    pipe = hr.json_lines(path, columns={"p": hr.Ragged(float, ndim=2)})
    words = r"'p' of an example has inner lists of different lengths.*line 2\]|line 2.*inner lists"
    with pytest.raises(errors.InvalidArgumentError, match=words):
        list(pipe.pack(4, "p"))


@pytest.mark.parametrize("split", [False, True])
def test_arrays_of_mismatched_shapes_are_rejected(split):
    shapes = [(2, 3), (2,)]
    pipe = hr.iterable(lambda: ({"x": np.zeros(shape)} for shape in shapes))
    words = r"'x' of an example has shape \[2\], expected 2 axes. Reshape it in map.*example 1\]"
    with pytest.raises(errors.InvalidArgumentError, match=words):
        list(pipe.pack(4, "x", split))
    shapes[1] = (2, 4)
    words = (
        r"'x' of an example has shape \[2,4\], but an example in the same row has shape \[2,3\], "
        "expected shapes that differ only in the first axis. Pad or cut it"
    )
    with pytest.raises(errors.InvalidArgumentError, match=words):
        list(pipe.pack(4, "x", split))
    # Another row may have another shape.
    assert [row["x"].shape for row in pipe.pack(2, "x", split)] == [(2, 3), (2, 4)]


def pictures(counts):
    """Examples with some tokens, encoded pictures, patches and boxes of pictures."""

    def examples():
        for number, count in enumerate(counts):
            yield {
                "tokens": 100 * number + np.arange(1, 2 + count % 3),
                "images": [b"%d.%d" % (number, i) for i in range(count)],
                "patches": np.full((2 * count, 4), number, np.float32),
                "name": f"n{number}",
            }

    return hr.iterable(examples)


ALONG = ("images", "patches", "name")


def test_lists_along_become_values_and_offsets():
    first, second = pictures([2, 0, 3, 1]).pack(5, "tokens", along=ALONG)
    assert first["tokens"].tolist() == [1, 2, 3, 101, 201]
    assert list(first) == [
        *("tokens", "segment_ids", "positions"),
        *("images.values", "images.offsets", "patches.values", "patches.offsets", "name"),
    ]
    assert first["images.values"].tolist() == [b"0.0", b"0.1", b"2.0", b"2.1", b"2.2"]
    assert first["images.offsets"].tolist() == [0, 2, 2, 5]
    assert first["images.offsets"].dtype == np.int64
    assert first["patches.values"][:, 0].tolist() == [0] * 4 + [2] * 6
    assert first["patches.values"].shape == (10, 4)
    assert first["patches.offsets"].tolist() == [0, 4, 4, 10]
    assert list(first["name"]) == ["n0", "n1", "n2"]
    assert (second["images.values"].tolist(), second["images.offsets"].tolist()) == (
        [b"3.0"],
        [0, 1],
    )


def test_packed_lists_match_a_batch_with_offsets():
    rows = pictures([2, 0, 3, 1])
    (packed,) = rows.pack(20, "tokens", along=ALONG)
    (batch,) = rows.batch(4, ragged="offsets")
    for name in ("images.values", "images.offsets", "patches.values", "patches.offsets", "name"):
        assert packed[name].tolist() == batch[name].tolist()
        assert packed[name].dtype == batch[name].dtype


def test_spec_of_lists_along_is_available_before_iteration():
    rows = hr.tfrecords("x").parse(
        {"t": hr.Ragged(int), "ids": hr.Ragged(int), "images": hr.Ragged(bytes)}
    )
    offsets = hr.Spec(np.dtype(np.int64), (None,), True)
    spec = rows.pack(4, "t", along=["images", "ids"]).spec
    assert list(spec)[3:] == ["images.values", "images.offsets", "ids.values", "ids.offsets"]
    assert spec["images.values"] == hr.Spec(bytes, (None,), True)
    assert spec["ids.values"] == spec["ids.offsets"] == spec["images.offsets"] == offsets
    boxes = hr.arrays({"t": np.zeros((4, 2), int), "box": np.arange(16.0).reshape(4, 4)})
    pipe = boxes.pack(4, "t", along="box")
    assert pipe.spec["box"] == hr.Spec(np.dtype(np.float64), (None, 4))
    assert [row["box"].tolist() for row in pipe] == [
        [[0, 1, 2, 3], [4, 5, 6, 7]],
        [[8, 9, 10, 11], [12, 13, 14, 15]],
    ]


def test_nested_lists_along_stay_nested(tmp_path):
    path = tmp_path / "x.jsonl"
    path.write_text(
        '{"t": [1], "w": [["a"], ["b", "c"]]}\n{"t": [2], "w": []}\n{"t": [3], "w": [[]]}\n'
    )
    columns = {"t": hr.Ragged(int), "w": hr.Ragged(str, ndim=2)}
    pipe = hr.json_lines(path, columns=columns).pack(4, "t", along="w")
    assert pipe.spec["w.values"] == hr.Spec(str, (None, None), True)
    (row,) = pipe
    assert [words.tolist() for words in row["w.values"]] == [["a"], ["b", "c"], []]
    assert row["w.offsets"].tolist() == [0, 2, 2, 3]


def test_pieces_of_a_split_list_repeat_the_lists_along():
    rows = hr.iterable([{"t": np.arange(5), "images": [b"a", b"b"]}, {"t": [9], "images": [b"c"]}])
    packed = list(rows.pack(3, "t", split=True, along="images"))
    assert [row["images.values"].tolist() for row in packed] == [[b"a", b"b"], [b"a", b"b", b"c"]]
    assert [row["images.offsets"].tolist() for row in packed] == [[0, 2], [0, 2, 3]]


def test_rows_with_lists_along_resume_with_any_number_of_threads():
    counts = np.random.default_rng(1).integers(0, 6, 400).tolist()
    pipe = pictures([1, *counts]).pack(9, "tokens", along=ALONG, balance=2)
    rows = list(pipe)
    names = [name for row in rows for name in row["name"]]
    assert sorted(names) == sorted(f"n{number}" for number in range(len(counts) + 1))
    for row in rows:
        for index, name in enumerate(row["name"]):
            start, end = row["images.offsets"][index : index + 2]
            count = [1, *counts][int(name[1:])]
            assert row["images.values"][start:end].tolist() == [
                f"{name[1:]}.{i}".encode() for i in range(count)
            ]
    assert all(same(rows, list(pipe.options(**way))) for way in LARGE_WAYS)
    assert_resumes(pipe.epochs(2), every=9)
    assert_resumes(pipe.batch(3, ragged="offsets"), every=5)


def test_batches_of_rows_with_lists_can_be_split_again():
    pipe = (
        pictures([2, 0, 3, 1])
        .select("tokens", "images")
        .pack(5, "tokens", along="images")
        .select("tokens", "images.values", "images.offsets")
    )
    rows = list(pipe)
    batched = pipe.batch(2, lists=["images.values", "images.offsets"])
    assert same(list(batched.unbatch()), rows)
    first, second = pipe.padded_batch(2).unbatch()
    assert first["images.values"].tolist() == rows[0]["images.values"].tolist()
    assert second["images.values"].tolist() == [b"3.0", b"", b"", b"", b""]


@pytest.mark.parametrize(
    ("rows", "arguments", "words"),
    [
        ({"t": [[1]], "x": [1]}, {"cost": {"x": 1.0}}, "cost contains 'x'.*has no length"),
        ({"t": [[1]], "x": [1]}, {"cost": {"y": 1.0}}, "cost contains 'y', expected only comp"),
        ({"t": [[1]], "x": [1]}, {"cost": {"t": -1.0}}, "cost has -1.0 for 't', expected a finite"),
        (
            {"t": [[1]], "x": [1]},
            {"cost": {"t": np.inf}},
            "cost has inf for 't', expected a finite",
        ),
        ({"t": [[1]], "x": [1]}, {"cost": {"t": 1.0}, "balance": None}, "balance is not"),
        ({"t": [[1]], "x": [1]}, {"cost": {"t": "sum"}}, "cost has 'sum' for 't'.*in along"),
        ({"t": [[1]], "x": [b"a"]}, {"cost": {"x": "sum"}}, "cost has 'sum' for 'x'.*is Spec"),
        ({"t": [[1]], "x": [1]}, {"cost": {"t": {}}}, "cost has {} for 't', expected a dict from"),
        ({"t": [[1]], "x": [1]}, {"cost": {"t": {"cube": 1.0}}}, "expected a dict from 'length'"),
        (
            {"t": [[1]], "x": [1]},
            {"cost": {"t": {"square": -1.0}}},
            "cost has -1.0 for 't', expected a finite",
        ),
        (
            {"t": [[1]], "x": [1]},
            {"cost": {"x": {"sum": 1.0, "length": 1.0}}},
            "cost contains 'x'.*has no length",
        ),
    ],
)
def test_invalid_costs_are_rejected(rows, arguments, words):
    pipe = hr.arrays({name: np.array(values) for name, values in rows.items()})
    with pytest.raises(ValueError, match=words):
        pipe.pack(4, "t", along="x", **{"balance": 2, **arguments})
    for cost in ("cube", True, None):
        for of_list in (cost, {"square": cost}):
            with pytest.raises(TypeError, match=f"cost has {cost!r} for 't', expected a number"):
                pipe.pack(4, "t", along="x", balance=2, cost={"t": of_list})
    with pytest.raises(TypeError, match="cost is 'square', expected a dict"):
        pipe.pack(4, "t", along="x", balance=2, cost="square")


def test_empty_lists_of_a_row_keep_the_number_of_axes():
    def rows():
        for count in (2, 0, 0, 0):
            yield {
                "t": np.arange(2),
                "boxes": np.zeros((count, 4), np.int16),
                "text": ["a"] * count,
            }

    shapes = [
        (row["boxes.values"].shape, row["text.values"].shape)
        for row in hr.iterable(rows).pack(4, "t", along=["boxes", "text"])
    ]
    assert shapes == [((2, 4), (2,)), ((0, 4), (0,))]


def test_costs_are_real_numbers_of_any_type():
    pipe = hr.arrays({"t": np.ones((3, 2))})
    expected = repr(pipe.pack(4, "t", balance=2, cost={"t": {"square": 2.0}}))
    for weight in (2, np.float32(2), np.int64(2), Fraction(2)):
        assert repr(pipe.pack(4, "t", balance=2, cost={"t": {"square": weight}})) == expected
    for huge in (10**400, Fraction(10**400)):
        with pytest.raises(ValueError, match=r"for 't', expected a finite number of at least 0"):
            pipe.pack(4, "t", balance=2, cost={"t": huge})


def test_order_of_costs_is_not_part_of_the_state():
    rows = [{"t": np.arange(n % 3 + 1), "x": np.arange(n % 2)} for n in range(40)]
    costs = [("t", {"square": 0.5, "length": 2.0}), ("x", 3.0)]

    def packed(costs):
        return hr.iterable(lambda: rows).pack(4, "t", along="x", balance=2, cost=dict(costs))

    batches = iter(packed(costs))
    next(batches)
    reordered = [("x", 3.0), ("t", {"length": 2.0, "square": 0.5})]
    assert same(list(packed(reordered).resume(batches.state())), list(batches))


def test_names_of_values_and_offsets_must_be_unused():
    for name in ("x.values", "x.offsets"):
        rows = hr.tfrecords("x").parse({"t": hr.Ragged(int), "x": hr.Ragged(int), name: int})
        with pytest.raises(ValueError, match=re.escape(f"already a component '{name}'. Rename it")):
            rows.pack(4, "t", along=["x", name])


def test_lists_along_of_mismatched_shapes_are_rejected():
    shapes = [(2, 3), (1, 4)]
    pipe = hr.iterable(lambda: ({"t": [1], "x": np.zeros(shape)} for shape in shapes))
    words = r"'x' of an example has shape \[1,4\], but an example in the same row has shape \[2,3\]"
    with pytest.raises(errors.InvalidArgumentError, match=words):
        list(pipe.pack(4, "t", along="x"))


def costs(rows, world, cost_of):
    """For each step of several rows per rank, the highest cost of a rank divided by the mean."""
    size = 4 * world
    steps = [list(map(cost_of, rows[n : n + size])) for n in range(0, len(rows) - size, size)]
    sums = [[sum(step[rank::world]) for rank in range(world)] for step in steps]
    return np.mean([max(of_ranks) / np.mean(of_ranks) - 1 for of_ranks in sums])


def test_ranks_receive_rows_of_equal_weighted_cost():
    random = np.random.default_rng(1)
    sizes = list(
        zip(random.integers(1, 60, 3000), random.lognormal(3, 1, 3000).astype(int), strict=True)
    )
    rows = hr.iterable(
        lambda: ({"tokens": np.ones(n, int), "patches": np.zeros((p, 1))} for n, p in sizes)
    )

    def cost_of(row):
        squares = np.diff(row["cu_seqlens"]).astype(float) ** 2
        return 50.0 * len(row["patches.values"]) + squares.sum()

    def packed(**options):
        return list(rows.pack(128, "tokens", along="patches", cu_seqlens=True, **options))

    world = 4
    by_both = packed(balance=world, cost={"patches": 50.0, "tokens": "square"})
    by_tokens = packed(balance=world)
    assert same(by_tokens, packed(balance=world, cost={"tokens": "square"}))
    assert costs(by_both, world, cost_of) < 0.4 * costs(by_tokens, world, cost_of)
    assert_resumes(
        rows.take(400)
        .pack(128, "tokens", along="patches", balance=3, cost={"patches": 0.5, "tokens": "square"})
        .select("tokens", "patches.offsets"),
        every=5,
    )


def test_costs_can_be_sums_of_values():
    random = np.random.default_rng(1)
    sizes = random.lognormal(3, 1, 3000).astype(int)
    tokens = random.integers(1, 60, 3000)
    world = 4

    def packed(values, cost):
        rows = ({"tokens": np.ones(n, int), "x": x} for n, x in zip(tokens, values, strict=True))
        pipe = hr.iterable(lambda: rows).pack(128, "tokens", along="x", balance=world, cost=cost)
        return [row["tokens"].tolist() for row in pipe]

    # The number itself, the sum of a fixed number of values, and the length of a list.
    expected = packed([np.zeros((size, 1)) for size in sizes], {"x": 1.0, "tokens": "square"})
    cost = {"x": "sum", "tokens": "square"}
    assert packed(sizes, cost) == packed(sizes.astype(np.float32), cost) == expected
    halves = [np.array([size // 2, size - size // 2]) for size in sizes]
    assert packed(halves, cost) == expected
    assert packed(2 * sizes, {"x": {"sum": 0.25}, "tokens": {"square": 0.5}}) == expected
    assert packed(sizes, {"x": {"sum": 9.0}, "tokens": "square"}) != expected


def test_costs_can_be_weighted_sums_of_measures():
    sizes = np.random.default_rng(1).integers(1, 60, 3000)

    def packed(cost, tree=None):
        rows = ({"tokens": np.full(n, n), "x": 16 * n, "group": n // 8} for n in sizes)
        along = ("x",) if tree else ("x", "group")
        pipe = hr.iterable(lambda: rows).pack(
            128, "tokens", along=along, balance=4, cost=cost, tree=tree
        )
        return [row["x"].tolist() for row in pipe]

    both = {"tokens": {"length": 16.0, "square": 1.0}}
    assert packed(both) == packed({"x": "sum", "tokens": "square"})
    for tree in (None, "group"):
        assert packed({"tokens": {"square": 2.0}}, tree) == packed(None, tree)
        assert packed({"tokens": "length"}, tree) == packed({"tokens": 1.0}, tree)
        assert packed({"tokens": {"length": 1.0}}, tree) != packed(None, tree)


def test_costs_are_known_from_headers_before_images_are_decoded():
    png = hr.native(lambda e: {"x": ops.encode_png(ops.zeros([e["n"], 60, 3], "uint8"))})
    sizes = np.random.default_rng(1).integers(20, 900, 400)
    rows = hr.arrays({"n": sizes, "id": np.arange(400)}).map(lambda e: {**e, **png({"n": e["n"]})})

    @hr.native
    def with_cost(example):
        grid = ops.patch_grid(example["x"])
        tokens = ops.fill([grid[1] * grid[2] // 4], 1)
        return {"tokens": tokens, "patches": ops.reduce_prod(grid), "image": example["x"]}

    world = 2
    cost = {"patches": "sum"}
    packed = rows.map(with_cost).pack(
        400, "tokens", along=["patches", "image"], balance=world, cost=cost
    )
    steps = [row["patches"].sum() for row in packed]
    steps = np.array(steps[: len(steps) // 16 * 16]).reshape(-1, 8, world).sum(1)
    assert (steps.max(1) / steps.mean(1)).mean() < 1.05
    assert_resumes(packed.take(20), every=5)


@pytest.mark.parametrize("value", [-1, np.nan, np.inf])
def test_invalid_cost_values_are_rejected(value):
    rows = [{"t": [1, 2], "x": 1.0}, {"t": [3], "x": float(value)}]
    pipe = hr.iterable(lambda: rows).pack(4, "t", along="x", balance=2, cost={"x": "sum"})
    with pytest.raises(errors.InvalidArgumentError, match=r"cost has the value .*expected finite"):
        list(pipe)


def test_cost_is_part_of_the_state():
    def packed(**options):
        return distilled([3, 2]).select("tokens").pack(4, "tokens", balance=2, **options)

    state = iter(packed()).state()
    packed(cost=None).resume(state)
    with pytest.raises(ValueError, match="when the state was saved"):
        packed(cost={"tokens": 1.0}).resume(state)
