"""Batches with a list of arrays for some components, one array for each example."""

import json
from importlib.util import find_spec

import numpy as np
import pytest
from tests.pipeline.conftest import LARGE_WAYS, same

import headrace as hr
from headrace.testing import assert_resumes, assert_same_order

LENGTHS = [2, 0, 3, 1, 4]
FLOATS, INTS = np.dtype(np.float32), np.dtype(np.int64)


def examples():
    for number, length in enumerate(LENGTHS):
        yield {
            "n": number,
            "boxes": np.full((length, 4), number, np.float32),
            "image": np.full((length + 1, 2, 3), number, np.uint8),
            "words": np.array([f"w{number}"] * length, object) if length else np.array([], "U1"),
            "name": f"ä{number}",
        }


def listed(size=2, *arguments, lists=("boxes", "image", "words", "name"), **more):
    return hr.iterable(examples).batch(size, *arguments, lists=lists, **more)


def examples_of(batches):
    """The examples of batches whose components are lists."""
    for batch in batches:
        for number in range(len(batch["n"])):
            yield {name: value[number] for name, value in batch.items()}


def test_listed_components_become_lists_and_the_rest_is_stacked():
    batches = list(listed())
    assert [len(batch["n"]) for batch in batches] == [2, 2, 1]
    for batch in batches:
        assert isinstance(batch["n"], np.ndarray)
        assert all(isinstance(batch[name], list) for name in batch if name != "n")
        for array in (*batch["boxes"], *batch["image"]):
            array[:] = array  # Writable.
    for value, expected in zip(examples_of(batches), examples(), strict=True):
        for name in ("boxes", "image"):
            assert value[name].dtype == expected[name].dtype
            assert np.array_equal(value[name], expected[name])
            assert value[name].shape == expected[name].shape
        assert value["words"].tolist() == expected["words"].tolist()
        assert value["name"] == expected["name"]
        assert type(value["name"]) is str


def test_scalars_can_be_listed():
    (batch,) = hr.arrays({"n": [1, 2], "x": [0.5, 1.5]}).batch(2, lists="x")
    assert (batch["x"], batch["n"].tolist()) == ([0.5, 1.5], [1, 2])
    assert type(batch["x"][0]) is np.float64


def test_arrays_of_a_batch_share_no_memory():
    rows = hr.arrays({"x": np.zeros((4, 500))}).batch(2, lists="x")
    first, second = rows
    first["x"][0][:] = 1
    assert not np.any([*first["x"][1:], *second["x"]])
    kept = hr.arrays({"n": np.arange(4)}).map(lambda e: {"x": np.full(500 + e["n"], e["n"])})
    for pipe in (kept.cache(), kept.shuffle(window=3, seed=1)):
        batches = pipe.batch(2, lists="x")
        for epoch in range(2):
            for array in (array for batch in batches.epoch(epoch) for array in batch["x"]):
                assert len(set(array)) == 1
                array[:] = -1


def test_spec_is_available_before_iteration():
    rows = hr.tfrecords("x").parse({"ids": hr.Ragged(int), "n": int, "x": hr.Feature(float, (2,))})
    assert rows.batch(4, "drop", lists=("ids", "x")).spec == {
        "ids": hr.Spec(INTS, (4, None), is_listed=True),
        "n": hr.Spec(INTS, (4,)),
        "x": hr.Spec(FLOATS, (4, 2), is_listed=True),
    }
    batches = rows.batch(4, lists="ids")
    assert repr(batches.spec["ids"]) == "Spec(int64, (None, None), list)"
    assert batches.unbatch().spec["ids"] == hr.Spec(INTS, (None,))
    assert "lists=('ids')" in batches.describe()


