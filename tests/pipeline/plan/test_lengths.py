"""Lengths: `len` if they are known without reading, and `count()` otherwise."""

import copy
import gzip
import json
import logging
from pathlib import Path

import numpy as np
import pytest

import headrace as hr


def length(pipe):
    """Returns the length of a pipeline's output."""
    return sum(1 for _ in pipe)


def numbers(count):
    return hr.arrays({"n": np.arange(count)})


@pytest.fixture(scope="module")
def directory(tmp_path_factory):
    """Files of several formats, with 0, 3 and 40 records."""
    directory = tmp_path_factory.mktemp("files")
    for index, count in enumerate((3, 0, 40)):
        (directory / f"{index}.bin").write_bytes(b"head" + b"12345678" * count + b"foot")
        (directory / f"{index}.txt").write_text("".join(f"{n}\n" for n in range(count)))
        if count:
            rows = "".join(f"{n}\n" for n in range(count))
            (directory / f"{index}.csv").write_text("n\n" + rows)
    for label, count in (("cat", 4), ("dog", 3)):
        (directory / "images" / label).mkdir(parents=True)
        for index in range(count):
            (directory / "images" / label / f"{index}.png").write_bytes(b"")
    images = [{"id": index, "file_name": f"cat/{index}.png"} for index in range(4)]
    entries = {"images": images, "annotations": [], "categories": []}
    (directory / "boxes.coco").write_text(json.dumps(entries))
    return directory


def pipelines_of_known_length(directory):
    return {
        "arrays": numbers(43),
        "files": hr.files(f"{directory}/*.txt"),
        "fixed": hr.fixed_length_records(f"{directory}/*.bin", 8, 4, 4),
        "image_folder": hr.image_folder(directory / "images"),
        "coco": hr.coco(directory / "images", directory / "boxes.coco"),
        "concat": hr.concat([numbers(5), numbers(7)]),
        "zip": hr.zip([numbers(5), numbers(7).rename(n="m")], strict=False),
        "mix": hr.mix([numbers(5), numbers(7)], stop="all", seed=1),
    }


@pytest.mark.parametrize("kind", sorted(pipelines_of_known_length(Path())))
def test_length_is_known_without_reading(directory, kind):
    pipe = pipelines_of_known_length(directory)[kind]
    for shaped in (
        pipe,
        pipe.batch(4),
        pipe.skip(2).batch(3, "drop"),
        pipe.take(6).shard(1, 4).epochs(3),
        pipe.shuffle(window=3, seed=1).batch(5, "pad"),
    ):
        assert len(shaped) == shaped.count() == length(shaped)


@pytest.mark.parametrize("kind", ["arrays", "files", "fixed", "image_folder", "coco"])
def test_take_skip_and_shard_keep_the_length_known(directory, kind):
    pipe = pipelines_of_known_length(directory)[kind]
    for part in pipe.split(0.6, 0.4, seed=3):
        for shaped in (part, part.shuffle(seed=1).batch(4), part.epochs(3).batch(2)):
            assert len(shaped) == shaped.count() == length(shaped)
        again, _ = part.split(0.5, 0.5, seed=4)
        assert len(again) == length(again)
    for part in pipe.take(6).split(0.5, 0.5):
        with pytest.raises(TypeError, match="len: the number of examples after split is unknown"):
            len(part)
        assert part.count() == length(part)


def test_parquet_lengths_come_from_footers(directory):
    pa = pytest.importorskip("pyarrow")
    pq = pytest.importorskip("pyarrow.parquet")
    for index, count in enumerate((10, 7)):
        pq.write_table(pa.table({"n": list(range(count))}), directory / f"{index}.parquet")
    pipe = hr.parquet(f"{directory}/*.parquet")
    assert len(pipe) == 17
    assert len(pipe.batch(4)) == 5
    train, held_out = pipe.split(0.5, 0.5)
    assert (len(train), len(held_out)) == (length(train), length(held_out))


@pytest.mark.parametrize("kind", ["txt", "csv", "concat"])
def test_all_lengths_are_known_after_a_scan(directory, kind):
    source = {
        "txt": hr.text_lines(f"{directory}/*.txt"),
        "csv": hr.csv(f"{directory}/*.csv", {"n": int}),
        "concat": hr.concat([hr.text_lines(f"{directory}/{index}.txt") for index in (2, 0)]),
    }[kind]
    pipe = source.shuffle(seed=1).batch(4).options(index="memory")
    with pytest.raises(TypeError, match="is unknown until they are read"):
        len(pipe)
    with iter(pipe) as batches:
        next(batches)
    assert len(pipe) == len(pipe.epochs(2)) // 2 == length(pipe) == 11


def test_lengths_of_split_tables_require_reading(directory):
    pipe = hr.csv(f"{directory}/*.csv", {"n": int})
    assert length(pipe.shuffle(seed=1)) == len(pipe) == 43
    for part in pipe.shuffle(seed=1).split(0.5, 0.5):
        with pytest.raises(TypeError, match="the number of examples after split is unknown"):
            len(part)
        assert part.count() == length(part)
    lines = hr.text_lines(f"{directory}/*.txt")
    assert length(lines.shuffle(seed=1)) == len(lines) == 43
    for part in lines.split(0.5, 0.5):
        assert len(part) == length(part)


def test_changed_files_invalidate_the_scanned_length(tmp_path):
    (tmp_path / "a.txt").write_text("1\n2\n")
    pipe = hr.text_lines(f"{tmp_path}/*.txt").shuffle(seed=1)
    assert length(pipe) == len(pipe) == 2
    (tmp_path / "b.txt").write_text("3\n")
    with pytest.raises(TypeError, match="is unknown until they are read"):
        len(pipe)
    assert length(pipe) == len(pipe) == 3


