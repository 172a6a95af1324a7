"""`tokens`: windows of token files, for language models."""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, cast

import numpy as np
import numpy.typing as npt

from headrace.core import engine
from headrace.pipeline.paths.paths import Paths, as_paths, find_files
from headrace.pipeline.sources.file_source import InferredSource, SourcePlan
from headrace.pipeline.sources.token_files import (
    Documents,
    TokenFile,
    data_files,
    dtype_of,
    looked_at,
    type_code,
)
from headrace.pipeline.stages.arguments import checked_int
from headrace.pipeline.values.types import Spec, element_type

__all__ = ["Tokens", "tokens"]

_log = logging.getLogger("headrace.pipeline")


@dataclass(frozen=True)
class Tokens(InferredSource):
    """Windows of token files.

    Attributes:
        paths: The user's paths and patterns.
        length: The number of tokens in a window.
        dtype: The type of the tokens, or None if the files store it.
        stride: The number of tokens between the starts of two windows.
        documents: How to handle the end of a document.
    """

    is_scanned: ClassVar = False
    is_kept_for_shuffle: ClassVar = False
    numbers_lines: ClassVar = False
    classes: ClassVar = None
    piece: ClassVar = "file"

    paths: tuple[str, ...]
    length: int
    dtype: "np.dtype[Any] | None" = field(default=None, metadata={"is_named": True})
    stride: int = field(default=1, metadata={"is_named": True})
    documents: Documents | None = field(default=None, metadata={"is_named": True})

    @property
    def name(self) -> str:
        """The source's name in messages."""
        return "tokens"

    @property
    def spec(self) -> dict[str, Spec] | None:
        """The components of an example."""
        return None if self.dtype is None else self._specs(self.dtype)

    @property
    def names(self) -> tuple[str, ...]:
        """The component names."""
        return ("tokens", "segment_ids") if self.documents == "mask" else ("tokens",)

    def inferred(self) -> dict[str, Spec]:
        """Returns the components, with the token type of the first file."""
        return self._specs(dtype_of(self._files()[0], None))

    def described(self) -> str:
        """Describes how the components are inferred."""
        return "the type of the tokens is read from the first file"

    def records(self) -> None:
        """Returns None, because the positions of windows can be computed from their length."""

    def counts(self) -> list[int]:
        """Returns the number of windows in each file, from its size and its document ends."""
        files, dtype = self._files(), self.dtype
        token_files = looked_at(files, dtype_of(files[0], dtype))
        return self._windows(token_files).counts

    def planned(
        self, specs: dict[str, Spec], add_python_worker: Callable[[Any], int]
    ) -> SourcePlan:
        """Returns a plan that reads bytes and converts them to arrays later."""
        dtype = np.dtype(specs["tokens"].dtype)
        files = looked_at(self._files(), dtype)
        windows = self._windows(files)
        if windows.num_left_out and not any(windows.counts):
            _log.warning(
                "tokens: windows of %d tokens do not fit in %s, so there are no examples: %s. "
                "Use a smaller length, or join the files.",
                self.length,
                files[0].path if len(files) == 1 else f"any of {len(files)} files",
                "each document is shorter" if self.documents == "split" else "each file is shorter",
            )
        paths = [path.encode("utf-8", "surrogateescape") for path in self._read(files)]
        return SourcePlan(
            windows.plan, paths, [windows.stage], len(files), left_out=windows.num_left_out
        )

    def _windows(self, files: Sequence[TokenFile]) -> engine.TokenWindows:
        with engine.op_errors():
            return engine.token_windows(
                [file.native(self.documents) for file in files],
                type_code(files[0].dtype),
                length=self.length,
                stride=self.stride,
                documents=self.documents or "",
                is_checked=any(not file.says_its_type for file in files),
            )

    def _read(self, files: Sequence[TokenFile]) -> list[str]:
        """Returns all files to read: the token files, and the index files if they are needed."""
        indexes = [file.index for file in files if self.documents and file.index]
        return [*(file.path for file in files), *indexes]

    def _files(self) -> list[str]:
        return data_files(find_files("tokens", self.paths))

    def _specs(self, dtype: "np.dtype[Any]") -> dict[str, Spec]:
        specs = {"tokens": Spec(dtype, (self.length,))}
        if self.documents == "mask":
            specs["segment_ids"] = Spec(np.dtype(np.int32), (self.length,))
        return specs


def tokens(
    paths: Paths,
    length: int,
    dtype: npt.DTypeLike | None = None,
    stride: int | None = None,
    documents: Documents | None = None,
) -> Tokens:
    """Reads windows of tokens. Each example is `{"tokens": array of shape (length,)}`.

    The tokens keep the integer type of the files. Supported formats are raw little-endian numbers
    (`.bin` or any other extension), one-dimensional NumPy arrays (`.npy`), Megatron files (`.bin`
    with an `.idx` file next to it) and datatrove files (`.ds` with `.ds.index`). Pass the token
    files, a pattern or a directory. Their index files are found automatically.

    A window never crosses the end of a file. Tokens after the last complete window are skipped, and
    `Batches.statistics` reports their number. Windows can be read at random, so a full shuffle
    needs no scan, `len` is known, and only the selected parts of remote files are downloaded.

    Args:
        paths: The files to read; see `tfrecords`. They must not be compressed.
        length: The number of tokens in a window. Use your model's context length plus 1: the inputs
            are then `tokens[:-1]`, and the targets are `tokens[1:]`.
        dtype: The token type, such as `np.uint16`. Raw files require it, because they do not store
            their type. For other files, it must match the stored type.
        stride: The number of tokens between the starts of two windows. Defaults to `length - 1`, so
            that every token is a target exactly once.
        documents: How to handle document boundaries. "mask" adds the component `segment_ids`
            (int32, same shape), which contains the number of the document within the window, from
            1. With "split", windows start at the beginning of each document and never cross its
            end, and documents shorter than a window are skipped. None ignores documents. "mask" and
            "split" need an index file.

    Raises:
        TypeError: If a path is invalid, or `dtype` is not an integer type.
        ValueError: If there are no paths, or an argument is out of range.

    Examples:
        >>> np.arange(10, dtype=np.uint16).tofile("tokens.bin")
        >>> pipe = hr.tokens("tokens.bin", length=4, dtype=np.uint16)
        >>> next(iter(pipe.batch(3)))
        {'tokens': array([[0, 1, 2, 3],
               [3, 4, 5, 6],
               [6, 7, 8, 9]], dtype=uint16)}
    """
    size = checked_int("tokens", "length", length, 1)
    step = max(size - 1, 1) if stride is None else checked_int("tokens", "stride", stride, 1)
    if documents not in (None, "mask", "split"):
        raise ValueError(f"tokens: documents is {documents!r}, expected 'mask', 'split' or None.")
    return Tokens(as_paths("tokens", paths), size, _integers(dtype), step, documents)


def _integers(dtype: npt.DTypeLike | None) -> "np.dtype[Any] | None":
    if dtype is None:
        return None
    element = element_type("tokens", dtype)
    if isinstance(element, type) or element.kind not in "iu":
        raise TypeError(f"tokens: dtype is {dtype!r}, expected integers, such as np.uint16.")
    numpy_dtype = np.dtype(cast(Any, dtype))
    if not numpy_dtype.isnative:
        raise TypeError(
            f"tokens: dtype is {numpy_dtype.str}, expected a little-endian type, because token "
            "files are read in that byte order. Convert the file to "
            f"{numpy_dtype.newbyteorder().str}."
        )
    return element
