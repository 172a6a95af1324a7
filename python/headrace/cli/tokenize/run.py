"""Tokenizes texts, and writes the tokens and an index of the documents in Megatron's format."""

from __future__ import annotations

import json
import struct
from array import array
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from headrace import ops
from headrace.cli.failures import Failure
from headrace.cli.interrupts import Interrupts
from headrace.cli.tokenize.texts import texts_of
from headrace.core.errors import OpError
from headrace.core.progress import Bar
from headrace.io import storage
from headrace.io.atomic_file import AtomicFile
from headrace.pipeline import Pipeline, concat
from headrace.pipeline.native_functions import native

__all__ = ["Request", "TokenizeResult", "run"]

# For vocabularies smaller than this, Megatron writes uint16.
_LEAST_OF_INT32: Final = 65500
# The type codes in an index.
_CODES: Final = {"uint16": 8, "int32": 4}
_MAGIC: Final = b"MMIDIDX\x00\x00"
_PART: Final = 1 << 20


@dataclass(frozen=True)
class Request:
    """The arguments of the command.

    Attributes:
        tokenizer: The path of the `tokenizer.json`.
        sources: Paths, directories and patterns.
        output: The output path, with or without `.bin`.
        key: The JSON key or the column that contains the text.
        has_lines: Whether each line of a text file is a document.
        end: The token to append to each document. None for no token.
        adds_special_tokens: Whether special tokens are added.
        num_threads: The number of threads. None for one per core.
        overwrites: Whether existing files are replaced.
        shows_progress: Whether to show a progress bar on a terminal.
    """

    tokenizer: str
    sources: tuple[str, ...]
    output: str
    key: str
    has_lines: bool
    end: str | None
    adds_special_tokens: bool
    num_threads: int | None
    overwrites: bool
    shows_progress: bool


@dataclass(frozen=True)
class TokenizeResult:
    """The written files.

    Attributes:
        path: The path of the token file.
        num_documents: The number of documents.
        num_tokens: The number of tokens.
        num_empty: The number of texts without tokens, which were skipped.
        dtype: The dtype of the tokens.
    """

    path: str
    num_documents: int
    num_tokens: int
    num_empty: int
    dtype: str


def run(request: Request, interrupts: Interrupts) -> TokenizeResult:
    """Writes both files.

    Raises:
        Failure: If the tokenizer, a source or the output is invalid.
        Interrupted: If a signal arrived. No files were written.
        OpError: If a text cannot be read.
    """
    stem = request.output.removesuffix(".bin")
    names = f"{stem}.bin", f"{stem}.idx"
    for name in names:
        if storage.exists(name) and not request.overwrites:
            raise Failure(
                f"{name} already exists. Use --overwrite to replace it, or choose another output."
            )
    # Trace the function first, so that a bad tokenizer fails before any text is read.
    try:
        pipeline = _tokenized(request)
    except OpError as error:
        error.__notes__ = []  # These notes are about the command's own function.
        raise
    numbers = _vocabulary(request.tokenizer)
    if request.end is not None and request.end not in numbers:
        raise Failure(
            f"{request.tokenizer}: the tokenizer has no token {request.end!r} for --append-eod. "
            "Use one of its tokens."
        )
    is_small = max(numbers.values(), default=0) + 1 < _LEAST_OF_INT32
    writer = _Writer(
        np.dtype(np.uint16 if is_small else np.int32),
        None if request.end is None else numbers[request.end],
        request.tokenizer,
    )
    with (
        AtomicFile(names[0]) as tokens,
        AtomicFile(names[1]) as index,
        Bar("tokenize", None, " documents", request.shows_progress) as bar,
        iter(pipeline) as batches,
    ):
        while (batch := batches.next_columns()) is not None:
            interrupts.check()
            num_texts, columns = batch
            tokens.write(writer.bytes_of(columns["tokens"]))
            bar.advance(num_texts)
        interrupts.check()
        for part in writer.index():
            index.write(part)
        for file in (tokens, index):
            file.sync()
        _publish(names, tokens, index)
    return writer.written(names[0])


def _publish(names: tuple[str, str], tokens: AtomicFile, index: AtomicFile) -> None:
    """Gives both files their final names. An index never appears next to tokens of another run."""
    for name in names:
        if storage.exists(name):
            storage.remove(name)
    index.publish()
    tokens.publish()


def _tokenized(request: Request) -> Pipeline:
    """Returns a pipeline over the tokens of each text."""

    @native
    def tokens(example: Mapping[str, Any]) -> Mapping[str, Any]:
        tokens_of_texts = ops.tokenize(
            request.tokenizer,
            example["text"],
            request.adds_special_tokens,
            truncation=False,
            padding=False,
        )
        return {"tokens": tokens_of_texts}

    texts = texts_of(request.sources, request.key, request.has_lines)
    parts = [part.map(tokens) for part in texts]
    pipeline = concat(parts) if len(parts) > 1 else parts[0]
    return pipeline.options(num_threads=request.num_threads)


def _vocabulary(path: str) -> dict[str, int]:
    """Returns the ID of each token of a tokenizer."""
    with storage.open_file(path) as file:
        content = json.loads(file.read())
    vocabulary = content["model"]["vocab"]
    if isinstance(vocabulary, dict):
        numbers = dict(vocabulary)
    else:
        numbers = {piece: number for number, (piece, _) in enumerate(vocabulary)}
    return numbers | {token["content"]: token["id"] for token in content["added_tokens"] or ()}


class _Writer:
    """Converts documents to bytes and collects the data for their index.

    Args:
        dtype: The dtype of the tokens.
        end: The token to append to each document. None for no token.
        tokenizer: The path of the tokenizer, for error messages.
    """

    def __init__(self, dtype: np.dtype[Any], end: int | None, tokenizer: str) -> None:
        self._dtype = dtype
        self._end = np.array([] if end is None else [end], dtype)
        self._most = np.iinfo(dtype).max
        self._tokenizer = tokenizer
        # The number of tokens in each document.
        self._lengths = array("i")
        self._num_tokens = 0
        self._num_empty = 0

    def bytes_of(self, texts: Any) -> bytes:
        """Returns the tokens of several texts as file bytes."""
        parts: list[npt.NDArray[Any]] = []
        for row in texts:
            if not len(row):
                self._num_empty += 1
                continue
            if row.max() > self._most:
                raise Failure(
                    f"{self._tokenizer}: a text contains the token {row.max()}, which is not in "
                    "the vocabulary. Save the tokenizer again."
                )
            parts += [row.astype(self._dtype), self._end]
            self._lengths.append(len(row) + len(self._end))
            self._num_tokens += self._lengths[-1]
        return b"".join(part.tobytes() for part in parts)

    def index(self) -> Iterator[bytes]:
        """Yields the parts of the index. Each document is one sequence in it."""
        lengths = np.array(self._lengths, np.int32)
        count = len(lengths)
        yield _MAGIC + struct.pack("<QBQQ", 1, _CODES[self._dtype.name], count, count + 1)
        yield lengths.tobytes()
        offset = 0
        for begin in range(0, count, _PART):
            sizes = lengths[begin : begin + _PART].astype(np.int64) * self._dtype.itemsize
            ends = offset + np.cumsum(sizes)
            yield (ends - sizes).tobytes()
            offset = int(ends[-1])
        for begin in range(0, count + 1, _PART):
            yield np.arange(begin, min(begin + _PART, count + 1), dtype=np.int64).tobytes()

    def written(self, path: str) -> TokenizeResult:
        """Returns the result for a written file."""
        return TokenizeResult(
            path, len(self._lengths), self._num_tokens, self._num_empty, self._dtype.name
        )
