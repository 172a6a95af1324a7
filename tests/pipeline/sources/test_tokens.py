"""Token files, read as windows."""

import gzip
import json
import os
import struct

import numpy as np
import pytest

import headrace as hr
from headrace.core import errors
from headrace.testing import assert_resumes

CODES = {np.uint8: 1, np.int8: 2, np.int16: 3, np.int32: 4, np.int64: 5, np.uint16: 8}


def write_megatron(path, documents, dtype=np.uint16, sequences=1):
    """Writes documents as Megatron does, each of so many sequences."""
    parts = [part for document in documents for part in np.array_split(document, sequences)]
    sizes = [len(part) * np.dtype(dtype).itemsize for part in parts]
    path.write_bytes(np.concatenate(parts).astype(dtype).tobytes() if parts else b"")
    positions = np.cumsum([0, *sizes])[:-1]
    borders = np.arange(0, len(parts) + 1, sequences)
    path.with_suffix(".idx").write_bytes(
        b"MMIDIDX\x00\x00"
        + struct.pack("<QBQQ", 1, CODES[dtype], len(parts), len(borders))
        + np.array([len(part) for part in parts], np.int32).tobytes()
        + positions.astype(np.int64).tobytes()
        + borders.astype(np.int64).tobytes()
    )


def write_datatrove(path, documents, dtype=np.uint16):
    """Writes documents as datatrove does."""
    path.write_bytes(np.concatenate(documents).astype(dtype).tobytes())
    ends = np.cumsum([len(document) for document in documents])
    path.with_name(f"{path.name}.index").write_bytes(ends.astype(np.uint64).tobytes())
    size = np.dtype(dtype).itemsize
    path.with_name(f"{path.name}.metadata").write_text(f"gpt2|{size}\n{ends[-1]}\n1 T")


def windows_of(tokens, length, stride):
    return [tokens[n : n + length].tolist() for n in range(0, len(tokens) - length + 1, stride)]


def windows(pipe):
    return [example["tokens"].tolist() for example in pipe]


@pytest.fixture
def raw(tmp_path):
    """Three files of 16-bit numbers: 1,003, 3 and 500 of them."""
    files = [np.arange(1003), np.arange(3), np.arange(20_000, 20_500)]
    for number, tokens in enumerate(files):
        (tmp_path / f"{number}.bin").write_bytes(tokens.astype(np.uint16).tobytes())
    return tmp_path, files


@pytest.mark.parametrize(
    ("length", "stride"), [(9, None), (8, 8), (5, 2), (3, 7), (1, 1), (1003, 1)]
)
def test_windows_are_consecutive_within_each_file(raw, length, stride):
    directory, files = raw
    pipe = hr.tokens(directory, length, np.uint16, stride)
    step = stride or length - 1
    expected = [window for tokens in files for window in windows_of(tokens, length, step)]
    assert windows(pipe) == expected
    assert len(pipe) == len(expected)
    assert pipe.spec == {"tokens": hr.Spec(np.dtype(np.uint16), (length,))}
    assert next(iter(pipe))["tokens"].dtype == np.uint16


def test_tokens_outside_any_window_are_counted(raw):
    directory, _ = raw
    batches = iter(hr.tokens(directory, 9, np.uint16))
    list(batches)
    # 1,003 = 125 · 8 + 3, and 500 = 62 · 8 + 4: each window begins with the last token of another.
    source, *_ = batches.statistics().stages
    assert source.left_out == 2 + 3 + 3


