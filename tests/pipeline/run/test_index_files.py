"""Index files: saved offsets of records, which are verified before use."""

import gzip
import os
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest
from tests.archives import add_members
from tests.privileges import unprivileged

import headrace as hr
from headrace.core import errors
from headrace.io.records import TFRecordWriter

NUMBERS = range(300)


def write_tfrecords(path, numbers):
    with TFRecordWriter(path) as writer:
        for number in numbers:
            writer.write(b"%d" % number * (number % 5 + 1))


def write_lines(path, numbers):
    path.write_bytes(b"".join(b"%d%s\n" % (number, b"x" * (number % 4)) for number in numbers))


def write_csv(path, numbers):
    rows = "".join(f'{number},"a\n{number}"\n' + "\n" * (number % 3) for number in numbers)
    path.write_text(f"\nnumber,text\n{rows}")


def write_json(path, numbers):
    path.write_text("".join(f'{{"n": {number}}}\n' + "\n" * (number % 3) for number in numbers))


def write_tar(path, numbers):
    with tarfile.open(path, "w") as archive:
        for number in numbers:
            long = f"{'d' * 120 * (number % 2)}{number}"
            add_members(archive, [(f"{long}.txt", b"%d" % number), (f"{long}.cls", b"%d" % number)])


KINDS = {
    "tfrecords": (write_tfrecords, hr.tfrecords),
    "text_lines": (write_lines, hr.text_lines),
    "csv": (write_csv, hr.csv),
    "csv_without_header": (
        write_csv,
        lambda paths: hr.csv(paths, {"a": str, "b": str}, header=False),
    ),
    "json_lines": (write_json, hr.json_lines),
    "webdataset": (write_tar, hr.webdataset),
}


def examples(pipe):
    """Returns all examples as text, in order, and how their offsets were found."""
    with iter(pipe) as batches:
        results = [repr(example) for example in batches]
        return results, batches.statistics().index


def shuffled(source, paths, **options):
    return examples(source(paths).with_origin().shuffle(seed=3).options(**options))


@pytest.fixture(params=KINDS)
def kind(request):
    return KINDS[request.param]


@pytest.fixture
def data(tmp_path, kind):
    """Two files in a directory of their own."""
    write, _ = kind
    directory = tmp_path / "data"
    directory.mkdir()
    write(directory / "0", NUMBERS[:200])
    write(directory / "1", NUMBERS[200:])
    return directory


def test_second_start_reuses_indexes_and_returns_the_same_examples(data, kind):
    _, source = kind
    expected, none = shuffled(source, data, index="memory")
    assert (none.scanned, none.opened, none.written) == (2, 0, 0)
    assert sorted(path.name for path in data.iterdir()) == ["0", "1"]
    first, outputs = shuffled(source, data)
    assert (outputs.scanned, outputs.opened, outputs.written) == (2, 0, 2)
    assert outputs.scanned_bytes == sum((data / name).stat().st_size for name in "01")
    assert sorted(path.name for path in data.iterdir()) == ["0", "0.hrindex", "1", "1.hrindex"]
    again, used = shuffled(source, data)
    assert (used.scanned, used.scanned_bytes, used.opened, used.written) == (0, 0, 2, 0)
    assert used.directories == (str(data),)
    assert first == again == expected
    assert len(expected) >= len(NUMBERS)


def test_second_iteration_of_a_pipeline_does_not_scan(data, kind):
    pipe = kind[1](data).shuffle(seed=3)
    first, _ = examples(pipe)
    again, kept = examples(pipe)
    assert (kept.kept, kept.opened, kept.scanned) == (2, 0, 0)
    assert first == again


def test_outdated_index_is_replaced(data, kind):
    write, source = kind
    path = data / "0"
    shuffled(source, data)
    write(path, NUMBERS[100:290])
    for _ in range(2):
        os.utime(path, ns=(0, path.stat().st_mtime_ns + 1))
        expected, _ = shuffled(source, data, index="memory")
        results, outputs = shuffled(source, data)
        assert results == expected
        assert (outputs.scanned, outputs.opened, outputs.written) == (1, 1, 1)
    assert shuffled(source, data)[1].scanned == 0


