"""Tokens of texts, compared with the Python package of the same crate."""

import base64
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from tests.ops.strings.charsmaps import charsmap, rules
from tests.ops.strings.trained_tokenizers import (
    CORNERS,
    KINDS,
    all_characters,
    odd_texts,
    saved,
)
from tokenizers import Tokenizer, normalizers

import headrace as hr

WORDS = Path(__file__).parent / "words.json"


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    directory = tmp_path_factory.mktemp("tokenizers")
    return {kind: saved(kind, directory) for kind in KINDS}


def tokenized(path, texts, threads=2, **options):
    """Returns the tokens of texts that a pipeline tokenizes."""
    column = np.array([text.encode() if isinstance(text, str) else text for text in texts], object)
    function = hr.native(lambda e: {"tokens": hr.ops.tokenize(path, e["text"], **options)})
    pipe = hr.arrays({"text": column}).map(function).options(num_threads=threads)
    return [example["tokens"] for example in pipe]


def expected(path, texts, add_special_tokens=False):
    tokenizer = Tokenizer.from_file(str(path))
    return [tokenizer.encode(text, add_special_tokens=add_special_tokens).ids for text in texts]


def changed(source, path, change):
    """Writes a file like another one, changed."""
    content = json.loads(Path(source).read_text("utf-8"))
    change(content)
    path.write_text(json.dumps(content), "utf-8")
    return path


@pytest.mark.parametrize("add_special_tokens", [False, True], ids=["alone", "with special tokens"])
@pytest.mark.parametrize("kind", list(KINDS))
def test_tokens_match_the_python_package(files, kind, add_special_tokens):
    result = tokenized(files[kind], CORNERS, add_special_tokens=add_special_tokens)
    requested = expected(files[kind], CORNERS, add_special_tokens)
    for text, tokens, other in zip(CORNERS, result, requested, strict=True):
        assert tokens.tolist() == other, text
    assert {tokens.dtype for tokens in result} == {np.dtype(np.int32)}


@pytest.mark.nightly
@pytest.mark.timeout(240)
@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "map of folded characters"])
def test_every_unicode_character_is_tokenized_like_the_python_package(files, kind):
    texts = list(all_characters())
    result = tokenized(files[kind], texts)
    for number, (tokens, other) in enumerate(
        zip(result, expected(files[kind], texts), strict=True)
    ):
        assert tokens.tolist() == other, f"text {number}"


@pytest.mark.parametrize("kind", list(KINDS))
def test_random_unusual_texts_are_tokenized_like_the_python_package(files, kind):
    texts = list(odd_texts())
    for special in (False, True):
        result = tokenized(files[kind], texts, add_special_tokens=special)
        requested = expected(files[kind], texts, special)
        for text, tokens, other in zip(texts, result, requested, strict=True):
            assert tokens.tolist() == other, ascii(text)


def test_precompiled_charsmap_normalizes_by_its_rules():
    replaced = rules(folds_case=False)
    normalizer = normalizers.Precompiled(charsmap(replaced))
    for text, normal in replaced.items():
        assert normalizer.normalize_str(text) == normal, ascii(text)
    assert normalizer.normalize_str("e\u0301 ﬁne\u3000Ⅷ") == "é fine VIII"


def test_error_for_a_damaged_charsmap_names_the_path(files, tmp_path):
    def damage(trie):
        def change(content):
            damaged = base64.b64encode(trie).decode()
            content["normalizer"]["normalizers"][0]["precompiled_charsmap"] = damaged

        return changed(files["map of characters"], tmp_path / "damaged.json", change)

    refused(
        damage(b"\x08\0"), hr.errors.InvalidArgumentError, r"damaged\.json: the file is not a tok"
    )
    empty = damage(b"\0\0\0\0")
    refused(empty, hr.errors.InvalidArgumentError, r"damaged\.json: the text cannot be tokenized")


def test_tokens_do_not_depend_on_the_number_of_threads(files):
    texts = CORNERS * 20
    results = [tokenized(files["unigram"], texts, threads) for threads in (1, 5)]
    assert [tokens.tolist() for tokens in results[0]] == [tokens.tolist() for tokens in results[1]]