def test_full_shuffle_yields_each_window_once_without_a_scan(raw):
    directory, _ = raw
    pipe = hr.tokens(directory, 9, np.uint16)
    shuffled = pipe.shuffle(seed=3)
    assert sorted(windows(shuffled)) == sorted(windows(pipe))
    assert windows(shuffled) != windows(pipe)
    assert "scan" not in shuffled.describe()
    shards = [windows(shuffled.shard(rank, 4)) for rank in range(4)]
    assert [shards[n % 4][n // 4] for n in range(len(shuffled))] == windows(shuffled)
    assert not list(directory.glob("*.hrindex"))


def test_window_shuffle_yields_all_windows(raw):
    directory, _ = raw
    pipe = hr.tokens(directory, 9, np.uint16)
    for options in (
        {"num_open": 2},
        {"block_bytes": 100},
        {"num_open": 1, "file_order": "sequential"},
    ):
        result = windows(pipe.shuffle(window=20, seed=1, **options))
        assert sorted(result) == sorted(windows(pipe))


def test_tokens_resume_at_every_batch(raw):
    directory, _ = raw
    pipe = hr.tokens(directory, 9, np.uint16)
    for changed in (
        pipe.skip(20).take(150),
        pipe.shuffle(seed=1).epochs(2),
        pipe.shuffle(window=30, seed=1, block_bytes=64).epochs(2),
    ):
        assert_resumes(changed.batch(8), every=5)
    shuffled = pipe.shuffle(seed=1)
    with iter(shuffled.shard(1, 2).batch(4)) as batches:
        next(batches)
        state = json.loads(json.dumps(batches.state()))
    results = [
        window
        for batch in shuffled.shard(0, 4).batch(4).resume(state)
        for window in batch["tokens"].tolist()
    ]
    assert results == windows(shuffled)[8::4]


def test_npy_files_determine_the_dtype(tmp_path):
    tokens = np.arange(50, dtype=np.int32)
    np.save(tmp_path / "a.npy", tokens)
    pipe = hr.tokens(tmp_path / "a.npy", 10)
    assert windows(pipe) == windows_of(tokens, 10, 9)
    assert pipe.spec["tokens"].dtype == np.int32
    assert windows(pipe.shuffle(seed=1).take(5)) != []


@pytest.mark.parametrize("dtype", CODES)
def test_megatron_files_determine_the_dtype(tmp_path, dtype):
    documents = [np.arange(n) for n in (5, 30, 0, 1, 64)]
    write_megatron(tmp_path / "a.bin", documents, dtype)
    pipe = hr.tokens(tmp_path, 10)
    assert windows(pipe) == windows_of(np.concatenate(documents).astype(dtype), 10, 9)
    assert pipe.spec["tokens"].dtype == dtype


@pytest.mark.parametrize("dtype", [np.uint16, np.uint32])
def test_datatrove_files_determine_the_dtype(tmp_path, dtype):
    documents = [np.arange(n) for n in (5, 30, 1, 64)]
    write_datatrove(tmp_path / "a.ds", documents, dtype)
    pipe = hr.tokens(tmp_path, 10)
    assert windows(pipe) == windows_of(np.concatenate(documents).astype(dtype), 10, 9)
    assert pipe.spec["tokens"].dtype == dtype


def write_all(tmp_path, documents):
    write_megatron(tmp_path / "a.bin", documents)
    write_megatron(tmp_path / "b.bin", documents, sequences=3)
    write_datatrove(tmp_path / "c.ds", documents)


DOCUMENTS = [np.arange(100 * n, 100 * n + count) for n, count in enumerate([5, 30, 2, 1, 64, 9])]


def test_mask_numbers_the_documents_in_a_window(tmp_path):
    write_all(tmp_path, DOCUMENTS)
    tokens = np.concatenate(DOCUMENTS)
    of_token = np.repeat(np.arange(len(DOCUMENTS)), [len(document) for document in DOCUMENTS])
    segments = []
    for start in range(0, len(tokens) - 9, 9):
        window = of_token[start : start + 10]
        segments.append((window - window[0] + 1).tolist())
    pipe = hr.tokens(tmp_path, 10, documents="mask")
    results = list(pipe)
    assert [example["segment_ids"].tolist() for example in results] == segments * 3
    assert [example["tokens"].tolist() for example in results] == windows_of(tokens, 10, 9) * 3
    assert results[0]["segment_ids"].dtype == np.int32
    shuffled = [(e["tokens"].tolist(), e["segment_ids"].tolist()) for e in pipe.shuffle(seed=2)]
    assert sorted(shuffled) == sorted(
        (e["tokens"].tolist(), e["segment_ids"].tolist()) for e in results
    )
    batch = next(iter(pipe.batch(4)))
    assert batch["tokens"].shape == batch["segment_ids"].shape == (4, 10)
    assert_resumes(pipe.shuffle(seed=2).batch(4), every=3)


def test_windows_do_not_cross_documents_with_split(tmp_path):
    write_all(tmp_path, DOCUMENTS)
    expected = [window for document in DOCUMENTS for window in windows_of(document, 8, 7)]
    pipe = hr.tokens(tmp_path, 8, documents="split")
    assert windows(pipe) == expected * 3
    assert len(pipe) == 3 * len(expected)
    assert sorted(windows(pipe.shuffle(seed=2))) == sorted(expected * 3)
    assert sorted(windows(pipe.shuffle(window=9, seed=2, block_bytes=40))) == sorted(expected * 3)
    assert_resumes(pipe.batch(4), every=2)
    batches = iter(pipe)
    list(batches)
    rests = [len(d) if len(d) < 8 else (len(d) - 8) % 7 for d in DOCUMENTS]
    assert batches.statistics().stages[0].left_out == 3 * sum(rests)


def test_short_documents_have_no_window(tmp_path):
    write_datatrove(tmp_path / "a.ds", [np.arange(3)] * 100_000)
    pipe = hr.tokens(tmp_path, 4, documents="split")
    assert (len(pipe), windows(pipe), windows(pipe.shuffle(seed=1))) == (0, [], [])


def test_long_gaps_between_windows_are_skipped(tmp_path):
    write_datatrove(
        tmp_path / "a.ds", [np.arange(3)] * 200_000 + [np.arange(4)] + [np.arange(3)] * 9
    )
    pipe = hr.tokens(tmp_path, 4, documents="split")
    assert windows(pipe) == windows(pipe.shuffle(seed=1)) == [[0, 1, 2, 3]]


def test_window_can_be_large(tmp_path):
    tokens = np.arange(400_000, dtype=np.uint32)
    (tmp_path / "a.bin").write_bytes(tokens.tobytes())
    pipe = hr.tokens(tmp_path / "a.bin", 150_000, np.uint32, 100_000)
    assert (
        windows(pipe)
        == windows(pipe.shuffle(window=1, seed=1))
        == windows_of(tokens, 150_000, 100_000)
    )


def test_indexes_are_used_and_not_read_as_tokens(tmp_path):
    write_all(tmp_path, DOCUMENTS)
    assert windows(hr.tokens(tmp_path, 5)) == windows(hr.tokens(str(tmp_path / "*"), 5))
    with pytest.raises(errors.InvalidArgumentError, match=r"a\.idx: this is an index file.*a\.bin"):
        len(hr.tokens(tmp_path / "a.idx", 5))


def test_raw_file_requires_a_dtype(raw):
    directory, _ = raw
    with pytest.raises(
        errors.InvalidArgumentError, match=r"0\.bin: this file does not store the type.*uint16"
    ):
        next(iter(hr.tokens(directory, 5)))


def test_file_with_an_odd_size_is_rejected(tmp_path):
    (tmp_path / "a.bin").write_bytes(bytes(101))
    with pytest.raises(
        errors.DataLossError, match=r"a\.bin: the file has 101 bytes.* the size of a uint16 token"
    ):
        next(iter(hr.tokens(tmp_path, 5, np.uint16)))


def test_dtype_that_contradicts_the_file_is_an_error(tmp_path):
    np.save(tmp_path / "a.npy", np.arange(50, dtype=np.int32))
    write_megatron(tmp_path / "b.bin", DOCUMENTS)
    write_datatrove(tmp_path / "c.ds", DOCUMENTS)
    for name, actual in (("a.npy", "int32"), ("b.bin", "uint16"), ("c.ds", "uint16")):
        with pytest.raises(
            errors.InvalidArgumentError, match=f"{name}: the tokens are {actual}.*int64"
        ):
            next(iter(hr.tokens(tmp_path / name, 5, np.int64)))
    with pytest.raises(
        errors.InvalidArgumentError, match=r"b\.bin: the tokens are uint16, expected int32"
    ):
        next(iter(hr.tokens(tmp_path, 5)))


@pytest.mark.parametrize(
    ("written", "read", "words"),
    [
        (np.uint16, np.int16, r"window 0: the token -25536 \(read as int16\)"),
        (np.uint16, np.uint32, r"window 0: the token \d{9,} \(read as uint32\)"),
        (np.uint32, np.uint16, "The tokens are probably uint32"),
    ],
)
def test_tokens_beyond_any_vocabulary_are_an_error(tmp_path, written, read, words):
    tokens = np.resize(np.array([40_000, 7, 50_000, 12_345]), 1000)
    (tmp_path / "a.bin").write_bytes(tokens.astype(written).tobytes())
    with pytest.raises(errors.InvalidArgumentError, match=f"a.bin.*{words}"):
        list(hr.tokens(tmp_path, 5, read))


@pytest.mark.parametrize(
    ("written", "read", "words"),
    [
        (np.uint16, np.uint32, "two numbers below 4096 in one. The tokens are probably uint16"),
        (np.uint16, np.int32, "two numbers below 4096 in one. The tokens are probably uint16"),
        (np.uint8, np.uint16, "two numbers below 128 in one. The tokens are probably uint8"),
    ],
)
def test_small_tokens_read_with_half_their_width_are_an_error(tmp_path, written, read, words):
    tokens = np.random.default_rng(0).integers(0, 100, 1000).astype(written)
    (tmp_path / "a.bin").write_bytes(tokens.tobytes())
    with pytest.raises(errors.InvalidArgumentError, match=rf"a\.bin: .*{words}"):
        list(hr.tokens(tmp_path, 5, read))
    (tmp_path / "a.bin").write_bytes(tokens.astype(read).tobytes())
    assert windows(hr.tokens(tmp_path, 5, read)) == windows_of(tokens, 5, 4)


def test_large_tokens_are_not_mistaken_for_two_small_ones(tmp_path):
    random = np.random.default_rng(0)
    for dtype, least, most in (
        *((np.uint16, 0, 65_535), (np.uint16, 256, 384), (np.uint16, 300, 301)),
        *((np.int32, 0, 200_000), (np.uint32, 0, 1 << 27), (np.int32, 65_536, 66_000)),
    ):
        tokens = random.integers(least, most, 1000).astype(dtype)
        (tmp_path / "a.bin").write_bytes(tokens.tobytes())
        assert windows(hr.tokens(tmp_path, 5, dtype)) == windows_of(tokens, 5, 4)


def test_text_file_is_not_read_as_tokens(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_bytes(b'{"text": "The water goes on."}\n' * 40)
    with pytest.raises(
        errors.InvalidArgumentError, match=r"a\.jsonl: this file is text.* tokenize"
    ):
        next(iter(hr.tokens(path, 5, np.uint16)))
    # The bytes of a text are tokens themselves.
    assert windows(hr.tokens(path, 4, np.uint8))[0] == list(b'{"te')


def test_warning_names_files_without_any_window(tmp_path, caplog):
    np.save(tmp_path / "a.npy", np.arange(100))
    assert windows(hr.tokens(tmp_path, 200)) == []
    assert "windows of 200 tokens do not fit in" in caplog.text
    assert "a.npy, so there are no examples: each file is shorter" in caplog.text
    caplog.clear()
    write_datatrove(tmp_path / "b.ds", [np.arange(3)] * 100)
    np.save(tmp_path / "a.npy", np.arange(0))
    assert windows(hr.tokens(tmp_path / "a.npy", 200)) == []
    assert not caplog.text
    assert windows(hr.tokens(tmp_path / "b.ds", 4, documents="split")) == []
    assert "each document is shorter" in caplog.text


def test_documents_option_requires_an_index(raw):
    directory, _ = raw
    for documents in ("mask", "split"):
        with pytest.raises(
            errors.InvalidArgumentError,
            match=r"0\.bin: documents=.* needs an index of the documents",
        ):
            next(iter(hr.tokens(directory, 5, np.uint16, documents=documents)))


def damaged(path, change):
    data = bytearray(path.read_bytes())
    change(data)
    path.write_bytes(data)


def set_number(at, form, value):
    return lambda data: struct.pack_into(form, data, at, value)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (set_number(0, "<B", 88), "does not start with MMIDIDX"),
        (set_number(9, "<Q", 2), "version 2, expected 1"),
        (set_number(17, "<B", 6), "the type 6"),
        (set_number(18, "<Q", 7), r"the file has 162 bytes, expected 174 for 7 sequences"),
        (set_number(18, "<Q", 2**63), "more than a file can have"),
        (lambda data: data.append(0), r"the file has 163 bytes, expected 162"),
        (
            lambda data: data.__delitem__(slice(20, None)),
            r"the file has 20 bytes, expected at least 34",
        ),
        (set_number(34 + 4 * 5, "<i", -3), "sequence 5 has -3 tokens"),
        (set_number(34 + 4 * 6 + 8 * 2, "<q", 8), "sequence 2 begins at byte 8, expected 70"),
        (set_number(34 + 4 * 6 + 8 * 6 + 8 * 3, "<q", 1), "not in order"),
        (set_number(34 + 4 * 6 + 8 * 6 + 8 * 6, "<q", 5), "end with sequence 5, expected 6"),
    ],
)
def test_error_for_an_inconsistent_megatron_index_reports_its_contents(tmp_path, change, words):
    write_megatron(tmp_path / "a.bin", DOCUMENTS)
    assert (tmp_path / "a.idx").stat().st_size == 34 + 12 * 6 + 8 * 7
    damaged(tmp_path / "a.idx", change)
    with pytest.raises(errors.DataLossError, match=rf"a\.idx: .*{words}"):
        list(hr.tokens(tmp_path, 5, documents="split"))


def test_index_of_a_different_file_is_rejected(tmp_path):
    write_megatron(tmp_path / "a.bin", DOCUMENTS)
    with (tmp_path / "a.bin").open("ab") as file:
        file.write(bytes(6))
    with pytest.raises(
        errors.DataLossError, match=r"a\.bin: the file has 228 bytes, but .*a\.idx expects 222"
    ):
        next(iter(hr.tokens(tmp_path, 5)))
    write_datatrove(tmp_path / "a.ds", DOCUMENTS)
    with (tmp_path / "a.ds").open("ab") as file:
        file.write(bytes(6))
    with pytest.raises(
        errors.DataLossError,
        match=r"a\.ds: the file has 228 bytes, expected 2 or 4 bytes for each of the 111",
    ):
        next(iter(hr.tokens(tmp_path / "a.ds", 5)))


def test_unsorted_datatrove_index_is_an_error(tmp_path):
    write_datatrove(tmp_path / "a.ds", DOCUMENTS)
    damaged(tmp_path / "a.ds.index", set_number(8, "<Q", 3))
    with pytest.raises(
        errors.DataLossError, match=r"document 1 ends at token 3, expected at least 5"
    ):
        list(hr.tokens(tmp_path / "a.ds", 5, documents="mask"))


@pytest.mark.parametrize(
    ("array", "words"),
    [
        (np.zeros((3, 4), np.int32), "shape .*expected one axis"),
        (np.zeros(9, np.float32), "the array is float32, expected integers"),
        (np.zeros(9, ">i4"), "big-endian"),
    ],
)
def test_non_token_array_is_an_error(tmp_path, array, words):
    np.save(tmp_path / "a.npy", array)
    with pytest.raises(errors.InvalidArgumentError, match=rf"a\.npy: .*{words}"):
        next(iter(hr.tokens(tmp_path, 2)))


def test_truncated_array_is_an_error(tmp_path):
    np.save(tmp_path / "a.npy", np.arange(50))
    damaged(tmp_path / "a.npy", lambda data: data.__delitem__(slice(-8, None)))
    with pytest.raises(errors.DataLossError, match=r"a\.npy: the file has 520 bytes, expected 528"):
        next(iter(hr.tokens(tmp_path, 2)))
    (tmp_path / "a.npy").write_bytes(b"no array")
    with pytest.raises(errors.DataLossError, match=r"a\.npy: this file is not a NumPy array"):
        next(iter(hr.tokens(tmp_path, 2)))


def test_compressed_files_are_rejected(tmp_path):
    (tmp_path / "a.bin.gz").write_bytes(b"x")
    with pytest.raises(
        errors.InvalidArgumentError,
        match=r"a\.bin\.gz: this file is compressed, according to its name",
    ):
        next(iter(hr.tokens(tmp_path, 2, np.uint16)))


def test_changed_index_is_detected_on_resume(tmp_path):
    write_megatron(tmp_path / "a.bin", DOCUMENTS)
    pipe = hr.tokens(tmp_path, 8, documents="split").batch(2)
    with iter(pipe) as batches:
        next(batches)
        state = batches.state()
    write_megatron(tmp_path / "a.bin", [np.concatenate(DOCUMENTS)])
    with pytest.raises(
        ValueError, match=r"a\.idx: the name, size or order of the files has changed"
    ):
        pipe.resume(state)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"length": 0}, "length is 0"),
        ({"length": 4, "stride": 0}, "stride is 0"),
        ({"length": 4, "documents": "no"}, "documents is 'no'"),
    ],
)
def test_out_of_range_arguments_are_rejected(arguments, words):
    with pytest.raises(ValueError, match=words):
        hr.tokens("a.bin", **arguments)


