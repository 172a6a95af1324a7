"""`headrace tokenize` converts texts to token files."""

import gzip
import json
import os
import signal
import struct
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.cli.files import call, write_numbers
from tests.ops.strings.trained_tokenizers import CORNERS, saved
from tokenizers import Tokenizer

import headrace as hr

WORDS = Path(__file__).parents[2] / "ops" / "strings" / "words.json"
END = "<|end|>"


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture(scope="module")
def gpt2(tmp_path_factory):
    return saved("gpt2", tmp_path_factory.mktemp("tokenizers"))


def write_lines(path, texts, key="text"):
    lines = [json.dumps({"n": n, key: text}) for n, text in enumerate(texts)]
    Path(path).write_text("\n".join(lines) + "\n", "utf-8")


def documents(stem, dtype=np.uint16):
    """The documents of a file, read with its Megatron index."""
    data = Path(f"{stem}.idx").read_bytes()
    assert data[:9] == b"MMIDIDX\x00\x00"
    version, code, count, num_ends = struct.unpack_from("<QBQQ", data, 9)
    assert (version, {8: np.uint16, 4: np.int32}[code], num_ends) == (1, dtype, count + 1)
    lengths = np.frombuffer(data, "<i4", count, 34)
    positions = np.frombuffer(data, "<i8", count, 34 + 4 * count)
    assert np.frombuffer(data, "<i8", -1, 34 + 12 * count).tolist() == list(range(count + 1))
    tokens = Path(f"{stem}.bin").read_bytes()
    assert len(tokens) == int(lengths.sum()) * np.dtype(dtype).itemsize
    return [
        np.frombuffer(tokens, dtype, length, position).tolist()
        for length, position in zip(lengths, positions, strict=True)
    ]


def expected(path, texts, add_special_tokens=False):
    tokenizer = Tokenizer.from_file(str(path))
    return [tokenizer.encode(text, add_special_tokens=add_special_tokens).ids for text in texts]


