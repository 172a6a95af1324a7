"""Formats of token files, and the information about tokens that each format stores."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias

import numpy as np
from numpy.lib import format as npy

from headrace.core import engine
from headrace.core.errors import DataLossError, InvalidArgumentError
from headrace.io import storage
from headrace.pipeline.values.types import element_of, engine_code

__all__ = ["Documents", "TokenFile", "data_files", "dtype_of", "looked_at", "type_code"]

Documents: TypeAlias = Literal["mask", "split"]
_Dtype: TypeAlias = np.dtype[Any]

# The extensions of index files, with the extension of the token file that each belongs to.
_BESIDE: Final = {".idx": ".bin", ".ds.index": ".ds", ".ds.metadata": ".ds", ".ds.loss": ".ds"}
_COMPRESSED: Final = (".gz", ".zst", ".zstd", ".bz2", ".xz", ".lz4")
_NPY_VERSIONS: Final = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}
# The token types that datatrove writes, by their size in bytes.
_OF_DATATROVE: Final[dict[int, _Dtype]] = {2: np.dtype(np.uint16), 4: np.dtype(np.uint32)}
_END_BYTES: Final = 8
# The number of tokens at the start of a file that are used to check its type.
_NUM_SEEN: Final = 4096
_LEAST_SEEN: Final = 64
_LEAST_VARIOUS: Final = 8
_CONTENT_BYTES: Final = 1024
# Half of a wider token often exceeds these limits. A token of a narrower type usually doesn't.
_MOST_OF_HALVES: Final = {2: 128, 4: 4096}
_OF_TEXTS: Final = bytes((*b"\t\n\r", *range(0x20, 0x7F)))
# Prefixes of the engine's descriptions of content that can't be tokens.
_NEVER_TOKENS: Final = (
    *("compressed", "a Git LFS pointer", "an HTML page", "an XML document"),
    *("a zip archive", "a 7z archive", "a rar archive"),
)


@dataclass(frozen=True)
class TokenFile:
    """A file of tokens.

    Attributes:
        path: The path or URL of the file.
        form: ".bin", ".npy", "megatron" or "datatrove".
        dtype: The type of the tokens.
        first_byte: The offset of the first token.
        num_tokens: The number of tokens.
        index: The path of the document index, or None if there is none.
    """

    path: str
    form: str
    dtype: _Dtype
    first_byte: int
    num_tokens: int
    index: str | None = None

    @property
    def says_its_type(self) -> bool:
        """Whether the file stores its token type."""
        return self.form != ".bin"

    def native(self, documents: Documents | None) -> engine.TokenFile:
        """Converts the file to the engine's form.

        Raises:
            InvalidArgumentError: If documents are needed and the file has no document index.
        """
        path = os.fsencode(self.path)
        if documents is None:
            return engine.TokenFile(path, self.first_byte, self.num_tokens, None)
        if self.index is None:
            raise InvalidArgumentError(
                None,
                None,
                f"{self.path}: documents={documents!r} needs an index of the documents, but there "
                "is none next to the file: neither an .idx file from Megatron nor a .ds.index "
                "file from datatrove. Create one, or remove documents.",
            )
        index = self.form, os.fsencode(self.index)
        return engine.TokenFile(path, self.first_byte, self.num_tokens, index)


def data_files(paths: Sequence[bytes]) -> list[str]:
    """Returns the files that contain tokens, without the index files next to them.

    Raises:
        InvalidArgumentError: If an index file lacks its token file, or a file is compressed.
    """
    names = list(map(os.fsdecode, paths))
    there, files = set(names), []
    for name in names:
        beside = next((ending for ending in _BESIDE if name.endswith(ending)), None)
        if beside is None:
            if name.endswith(_COMPRESSED):
                raise _invalid(
                    name,
                    "this file is compressed, according to its name. Decompress it, because "
                    "windows are read from the middle of the file",
                )
            files.append(name)
        elif (tokens := name.removesuffix(beside) + _BESIDE[beside]) not in there:
            raise _invalid(
                name, f"this is an index file, which has no tokens. Pass the token file: {tokens}"
            )
    return files


def dtype_of(path: str, dtype: _Dtype | None) -> _Dtype:
    """Returns the type of the tokens in a file.

    Args:
        path: The file.
        dtype: The type that the user passed, if any.

    Raises:
        InvalidArgumentError: If the file stores a different type, or the type is unknown.
    """
    ((_, index),) = _with_indexes([path])
    form = _form(path, index)
    match form:
        case "megatron":
            assert index is not None
            dtype_in_file = _of_megatron(index)[0]
        case "datatrove":
            dtype_in_file = _of_datatrove(path, storage.status(path).length, index, dtype)
        case ".npy":
            dtype_in_file = _of_npy(path)[0]
        case _ if dtype is None:
            raise _invalid(
                path,
                "this file does not store the type of its tokens. Pass the type, such as "
                "dtype=np.uint16",
            )
        case _:
            return dtype
    if dtype is not None and dtype != dtype_in_file:
        raise _invalid(path, f"the tokens are {dtype_in_file}, but dtype is {dtype}. Remove dtype")
    return dtype_in_file


def looked_at(paths: Sequence[str], dtype: _Dtype) -> list[TokenFile]:
    """Returns the format, token type and number of tokens of each file.

    Args:
        paths: The files.
        dtype: The type that the tokens of all files must have.

    Raises:
        InvalidArgumentError: If the tokens of a file have a different type.
        DataLossError: If the size of a file does not match its tokens.
    """
    sizes = storage.sizes(paths)
    pairs = _with_indexes(paths)
    return [
        _looked_at(path, size, index, dtype)
        for (path, index), size in zip(pairs, sizes, strict=True)
    ]


def type_code(dtype: _Dtype) -> int:
    """Returns the engine's code for a token type."""
    return engine_code(dtype)