def test_tokens_must_be_integers():
    for dtype in (np.float32, bytes, bool):
        with pytest.raises(TypeError, match="expected integers"):
            hr.tokens("a.bin", 4, dtype)


def test_big_endian_tokens_are_rejected():
    with pytest.raises(TypeError, match="dtype is >u2, expected a little-endian type"):
        hr.tokens("a.bin", 4, ">u2")


@pytest.mark.parametrize(
    ("content", "what"),
    [
        (gzip.compress(bytes(range(200))), r"this file is compressed with gzip, .* Decompress it"),
        (b"7z\xbc\xaf\x27\x1c" + bytes(200), "this file is a 7z archive, expected tokens"),
        (b"Rar!\x1a\x07\x01\0" + bytes(200), "this file is a rar archive, expected tokens"),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:1234\nsize 9\n", "a Git LFS p"),
        (b"<!DOCTYPE html><title>404</title>", "this file is an HTML page, expected tokens"),
    ],
)
def test_non_token_files_are_rejected_by_content(tmp_path, content, what):
    for name in ("a.bin", "a.npy"):
        path = tmp_path / name
        path.write_bytes(content + b" " * (len(content) % 2))
        with pytest.raises(errors.InvalidArgumentError, match=rf"{name}: .*{what}"):
            next(iter(hr.tokens(path, 2, np.uint16)))