def test_damage_anywhere_in_an_index_is_detected(data, kind):
    _, source = kind
    expected, _ = shuffled(source, data)
    index = data / "0.hrindex"
    full = index.read_bytes()
    for number, position in enumerate(range(0, len(full), 101)):
        changed = bytearray(full)
        changed[position] ^= 0x41
        index.write_bytes(changed if number % 3 else full[:position])
        results, outputs = shuffled(source, data)
        assert results == expected, position
        assert outputs.scanned == 1, position
        assert index.read_bytes() == full


@pytest.mark.parametrize("name", ["tfrecords", "text_lines", "json_lines", "webdataset"])
def test_index_of_a_different_file_is_not_used(tmp_path, name):
    write, source = KINDS[name]
    mine, other = tmp_path / "mine", tmp_path / "other"
    write(mine, NUMBERS)
    write(other, [*NUMBERS[150:], *NUMBERS[:150]])
    time = mine.stat().st_mtime_ns
    os.utime(other, ns=(time, time))
    assert mine.stat().st_size == other.stat().st_size
    expected, _ = shuffled(source, mine, index="memory")
    shuffled(source, other)
    shutil.copy(f"{other}.hrindex", f"{mine}.hrindex")
    try:
        results, _ = shuffled(source, mine)
    except errors.FailedPreconditionError:
        results, _ = shuffled(source, mine)
    assert results == expected


def test_forged_index_is_rejected_with_the_reason(tmp_path):
    path, other = tmp_path / "mine.txt", tmp_path / "other.txt"
    path.write_bytes(b"aa\nbbbb\nc\n")
    other.write_bytes(b"aaaa\nbb\nc\n")
    os.utime(other, ns=(path.stat().st_mtime_ns,) * 2)
    shuffled(hr.text_lines, other)
    shutil.copy(f"{other}.hrindex", f"{path}.hrindex")
    with pytest.raises(
        errors.FailedPreconditionError,
        match=r"mine\.txt\.hrindex: the index does not belong to .*mine\.txt: record [01] is not "
        r"at byte [05]\. A new index was written; start again\.",
    ):
        shuffled(hr.text_lines, path)
    results, outputs = shuffled(hr.text_lines, path)
    assert len(results) == 3
    # It was replaced when the other one was found to be outdated.
    assert (outputs.scanned, outputs.opened) == (0, 1)


def test_damage_to_indexed_data_is_reported_as_data_loss(tmp_path):
    path = tmp_path / "a.tfrecord"
    write_tfrecords(path, NUMBERS)
    shuffled(hr.tfrecords, path)
    time, raw = path.stat().st_mtime_ns, bytearray(path.read_bytes())
    raw[8] ^= 1
    path.write_bytes(raw)
    os.utime(path, ns=(time, time))
    with pytest.raises(errors.DataLossError, match=r"corrupted record at 0 \(record 0\)"):
        shuffled(hr.tfrecords, path)


def test_damaged_file_gets_no_index(tmp_path):
    path = tmp_path / "a.tfrecord"
    write_tfrecords(path, NUMBERS)
    path.write_bytes(path.read_bytes()[:-1])
    for _ in range(2):
        pipe = hr.tfrecords(path).shuffle(seed=3).skip_errors(5)
        results, outputs = examples(pipe)
        assert len(results) == len(NUMBERS) - 1
        assert (outputs.scanned, outputs.written) == (1, 0)


def test_index_goes_to_the_next_directory_if_one_is_not_writable(tmp_path):
    path, elsewhere = tmp_path / "data" / "a.txt", tmp_path / "kept"
    path.parent.mkdir()
    write_lines(path, NUMBERS)
    # A directory of the index's name cannot be replaced by it.
    Path(f"{path}.hrindex").mkdir()
    expected, _ = shuffled(hr.text_lines, path, index="memory")
    for scanned in (1, 0):
        results, outputs = shuffled(hr.text_lines, path, index_directory=elsewhere)
        assert results == expected
        assert outputs.scanned == scanned
        assert outputs.directories == (str(elsewhere),)
    (index,) = elsewhere.iterdir()
    assert index.name.startswith("a.txt-")
    assert index.suffix == ".hrindex"


