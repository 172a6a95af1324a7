"""Files in zip archives, which are read in place."""

import io
import struct
import zipfile

import pytest
from hypothesis import given
from hypothesis import strategies as st

import headrace as hr
from headrace.core import errors

STORED, DEFLATED = zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED
FILES = {
    "b/1.JPG": b"b1" * 500,
    "b/.hidden.png": b"hidden",
    "a/2.png": b"",
    "a/10.jpeg": b"ten" * 99,
    "a/sub/1.gif": b"gif",
    "a/notes.txt": b"notes",
    ".git/1.png": b"git",
    "__MACOSX/a/._2.png": b"mac",
    "README.png": b"readme",
}


def archive(files, method=DEFLATED, before=b"", comment=b""):
    """Returns a zip archive with these files, some of them uncompressed."""
    buffer = io.BytesIO(before)
    buffer.seek(0, io.SEEK_END)
    with zipfile.ZipFile(buffer, "a" if before else "w", method) as output:
        output.comment = comment
        for number, (name, data) in enumerate(dict(files).items()):
            output.writestr(name, data, STORED if number % 2 else method)
    return buffer.getvalue()


@pytest.fixture
def photos(tmp_path):
    path = tmp_path / "photos.zip"
    path.write_bytes(archive(FILES))
    return path


@pytest.fixture
def unpacked(photos, tmp_path):
    with zipfile.ZipFile(photos) as opened:
        opened.extractall(tmp_path / "photos")
    (tmp_path / "photos" / "__MACOSX" / "a" / "._2.png").unlink()
    (tmp_path / "photos" / "__MACOSX" / "a").rmdir()
    (tmp_path / "photos" / "__MACOSX").rmdir()
    return tmp_path / "photos"


def relative(examples, root):
    """Returns the examples with paths relative to a directory or an archive."""
    return [
        {**example, "path": str(example["path"]).removeprefix(f"{root}/")} for example in examples
    ]


def test_classes_and_images_match_the_unpacked_folder(photos, unpacked, items_of):
    packed, folder = hr.image_folder(photos), hr.image_folder(unpacked)
    assert packed.classes == folder.classes == ("a", "b")
    assert len(packed) == len(folder) == 4
    assert relative(items_of(packed), photos) == relative(items_of(folder), unpacked)
    shuffled = [
        relative(pipe.shuffle(seed=3), root)
        for pipe, root in ((packed, photos), (folder, unpacked))
    ]
    assert shuffled[0] == shuffled[1]
    shards = [relative(packed.shard(rank, 2), photos) for rank in range(2)]
    assert sorted(one["path"] for shard in shards for one in shard) == sorted(
        one["path"] for one in relative(folder, unpacked)
    )


def test_classes_can_be_in_a_directory_of_the_archive(tmp_path):
    path = tmp_path / "data.ZIP"
    path.write_bytes(archive({"photos/cat/1.png": b"1", "photos/dog/2.png": b"2"}))
    for end in ("", "/"):
        pipe = hr.image_folder(f"{path}/photos{end}")
        assert pipe.classes == ("cat", "dog")
        assert [example["data"] for example in pipe] == [b"1", b"2"]
    message = r"all files are in subdirectories of one directory. To use .* '.*/data.ZIP/photos'"
    with pytest.raises(errors.InvalidArgumentError, match=message):
        hr.image_folder(path).classes  # noqa: B018


def test_sounds_are_read_from_archives(tmp_path):
    path = tmp_path / "sounds.zip"
    path.write_bytes(archive({"x/1.wav": b"one", "y/2.flac": b"two"}))
    assert [(e["data"], e["label"]) for e in hr.audio_folder(path)] == [(b"one", 0), (b"two", 1)]


@pytest.mark.parametrize(
    ("pattern", "names"),
    [
        ("**/*.png", ["README.png", "a/2.png"]),
        ("*.png", ["README.png"]),
        ("a/*", ["a/10.jpeg", "a/2.png", "a/notes.txt"]),
        ("a", ["a/10.jpeg", "a/2.png", "a/notes.txt"]),
        ("a/2.png", ["a/2.png"]),
        ("b/.hidden.png", ["b/.hidden.png"]),
        ("b/.*", ["b/.hidden.png"]),
        ("[ab]/{1,2}.*", ["b/1.JPG", "a/2.png"]),
        ("**", ["README.png", "a/10.jpeg", "a/2.png", "a/notes.txt", "a/sub/1.gif", "b/1.JPG"]),
    ],
)
def test_patterns_match_files_in_archives(photos, pattern, names):
    examples = relative(hr.files(f"{photos}/{pattern}"), photos)
    assert [(one["path"], one["data"]) for one in examples] == [(n, FILES[n]) for n in names]
    assert len(hr.files(f"{photos}/{pattern}")) == len(names)