def test_count_reads_only_if_needed_and_logs_it(directory, caplog):
    caplog.set_level(logging.INFO, "headrace.pipeline")
    called = []

    def noted(example):
        called.append(example)
        return example

    text = hr.text_lines(f"{directory}/*.txt").options(index="memory")
    kept = text.filter(lambda example: len(example["text"]) > 1)
    assert text.map(noted).shuffle(window=3, seed=1).batch(4).epochs(2).count() == 22
    assert "count: reading all examples of text_lines" in caplog.text
    assert kept.map(noted).batch(4).count() == 8
    assert len(called) <= 2  # To learn the components.
    assert kept.take(9).epochs(2).count() == 18
    assert text.batch(4).unbatch().count() == 43
    assert text.batch(4).filter(lambda batch: len(batch["text"]) == 4).count() == 10


def test_count_handles_epochs_with_different_lengths(directory):
    def drawn(example, rng):
        return {"x": rng.random()}

    pipe = numbers(40).map(drawn, seed=1).filter(lambda example: example["x"] < 0.5).epochs(3)
    assert pipe.count() == length(pipe)
    assert pipe.batch(3).count() == length(pipe.batch(3))


def test_count_handles_epochs_with_different_parts():
    def copies(example, rng):
        return [example] * int(rng.integers(3))

    mixed = hr.mix([numbers(9), numbers(9)], seed=1).rename(n="m")
    for pipe in (
        numbers(40).flat_map(copies, seed=1).epochs(3),
        hr.zip([numbers(40), mixed], strict=False).filter(lambda example: True).epochs(3),
        hr.concat([numbers(3), numbers(40).flat_map(copies, seed=1)]).epochs(3),
    ):
        assert pipe.count() == length(pipe)


def test_mix_length_is_unknown_if_the_last_weight_of_a_part_is_zero():
    parts = {"a": numbers(9), "b": numbers(9)}
    schedule = {0: {"a": 1, "b": 1}, 4: {"a": 1, "b": 0}}
    mixed = hr.mix(parts, seed=1, stop="all", schedule=schedule)
    with pytest.raises(TypeError, match="the number of examples in mix is unknown"):
        len(mixed)
    assert mixed.count() == length(mixed) < 18
    mixed = hr.mix(parts, seed=1, stop="all", schedule={0: {"a": 1, "b": 0}})
    assert len(mixed) == length(mixed) == 9
    mixed = hr.mix(parts, seed=1, stop="all", schedule={0: {"a": 1, "b": 0}, 4: {"a": 1, "b": 2}})
    assert len(mixed) == length(mixed) == 18


def test_endless_pipeline_has_no_length():
    for pipe in (numbers(5).epochs(), numbers(5).filter(lambda e: True).epochs().batch(2)):
        with pytest.raises(TypeError, match=r"count: the pipeline is endless|len: the pipeline h"):
            pipe.count()
    assert len(numbers(0).epochs()) == 0
    endless = numbers(5).epochs().take(12).batch(5)
    assert len(endless) == length(endless) == 3


class TestOrdinaryObjects:
    def test_pipeline_is_truthy_and_not_a_sequence(self):
        pipe = numbers(8).filter(lambda e: e["n"] < 4).cache().batch(2)
        assert bool(pipe)
        assert bool(numbers(0))
        assert copy.copy(pipe) is pipe
        assert copy.deepcopy({"train": pipe})["train"] is pipe
        assert pipe == copy.deepcopy(pipe)
        assert pipe != pipe.take(1)
        for what, text in (
            (lambda: 3 in pipe, "in: a pipeline does not support `in`"),
            (lambda: pipe[0], r"\[0\]: a pipeline does not support indexing"),
            (lambda: pipe[:3], r"\[slice\(None, 3, None\)\]: a pipeline does not support indexing"),
            (lambda: reversed(pipe), "reversed: a pipeline can only be read forwards"),
            (lambda: pipe < numbers(1), "'<' not supported between instances of 'Pipeline'"),
            (lambda: len(pipe), "len: the number of examples after filter is unknown until they"),
        ):
            with pytest.raises(TypeError, match=text):
                what()

    def test_iteration_is_truthy_and_not_a_sequence(self):
        batches = iter(numbers(8).batch(2))
        assert bool(batches)
        for what, text in (
            (lambda: 3 in batches, "in: an iteration does not support `in`"),
            (lambda: batches[0], r"\[\]: an iteration does not support indexing"),
            (lambda: copy.copy(batches), "has threads, so it cannot be copied or pickled"),
            (lambda: copy.deepcopy(batches), "has threads, so it cannot be copied or pickled"),
            (lambda: len(batches), "has no len"),
            (lambda: reversed(batches), "not reversible|has no len"),
        ):
            with pytest.raises(TypeError, match=text):
                what()
        assert json.dumps([batch["n"].tolist() for batch in batches]) == (
            "[[0, 1], [2, 3], [4, 5], [6, 7]]"
        )


def test_fixed_length_records_are_counted_from_sizes_unless_compressed(tmp_path):
    (tmp_path / "plain").write_bytes(b"abcd" * 7 + b"x")
    assert len(hr.fixed_length_records(tmp_path / "plain", 4)) == 7
    (tmp_path / "packed").write_bytes(gzip.compress(b"abcd" * 7))
    packed = hr.fixed_length_records(tmp_path / "packed", 4)
    with pytest.raises(TypeError, match="is unknown until they are read"):
        len(packed)
    assert packed.count() == 7