def test_unwritable_directory_is_not_an_error(tmp_path, monkeypatch):
    path = tmp_path / "data" / "a.txt"
    path.parent.mkdir()
    write_lines(path, NUMBERS)
    cache = tmp_path / "cache"
    cache.mkdir()
    monkeypatch.setenv("XDG_CACHE_HOME", str(cache))
    made_by_pytest = [up for up in tmp_path.parents if up.name.startswith(("pytest-", "popen-"))]
    for directory in (tmp_path, path.parent, *made_by_pytest):
        directory.chmod(0o755)
    cache.chmod(0o777)
    with unprivileged():
        _, outputs = shuffled(hr.text_lines, path)
        assert outputs.directories == (str(cache / "headrace" / "indexes"),)
        assert shuffled(hr.text_lines, path)[1].scanned == 0
        monkeypatch.setenv("XDG_CACHE_HOME", str(path.parent))
        results, outputs = shuffled(hr.text_lines, path)
    assert len(results) == len(NUMBERS)
    assert (outputs.scanned, outputs.written, outputs.directories) == (1, 0, ())
    assert "ermission denied" in outputs.failure


def test_two_kinds_of_index_for_one_file_coexist(tmp_path):
    path = tmp_path / "a.csv"
    write_csv(path, NUMBERS)
    lines, rows = shuffled(hr.text_lines, path), shuffled(hr.csv, path)
    assert rows[1].written == lines[1].written == 1
    assert rows[1].directories != lines[1].directories
    for source, (expected, _) in ((hr.text_lines, lines), (hr.csv, rows)):
        results, used = shuffled(source, path)
        assert results == expected
        assert used.scanned == 0


def test_compressed_file_gets_no_index(tmp_path):
    path = tmp_path / "a.gz"
    path.write_bytes(gzip.compress(b"a\nb\n" * 50))
    with pytest.raises(errors.InvalidArgumentError, match="the file is compressed"):
        shuffled(hr.text_lines, path)
    assert [actual.name for actual in tmp_path.iterdir()] == ["a.gz"]


def test_without_indexes_full_shuffle_is_rejected_but_a_window_works(tmp_path):
    path = tmp_path / "a.txt"
    write_lines(path, NUMBERS)
    pipe = hr.text_lines(path).options(index="off")
    with pytest.raises(
        errors.InvalidArgumentError,
        match=r"a\.txt: finding its records needs an index, but the pipeline has "
        r'options\(index="off"\)\. Remove that option, or use a window',
    ):
        list(pipe.shuffle(seed=1))
    assert len(list(pipe.shuffle(window=10, seed=1))) == len(NUMBERS)
    fixed = hr.fixed_length_records(path, 1).shuffle(seed=1).options(index="off")
    assert len(list(fixed)) == path.stat().st_size
    assert "forbids scanning the files" in pipe.shuffle(seed=1).describe()
    assert not Path(f"{path}.hrindex").exists()


def test_options_are_checked_at_the_call(tmp_path):
    pipe = hr.text_lines("x")
    with pytest.raises(ValueError, match="index is 'on', expected 'auto', 'memory' or 'off'"):
        pipe.options(index="on")
    with pytest.raises(TypeError, match="index_directory is 3, expected a str"):
        pipe.options(index_directory=3)
    with pytest.raises(ValueError, match="index_directory is 's3://a/b', expected a directory"):
        pipe.options(index_directory="s3://a/b")
    text = pipe.shuffle(seed=1).options(index_directory=tmp_path).describe()
    assert f"next to the data files or in {tmp_path}" in text


def test_index_file_is_not_read_as_data(tmp_path):
    data = tmp_path / "data"
    data.mkdir()
    for name in ("a.txt", "_b.txt"):
        write_lines(data / name, NUMBERS[:3])
    for paths in (data / "a.txt", data / "_b.txt"):
        shuffled(hr.text_lines, paths)
    assert len(list(data.iterdir())) == 4
    for pattern, count in (("", 6), ("*", 6), ("a*", 3), ("_*", 3), ("../**", 6), ("*.txt", 6)):
        assert len(list(hr.text_lines(data / pattern))) == count, pattern
    assert len(list(hr.files(data / "*.hrindex"))) == 2


