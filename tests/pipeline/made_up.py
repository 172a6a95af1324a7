"""Pipelines that hypothesis makes up: sources, and stages that may stand anywhere."""

import time
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import numpy as np
from hypothesis import strategies as st
from tests.pipeline.conftest import CACHE_WAYS, LARGE_WAYS, NUM_EXAMPLES

import headrace as hr
from headrace import errors
from headrace import pipeline as hp


def stages():
    """Strategies for stages that may stand anywhere behind examples with a number."""
    small = st.integers(0, 40)
    return st.one_of(
        st.builds(lambda n: lambda p: p.take(n), st.integers(0, 900)),
        st.builds(lambda n: lambda p: p.skip(n), small),
        st.builds(lambda i, n: lambda p: p.shard(i, i + n), st.integers(0, 2), st.integers(1, 3)),
        st.builds(
            lambda w, s: lambda p: p.shuffle(w, s), st.integers(1, 300), st.integers(0, 2**63 - 1)
        ),
        st.builds(lambda m: lambda p: p.filter(lambda e: e["number"] % m != 1), st.integers(2, 5)),
        st.just(lambda p: p.map(lambda e: {"number": e["number"] + 1})),
        st.just(lambda p: p.map(native_sum)),
        st.builds(lambda seed: lambda p: p.map(native_noise, seed=seed), st.integers(0, 9)),
        st.just(lambda p: p.filter(native_predicate)),
        st.just(lambda p: p.flat_map(native_pair)),
        st.just(lambda p: p.map(slow)),
        st.builds(
            lambda m: lambda p: p.flat_map(lambda e: [e] * int(e["number"] % m)), st.integers(2, 3)
        ),
        st.just(lambda p: p.batch(7).unbatch()),
        st.just(lambda p: p.cache()),
        st.builds(lambda s: lambda p: p.map(add_draw, seed=s), st.integers(0, 2**63 - 1)),
        st.builds(
            lambda s, stop: lambda p: hp.mix([p.take(300), p.skip(3).take(99)], [2, 1], s, stop),
            st.integers(0, 2**63 - 1),
            st.sampled_from(["first", "all"]),
        ),
        st.just(
            lambda p: hp.zip(
                [p.select("number"), p.take(300).select("number").rename(other="number")], False
            )
        ),
        st.just(lambda p: hp.concat([p.take(300).select("number"), p.take(50).select("number")])),
        st.builds(
            lambda n: (
                lambda p: (
                    p.map(lengthened).bucket_by_length("list", [1, 2], n).select("number").unbatch()
                )
            ),
            st.integers(1, 90),
        ),
        st.builds(
            lambda length, opened: (
                lambda p: (
                    p.map(several)
                    .pack(length, "number", max_open=opened)
                    .select("number")
                    .unbatch()
                )
            ),
            st.integers(2, 9),
            st.integers(1, 20),
        ),
        st.builds(
            lambda s: lambda p: fully_shuffled(p, s),
            st.integers(0, 2**63 - 1),
        ),
        st.builds(lambda add: lambda p: skipping(p, add), st.sampled_from(SKIPPING)),
    )


MANY = 10_000
# Stages that fail at some examples, which are left out, there or behind other stages.
SKIPPING = [
    lambda p: p.map(failing).skip_errors(MANY),
    lambda p: p.map(native_failing).skip_errors(0.99),
    lambda p: p.map(native_failing).map(failing).take(500).batch(3).unbatch().skip_errors(MANY),
    lambda p: (
        p.map(native_failing).shuffle(20, 3).filter(failing).flat_map(twice).skip_errors(MANY)
    ),
    lambda p: hp.concat(
        [p.map(native_failing).take(90), p.map(failing).skip_errors(MANY).skip(10)]
    ).skip_errors(MANY),
    lambda p: p.batch(5).map(failing_batch).skip_errors(MANY).unbatch(),
    lambda p: (
        hp.zip([p.map(failing), p.map(native_failing).rename(other="number")], False)
        .select("number")
        .skip_errors(MANY)
    ),
]