def test_padding_arrays_are_empty_or_zeros_of_a_fixed_shape():
    last = list(listed(2, "pad"))[-1]
    assert last["mask"].tolist() == [True, False]
    assert [array.shape for array in last["boxes"]] == [(4, 4), (0, 4)]
    assert [array.shape for array in last["image"]] == [(5, 2, 3), (0, 2, 3)]
    assert [array.tolist() for array in last["words"]] == [["w4"] * 4, []]
    assert last["name"] == ["ä4", ""]
    (batch,) = hr.arrays({"x": np.ones((1, 2), np.float32)}).batch(2, "pad", lists="x")
    assert [array.tolist() for array in batch["x"]] == [[1, 1], [0, 0]]
    assert len(list(listed(2, "drop"))) == 2


def test_lists_can_be_combined_with_joined_lists():
    batches = listed(2, lists="image", ragged="offsets")
    first = next(iter(batches))
    assert list(first) == [
        *("n", "boxes.values", "boxes.offsets", "image", "words.values", "words.offsets", "name")
    ]
    assert [array.shape for array in first["image"]] == [(3, 2, 3), (1, 2, 3)]


@pytest.mark.parametrize("source", ["parquet", "map", "arrays", "native"])
def test_lists_do_not_depend_on_threads_and_resume_at_every_batch(source, tmp_path):
    rows = hr.arrays({"n": np.arange(200)})
    if source == "arrays":
        rows = hr.arrays({"n": np.arange(200), "ids": np.arange(600).reshape(200, 3)})
    elif source == "native":
        rows = rows.map(
            hr.native(lambda e: {**e, "ids": hr.ops.fill(hr.ops.reshape(e["n"] % 7, [1]), e["n"])})
        )
    else:
        rows = rows.map(lambda e: {"n": e["n"], "ids": np.arange(e["n"] % 7)})
    if source == "parquet":
        pytest.importorskip("pyarrow")
        rows.write(tmp_path / "x.parquet")
        rows = hr.parquet(tmp_path / "x.parquet", columns={"n": int, "ids": hr.Ragged(int)})
    requested = {int(e["n"]): e["ids"].tolist() for e in rows}
    rows = rows.shuffle(window=50, seed=1)
    for pipe in (rows.batch(16, lists="ids"), rows.shard(1, 3).batch(8, "pad", lists="ids")):
        expected = list(pipe)
        for batch in expected:
            is_example = batch.get("mask", np.ones(len(batch["n"]), bool))
            for n, ids, is_one in zip(batch["n"], batch["ids"], is_example, strict=True):
                assert ids.tolist() == (
                    requested[int(n)] if is_one else ids[:0].tolist() or [0] * len(ids)
                )
        for way in LARGE_WAYS:
            assert same(list(pipe.options(**way)), expected)
        assert_resumes(pipe, every=3)
        assert_same_order(pipe)


def test_stages_that_move_batches_keep_lists(tmp_path):
    rows = hr.arrays({"n": np.arange(40)}).map(lambda e: {**e, "ids": np.arange(e["n"] % 5)})
    batches = rows.batch(4, lists="ids")
    for name, pipe in {
        "shuffle": batches.shuffle(window=4, seed=2),
        "cache": batches.cache(),
        "cache on disk": batches.cache(directory=tmp_path),
        "take": batches.skip(2).take(5).shard(0, 2),
        "epochs": batches.epochs(2),
        "concat": hr.concat([batches, batches]),
        "mix": hr.mix([batches, batches], seed=1),
        "zip": hr.zip([batches.rename(n="m", ids="other"), batches]),
        "filter": batches.filter(lambda batch: batch["n"][0] % 8 == 0),
        "rename": batches.rename(ids="lists").rename(lists="ids").prefetch(3),
        "skip_errors": batches.skip_errors(3),
    }.items():
        for _ in range(2):
            for batch in pipe:
                assert isinstance(batch["ids"], list), name
                assert [ids.tolist() for ids in batch["ids"]] == [
                    list(range(n % 5)) for n in batch["n"]
                ], name
        assert_resumes(pipe)


def test_unbatch_restores_the_examples():
    pipe = listed(2).unbatch()
    assert same(list(pipe), list(hr.iterable(examples)))
    assert_resumes(pipe)
    again = pipe.batch(5, lists=("boxes", "image", "words", "name"))
    assert same(list(again), list(listed(5)))