def test_two_processes_can_write_the_same_index(tmp_path):
    path = tmp_path / "a.txt"
    write_lines(path, range(50_000))
    code = (
        "import headrace as hr, sys\n"
        "sys.stdin.read(1)\n"
        f"print(sum(1 for _ in hr.text_lines({str(path)!r}).shuffle(seed=1).batch(1000)))"
    )
    started = [
        subprocess.Popen(
            [sys.executable, "-c", code],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(3)
    ]
    for process in started:
        process.stdin.write("x")
        process.stdin.flush()
    assert [process.communicate(timeout=50)[0] for process in started] == ["50\n"] * 3
    assert sorted(actual.name for actual in tmp_path.iterdir()) == ["a.txt", "a.txt.hrindex"]
    assert shuffled(hr.text_lines, path)[1].scanned == 0


BLOCKS = {"window": 40, "seed": 3, "block_bytes": 300}


def over_blocks(source, paths, **options):
    return examples(source(paths).with_origin().shuffle(**BLOCKS).options(**options))


def test_window_over_blocks_uses_and_writes_the_index(data, kind):
    _, source = kind
    expected, none = over_blocks(source, data, index="memory")
    if source in (hr.text_lines, hr.json_lines):
        assert (none.scanned, none.opened) == (0, 0)
        assert over_blocks(source, data, index="off")[0] == expected
        return
    assert (none.scanned, none.written) == (2, 0)
    first, outputs = over_blocks(source, data)
    assert (outputs.scanned, outputs.opened, outputs.written) == (2, 0, 2)
    again, used = over_blocks(source, data)
    assert (used.scanned, used.scanned_bytes, used.opened, used.written) == (0, 0, 2, 0)
    assert first == again == expected
    assert shuffled(source, data)[1].scanned == 0


def test_window_over_blocks_is_rejected_with_index_off(data, kind):
    _, source = kind
    if source in (hr.text_lines, hr.json_lines):
        return
    for pipe in (source(data), source(data).shuffle(**BLOCKS)):
        list(pipe)  # Known borders are not used.
    refused = "splitting it into blocks needs an index, but the pipeline has"
    with pytest.raises(errors.InvalidArgumentError, match=refused):
        over_blocks(source, data, index="off")
    assert over_blocks(source, data)[0]


def test_cached_block_borders_are_ignored_with_index_off(tmp_path):
    write_tfrecords(tmp_path / "a", NUMBERS)
    pipe = hr.tfrecords(tmp_path / "a").shuffle(**BLOCKS)
    first, outputs = examples(pipe)
    again, kept = examples(pipe)
    assert first == again
    assert (outputs.scanned, kept.scanned, kept.kept) == (1, 0, 1)
    with pytest.raises(errors.InvalidArgumentError, match="without block_bytes"):
        examples(pipe.options(index="off"))


def test_window_over_blocks_detects_a_damaged_index(data, kind):
    _, source = kind
    expected, _ = over_blocks(source, data)
    index = data / "0.hrindex"
    if not index.exists():
        return
    full = index.read_bytes()
    for number, position in enumerate(range(0, len(full), 301)):
        changed = bytearray(full)
        changed[position] ^= 0x41
        index.write_bytes(changed if number % 3 else full[:position])
        assert over_blocks(source, data)[0] == expected, position


@pytest.mark.parametrize("source", [hr.tfrecords, hr.csv])
def test_window_over_blocks_rejects_a_foreign_index(tmp_path, source):
    path = tmp_path / "a"
    records = [b"1" * 50, *(b"%d" % (10 + number % 90) for number in range(400))]

    def write(records):
        if source is hr.csv:
            path.write_bytes(b"n\n" + b"".join(record + b"\n" for record in records))
            return
        with TFRecordWriter(path) as writer:
            for record in records:
                writer.write(record)

    write(records)
    time = path.stat().st_mtime_ns
    over_blocks(source, path)
    write(records[::-1])
    os.utime(path, ns=(time, time))
    refused = r"a\.hrindex: the index does not belong to .*A new index was written; start again\."
    with pytest.raises(errors.FailedPreconditionError, match=refused):
        over_blocks(source, path)
    results, outputs = over_blocks(source, path)
    assert len(results) == len(records)
    assert (outputs.scanned, outputs.opened) == (0, 1)


def test_many_small_pieces_leave_no_file_open_after_the_iteration(tmp_path):
    for file in range(20):
        write_lines(tmp_path / f"{file}", NUMBERS)
    pipe = hr.text_lines(tmp_path).shuffle(**BLOCKS)
    before = len(os.listdir("/proc/self/fd"))
    with iter(pipe) as batches:
        first = [next(batches) for _ in range(100)]
        assert len(os.listdir("/proc/self/fd")) <= before + 40
    del batches
    assert len(first) == 100
    assert len(os.listdir("/proc/self/fd")) <= before + 2
