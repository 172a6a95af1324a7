"""Full shuffles of arrays, of files with an index, and of a cache."""

import gzip
import os
import pickle

import numpy as np
import pytest
from tests.pipeline.conftest import NUM_EXAMPLES, example

from headrace import pipeline as hp
from headrace.core import errors
from headrace.io.records import TFRecordWriter


@pytest.fixture
def lines(tmp_path):
    """Three text files with the numbers 0 to 999. One is empty, and one has other line ends."""
    numbers = [b"%d" % number for number in range(1000)]
    (tmp_path / "0.txt").write_bytes(b"\n".join(numbers[:600]) + b"\n")
    (tmp_path / "1.txt").write_bytes(b"")
    (tmp_path / "2.txt").write_bytes(b"\r\n".join(numbers[600:]))
    return tmp_path


def texts(examples):
    return [int(row["text"]) for row in examples]


def test_records_of_all_files_appear_once(records, items_of):
    pipeline = hp.tfrecords(records).parse({"number": int}).shuffle(seed=3)
    shuffled = [int(row["number"]) for row in items_of(pipeline)]
    assert sorted(shuffled) == list(range(NUM_EXAMPLES))
    assert np.mean(np.abs(np.array(shuffled) - np.arange(NUM_EXAMPLES))) > 200
    assert [int(row["number"]) for row in items_of(pipeline)] == shuffled
    batches = items_of(pipeline.batch(64).epochs(2))
    assert np.concatenate([batch["number"] for batch in batches[:16]]).tolist() == shuffled
    again = np.concatenate([batch["number"] for batch in batches[16:]]).tolist()
    assert sorted(again) == list(range(NUM_EXAMPLES))
    assert again != shuffled
    assert [int(row["number"]) for row in pipeline.epoch(1)] == again


def test_lines_of_all_files_appear_once(lines, items_of):
    shuffled = texts(items_of(hp.text_lines(lines).shuffle(seed=3)))
    assert sorted(shuffled) == list(range(1000))
    assert shuffled != sorted(shuffled)
    assert sorted(shuffled[:500]) != list(range(500))


def test_fixed_length_records_and_whole_files_are_shuffled(tmp_path, items_of):
    for number in range(40):
        (tmp_path / f"{number:02}").write_bytes(b"H" + b"%03d" % number * number + b"FF")
    pipeline = hp.fixed_length_records(tmp_path, 3, header_bytes=1, footer_bytes=2)
    shuffled = [int(row["record"]) for row in items_of(pipeline.shuffle(seed=3))]
    assert sorted(shuffled) == [number for number in range(40) for _ in range(number)]
    assert shuffled != sorted(shuffled)
    full = items_of(hp.files(tmp_path).shuffle(seed=3))
    assert sorted(row["path"] for row in full) == [str(tmp_path / f"{n:02}") for n in range(40)]
    for row in full:
        assert row["data"] == (tmp_path / row["path"]).read_bytes()


def test_function_results_and_origins_stay_with_their_example(lines, items_of):
    def parse(row, rng):
        return {**row, "n": int(row["text"]), "draw": rng.integers(2**62)}

    mapped = hp.text_lines(lines).with_origin().map(parse, seed=5)
    expected = {int(row["n"]): row for row in mapped}
    result = items_of(mapped.shuffle(seed=3))
    assert len(result) == 1000
    assert all(row == expected[int(row["n"])] for row in result)
    assert result[0]["file"] in (str(lines / "0.txt"), str(lines / "2.txt"))


def test_parts_of_a_concat_are_shuffled_together(lines, items_of):
    rows = hp.arrays({"text": np.array([b"%d" % number for number in range(1000, 1500)], object)})
    same = hp.text_lines(lines).map(lambda row: {"text": row["text"]})
    inner = hp.concat([rows, same])
    shuffled = texts(
        items_of(hp.concat([hp.text_lines(lines), inner.select("text")]).shuffle(seed=3))
    )
    assert sorted(shuffled) == sorted([*range(1000), *range(1000), *range(1000, 1500)])
    first = np.array(shuffled[:800])
    assert 100 < (first >= 1000).sum() < 220
    assert sorted(texts(items_of(inner.shuffle(seed=3).take(200)))) != sorted(shuffled[:200])


def test_cached_examples_are_shuffled(lines, items_of):
    calls = []

    def note(row):
        calls.append(row["text"])
        return row

    cached = hp.text_lines(lines).map(note).cache()
    pipeline = cached.shuffle(seed=3).epochs(3)
    # The function is called for the first example to infer the spec, and this result is kept.
    assert cached.spec
    assert len(calls) == 1
    shuffled = texts(pipeline)
    assert [sorted(shuffled[start : start + 1000]) for start in (0, 1000, 2000)] == [
        list(range(1000))
    ] * 3
    assert shuffled[:1000] != shuffled[1000:2000]
    assert len(calls) == 1000
    assert texts(pipeline) == shuffled
    assert len(calls) == 1000
    plain = hp.text_lines(lines).shuffle(seed=3)
    assert shuffled[:1000] == texts(plain)


def test_empty_sources_yield_nothing(tmp_path, items_of):
    (tmp_path / "a").write_bytes(b"")
    assert items_of(hp.text_lines(tmp_path / "a").shuffle(seed=1)) == []
    assert items_of(hp.text_lines(tmp_path / "a").shuffle(seed=1).epochs()) == []


def test_large_record_among_small_ones_is_read(tmp_path, items_of):
    contents = [b"x" * length for length in (10, 3_000_000, 0, 700_000, 5)] * 3
    with TFRecordWriter(tmp_path / "a") as writer:
        for content in contents:
            writer.write(content)
    shuffled = [row["record"] for row in items_of(hp.tfrecords(tmp_path / "a").shuffle(seed=1))]
    assert sorted(map(len, shuffled)) == sorted(map(len, contents))