def _looked_at(path: str, size: int, index: str | None, dtype: _Dtype) -> TokenFile:
    form, first_byte, num_bytes = _form(path, index), 0, size
    stored_dtype = dtype
    match form:
        case "megatron":
            assert index is not None
            stored_dtype, expected = _of_megatron(index)
            if stored_dtype == dtype and expected != size:
                text = (
                    f"the file has {size} bytes, but {index} expects {expected}. Either the index "
                    "belongs to another file, or one of the two was cut short. Copy both again"
                )
                raise _damaged(path, text)
        case "datatrove":
            stored_dtype = _of_datatrove(path, size, index, dtype)
        case ".npy":
            stored_dtype, first_byte, num_tokens = _of_npy(path)
            num_bytes = num_tokens * stored_dtype.itemsize
            if stored_dtype == dtype and size != first_byte + num_bytes:
                text = (
                    f"the file has {size} bytes, expected {first_byte + num_bytes}: a header of "
                    f"{first_byte} bytes and {num_tokens} tokens of {stored_dtype}. Copy the file "
                    "again"
                )
                raise _damaged(path, text)
    if stored_dtype != dtype:
        raise _invalid(
            path,
            f"the tokens are {stored_dtype}, expected {dtype}. Read only files of one type "
            "together",
        )
    # Checking a remote file takes a request. Only small files are checked, as they may be pointers.
    if form == ".bin" and (size <= _CONTENT_BYTES or not storage.is_remote(path)):
        _check_content(path, dtype)
    if num_bytes % dtype.itemsize:
        text = (
            f"the file has {num_bytes} bytes, which is not a multiple of {dtype.itemsize}, the "
            f"size of a {dtype} token. Pass the dtype that the file was written with, or copy the "
            "file again"
        )
        raise _damaged(path, text)
    file = TokenFile(path, form, dtype, first_byte, num_bytes // dtype.itemsize, index)
    if not file.says_its_type and dtype.itemsize > 1 and not storage.is_remote(path):
        _check_size(file)
    return file


def _check_content(path: str, dtype: _Dtype | None = None) -> None:
    """Rejects compressed data, archives, and error pages that a server sent instead of a file.

    If tokens have several bytes, it also rejects plain text.

    Raises:
        InvalidArgumentError: If the start of the file looks like one of these.
    """
    with storage.open_file(path) as opened:
        start = opened.read(_CONTENT_BYTES)
    content = engine.content_of(start)
    if content is not None and content[0].startswith(_NEVER_TOKENS):
        what, remedy = content
        if what.startswith("compressed"):
            remedy = "Decompress it, because windows are read from the middle of the file."
        raise _invalid(path, f"this file is {what}, expected tokens. {remedy.removesuffix('.')}")
    is_wide = dtype is not None and dtype.itemsize > 1
    if is_wide and len(start) >= _LEAST_SEEN and not start.translate(None, _OF_TEXTS):
        raise _invalid(
            path,
            "this file is text, expected token numbers. Convert it with headrace tokenize, or "
            "read it with text_lines or json_lines and tokenize it in map",
        )


def _check_size(file: TokenFile) -> None:
    """Rejects a file whose tokens seem to have twice or half the size of `dtype`.

    If the tokens are really wider, every second value is a high half, which is near 0. If they are
    narrower, each value consists of two tokens. Both halves are then small numbers, and the high
    half is usually not 0.

    Raises:
        InvalidArgumentError: If the tokens seem to have a different size.
    """
    with storage.open_file(file.path) as opened:
        start = opened.read(_NUM_SEEN * file.dtype.itemsize)
    seen = np.frombuffer(
        start[: len(start) // file.dtype.itemsize * file.dtype.itemsize], file.dtype
    )
    if len(seen) < _LEAST_SEEN:
        return
    low, high = seen[0::2], seen[1::2]
    # The high half of a wider token below two million is below 32.
    if file.dtype.itemsize < 4 and high.min() >= 0 and high.max() < 32 and low.max() > 1000:
        wider = np.dtype(f"{file.dtype.kind}{2 * file.dtype.itemsize}")
        raise _invalid(
            file.path,
            f"as {file.dtype}, every second token at the beginning of the file is at most "
            f"{high.max()}, while the others go up to {low.max()}. The tokens are probably "
            f"{wider}. Pass the dtype that the file was written with",
        )
    if (most := _MOST_OF_HALVES.get(file.dtype.itemsize)) is None:
        return
    narrower = np.dtype(f"u{file.dtype.itemsize // 2}")
    low, high = seen.view(narrower)[0::2], seen.view(narrower)[1::2]
    # Excludes files that repeat only a few tokens.
    are_various = min(len(np.unique(low)), len(np.unique(high))) >= _LEAST_VARIOUS
    if are_various and low.max() < most and high.max() < most and np.median(high) > 0:
        raise _invalid(
            file.path,
            f"as {file.dtype}, most tokens at the beginning of the file look like two numbers "
            f"below {most} in one. The tokens are probably {narrower}. Pass the dtype that the "
            "file was written with",
        )


def _form(path: str, index: str | None) -> str:
    if path.endswith(".npy"):
        return ".npy"
    if path.endswith(".ds"):
        return "datatrove"
    return ".bin" if index is None else "megatron"


def _with_indexes(paths: Sequence[str]) -> list[tuple[str, str | None]]:
    """Returns each file with its document index, if any."""
    indexes = {path: index_file for path in paths if (index_file := _index_of(path)) is not None}
    remote = [index for index in indexes.values() if storage.is_remote(index)]
    statuses = storage.statuses(remote) if remote else []
    there = {index for index, status in zip(remote, statuses, strict=True) if status is not None}
    there |= {index for index in indexes.values() if index not in remote and os.path.exists(index)}
    return [(path, index if (index := indexes.get(path)) in there else None) for path in paths]


def _index_of(path: str) -> str | None:
    if path.endswith(".bin"):
        return f"{path.removesuffix('.bin')}.idx"
    return f"{path}.index" if path.endswith(".ds") else None


def _of_megatron(index: str) -> tuple[_Dtype, int]:
    """Returns the token type and the size of the tokens in bytes."""
    with engine.op_errors():
        code, num_bytes = engine.megatron_index(os.fsencode(index))
    return np.dtype(element_of(code, False)), num_bytes


def _of_datatrove(path: str, size: int, index: str | None, dtype: _Dtype | None) -> _Dtype:
    """Returns the token type according to the index, or the type that the user passed."""
    if index is None:
        if dtype is None:
            raise _invalid(
                path,
                "there is no .ds.index file next to it, so the type of its tokens is unknown. "
                "Pass the type, such as dtype=np.uint16",
            )
        return dtype
    num_tokens = 0
    with storage.open_file(index) as opened:
        length = storage.size_of(opened)
        if length >= _END_BYTES:
            opened.seek(length - _END_BYTES)
            num_tokens = int.from_bytes(opened.read(_END_BYTES), "little")
    if num_tokens == size == 0:
        return _OF_DATATROVE[2] if dtype is None else dtype
    for num_bytes, index_dtype in _OF_DATATROVE.items():
        if num_tokens * num_bytes == size:
            return index_dtype
    raise _damaged(
        path,
        f"the file has {size} bytes, expected 2 or 4 bytes for each of the {num_tokens} tokens in "
        f"{index}. Copy both files again",
    )


def _of_npy(path: str) -> tuple[_Dtype, int, int]:
    """Returns the token type, the offset of the first token, and the number of tokens."""
    with storage.open_file(path) as opened:
        try:
            version = npy.read_magic(opened)
            read = _NPY_VERSIONS.get(version)
            if read is None:
                raise _invalid(
                    path,
                    f"the file has version {version} of the .npy format, expected 1.0 or 2.0. "
                    "Save it again",
                )
            shape, _, dtype = read(opened)
        except (ValueError, EOFError) as error:
            _check_content(path)
            raise _damaged(
                path, f"this file is not a NumPy array: {error}. Copy the file again"
            ) from error
        first_byte = opened.tell()
    if len(shape) != 1:
        raise _invalid(path, f"the array has shape {shape}, expected one axis. Save array.ravel()")
    if dtype.kind not in "iu" or dtype.newbyteorder("=") != dtype.newbyteorder("<"):
        raise _invalid(path, f"the array is {dtype}, expected integers. Save the array as integers")
    if dtype.byteorder == ">":
        raise _invalid(
            path, f"the array is big-endian ({dtype.str}). Save it as {dtype.newbyteorder('<').str}"
        )
    return dtype, first_byte, shape[0]


def _invalid(path: str, text: str) -> InvalidArgumentError:
    return InvalidArgumentError(None, None, f"{path}: {text}.")


def _damaged(path: str, text: str) -> DataLossError:
    return DataLossError(None, None, f"{path}: {text}.")