def test_archives_and_other_files_can_be_mixed(photos, tmp_path):
    (tmp_path / "second.zip").write_bytes(archive({"a/3.png": b"three"}))
    (tmp_path / "plain.png").write_bytes(b"plain")
    paths = [tmp_path / "plain.png", f"{tmp_path}/*.zip/a/*.png", photos]
    examples = relative(hr.files(paths), tmp_path)
    assert [(one["path"], len(one["data"])) for one in examples] == [
        ("plain.png", 5),
        ("photos.zip/a/2.png", 0),
        ("second.zip/a/3.png", 5),
        ("photos.zip", photos.stat().st_size),
    ]


def test_directory_named_like_an_archive_is_a_directory(tmp_path):
    (tmp_path / "data.zip" / "cat").mkdir(parents=True)
    (tmp_path / "data.zip" / "cat" / "1.png").write_bytes(b"1")
    assert hr.image_folder(tmp_path / "data.zip").classes == ("cat",)
    assert [e["data"] for e in hr.files(f"{tmp_path}/data.zip/**/*.png")] == [b"1"]


def test_missing_members_are_rejected(photos):
    for inside in ("c/1.png", "*.avif"):
        with pytest.raises(errors.NotFoundError, match=r"no file in the archive matches"):
            list(hr.files(f"{photos}/{inside}"))


def test_iteration_resumes_at_any_example(photos):
    pipe = hr.files(f"{photos}/**").shuffle(seed=5)
    whole = [example["path"] for example in pipe]
    for taken in range(len(whole)):
        batches = iter(pipe)
        for _ in range(taken):
            next(batches)
        state = batches.state()
        batches.close()
        assert [example["path"] for example in pipe.resume(state)] == whole[taken:]


def test_state_of_a_different_archive_is_rejected(photos):
    pipe = hr.files(f"{photos}/**")
    batches = iter(pipe)
    next(batches)
    state = batches.state()
    batches.close()
    photos.write_bytes(archive(FILES, comment=b"longer"))
    with pytest.raises(ValueError, match=r"files"):
        next(iter(pipe.resume(state)))


NAMES = st.lists(
    st.text(
        st.characters(codec="utf-8", exclude_characters="/\\\0:", exclude_categories=["Cs"]),
        min_size=1,
        max_size=8,
    ).filter(lambda part: part not in (".", "..") and not part.startswith((".", "_"))),
    min_size=1,
    max_size=3,
).map("/".join)


@given(
    files=st.dictionaries(
        NAMES, st.binary(max_size=300) | st.binary(max_size=9).map(lambda b: b * 999), max_size=6
    ),
    method=st.sampled_from([STORED, DEFLATED]),
    before=st.binary(max_size=40),
    comment=st.binary(max_size=40),
)
def test_random_archives_are_read_like_zipfile(tmp_path_factory, files, method, before, comment):
    raw = archive({**files, "z/last.bin": b"last"}, method, before, comment)
    path = tmp_path_factory.mktemp("zip") / "a.zip"
    path.write_bytes(raw)
    with zipfile.ZipFile(path) as opened:
        expected = {name: opened.read(name) for name in opened.namelist()}
    read = {e["path"].removeprefix(f"{path}/"): e["data"] for e in hr.files(f"{path}/**")}
    assert read == {n: data for n, data in expected.items() if not n.endswith(".hrindex")}


def test_zip64_archives_are_read(tmp_path, monkeypatch):
    monkeypatch.setattr(zipfile, "ZIP64_LIMIT", 100)
    monkeypatch.setattr(zipfile, "ZIP_FILECOUNT_LIMIT", 3)
    files = {f"{number}.bin": bytes([number]) * 1000 for number in range(5)}
    raw = archive(files, STORED)
    assert b"PK\x06\x06" in raw
    path = tmp_path / "large.zip"
    path.write_bytes(raw)
    assert {e["path"][-5:]: e["data"] for e in hr.files(f"{path}/*")} == files


def empty_members(count, counted):
    """An archive of empty files without zip64 records, and with this count in its end record."""
    files, directory = bytearray(), bytearray()
    for number in range(count):
        name = b"%05d" % number
        entry = struct.pack("<5H3L2H", 20, 0, STORED, 0, 0, 0, 0, 0, len(name), 0)
        directory += b"PK\x01\x02" + struct.pack("<H", 20) + entry
        directory += struct.pack("<3H2L", 0, 0, 0, 0, len(files)) + name
        files += b"PK\x03\x04" + entry + name
    end = (0, 0, counted, counted, len(directory), len(files), 0)
    return bytes(files + directory + b"PK\x05\x06" + struct.pack("<4H2LH", *end))


