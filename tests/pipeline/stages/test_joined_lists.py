"""Batches with lists joined end to end, and their offsets."""

import numpy as np
import pytest
from tests.pipeline.conftest import LARGE_WAYS, same

import headrace as hr
from headrace.core import errors
from headrace.testing import assert_resumes

LENGTHS = [2, 0, 3, 1, 4]


def examples():
    for number, length in enumerate(LENGTHS):
        yield {
            "n": number,
            "ids": 10 * number + np.arange(length),
            "boxes": np.full((length, 4), number, np.float32),
            "words": [f"w{number}"] * length,
            "name": f"ä{number}",
        }


def joined(size=2, *arguments, **more):
    return hr.iterable(examples).batch(size, *arguments, ragged="offsets", **more)


def test_lists_become_values_and_offsets_and_the_rest_is_stacked():
    first, second, last = joined()
    assert list(first) == [
        "n",
        *("ids.values", "ids.offsets"),
        *("boxes.values", "boxes.offsets"),
        *("words.values", "words.offsets"),
        "name",
    ]
    assert first["ids.values"].tolist() == [0, 1]
    assert first["ids.offsets"].tolist() == [0, 2, 2]
    assert first["ids.offsets"].dtype == np.int64
    assert second["ids.values"].tolist() == [20, 21, 22, 30]
    assert second["ids.offsets"].tolist() == second["boxes.offsets"].tolist() == [0, 3, 4]
    assert second["boxes.values"].tolist() == [[2.0] * 4] * 3 + [[3.0] * 4]
    assert second["words.values"].tolist() == ["w2", "w2", "w2", "w3"]
    assert second["name"].tolist() == ["ä2", "ä3"]
    assert last["ids.offsets"].tolist() == [0, 4]
    for batch in (first, second, last):
        for array in batch.values():
            array[:0] = array[:0]  # Writable.


def test_spec_is_available_before_iteration():
    ids = hr.Spec(np.dtype(np.int64), (None,))
    rows = hr.tfrecords("x").parse({"ids": hr.Ragged(int), "names": hr.Ragged(str), "n": int})
    assert rows.batch(4, ragged="offsets").spec == {
        "ids.values": ids,
        "ids.offsets": ids,
        "names.values": hr.Spec(str, (None,)),
        "names.offsets": ids,
        "n": hr.Spec(np.dtype(np.int64), (None,)),
    }
    for remainder, names in (("drop", []), ("pad", ["mask"])):
        spec = rows.batch(4, remainder, ragged="offsets").spec
        assert spec["ids.offsets"] == hr.Spec(np.dtype(np.int64), (5,))
        assert list(spec)[5:] == names


def test_padding_examples_have_no_values():
    last = list(joined(2, "pad"))[-1]
    assert last["ids.values"].tolist() == [40, 41, 42, 43]
    assert last["ids.offsets"].tolist() == [0, 4, 4]
    assert last["mask"].tolist() == [True, False]
    assert last["n"].tolist() == [4, 0]
    assert len(list(joined(2, "drop"))) == len(list(joined())) - 1 == 2


def test_joined_lists_from_files_resume_with_any_number_of_threads(tmp_path):
    pytest.importorskip("pyarrow")
    path = tmp_path / "x.parquet"
    rows = hr.arrays({"n": np.arange(500)}).map(
        lambda e: {"n": e["n"], "ids": np.arange(e["n"] % 7)}
    )
    rows.write(path)
    pipe = hr.parquet(path, columns={"n": int, "ids": hr.Ragged(int)}).shuffle(window=50, seed=1)
    pipe = pipe.batch(8, ragged="offsets")
    expected = list(pipe)
    for batch in expected:
        lengths = np.diff(batch["ids.offsets"])
        assert lengths.tolist() == (batch["n"] % 7).tolist()
        assert batch["ids.values"].tolist() == [i for length in lengths for i in range(length)]
    for way in LARGE_WAYS:
        assert same(list(pipe.options(**way)), expected)
    assert_resumes(pipe)
    assert len(hr.arrays({"n": np.arange(5)}).batch(2, ragged="offsets")) == 3


def test_description_contains_the_option():
    assert "batch(2, 'keep', ragged='offsets')" in joined().describe()
    state = iter(joined()).state()
    with pytest.raises(ValueError, match="when the state was saved"):
        hr.iterable(examples).select("n").batch(2).resume(state)


def test_batches_resume_with_a_different_number_of_ranks():
    rows = hr.arrays({"n": np.arange(40)}).map(lambda e: {"ids": np.arange(e["n"] % 5)})
    two = [iter(rows.shard(rank, 2).batch(2, ragged="offsets")) for rank in range(2)]
    for rank in two:
        next(rank)
    batch = next(rows.shard(0, 1).batch(4, ragged="offsets").resume(two[0].state()))
    assert batch["ids.offsets"].tolist() == [0, 4, 4, 5, 7]