def test_damage_error_names_its_record_after_the_preceding_examples(tmp_path):
    path = tmp_path / "a.tfrecord"
    with TFRecordWriter(path) as writer:
        for number in range(100):
            writer.write(b"record %03d" % number)
    uninterrupted = [row["record"] for row in hp.tfrecords(path).shuffle(seed=3)]
    data = bytearray(path.read_bytes())
    data[26 * 70 + 14] ^= 1
    path.write_bytes(data)
    for num_threads in (1, 8):
        results = []
        pipeline = hp.tfrecords(path).shuffle(seed=3).options(num_threads=num_threads)
        message = r"a.tfrecord: corrupted record at 1832 \(record 70\): the checksum of its data"
        with pytest.raises(errors.DataLossError, match=message):
            results.extend(row["record"] for row in pipeline)
        assert results == uninterrupted[: uninterrupted.index(b"record 070")]


def test_scan_detects_a_truncated_file(tmp_path):
    path = tmp_path / "a.tfrecord"
    with TFRecordWriter(path) as writer:
        writer.write(b"one")
        writer.write(b"two")
    full = path.read_bytes()
    for length in (25, 32, 37):
        path.write_bytes(full[:length])
        with pytest.raises(errors.DataLossError, match=r"truncated record at 19 \(record 1\)"):
            list(hp.tfrecords(path).shuffle(seed=1))


def test_changed_file_is_scanned_again(tmp_path):
    path = tmp_path / "a"
    path.write_text("1\n2\n3\n")
    pipeline = hp.text_lines(path).shuffle(seed=1)
    assert sorted(texts(pipeline)) == [1, 2, 3]
    path.write_text("10\n20\n30\n40\n")
    assert sorted(texts(pipeline)) == [10, 20, 30, 40]
    assert sorted(texts(pickle.loads(pickle.dumps(pipeline)))) == [10, 20, 30, 40]


def test_compressed_files_are_rejected(tmp_path):
    path = tmp_path / "a.gz"
    path.write_bytes(gzip.compress(b"1\n2\n"))
    with pytest.raises(errors.InvalidArgumentError, match=r"a.gz: the file is compressed.*window="):
        list(hp.text_lines(path).shuffle(seed=1))
    for compression in ("gzip", "zlib"):
        with pytest.raises(ValueError, match=f"compressed with {compression}. Pass a window"):
            hp.text_lines(path, compression).shuffle()


@pytest.mark.parametrize(
    ("add", "reason"),
    [
        (lambda p: p.filter(bool), "filter does not turn each example into exactly one"),
        (lambda p: p.flat_map(list), "flat_map does not turn each"),
        (lambda p: p.take(3), "take does not turn each"),
        (lambda p: p.batch(3), "cannot come after batch"),
        (lambda p: hp.mix([p, p]), "mix yields its examples only in order"),
        (lambda p: hp.concat([p, p.skip(1)]), "skip does not turn each"),
        (lambda p: p.filter(bool).cache(), "filter does not turn each"),
        (lambda p: hp.iterable(list), "iterable yields its examples only in order"),
        (lambda p: p.epochs(2), "different epochs are never mixed"),
        (lambda p: hp.concat([p.epochs(2), p]), "different epochs are never mixed"),
    ],
)
def test_examples_without_random_access_are_rejected_with_the_reason(add, reason):
    with pytest.raises(ValueError, match=f"shuffle: .*{reason}"):
        add(hp.text_lines("a")).shuffle()


def test_describe_mentions_the_scan():
    described = hp.tfrecords("a").shuffle(seed=3).describe()
    assert (
        "shuffle(None, 3): all examples; the records are located with index files; missing"
        in described
    )
    assert "scan" not in hp.arrays({"x": [1]}).shuffle(seed=3).describe()
    assert "scan" not in hp.tfrecords("a").shuffle(window=3, seed=3).describe()


def test_parsed_example_stays_with_its_record(tmp_path, items_of):
    with TFRecordWriter(tmp_path / "a") as writer:
        writer.write(example(7))
    [row] = items_of(hp.tfrecords(tmp_path / "a").parse({"text": str}).shuffle(seed=1))
    assert row["text"] == "text 7"


def test_images_in_directories_are_shuffled(tmp_path, items_of):
    for number in range(60):
        path = tmp_path / "ab"[number % 2] / f"{number:02}.jpg"
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(b"image %d" % number)
    images = hp.image_folder(tmp_path)
    result = items_of(images.shuffle(seed=3))
    assert [row["path"] for row in result] != [row["path"] for row in images]
    for row in result:
        number = int(row["data"].split()[1])
        assert row["label"] == number % 2
        assert row["path"].endswith(f"{number:02}.jpg")
    assert len(result) == 60


@pytest.mark.parametrize("how", ["replaced", "written over"])
def test_changed_file_with_the_same_size_and_time_is_scanned_again(tmp_path, how):
    path = tmp_path / "a"
    path.write_bytes(b"1\n222\n33\n")
    before = path.stat()
    pipeline = hp.text_lines(path).shuffle(seed=1)
    assert sorted(row["text"] for row in pipeline) == [b"1", b"222", b"33"]
    new = tmp_path / "new" if how == "replaced" else path
    new.write_bytes(b"555\n44\n6\n")
    os.utime(new, ns=(before.st_atime_ns, before.st_mtime_ns))
    # rsync -t does this too.
    new.replace(path)
    after = path.stat()
    assert (after.st_size, after.st_mtime_ns) == (before.st_size, before.st_mtime_ns)
    assert sorted(row["text"] for row in pipeline) == [b"44", b"555", b"6"]