def test_archive_with_65535_members_needs_no_zip64_record(tmp_path):
    path = tmp_path / "a.zip"
    path.write_bytes(empty_members(65_535, 65_535))
    with zipfile.ZipFile(path) as opened:
        assert len(opened.namelist()) == 65_535
    assert len(hr.files(f"{path}/**")) == 65_535
    # The same count replaces a larger one that is in a zip64 record.
    path.write_bytes(empty_members(65_536, 65_535))
    with pytest.raises(errors.DataLossError, match=r"a\.zip: the zip64 end record is missing"):
        len(hr.files(f"{path}/**"))


def test_non_utf8_names_are_decoded_as_code_page_437(tmp_path):
    raw = archive({"abXc.png": b"1"}).replace(b"abXc.png", b"ab\x81c.png")
    path = tmp_path / "old.zip"
    path.write_bytes(raw)
    with zipfile.ZipFile(path) as opened:
        (name,) = opened.namelist()
    (example,) = hr.files(f"{path}/*")
    assert example["path"] == f"{path}/{name}" == f"{path}/abüc.png"


def patched(raw, old, new):
    assert raw.count(old) >= 1
    return raw.replace(old, new)


def flags(raw, bits):
    """Sets flags of all members."""
    for signature, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        at = raw.find(signature)
        while at >= 0:
            raw = raw[: at + offset] + struct.pack("<H", bits) + raw[at + offset + 2 :]
            at = raw.find(signature, at + 4)
    return raw


def link(raw):
    """Makes the first member a symbolic link."""
    at = raw.find(b"PK\x01\x02")
    return (
        raw[: at + 5]
        + b"\x03"
        + raw[at + 6 : at + 38]
        + struct.pack("<I", 0o120777 << 16)
        + raw[at + 42 :]
    )


ONE = archive({"a/1.png": b"some text " * 50})
OTHER = archive({"a/1.png": b"one", "a/2.png": b"two"}, STORED)


