"""Batches of lists that are all empty have the shapes and types of other batches."""

import json

import numpy as np
import pytest
from tests.pipeline.conftest import pa, pq

import headrace as hr
from headrace.io.records import TFRecordWriter
from headrace.protos import Example

# No record has any of the lists.
pytestmark = pytest.mark.filterwarnings("ignore:parse. no record has a feature named")

TYPES = {"ids": np.dtype(np.int64), "x": np.dtype(np.float32), "words": np.dtype(object)}
RAGGED = {"n": int, "ids": hr.Ragged(int), "x": hr.Ragged(float), "words": hr.Ragged(str)}


def lines(directory):
    rows = [{"n": n, "ids": [], "x": [], "words": []} for n in range(4)]
    (directory / "a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return hr.json_lines(directory / "a.jsonl", columns=RAGGED)


def table(directory):
    if pq is None:
        pytest.skip("needs pyarrow")
    types = {"ids": pa.int64(), "x": pa.float32(), "words": pa.string()}
    columns = {name: pa.array([[]] * 4, pa.list_(of)) for name, of in types.items()}
    pq.write_table(pa.table({"n": range(4), **columns}), directory / "a.parquet")
    return hr.parquet(directory / "a.parquet")


def records(directory):
    with TFRecordWriter(directory / "a.tfrecord") as writer:
        for n in range(4):
            example = Example()
            example.features.feature["n"].int64_list.value.append(n)
            writer.write(example.SerializeToString())
    return hr.tfrecords(directory / "a.tfrecord").parse(RAGGED)


def examples(directory):
    empty = {"ids": np.empty(0, np.int64), "x": np.empty(0, np.float32), "words": np.empty(0, "U")}
    return hr.iterable(lambda: iter({"n": n, **empty} for n in range(4)))


@hr.native
def passed(example):
    return {**example, "ids": example["ids"] + 1}


BEFORE = {
    "as they are": lambda pipe: pipe,
    "after map": lambda pipe: pipe.map(lambda example: {**example}),
    "after a native map": lambda pipe: pipe.map(passed),
    "from a cache": lambda pipe: pipe.cache(),
    "unbatched": lambda pipe: pipe.batch(3, lists=tuple(TYPES)).unbatch(),
}


@pytest.mark.parametrize("source", [lines, table, records, examples])
@pytest.mark.parametrize("before", BEFORE)
def test_lists_that_are_all_empty_can_be_batched_in_every_way(tmp_path, source, before):
    pipe = BEFORE[before](source(tmp_path))
    assert pipe.spec["words"].dtype is str
    for remainder in ("keep", "pad"):
        for batch in pipe.padded_batch(3, remainder=remainder):
            for name, dtype in TYPES.items():
                assert (batch[name].shape, batch[name].dtype) == ((len(batch["n"]), 0), dtype)
        for batch in pipe.batch(3, remainder, ragged="offsets"):
            for name, dtype in TYPES.items():
                assert (batch[f"{name}.values"].shape, batch[f"{name}.values"].dtype) == (
                    (0,),
                    dtype,
                )
                assert batch[f"{name}.offsets"].tolist() == [0] * (len(batch["n"]) + 1)
        for batch in pipe.batch(3, remainder, lists=tuple(TYPES)):
            for name, dtype in TYPES.items():
                kinds = {(array.shape, array.dtype) for array in batch[name]}
                assert (len(batch[name]), kinds) == (len(batch["n"]), {((0,), dtype)})
    assert list(pipe.select("n", "ids").pack(8, "ids", along="n")) == []
    (batch,) = pipe.bucket_by_length("ids", [2], 4)
    assert batch["ids"].shape == (4, 0)


@pytest.mark.skipif(pa is None, reason="needs pyarrow")
@pytest.mark.parametrize("source", [lines, table, records, examples])
@pytest.mark.parametrize("before", BEFORE)
def test_lists_that_are_all_empty_become_arrow_lists(tmp_path, source, before):
    pipe = BEFORE[before](source(tmp_path))
    elements = {"ids": pa.int64(), "x": pa.float32(), "words": pa.large_string()}
    for output in (
        pipe,
        pipe.padded_batch(3),
        pipe.batch(3, ragged="offsets"),
        pipe.batch(3, lists=tuple(TYPES)),
    ):
        rows = output.to_arrow().read_all()
        for name, element in elements.items():
            assert rows.schema.field(name).type == pa.large_list(element)
            assert rows[name].to_pylist() == [[]] * 4


def test_lists_of_lists_that_are_all_empty_can_be_padded(tmp_path):
    rows = [{"n": 0, "nested": []}, {"n": 1, "nested": [[], []]}]
    for name, kept, shape in (("a", rows[:1], (1, 0, 0)), ("b", rows, (2, 2, 0))):
        path = tmp_path / f"{name}.jsonl"
        path.write_text("".join(json.dumps(row) + "\n" for row in kept))
        pipe = hr.json_lines(path, columns={"n": int, "nested": hr.Ragged(int, 2)})
        for one in (pipe, pipe.map(lambda example: {**example})):
            (batch,) = one.padded_batch(4)
            assert (batch["nested"].shape, batch["nested"].dtype) == (shape, np.int64)
