"""Sources of examples. No file is opened before a pipeline is iterated."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from headrace.pipeline.describe.arguments import check_processes, checked_int
from headrace.pipeline.describe.other_libraries import with_explained_calls
from headrace.pipeline.describe.pipeline import Pipeline
from headrace.pipeline.describe.stages import Arrays, Files, Iterable_
from headrace.pipeline.describe.tables import array_columns
from headrace.pipeline.plan.opened_iterators import Again, Openings, check_again, check_factory
from headrace.pipeline.plan.paths import Paths, as_paths, check_compression

__all__ = [
    "arrays",
    "files",
    "fixed_length_records",
    "iterable",
    "text_lines",
    "tfrecords",
]


@with_explained_calls
def tfrecords(paths: Paths, compression: str | None = "auto") -> Pipeline:
    """Reads TFRecord files. An example is `{"record": bytes}`.

    Every checksum is checked.

    Args:
        paths: A path, a pattern, a directory or several of them; see `find_files`.
        compression: "gzip", "zlib", "zstd", "bzip2", "xz", "lz4", None for uncompressed files, or
            "auto" to recognise each file's compression by its first bytes. All members, streams and
            frames of a file are read.

    Raises:
        TypeError: If a path is invalid.
        ValueError: If there are no paths, or the compression is unknown.
    """
    return _files("tfrecords", paths, compression)


@with_explained_calls
def text_lines(paths: Paths, compression: str | None = "auto") -> Pipeline:
    r"""Reads the lines of text files. An example is `{"text": bytes}`.

    Lines end with `\n` or `\r\n`, which are dropped; the last one need not have an end. A byte
    order mark of UTF-8 is dropped, too. A file that is not lines of text is an error: UTF-16, lines
    that end with `\r` alone, a Parquet file, an image, and the like.

    Args:
        paths: As for `tfrecords`.
        compression: As for `tfrecords`.

    Raises:
        TypeError: If a path is invalid.
        ValueError: If there are no paths, or the compression is unknown.
    """
    return _files("text_lines", paths, compression)


@with_explained_calls
def fixed_length_records(
    paths: Paths,
    record_bytes: int,
    header_bytes: int = 0,
    footer_bytes: int = 0,
    compression: str | None = "auto",
) -> Pipeline:
    """Reads files of records of one length. An example is `{"record": bytes}`.

    Args:
        paths: As for `tfrecords`.
        record_bytes: The length of a record, at least 1.
        header_bytes: Bytes to skip at the beginning of each file.
        footer_bytes: Bytes to skip at the end of each file.
        compression: As for `tfrecords`.

    Raises:
        TypeError: If a path is invalid.
        ValueError: If there are no paths, the compression is unknown, or a length is too small.
    """
    for name, length, least in (
        ("record_bytes", record_bytes, 1),
        ("header_bytes", header_bytes, 0),
        ("footer_bytes", footer_bytes, 0),
    ):
        checked_int("fixed_length_records", name, length, least)
    lengths = (header_bytes, record_bytes, footer_bytes)
    return _files("fixed_length_records", paths, compression, lengths)


@with_explained_calls
def files(paths: Paths) -> Pipeline:
    """Reads whole files. An example is `{"path": str, "data": bytes}`.

    Args:
        paths: As for `tfrecords`.

    Raises:
        TypeError: If a path is invalid.
        ValueError: If there are no paths.
    """
    return _files("files", paths, None)


@with_explained_calls
def arrays(components: Any) -> Pipeline:
    """Yields the rows of arrays: an example has a row of each.

    Arrays of numbers are not copied: views of files, slices and overlapping windows are read in
    place. Only an array in memory whose rows are not whole there, such as a transposed one, is
    copied once.

    Args:
        components: For each name an array of at least one dimension, or a list, all of the same
            length; or one array or list without a name, whose component is "x"; or a DataFrame of
            pandas or polars or a table of Arrow, whose components are its columns. In lists, `int`
            is int64 and `float` float64, as in `map`.

    Raises:
        TypeError: If an array has a type that a component cannot have.
        ValueError: If there are no arrays, one is a scalar, their lengths differ, a list has lists
            of different lengths, or a column of a table that is not floats has missing values.
    """
    found = array_columns(components)
    return Pipeline((Arrays(found.arrays, found.texts),))


@with_explained_calls
def iterable(
    factory: Callable[..., Iterable[Mapping[str, Any]]] | Iterable[Mapping[str, Any]],
    num_processes: int = 0,
) -> Pipeline:
    """Yields the examples of the iterator `factory()`: dicts of NumPy values.

    An example is passed on as soon as the iterator yields it.

    Args:
        factory: Called once at the beginning of each epoch, for a new iterator. `spec` may call it
            before; then the next iteration begins with that iterator. Or an object that can be
            iterated repeatedly, such as a list of dicts or a `datasets.Dataset`.
        num_processes: With 1, the iterator runs in another process. With more, each process calls
            `factory(worker, num_workers)`, where `worker` counts from 0, for an iterator of its
            part of the examples. They are taken in turn, one of each, so their order is always the
            same; the turn passes over one that has ended. 0 for no process. Other processes must be
            able to import `factory`, or cloudpickle must be installed (the extra `processes`).

    Raises:
        TypeError: If it is an iterator, which can be read only once, or does not give examples, or
            cannot be called as `num_processes` asks for.
        ValueError: If `num_processes` is out of range, or the system has no such processes.
    """
    processes = checked_int("iterable", "num_processes", num_processes, 0)
    if processes:
        check_processes("iterable", processes)
    if not callable(factory):
        if not isinstance(factory, Pipeline):
            check_again(factory)
        factory = Again(factory)
    check_factory(factory, processes)
    return Pipeline((Iterable_(factory, processes, Openings(processes)),))


def _files(
    kind: str, paths: Paths, compression: str | None, lengths: tuple[int, int, int] = (0, 1, 0)
) -> Pipeline:
    check_compression(kind, compression)
    return Pipeline((Files(kind, as_paths(kind, paths), compression, lengths),))