PARQUET = {"parquet": lambda records, tables: hp.parquet(tables / "*.parquet", ["number"])}
SOURCES = {
    **(PARQUET if find_spec("pyarrow") else {}),
    "tfrecords": lambda records, tables: hp.tfrecords(records).parse({"number": int}),
    "csv": lambda records, tables: hp.csv(tables / "csv", {"number": int}),
    "json_lines": lambda records, tables: hp.json_lines(
        tables / "*.jsonl", {"number": int, "list": hp.Ragged(int)}
    ).select("number"),
    "image_folder": lambda records, tables: hp.image_folder(tables / "images").map(
        lambda image: {"number": int(image["data"])}
    ),
    "webdataset": lambda records, tables: hp.webdataset(tables / "*.tar").map(
        lambda sample: {"number": int(sample["number"])}
    ),
    "damaged": lambda records, tables: (
        hp.tfrecords(tables / "damaged").parse({"number": int}).skip_errors(MANY)
    ),
    "damaged, in another order": lambda records, tables: (
        hp.tfrecords(tables / "damaged").shuffle(seed=7).parse({"number": int}).skip_errors(0.5)
    ),
    "arrays": lambda records, tables: hp.arrays({"number": np.arange(NUM_EXAMPLES)}),
    "parts": lambda records, tables: hp.concat(
        [
            hp.tfrecords(records).parse({"number": int}).map(slow),
            hp.arrays({"number": np.arange(100)}),
        ]
    ),
}


@hr.native
def native_sum(example):
    return {"number": example["number"] + 1}


@hr.native
def native_noise(example):
    return {"number": example["number"] + hr.ops.random_uniform([], 0, 100, "int64")}


@hr.native
def native_predicate(example):
    return example["number"] % 3 != 1


@hr.native
def native_pair(example):
    return {"number": hr.ops.stack([example["number"], -example["number"]])}


@hr.native
def native_failing(example):
    # There is no such element for every 41st example.
    return {"number": hr.ops.gather(np.arange(40), example["number"] % 41) + example["number"]}


def failing(example):
    if example["number"] % 13 == 5:
        raise LookupError(example["number"])
    return example


def failing_batch(batch):
    if batch["number"][0] % 7 == 3:
        raise LookupError(batch["number"])
    return batch


def twice(example):
    if example["number"] % 17 == 5:
        raise LookupError(example["number"])
    return [example, example]


def skipping(pipeline, add):
    """Adds stages that leave failures out, where they may stand."""
    try:
        return add(pipeline.select("number"))
    except ValueError as error:
        if "cannot follow a shuffle of all examples of concat" not in str(error):
            raise
        return pipeline


def fully_shuffled(pipeline, seed):
    """Shuffles all examples where they can be reached, else over a window."""
    try:
        return pipeline.shuffle(seed=seed)
    except ValueError:
        return pipeline.shuffle(window=200, seed=seed)


def add_draw(values, rng):
    return {**values, "number": values["number"] + rng.integers(3)}


def lengthened(values):
    return {"number": values["number"], "list": np.zeros(int(values["number"]) % 4)}


def several(values):
    return {"number": np.full(int(values["number"]) % 3, values["number"])}


def slow(values):
    if values["number"] % 50 == 0:
        time.sleep(0.001)
    return values


@dataclass(frozen=True)
class Program:
    """A pipeline of numbers in batches, which can be made any number of times."""

    source: str
    chain: list[Any]
    size: int
    remainder: str
    epochs: int

    def pipeline(self, records, tables):
        """Makes it anew, or None if it has no example to learn components from."""
        made = SOURCES[self.source](records, tables)
        for add in self.chain:
            made = add(made)
        made = made.select("number").batch(self.size, self.remainder).epochs(self.epochs)
        try:
            made.spec  # noqa: B018
        except errors.OutOfRangeError:
            return None
        return made


PROGRAMS = st.builds(
    Program,
    source=st.sampled_from(sorted(SOURCES)),
    chain=st.lists(stages(), max_size=4),
    size=st.integers(1, 300),
    remainder=st.sampled_from(["keep", "drop", "pad"]),
    epochs=st.integers(1, 3),
)


def ways_of(pipeline):
    """Options under which a pipeline gives the same."""
    return CACHE_WAYS if "cache()" in pipeline.describe().lower() else LARGE_WAYS