def cut_to(length, direction="Right"):
    cut = {"direction": direction, "max_length": length, "strategy": "LongestFirst", "stride": 0}
    return lambda content: content.update(truncation=cut)


@pytest.mark.parametrize("direction", ["Right", "Left"])
def test_texts_are_truncated_as_the_file_specifies(files, tmp_path, direction):
    path = changed(files["bert"], tmp_path / "cut.json", cut_to(5, direction))
    for special in (False, True):
        result = tokenized(path, CORNERS, add_special_tokens=special)
        assert [tokens.tolist() for tokens in result] == expected(path, CORNERS, special)
    full = tokenized(path, CORNERS, truncation=False)
    assert [tokens.tolist() for tokens in full] == expected(files["bert"], CORNERS)


def test_texts_are_padded_as_the_file_specifies(files, tmp_path):
    tokenizer = Tokenizer.from_file(str(files["bert"]))
    tokenizer.enable_padding(length=64, pad_id=3, pad_token="[PAD]")
    path = tmp_path / "padded.json"
    tokenizer.save(str(path))
    result = tokenized(path, CORNERS)
    assert [tokens.tolist() for tokens in result] == expected(path, CORNERS)
    assert min(map(len, result)) == 64
    assert len(tokenized(path, [""], padding=False)[0]) == 0


def test_native_function_can_be_called_with_a_text():
    tokens = hr.native(lambda e: hr.ops.tokenize(WORDS, e["text"]))
    assert tokens({"text": b"The water goes on."}).tolist() == [1, 2, 3, 4, 5]
    assert tokens({"text": "THE sea"}).tolist() == [1, 0]


def test_spec_is_available_when_the_pipeline_is_defined():
    texts = hr.arrays({"text": np.array([b"on"], object)})
    spec = texts.map(hr.native(lambda e: {"t": hr.ops.tokenize(WORDS, e["text"])})).spec
    assert spec["t"].dtype == np.int32
    assert spec["t"].shape == (None,)


def refused(path, error, match, text=b"on"):
    with pytest.raises(error, match=match):
        tokenized(path, [text])


def test_missing_file_is_an_error_when_the_pipeline_is_defined(tmp_path):
    refused(tmp_path / "gone.json", hr.errors.NotFoundError, r"gone\.json: no such file")
    refused("gpt2", hr.errors.NotFoundError, "hub is not a path")
    with pytest.raises(hr.errors.FailedPreconditionError, match=r"this is a directory, expected"):
        tokenized(tmp_path, ["on"])
    # Its description would contain the whole vocabulary.
    with pytest.raises(TypeError, match=r"is a Tokenizer, expected the path of a tokenizer\.json"):
        tokenized(Tokenizer.from_file(str(WORDS)), ["on"])


@pytest.mark.parametrize(
    "content", [b"", b"{}", b"[]", b"vocab\n", b"\xff", b'{"model": {"type": "New"}}']
)
def test_error_for_a_non_tokenizer_file_names_its_path(tmp_path, content):
    path = tmp_path / "other.json"
    path.write_bytes(content)
    refused(
        path, hr.errors.InvalidArgumentError, r"other\.json: the file is not a tokenizer\.json: .+"
    )


@pytest.mark.parametrize(
    ("content", "what"),
    [
        (b"version https://git-lfs.github.com/spec/v1\noid", "a Git LFS pointer.* git lfs pull"),
        (b"\x1f\x8b\x08\0", "compressed with gzip, expected a tokenizer.json. Decompress it first"),
        (b"\xff\xfe{\0", "UTF-16 text"),
    ],
)
def test_error_names_the_format_of_a_wrong_file(tmp_path, content, what):
    path = tmp_path / "other.json"
    path.write_bytes(content)
    refused(path, hr.errors.InvalidArgumentError, rf"other\.json: the file is {what}")


def test_dropout_is_rejected(files, tmp_path):
    path = changed(files["gpt2"], tmp_path / "d.json", lambda c: c["model"].update(dropout=0.1))
    refused(
        path,
        hr.errors.InvalidArgumentError,
        'the model uses dropout 0.1, which makes tokenization random.*Set "dropout" to null',
    )
    changed(files["gpt2"], tmp_path / "d.json", lambda c: c["model"].update(dropout=0.0))
    assert tokenized(path, ["on"])[0].tolist() == expected(files["gpt2"], ["on"])[0]