@pytest.mark.parametrize("ways", [{}, {"num_threads": 2}, {"num_processes": 1}], ids=str)
def test_functions_receive_and_return_lists(ways):
    batches = listed(2)

    def doubled(batch):
        assert type(batch["name"][0]) is str
        assert not any(array.flags.writeable for array in batch["boxes"])
        boxes = [2.0 * array for array in batch["boxes"]]
        return {"n": batch["n"], "boxes": boxes, "other": batch["image"], "name": batch["name"]}

    pipe = batches.map(doubled, **ways)
    assert [pipe.spec[name].is_listed for name in pipe.spec] == [False, True, True, True]
    expected = [
        {
            "n": batch["n"],
            "boxes": [2 * array for array in batch["boxes"]],
            "other": batch["image"],
            "name": batch["name"],
        }
        for batch in batches
    ]
    assert same(list(pipe), expected)
    assert_resumes(pipe)
    twice = pipe.map(lambda b: {**b, "boxes": [a / 4 for a in b["boxes"]]}, **ways)
    assert same(
        list(twice.unbatch().select("boxes")),
        [{"boxes": example["boxes"] / 2} for example in examples()],
    )
    sums = batches.map(lambda b: {"s": np.array([a.sum() for a in b["boxes"]])}, **ways)
    assert [batch["s"].tolist() for batch in sums] == [[0, 0], [24, 12], [64]]
    kept = batches.filter(lambda b: len(b["boxes"][0]) != 3, **ways)
    assert [batch["n"].tolist() for batch in kept] == [[0, 1], [4]]