def test_tokens_are_read_with_little_memory(tmp_path):
    (tmp_path / "a.bin").write_bytes(
        np.resize(np.arange(30_000), 1 << 20).astype(np.uint16).tobytes()
    )
    pipe = hr.tokens(tmp_path, 1025, np.uint16).options(memory_bytes=4 << 20)
    assert sorted(windows(pipe)) == sorted(windows(pipe.shuffle(seed=1)))


@pytest.mark.parametrize("documents", ["mask", "split"])
def test_document_ends_count_towards_memory_bytes(tmp_path, documents):
    write_megatron(tmp_path / "a.bin", [np.arange(4)] * 50_000)
    ends = hr.tokens(tmp_path / "a.bin", 3, documents=documents)
    with iter(ends.take(1)) as batches:
        list(batches)
        used, _ = batches._execution.memory()
    assert used >= 4 * 50_000
    with iter(hr.tokens(tmp_path / "a.bin", 3).take(1)) as batches:
        list(batches)
        assert batches._execution.memory()[0] < 4 * 50_000


@pytest.mark.parametrize("is_shuffled", [False, True])
def test_file_truncated_while_being_read_is_an_error(tmp_path, is_shuffled):
    path = tmp_path / "a.bin"
    np.arange(1_000_000, dtype=np.uint16).tofile(path)
    pipe = hr.tokens(path, 1000, np.uint16)
    with iter((pipe.shuffle(seed=1) if is_shuffled else pipe).batch(8)) as batches:
        next(batches)
        os.truncate(path, 1000)
        with pytest.raises(errors.OpError, match=r"a.bin.* (changed|became shorter) while it was"):
            list(batches)