def test_error_for_non_utf_8_text_names_its_record(tmp_path):
    lines = tmp_path / "lines.txt"
    lines.write_bytes(b"on\nthe w\xe4ter\n")
    function = hr.native(lambda e: {"tokens": hr.ops.tokenize(WORDS, e["text"])})
    match = r"not UTF-8 at byte 5.*lines\.txt: line 2"
    pipe = hr.text_lines(str(lines)).map(function)
    with pytest.raises(hr.errors.InvalidArgumentError, match=match):
        list(pipe)
    assert [example["tokens"].tolist() for example in pipe.skip_errors(1)] == [[4]]


def test_batch_of_texts_is_rejected():
    texts = hr.arrays({"text": np.array([b"on"], object)}).batch(1)
    with pytest.raises(ValueError, match=r"tokenize: text has 1 axes, .*before batch"):
        texts.map(hr.native(lambda e: {"t": hr.ops.tokenize(WORDS, e["text"])}))


def lines(path, seed=3):
    texts = np.array([b"the water goes on"] * 40, object)

    @hr.native
    def tokens(example):
        return {"tokens": hr.ops.tokenize(path, example["text"])}

    return hr.arrays({"text": texts}).map(tokens).shuffle(seed=seed).batch(4)


def copy_of(path, **more):
    return changed(WORDS, path, lambda content: content["model"]["vocab"].update(more))


def test_state_requires_a_file_with_the_same_content(tmp_path):
    path = copy_of(tmp_path / "tokenizer.json")
    batches = iter(lines(path))
    next(batches)
    state = json.loads(json.dumps(batches.state()))
    batches.close()
    (tmp_path / "moved").mkdir()
    moved = copy_of(tmp_path / "moved" / "tokenizer.json")
    assert len(list(lines(moved).resume(state))) == 9
    # The file is read when a function is traced.
    copy_of(path, sea=6)
    with pytest.raises(
        ValueError, match=r"tokenizer\.json, which.*has changed since the state was saved"
    ):
        next(iter(lines(path).resume(state)))


def test_state_of_functions_without_files_is_rejected(tmp_path):
    path = copy_of(tmp_path / "tokenizer.json")
    texts = hr.arrays({"text": np.array([b"on"] * 40, object)}).shuffle(seed=3)

    def tokenized(example):
        return {"tokens": hr.ops.tokenize(path, example["text"])}

    function = hr.native(tokenized)

    def tokenized(example):
        return {"tokens": example["text"]}

    state = iter(texts.map(hr.native(tokenized)).batch(4)).state()
    with pytest.raises(ValueError, match=r"use tokenizer\.json, but they used no file"):
        next(iter(texts.map(function).batch(4).resume(state)))


PROGRAM = """
import os, sys
import headrace as hr

tokens = hr.native(lambda e: hr.ops.tokenize(sys.argv[1], e["text"]))
before = len(os.listdir("/proc/self/task"))
assert tokens({"text": b"the water goes on " * 200}).tolist() == [1, 2]
assert len(os.listdir("/proc/self/task")) == before
child = os.fork()
if child == 0:
    os._exit(0 if tokens({"text": b"on on on"}).tolist() == [4, 4] else 1)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
"""


@pytest.mark.skipif(sys.platform != "linux", reason="counts threads in /proc")
def test_no_thread_is_started_and_a_fork_can_continue(tmp_path):
    def change(content):
        cut_to(2)(content)
        padding = {"strategy": {"Fixed": 2}, "direction": "Right", "pad_to_multiple_of": None}
        content["padding"] = {**padding, "pad_id": 0, "pad_type_id": 0, "pad_token": "<unk>"}

    path = changed(WORDS, tmp_path / "tokenizer.json", change)
    environment = {**os.environ, "TOKENIZERS_PARALLELISM": "true"}
    command = [sys.executable, "-W", "ignore", "-c", PROGRAM, str(path)]
    done = subprocess.run(
        command, env=environment, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
