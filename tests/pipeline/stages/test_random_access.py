"""Full shuffles of CSV files, JSON lines and archives."""

import bz2
import re
import tarfile

import pytest
from hypothesis import given as each
from hypothesis import strategies as st
from tests.archives import add_members
from tests.pipeline.conftest import NUM_EXAMPLES

from headrace import pipeline as hp
from headrace.core import errors


def rows(examples):
    return [tuple(str(value) for value in row.values()) for row in examples]


SOURCES = {
    "csv": lambda tables: hp.csv(tables / "csv", {"number": int, "text": bytes}),
    "json_lines": lambda tables: hp.json_lines(tables / "*.jsonl", {"number": int}),
    "webdataset": lambda tables: hp.webdataset(tables / "*.tar"),
    "images": lambda tables: hp.image_folder(tables / "images"),
}


@pytest.mark.parametrize("name", SOURCES)
def test_full_shuffle_yields_each_streamed_example_once(tables, items_of, name):
    pipeline = SOURCES[name](tables).with_origin()
    streamed = rows(pipeline)
    shuffled = rows(items_of(pipeline.shuffle(seed=3)))
    assert len(set(streamed)) == NUM_EXAMPLES
    assert sorted(shuffled) == sorted(streamed)
    assert shuffled != streamed
    full = rows(items_of(pipeline.shuffle(seed=3).epochs(2)))
    assert full[:NUM_EXAMPLES] == shuffled
    assert sorted(full[NUM_EXAMPLES:]) == sorted(streamed)
    assert full[NUM_EXAMPLES:] != shuffled


@pytest.mark.parametrize("name", SOURCES)
def test_draws_stay_with_their_example(tables, items_of, name):
    def draw(row, rng):
        return {"row": repr(row), "draw": rng.integers(2**62)}

    mapped = SOURCES[name](tables).map(draw, seed=5)
    assert sorted(rows(items_of(mapped.shuffle(seed=3)))) == sorted(rows(mapped))


@each(
    files=st.lists(
        st.lists(st.sampled_from(['"', "a", ",", "\n", "\r\n", '""', '"a\n\n"', "\n\n", " "])),
        min_size=1,
        max_size=3,
    ),
    header=st.sampled_from(["", "\ufeff", "\n", "\r\n\ufeff"]),
)
def test_shuffling_any_csv_text_yields_the_streamed_records_or_error(tmp_path, files, header):
    paths = [tmp_path / f"{number}.csv" for number in range(len(files))]
    for path, parts in zip(paths, files, strict=True):
        path.write_text(f"{header}x\n" + "".join(parts), newline="")
    for path in paths:
        pipeline = hp.csv(path, {"x": bytes}, defaults={"x": b"?"}).with_origin()
        streamed, shuffled = outcome(pipeline), outcome(pipeline.shuffle(seed=3))
        if isinstance(streamed, list):
            assert shuffled == streamed
        else:
            assert re.match(r".*?: line \d+: ", shuffled) or shuffled == streamed
            assert isinstance(shuffled, str)


def outcome(pipeline):
    """All examples, sorted, or the error."""
    try:
        return sorted(rows(pipeline))
    except errors.OpError as error:
        return error.message


@pytest.mark.parametrize(
    ("name", "damage"),
    [("a.csv", b"x"), ("a.jsonl", b'{"n": "x"}')],
)
def test_errors_name_the_same_line_as_streaming(tmp_path, name, damage):
    head, line = (b"n\n", b"%d\n\n") if name == "a.csv" else (b"", b'{"n": %d}\n\n')
    lines = [line % number for number in range(50)]
    lines[20] = damage + b"\n"
    (tmp_path / name).write_bytes(b"\n" + head + b"".join(lines))
    source = hp.csv if name == "a.csv" else hp.json_lines
    pipeline = source(tmp_path / name, {"n": int})
    messages = []
    for output in (pipeline, pipeline.shuffle(seed=3)):
        with pytest.raises(errors.InvalidArgumentError, match=f"{name}: line 4[23]: ") as raised:
            list(output)
        messages.append(raised.value.message)
    assert messages[0] == messages[1]


def test_columns_follow_the_header_of_each_file(tmp_path, items_of):
    (tmp_path / "0.csv").write_text("a,b\n1,2\n3,4\n")
    (tmp_path / "1.csv").write_text("c,b,a\n0,6,5\n0,8,7\n")
    (tmp_path / "2.csv").write_text("")
    pipeline = hp.csv(tmp_path, {"a": int, "b": int}).shuffle(seed=1)
    expected = [("1", "2"), ("3", "4"), ("5", "6"), ("7", "8")]
    assert sorted(rows(items_of(pipeline))) == expected
    (tmp_path / "1.csv").write_text("b,a\n60,50\n")
    assert sorted(rows(items_of(pipeline))) == [*expected[:2], ("50", "60")]
    (tmp_path / "1.csv").write_text("b\n6\n")
    with pytest.raises(errors.InvalidArgumentError, match=r"1.csv: line 1: .* no column 'a'"):
        list(pipeline)