def test_batches_follow_a_schedule():
    batches = list(joined({0: 1, 2: 3}))
    assert [batch["ids.offsets"].tolist() for batch in batches] == [[0, 2], [0, 0], [0, 3, 4, 8]]
    assert batches[2]["words.values"].tolist() == ["w2"] * 3 + ["w3"] + ["w4"] * 4
    assert joined({0: 1, 2: 3}).spec["ids.offsets"].shape == (None,)
    assert_resumes(joined({0: 1, 2: 3}))


def test_strings_are_stacked_and_lists_of_strings_joined():
    examples = [{"data": b"abc", "parts": [b"a", b"bc"]}, {"data": b"", "parts": [b"d"]}]
    (batch,) = hr.iterable(examples).batch(2, ragged="offsets")
    assert batch["data"].tolist() == [b"abc", b""]
    assert batch["parts.values"].tolist() == [b"a", b"bc", b"d"]
    assert batch["parts.offsets"].tolist() == [0, 2, 3]


def test_arrow_tables_contain_the_lists():
    pytest.importorskip("pyarrow")
    table = joined().to_arrow().read_all()
    assert table.column_names == ["n", "ids", "boxes", "words", "name"]
    expected = list(hr.iterable(examples))
    for name in ("ids", "boxes", "words"):
        assert table[name].to_pylist() == [np.asarray(one[name]).tolist() for one in expected]
    assert table["name"].to_pylist() == [one["name"] for one in expected]

    def broken(batch):
        return {"ids.values": batch["ids.values"], "ids.offsets": batch["ids.offsets"] + 1}

    with pytest.raises(TypeError, match=r"'ids\.offsets' does not match the 2 rows of 'ids\.val"):
        joined().map(broken).to_arrow().read_all()


def test_incompatible_example_shapes_are_an_error():
    shapes = [(2, 3), (1, 4)]
    pipe = hr.iterable(lambda: ({"x": np.zeros(shape)} for shape in shapes))
    words = r"'x'.*shape \[2,3\], another .* of shape \[1,4\].*only in the first.*use padded_batch"
    with pytest.raises(errors.InvalidArgumentError, match=words):
        list(pipe.batch(2, ragged="offsets"))


def test_components_that_cannot_be_joined_are_rejected():
    nested = hr.json_lines("x", columns={"x": hr.Ragged(int, ndim=2)})
    image = hr.files("x").map(
        hr.native(
            lambda e: {"x": hr.ops.ensure_shape(hr.ops.decode_image(e["data"]), [None, None, 3])}
        )
    )
    for pipe in (nested, image):
        for remainder in ("keep", "pad"):
            with pytest.raises(
                ValueError, match=r"'x' is Spec.*only its first axis may vary.*padded_batch"
            ):
                pipe.batch(2, remainder, ragged="offsets")
    for name in ("x.values", "x.offsets"):
        rows = hr.tfrecords("x").parse({"x": hr.Ragged(int), name: int})
        with pytest.raises(ValueError, match=f"already a component '{name}'.*Rename"):
            rows.batch(2, ragged="offsets")


def test_invalid_arguments_are_rejected():
    with pytest.raises(ValueError, match="ragged is 'rows', expected 'offsets'"):
        hr.arrays({"n": [1]}).batch(2, ragged="rows")
    with pytest.raises(
        ValueError, match=r"'ids\.values' and 'ids\.offsets' are the values and offsets of lists"
    ):
        list(joined().unbatch())
    unbatched = joined().select("n", "name").unbatch()
    assert [int(example["n"]) for example in unbatched] == list(range(len(LENGTHS)))
    with pytest.raises(ValueError, match="already a component 'mask'"):
        list(hr.iterable(lambda: [{"mask": 1, "x": [1]}]).batch(2, "pad", ragged="offsets"))


def test_function_receives_values_and_offsets():
    for ways in ({}, {"num_threads": 2}):
        pipe = joined().map(lambda b: {"s": np.add.reduceat(b["ids.values"], [0])}, **ways)
        assert [int(batch["s"][0]) for batch in pipe] == [1, 93, 166]


def test_offsets_join_components_packed_with_along():
    texts = hr.iterable(lambda: ({"t": np.arange(n), "n": n} for n in (3, 2, 4)))
    (batch,) = texts.pack(5, "t", along="n", cu_seqlens=True).batch(2, ragged="offsets")
    assert batch["n.values"].tolist() == [3, 2, 4]
    assert batch["n.offsets"].tolist() == [0, 2, 3]
    assert batch["cu_seqlens.values"].tolist() == [0, 3, 5, 0, 4]
    assert batch["t"].shape == (2, 5)
