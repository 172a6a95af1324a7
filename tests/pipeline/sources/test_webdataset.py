"""Samples in tar archives."""

import bz2
import gzip
import io
import tarfile

import pytest
from tests.archives import add_members

from headrace import pipeline as hp
from headrace.core import errors


def archive(files, **options):
    """A tar archive with these names and contents, one after the other."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", **options) as output:
        add_members(output, files)
    return buffer.getvalue()


@pytest.fixture
def written(tmp_path):
    """Writes 0.tar, 1.tar, … and returns their directory."""

    def write(*archives):
        for number, data in enumerate(archives):
            (tmp_path / f"{number}.tar").write_bytes(data)
        return tmp_path

    return write


SAMPLES = [("a.jpg", b"photo a"), ("a.cls", b"1"), ("b.jpg", b""), ("b.cls", b"2")]


def test_adjacent_members_with_the_same_key_form_a_sample(written, items_of):
    files = written(
        archive(SAMPLES), archive([("x/c.d.cls", b"9"), ("x/c.cls", b"3"), ("x/c.jpg", b"c")])
    )
    pipeline = hp.webdataset(files)
    assert items_of(pipeline) == [
        {"__key__": "a", "jpg": b"photo a", "cls": b"1"},
        {"__key__": "b", "jpg": b"", "cls": b"2"},
        {"__key__": "x/c", "jpg": b"c", "cls": b"3"},
    ]
    assert pipeline.spec == {
        "__key__": hp.Spec(str, ()),
        "jpg": hp.Spec(bytes, ()),
        "cls": hp.Spec(bytes, ()),
    }
    assert "those of the first sample in the files" in pipeline.describe()


def test_archives_without_samples_are_empty(written, items_of):
    files = written(archive([]), archive([(".hidden", b"")]), archive(SAMPLES), archive([]))
    assert [sample["__key__"] for sample in items_of(hp.webdataset(files))] == ["a", "b"]


def test_volume_label_is_not_a_sample(written, items_of):
    label = tarfile.TarInfo("label.jpg")
    label.type = b"V"
    header = bytearray(label.tobuf(tarfile.GNU_FORMAT))
    header[124:136] = bytes(12)  # GNU tar leaves the size empty.
    header[148:156] = b" " * 8
    header[148:156] = b"%06o\0 " % sum(header)
    files = written(bytes(header) + archive(SAMPLES))
    assert [sample["__key__"] for sample in items_of(hp.webdataset(files))] == ["a", "b"]


@pytest.mark.parametrize("form", [tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])
def test_long_names_are_read_in_all_formats(written, form):
    key = "d" * 90 + "/" + "é" * 40
    assert next(iter(hp.webdataset(written(archive([(f"{key}.txt", b"x")], format=form))))) == {
        "__key__": key,
        "txt": b"x",
    }
    if form != tarfile.USTAR_FORMAT:
        long = "d/" * 300 + "key"
        files = [(f"{long}.TXT", b"x"), (f"{long}.cls", b"y")]
        [sample] = hp.webdataset(written(archive(files, format=form)))
        assert sample == {"__key__": long, "txt": b"x", "cls": b"y"}


def test_members_outside_samples_are_skipped(written):
    files = [
        ("x", None),
        ("x/a.jpg", b"1"),
        ("x/.hidden.jpg", b"2"),
        ("README", b"3"),
        ("__meta__/info.json", b"4"),
        ("x/a.cls", b"5"),
        ("x/b.jpg", b"6"),
        ("x/b.other", b"7"),
        ("x/b.cls", b"8"),
    ]
    samples = list(hp.webdataset(written(archive(files))))
    assert [tuple(sample.values()) for sample in samples] == [
        ("x/a", b"1", b"5"),
        ("x/b", b"6", b"8"),
    ]


def test_repeated_key_starts_a_new_sample(written):
    files = [("a.x", b"1"), ("b.x", b"2"), ("a.x", b"3")]
    samples = [(s["__key__"], s["x"]) for s in hp.webdataset(written(archive(files)))]
    assert samples == [("a", b"1"), ("b", b"2"), ("a", b"3")]


def test_samples_can_be_larger_than_a_block(written):
    files = [(f"{n}.{end}", bytes([n]) * 300_001) for n in range(5) for end in ("a", "b")]
    samples = list(hp.webdataset(written(archive(files))))
    assert [sample["b"] for sample in samples] == [bytes([n]) * 300_001 for n in range(5)]


@pytest.mark.parametrize("compress", [gzip.compress, bz2.compress])
def test_compressed_archives_are_read(written, compress):
    assert len(list(hp.webdataset(written(compress(archive(SAMPLES)))))) == 2


@pytest.mark.parametrize("compress", [gzip.compress, bz2.compress])
def test_checksum_after_a_compressed_archive_is_verified(written, compress):
    data = bytearray(compress(archive([("a.x", b"data"), ("b.x", b"more")])))
    data[-6] ^= 1  # of the checksum
    with pytest.raises(errors.DataLossError, match=r"0\.tar"):
        list(hp.webdataset(written(bytes(data))))


def test_sample_without_a_file_needs_a_default(written):
    files = written(archive([*SAMPLES, ("c.jpg", b"x")]))
    samples = iter(hp.webdataset(files))
    assert [next(samples)["__key__"] for _ in range(2)] == ["a", "b"]
    message = r"0.tar: sample 2, 'c', has no file 'cls', expected jpg, cls.* defaults=\{'cls': "
    with pytest.raises(errors.InvalidArgumentError, match=message):
        next(samples)
    *_, last = hp.webdataset(files, defaults={"cls": "0"})
    assert last == {"__key__": "c", "jpg": b"x", "cls": b"0"}


def test_two_files_with_the_same_name_are_an_error(written):
    files = written(archive([("a.x", b"1"), ("a.X", b"2")]))
    with pytest.raises(errors.InvalidArgumentError, match="sample 0, 'a', has two files 'x'"):
        list(hp.webdataset(files))


def test_truncated_or_damaged_archives_are_an_error(written):
    full = archive(SAMPLES)
    for length, message in [
        (3072, "the archive ends within a file at byte 3072"),
        (3000, "the archive ends within a file at byte 2560"),
    ]:
        samples = iter(hp.webdataset(written(full[:length])))
        assert next(samples)["__key__"] == "a"
        with pytest.raises(errors.DataLossError, match=rf"0.tar: {message}.*copy it again"):
            next(samples)
    with pytest.raises(errors.DataLossError, match=r"no tar header at byte 0.*Is it a tar"):
        list(hp.webdataset(written(b"x" * 1000)))
    with pytest.raises(errors.InvalidArgumentError, match="has no samples to infer"):
        list(hp.webdataset(written(archive([("a", b"x")]))))


def linked(*members):
    """A tar archive of files, and of entries of other types that lead to a name."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as output:
        for name, kind, value in members:
            if kind is None:
                add_members(output, [(name, value)])
            else:
                entry = tarfile.TarInfo(name)
                entry.type, entry.linkname = kind, value
                output.addfile(entry)
    return buffer.getvalue()