def test_inferred_columns_follow_a_changed_file(tmp_path):
    (tmp_path / "0.csv").write_text("a,b\n1,2\n")
    (tmp_path / "1.csv").write_text("b,c,a\n4,5,3\n")
    pipeline = hp.csv(tmp_path).shuffle(seed=1)
    assert sorted(rows(hp.concat([pipeline, pipeline]).take(2))) == [("1", "2"), ("3", "4")]
    (tmp_path / "0.csv").write_text("c\n70\n")
    assert sorted(rows(hp.concat([pipeline, pipeline]).take(2))) == [("5",), ("70",)]


def test_compressed_files_are_rejected_with_a_window_as_the_remedy(tmp_path):
    path = tmp_path / "a"
    path.write_bytes(bz2.compress(b"a\n1\n"))
    with pytest.raises(errors.InvalidArgumentError, match=r"file is compressed.*window="):
        list(hp.text_lines(path).shuffle(seed=1))
    for source in (hp.csv, hp.json_lines):
        with pytest.raises(errors.InvalidArgumentError, match=r"file is compressed.*window="):
            list(source(path, {"a": int}).shuffle(seed=1))
        with pytest.raises(ValueError, match=r"compressed with gzip. Pass a window"):
            source(path, {"a": int}, compression="gzip").shuffle(seed=1)


def test_describe_mentions_the_scan(tmp_path):
    described = hp.csv("a", {"a": int}).shuffle(seed=3).describe()
    assert "all examples; the records are located with index files; missing ones" in described


def archive(path, files, form=tarfile.PAX_FORMAT):
    """Writes a tar archive, and returns its end. Directories have no contents."""
    with tarfile.open(path, "w", format=form) as output:
        add_members(output, files)
        return output.offset


NAMES = ("a.x", "a.y", "b.x", "b.y", "b.other", "x/c.x", "x/c.y", ".hidden.x", "README", "d")
LONG = ("d/" * 300 + "e.x", "d/" * 300 + "e.y")


@each(
    names=st.lists(st.sampled_from([*NAMES, *LONG]), max_size=20),
    sizes=st.lists(st.sampled_from([0, 1, 511, 512, 513, 300_000]), min_size=1),
    form=st.sampled_from([tarfile.GNU_FORMAT, tarfile.PAX_FORMAT]),
    zeros=st.booleans(),
)
def test_shuffling_any_archive_yields_the_streamed_samples_or_error(
    tmp_path, names, sizes, form, zeros
):
    path = tmp_path / "a.tar"
    files = [("first.x", b"0"), ("first.y", b"")]
    for number, name in enumerate(names):
        data = None if name == "d" else bytes([number]) * sizes[number % len(sizes)]
        files.append((name, data))
    end = archive(path, files, form)
    if not zeros:
        path.write_bytes(path.read_bytes()[:end])
    for defaults in (None, {"x": b"?", "y": b"!"}):
        pipeline = hp.webdataset(path, defaults).with_origin()
        streamed, shuffled = outcome(pipeline), outcome(pipeline.shuffle(seed=3))
        if isinstance(streamed, list):
            assert shuffled == streamed
        else:
            wrong = (
                r"sample \d+, .*(has no file|has two files)"
                r"|the archive (ends within a file|has no end)"
            )
            assert re.search(wrong, shuffled)


def test_sample_errors_match_streaming(tmp_path):
    path = tmp_path / "a.tar"
    files = [(f"{number}.{end}", b"x") for number in range(50) for end in "xy"]
    for wrong, message in (
        ([("20.x", b"x")], r"a.tar: sample 20, '20', has no file 'y'"),
        ([("20.x", b"x"), ("20.x", b"x"), ("20.y", b"x")], r"a.tar: sample 20, '20', has two"),
    ):
        archive(path, [*files[:40], *wrong, *files[42:]])
        messages = []
        for pipeline in (hp.webdataset(path), hp.webdataset(path).shuffle(seed=3)):
            with pytest.raises(errors.InvalidArgumentError, match=message) as raised:
                list(pipeline)
            messages.append(raised.value.message)
        assert messages[0] == messages[1]


def test_scan_detects_truncated_or_damaged_archives(tmp_path):
    path = tmp_path / "a.tar"
    archive(path, [(f"{number}.x", b"x" * 600) for number in range(9)])
    full = path.read_bytes()
    damaged = bytearray(full)
    damaged[3 * 1536 + 5] ^= 1
    for data, message in (
        (full[:5000], "the archive ends within a file at byte 4608"),
        (full[:5500], "the archive ends within a file at byte 5120"),
        (damaged, "there is no tar header at byte 4608"),
    ):
        path.write_bytes(data)
        for pipeline in (hp.webdataset(path), hp.webdataset(path).shuffle(seed=3)):
            with pytest.raises(errors.DataLossError, match=rf"a.tar: {message} of the archive"):
                list(pipeline)
    path.write_bytes(bz2.compress(full))
    with pytest.raises(errors.InvalidArgumentError, match=r"file is compressed.*window="):
        list(hp.webdataset(path).shuffle(seed=1))
    with pytest.raises(ValueError, match=r"webdataset are compressed with zstd. Pass a window"):
        hp.webdataset(path, compression="zstd").shuffle()