def test_folder_of_json_lines_becomes_a_token_file(gpt2):
    Path("texts").mkdir()
    write_lines("texts/b.jsonl", CORNERS[1:9])
    write_lines("texts/a.jsonl", CORNERS[9:])
    done = call("tokenize", str(gpt2), "texts", "out")
    assert done.exit_code == 0
    result = documents("out")
    assert result == expected(gpt2, CORNERS[9:] + CORNERS[1:9])
    total = sum(map(len, result))
    assert done.stdout == f"out.bin: {len(result)} documents, {total:,} tokens of uint16\n"
    assert sorted(os.listdir()) == ["out.bin", "out.idx", "texts"]
    windows = hr.tokens("out.bin", 9, stride=9)
    read = [token for example in windows for token in example["tokens"].tolist()]
    assert read == [token for row in result for token in row][: total // 9 * 9]


def test_order_does_not_depend_on_the_number_of_workers(gpt2):
    write_lines("a.jsonl", CORNERS * 30)
    for workers in (1, 5):
        output = f"out{workers}"
        assert call("tokenize", str(gpt2), "a.jsonl", output, "--workers", workers).exit_code == 0
    assert Path("out1.bin").read_bytes() == Path("out5.bin").read_bytes()
    assert Path("out1.idx").read_bytes() == Path("out5.idx").read_bytes()


def test_end_of_document_token_can_be_appended(gpt2):
    texts = ["the water", "", "goes on"]
    write_lines("a.jsonl", texts)
    done = call("tokenize", str(gpt2), "a.jsonl", "out.bin", "--append-eod", END)
    end = Tokenizer.from_file(str(gpt2)).token_to_id(END)
    requested = [[*ids, end] for ids in expected(gpt2, texts) if ids]
    assert documents("out") == requested
    assert done.stderr == "1 text without tokens skipped\n"
    split = hr.tokens("out.bin", 2, documents="split", stride=2)
    assert [example["tokens"].tolist() for example in split] == [
        row[n : n + 2] for row in requested for n in range(0, len(row) // 2 * 2, 2)
    ]
    refused = call("tokenize", str(gpt2), "a.jsonl", "b", "--append-eod", "<eod>")
    assert (refused.exit_code, "has no token '<eod>'" in refused.stderr) == (1, True)


def test_texts_are_read_from_several_kinds_of_files():
    write_lines("a.jsonl", ["the water"], "body")
    Path("b.txt").write_text("goes, on\ngoes, on\n")
    with gzip.open("c.jsonl.gz", "wt") as file:
        file.write('{"body": "on."}\n')
    pq.write_table(pa.table({"body": ["water", "the"]}), "d.parquet")
    Path("e.jsonl").touch()
    sources = ("a.jsonl", "b.txt", "c.jsonl.gz", "d.parquet", "e.jsonl")
    assert call("tokenize", str(WORDS), *sources, "out", "--key", "body").exit_code == 0
    assert documents("out") == [[1, 2], [3, 0, 4, 3, 0, 4], [4, 5], [2], [1]]
    lines = call("tokenize", str(WORDS), "b.txt", "lines", "--lines", "--quiet")
    assert (lines.exit_code, lines.stdout) == (0, "")
    assert documents("lines") == [[3, 0, 4]] * 2


def test_large_vocabulary_is_stored_as_int32():
    content = json.loads(WORDS.read_text())
    content["model"]["vocab"] |= {f"w{n}": n for n in range(6, 70_000)}
    Path("large.json").write_text(json.dumps(content))
    write_lines("a.jsonl", ["the w69999 w70000"])
    assert call("tokenize", "large.json", "a.jsonl", "out").exit_code == 0
    assert documents("out", np.int32) == [[1, 69_999, 0]]
    assert next(iter(hr.tokens("out.bin", 3)))["tokens"].dtype == np.int32


def test_documents_are_complete_despite_truncation_and_padding_settings():
    tokenizer = Tokenizer.from_file(str(WORDS))
    tokenizer.enable_truncation(2)
    tokenizer.enable_padding(length=9, pad_id=0, pad_token="<unk>")
    tokenizer.save("cut.json")
    write_lines("a.jsonl", ["the water goes on."])
    assert call("tokenize", "cut.json", "a.jsonl", "out").exit_code == 0
    assert documents("out") == [[1, 2, 3, 4, 5]]


def test_special_tokens_are_added_if_requested(tmp_path):
    llama = saved("llama3", tmp_path)
    write_lines("a.jsonl", ["the water"])
    assert call("tokenize", llama, "a.jsonl", "out", "--add-special-tokens").exit_code == 0
    assert documents("out") == expected(llama, ["the water"], True)


def test_existing_files_are_replaced_only_with_overwrite():
    write_lines("a.jsonl", ["the water"])
    Path("out.idx").write_text("mine")
    refused = call("tokenize", str(WORDS), "a.jsonl", "out")
    assert refused.exit_code == 1
    assert refused.stderr.startswith("headrace: out.idx already exists. Use --overwrite")
    assert Path("out.idx").read_text() == "mine"
    assert call("tokenize", str(WORDS), "a.jsonl", "out", "--overwrite").exit_code == 0
    assert documents("out") == [[1, 2]]


def test_files_without_texts_are_rejected():
    write_lines("a.jsonl", ["the water"])
    write_numbers("b", 3)
    Path("c.csv").write_text("a,b\n1,2\n")
    Path("d.json").write_text('{\n"text": "on"\n}\n')
    Path("e.jsonl").write_text('{"text": "on"}\n{"text": null}\n')
    with gzip.open("f.txt.gz", "wt") as file:
        file.write("on\n")
    Path("g.jsonl").touch()
    for source, words in (
        ("b", "b: the file's kind is tfrecord"),
        ("c.csv", "c.csv: the file's kind is csv"),
        ("d.json", "d.json: the file's kind is text"),
        ("e.jsonl", "e.jsonl"),
        ("f.txt.gz", "Decompress it, or pass --lines"),
        ("g.jsonl", "the files are empty"),
        ("h.jsonl", "h.jsonl"),
    ):
        done = call("tokenize", str(WORDS), source, "out")
        assert (done.exit_code, words in done.stderr) == (1, True), done.stderr
    for tokenizer, words in (
        ("gone.json", "gone.json: no such file"),
        ("d.json", "d.json: the file is not a tokenizer.json"),
    ):
        done = call("tokenize", tokenizer, "a.jsonl", "out")
        assert (done.exit_code, words in done.stderr) == (1, True), done.stderr
        assert "traced" not in done.stderr
    assert not list(Path().glob("*out*"))


def ended_at(moment, number, sent, *arguments):
    program = Path(__file__).with_name("killed_tokenize.py")
    return subprocess.run(
        [sys.executable, program, moment, str(number), sent, *map(str, arguments)],
        env=os.environ | {"PYTHONPATH": str(Path(__file__).parents[3])},
        capture_output=True,
        text=True,
        timeout=50,
        check=False,
    )


@pytest.mark.parametrize("moment", ["tokens", "index", "publish"])
def test_killed_command_leaves_nothing_half_written(moment):
    write_lines("a.jsonl", ["the water goes on"] * 500)
    done = ended_at(moment, 1, "SIGKILL", "tokenize", WORDS, "a.jsonl", "out")
    assert done.returncode == -signal.SIGKILL
    assert not Path("out.bin").exists()
    assert not Path("out.idx").exists()
    assert call("tokenize", str(WORDS), "a.jsonl", "out").exit_code == 0
    assert documents("out") == [[1, 2, 3, 4]] * 500


def test_token_file_appears_only_with_its_index():
    write_lines("a.jsonl", ["the water"])
    Path("out.bin").write_bytes(b"old")
    arguments = ("tokenize", WORDS, "a.jsonl", "out", "--overwrite")
    assert ended_at("publish", 2, "SIGKILL", *arguments).returncode == -signal.SIGKILL
    assert not Path("out.bin").exists()


@pytest.mark.parametrize(("sent", "code"), [("SIGINT", 130), ("SIGTERM", 143)])
def test_signal_ends_the_command_and_leaves_no_file(sent, code):
    write_lines("a.jsonl", ["the water"] * 500)
    done = ended_at("tokens", 1, sent, "tokenize", WORDS, "a.jsonl", "out")
    assert (done.returncode, done.stderr) == (code, "Interrupted. Nothing was written.\n")
    assert os.listdir() == ["a.jsonl"]