@pytest.mark.parametrize(
    ("kind", "what"),
    [
        (tarfile.LNKTYPE, "a hard link to 'a.cls'"),
        (tarfile.SYMTYPE, "a symbolic link to 'a.cls'"),
        (tarfile.CHRTYPE, "a device"),
        (tarfile.FIFOTYPE, "a pipe"),
        (b"Z", "of unknown type 'Z'"),
    ],
)
def test_member_without_contents_is_an_error_and_never_the_default(written, kind, what):
    files = written(
        linked(
            *(("a.jpg", None, b"A"), ("a.cls", None, b"1")),
            *(("b.jpg", None, b"B"), ("b.cls", kind, "a.cls"), ("b.txt", None, b"t")),
            *(("c.jpg", None, b"C"), ("c.cls", None, b"3"), ("c.other", kind, "a.cls")),
        )
    )
    pipeline = hp.webdataset(files, defaults={"cls": b"0"})
    text = rf"0.tar: sample 1, 'b', has a file 'cls' that is {what}, expected a regular file"
    for one in (pipeline, pipeline.shuffle(seed=1)):
        with pytest.raises(errors.InvalidArgumentError, match=text):
            list(one)
        rows = {row["__key__"]: row["cls"] for row in one.skip_errors(1)}
        assert rows == {"a": b"1", "c": b"3"}


def test_link_in_the_first_sample_is_a_component(written):
    files = written(linked(("a.jpg", None, b"A"), ("a.cls", tarfile.LNKTYPE, "x.cls")))
    with pytest.raises(errors.InvalidArgumentError, match=r"sample 0, 'a', has a file 'cls' that"):
        list(hp.webdataset(files))


def test_concatenated_archives_are_read_to_the_end(written):
    more = archive([("c.jpg", b"C"), ("c.cls", b"3")])
    files = written(archive(SAMPLES) + more + bytes(5000))
    for pipeline in (hp.webdataset(files), hp.webdataset(files).shuffle(seed=2)):
        rows = sorted((row["__key__"], row["jpg"], row["cls"]) for row in pipeline)
        assert rows == [("a", b"photo a", b"1"), ("b", b"", b"2"), ("c", b"C", b"3")]
    full = hp.webdataset(files).batch(1)
    batches = iter(full)
    keys = []
    for batch in batches:
        rest = [row["__key__"].tolist() for row in full.resume(batches.state())]
        keys.append(batch["__key__"].tolist())
        assert [*keys, *rest] == [["a"], ["b"], ["c"]]


def test_archive_ending_between_two_files_is_truncated(written):
    data = archive(SAMPLES)
    # Up to the header of b.cls.
    files = written(data[: 5 * 512])
    full = hp.webdataset(files, {"cls": b""})
    for pipeline in (full, full.shuffle(seed=1)):
        with pytest.raises(errors.DataLossError, match=r"0.tar: the archive has no end.* copy it"):
            list(pipeline)
        # b may have had more files, so it must not get the default.
        assert [row["__key__"] for row in pipeline.skip_errors(1)] == ["a"]
    # One block of zeros is enough.
    written(data[: 5 * 512] + bytes(512))
    assert len(list(full)) == 2


def test_error_for_a_non_archive_names_its_format(written):
    for data, what in ((b"<!DOCTYPE html><p>404", "an HTML page"), (b"\x89PNG\r\n\x1a\n", "a PNG")):
        with pytest.raises(errors.DataLossError, match=rf"no tar header at .*It is {what}"):
            list(hp.webdataset(written(data.ljust(1024, b"\n"))))


def test_invalid_arguments_are_rejected_at_once():
    with pytest.raises(TypeError, match="default of 'cls' is 3, expected bytes"):
        hp.webdataset("a", defaults={"cls": 3})
    with pytest.raises(TypeError, match="expected a dict of bytes"):
        hp.webdataset("a", defaults=[b""])
    with pytest.raises(ValueError, match="webdataset: compression is 'rar'"):
        hp.webdataset("a", compression="rar")