def test_function_can_return_empty_lists_and_arrays_of_equal_shape():
    rows = hr.arrays({"n": np.arange(6)}).map(lambda e: {"x": np.arange(e["n"] // 2)})
    pipe = rows.batch(2, lists="x").map(lambda b: {"x": [list(map(int, a)) for a in b["x"]]})
    assert pipe.spec["x"] == hr.Spec(INTS, (None, None), is_listed=True)
    inputs = [[array.tolist() for array in batch["x"]] for batch in pipe]
    assert inputs == [[[], []], [[0], [0]], [[0, 1], [0, 1]]]
    stacked = rows.batch(2, lists="x").map(lambda b: {"x": np.stack(b["x"])})
    assert [batch["x"].shape for batch in stacked] == [(2, 0), (2, 1), (2, 2)]

    def either(batch):
        return {"x": batch["x"] if len(batch["x"][0]) < 2 else np.stack(batch["x"])}

    with pytest.raises(TypeError, match=r"either\): the component 'x' is ndarray, expected a list"):
        list(rows.batch(2, lists="x").map(either))
    mixed = rows.batch(2, lists="x").map(lambda b: {"x": [b["x"][0], b["x"][1] * 0.5]})
    with pytest.raises(
        TypeError, match="'x' has the types float64, int64, but its type must be the same"
    ):
        list(mixed)


def test_native_functions_pass_lists_through_and_compute_with_the_rest():
    batches = listed(2).map(hr.native(lambda b: {**b, "n": b["n"] * 10}))
    expected = [{**batch, "n": batch["n"] * 10} for batch in listed(2)]
    assert same(list(batches), expected)
    assert_resumes(batches)
    with pytest.raises(
        TypeError, match=r"bfloat16, a date or time, or a list.*batches of arrays in lists"
    ):
        list(listed(2).map(hr.native(lambda b: {"x": hr.ops.reduce_sum(b["boxes"])})))


def test_errors_of_stages_that_need_arrays_name_the_list_and_a_remedy():
    pytest.importorskip("pyarrow")
    rows = hr.tfrecords("x").parse({"ids": hr.Ragged(int), "n": int})
    batches = rows.batch(4, lists="ids")
    words = r"the component 'ids' of a batch is a list of arrays.*Call unbatch\(\) first"
    for pipe in (
        lambda: batches.batch(2),
        lambda: batches.padded_batch(2),
        lambda: batches.batch(2, lists="ids"),
    ):
        with pytest.raises(ValueError, match=words):
            pipe()
    with pytest.raises(ValueError, match=r"batch: the component 'boxes'.*list of arrays"):
        list(listed(2).batch(2))
    with pytest.raises(ValueError, match="have different components"):
        hr.concat([batches.select("ids"), rows.select("ids").padded_batch(4)])
    with pytest.raises(ValueError, match="yields batches, expected examples"):
        batches.write("x.parquet")


def test_parts_with_different_lists_are_rejected_before_the_first_batch():
    rows = hr.arrays({"n": np.arange(8)}).map(lambda e: {"x": np.arange(3)})
    for parts in (
        [rows.batch(2, lists="x"), rows.batch(2)],
        [rows.batch(2), rows.batch(2, lists="x")],
    ):
        with pytest.raises(ValueError, match=r"concat: the component 'x' of a batch is a list"):
            next(iter(hr.concat(parts)))


def test_wrong_names_are_rejected():
    rows = hr.tfrecords("x").parse({"boxes": hr.Ragged(int), "n": int})
    with pytest.raises(ValueError, match=r"no component 'box'.*Did you mean 'boxes'\?"):
        rows.batch(2, lists="box")
    with pytest.raises(TypeError, match="3 is not the name of a component"):
        rows.batch(2, lists=[3])
    with pytest.raises(ValueError, match=r"names are \('n', 'n'\)"):
        rows.batch(2, lists=["n", "n"])
    with pytest.raises(ValueError, match=r"'boxes' is a list.*batch\(lists='boxes'\)"):
        rows.batch(2)
    objects = hr.json_lines("x", {"chat": hr.Json, "deep": hr.Ragged(int, ndim=2)})
    with pytest.raises(
        ValueError, match=r"'chat', but that component is Spec.*Remove it from lists"
    ):
        objects.batch(2, lists="chat")
    with pytest.raises(ValueError, match=r"'deep', but that component is Spec.*Use padded_batch"):
        objects.batch(2, lists="deep")
    with pytest.raises(ValueError, match="no component 'box'"):
        list(hr.iterable(examples).batch(2, lists="box"))


def test_state_requires_the_same_lists():
    state = json.loads(json.dumps(iter(listed(2, lists=("boxes", "image", "words"))).state()))
    with pytest.raises(ValueError, match="when the state was saved"):
        listed(2).resume(state)


def test_batches_resume_with_a_different_number_of_ranks():
    rows = hr.arrays({"n": np.arange(40)}).map(lambda e: {"ids": np.arange(e["n"] % 5)})
    two = [iter(rows.shard(rank, 2).batch(2, lists="ids")) for rank in range(2)]
    for rank in two:
        next(rank)
    batch = next(rows.shard(0, 1).batch(4, lists="ids").resume(two[0].state()))
    assert [len(ids) for ids in batch["ids"]] == [4, 0, 1, 2]


def test_records_of_lists_are_replayed(tmp_path):
    pytest.importorskip("pyarrow")
    path = tmp_path / "x.parquet"
    rows = hr.arrays({"n": np.arange(9)}).map(lambda e: {"ids": np.arange(e["n"] % 4)})
    rows.write(path)
    pipe = hr.parquet(path, columns={"ids": hr.Ragged(int)}).batch(4, lists="ids")
    batches = pipe.replay(iter(pipe).state())
    records = [[record for _, record, _ in batches.origins()] for _ in batches]
    assert records == [[0, 1, 2, 3], [4, 5, 6, 7], [8]]


@pytest.mark.skipif(find_spec("pyarrow") is None, reason="pyarrow is not installed")
def test_arrow_receives_lists_and_strings_remain_lists():
    table = listed(2).select("boxes", "name", "n").to_arrow().read_all()
    boxes = [example["boxes"].tolist() for example in examples()]
    assert table["boxes"].to_pylist() == boxes
    assert table["name"].to_pylist() == [f"ä{n}" for n in range(5)]
    first = next(iter(listed(2).options(strings="arrow")))
    assert first["name"] == ["ä0", "ä1"]