@pytest.mark.parametrize(
    ("raw", "error", "message"),
    [
        (ONE[:-1], errors.DataLossError, r"a.zip: the archive has no central directory at its end"),
        (ONE[: len(ONE) // 2], errors.DataLossError, r"cut short, or it is not a zip archive"),
        (b"", errors.DataLossError, r"no central directory"),
        (b"nothing of this kind" * 9, errors.DataLossError, r"no central directory"),
        (flags(ONE, 1), errors.InvalidArgumentError, r"member 'a/1.png': the member is encrypted"),
        (
            archive({"a/1.png": b"1" * 99}, zipfile.ZIP_LZMA),
            errors.InvalidArgumentError,
            r"member 'a/1.png': the member is compressed with LZMA, but only stored and deflated",
        ),
        (
            archive({"a/1.png": b"1" * 99}, zipfile.ZIP_BZIP2),
            errors.InvalidArgumentError,
            r"the member is compressed with bzip2",
        ),
        (
            link(ONE),
            errors.InvalidArgumentError,
            r"member 'a/1.png': the member is a symbolic link",
        ),
        (
            patched(OTHER, b"a/2.png", b"a/1.png"),
            errors.InvalidArgumentError,
            r"a.zip: several members are named 'a/1.png'",
        ),
        (
            patched(OTHER, b"a/2.png", b"../2.pn"),
            errors.InvalidArgumentError,
            r"the name of member '../2.pn' has a part that is empty, '.' or '..'",
        ),
        (
            patched(OTHER, b"a/2.png", b"/a2.png"),
            errors.InvalidArgumentError,
            r"the name of member '/a2.png' is an absolute path",
        ),
        (
            patched(OTHER, b"a/2.png", b"C:2.png"),
            errors.InvalidArgumentError,
            r"the name of member 'C:2.png' is an absolute path",
        ),
        (
            patched(OTHER, b"a/2.png", b"a\\2.png"),
            errors.InvalidArgumentError,
            r"has a backslash or a zero byte",
        ),
        (
            patched(OTHER, b"two", b"tvo"),
            errors.DataLossError,
            r"a.zip/a/2.png; the checksum does",
        ),
        (
            OTHER.replace(b"a/2.png", b"a/3.png", 1),
            errors.DataLossError,
            r"a.zip/a/2.png; the local header contradicts the central directory",
        ),
        (
            OTHER.replace(b"PK\x03\x04", b"PK\x03\x05", 1),
            errors.DataLossError,
            r"a.zip/a/1.png; the local header is missing",
        ),
        (
            OTHER.replace(b"PK\x01\x02", b"PK\x01\x03", 1),
            errors.DataLossError,
            r"directory is damaged",
        ),
    ],
    # The bytes contain the time.
    ids=lambda value: "archive" if isinstance(value, bytes) else None,
)
def test_damaged_and_unsupported_archives_are_rejected(tmp_path, raw, error, message):
    path = tmp_path / "a.zip"
    path.write_bytes(raw)
    for pipe in (hr.files(f"{path}/**"), hr.image_folder(path), hr.files(f"{path}/**").shuffle()):
        with pytest.raises(error, match=message) as raised:
            list(pipe)
        assert str(raised.value).count("a.zip") == 1


def test_damaged_deflated_data_are_rejected(tmp_path):
    path = tmp_path / "a.zip"
    # The last byte has bits that belong to no code.
    for at in range(ONE.index(b"1.png") + 5, ONE.index(b"PK\x01\x02") - 1):
        path.write_bytes(ONE[:at] + bytes([ONE[at] ^ 64]) + ONE[at + 1 :])
        with pytest.raises(errors.DataLossError, match=r"a.zip/a/1.png; the (comp|check)"):
            list(hr.files(f"{path}/**"))


def test_overlapping_members_are_rejected(tmp_path):
    at = OTHER.rindex(b"PK\x01\x02") + 42
    (tmp_path / "a.zip").write_bytes(OTHER[:at] + struct.pack("<I", 0) + OTHER[at + 4 :])
    with pytest.raises(errors.DataLossError, match=r"'a/[12].png' overlaps the next member"):
        list(hr.files(f"{tmp_path}/a.zip/**"))


def test_wrong_counts_are_rejected(tmp_path):
    end = OTHER.rindex(b"PK\x05\x06")
    for count in (1, 3):
        numbers = struct.pack("<HH", count, count)
        (tmp_path / "a.zip").write_bytes(OTHER[: end + 8] + numbers + OTHER[end + 12 :])
        with pytest.raises(errors.DataLossError, match=r"a.zip: .*central directory"):
            list(hr.files(f"{tmp_path}/a.zip/**"))


def test_claimed_sizes_are_not_trusted(tmp_path):
    at = ONE.index(b"PK\x01\x02") + 24
    (tmp_path / "a.zip").write_bytes(ONE[:at] + struct.pack("<I", 1 << 31) + ONE[at + 4 :])
    with pytest.raises(errors.DataLossError, match=r"the compressed data is damaged"):
        list(hr.files(f"{tmp_path}/a.zip/**"))


DAMAGED = archive({f"a/{n}.png": b"contents %d" % n for n in range(9)}, STORED)
for _number in (2, 3, 8):
    DAMAGED = patched(DAMAGED, b"contents %d" % _number, b"c0ntents %d" % _number)


@pytest.mark.parametrize("source", ["files", "image_folder"])
@pytest.mark.parametrize("is_shuffled", [False, True])
def test_damaged_members_can_be_skipped(tmp_path, source, is_shuffled):
    path = tmp_path / "a.zip"
    path.write_bytes(DAMAGED)
    pipe = hr.files(f"{path}/**") if source == "files" else hr.image_folder(path)
    pipe = pipe.shuffle(seed=4) if is_shuffled else pipe
    with iter(pipe.skip_errors(3)) as examples:
        whole = [example["path"] for example in examples]
        skipped = examples.skipped
    assert sorted(whole) == [f"{path}/a/{n}.png" for n in (0, 1, 4, 5, 6, 7)]
    lost = [(one.file, one.record_number, one.num_lost) for one in skipped]
    assert sorted(lost) == [(f"{path}/a/{n}.png", 0, 1) for n in (2, 3, 8)]
    for one in skipped:
        assert f"{one.file}; the checksum does not match" in one.reason
        assert "rest of the file" not in one.reason
    with pytest.raises(errors.DataLossError, match=r"the checksum does not match"):
        list(pipe.skip_errors(2))


def test_iteration_over_damaged_members_resumes_at_any_example(tmp_path):
    (tmp_path / "a.zip").write_bytes(DAMAGED)
    pipe = hr.image_folder(tmp_path / "a.zip").skip_errors(3)
    whole = [example["path"] for example in pipe]
    for taken in range(len(whole)):
        with iter(pipe) as examples:
            for _ in range(taken):
                next(examples)
            state = examples.state()
        with pipe.resume(state) as resumed:
            assert [example["path"] for example in resumed] == whole[taken:]
            assert sorted(one.file[-5] for one in resumed.skipped) == ["2", "3", "8"]


def test_archive_that_changes_while_it_is_read_is_rejected(tmp_path):
    path = tmp_path / "a.zip"
    files = {f"{number:05}.bin": bytes([number % 256]) * 3000 for number in range(2000)}
    path.write_bytes(archive(files, STORED))
    batches = iter(hr.files(f"{path}/**").options(memory_bytes=1 << 20))
    next(batches)
    raw = bytearray(path.read_bytes())
    raw[30_000:6_000_000] = bytes(5_970_000)
    path.write_bytes(raw)
    with pytest.raises(errors.AbortedError, match=r"changed while it was read"):
        list(batches)
