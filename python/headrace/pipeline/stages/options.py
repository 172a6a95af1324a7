"""`options`: limits on threads and memory, the order, the form of strings, caches and indexes."""

import os
from typing import Self

from headrace.pipeline.paths.index_files import IndexMode, checked_mode
from headrace.pipeline.stages.arguments import (
    check_bool,
    checked_directory,
    checked_int,
    checked_seconds,
)
from headrace.pipeline.stages.chain import Chain
from headrace.pipeline.values.string_arrays import StringKind, checked_kind

__all__ = ["OptionsMethod"]


class OptionsMethod(Chain):
    """The method `options`, which adds no stage."""

    __slots__ = ()

    def options(
        self,
        num_threads: int | None = None,
        memory_bytes: int | None = None,
        deterministic: bool | None = None,
        strings: StringKind | None = None,
        warn_after_s: float | None = None,
        cache_directory: str | os.PathLike[str] | None = None,
        cache_bytes: int | None = None,
        index: IndexMode | None = None,
        index_directory: str | os.PathLike[str] | None = None,
    ) -> Self:
        """Sets limits on threads and memory, the order, the form of strings, caches and indexes.

        Args:
            num_threads: Threads of the engine, which read, decode, gather and compute native
                functions; None for as many as there are cores, or as a container's limit on
                processor time allows. More of them cost time, unless reads wait for storage. A
                Python function always has a separate thread, except on a free-threaded Python.
            memory_bytes: Limit on the memory of data that are read and not used yet: read-ahead,
                windows, finished batches. None for a quarter of the memory of the machine or its
                control group, at least 64 MiB.
            deterministic: False lets finished parts overtake others: the order of the examples
                differs each time, and an error may come before examples that preceded it. Otherwise
                the order does not depend on these options.
            strings: The form in a batch of a component with one string in each example: "numpy", an
                array of `bytes` or `str` objects, or "arrow", a read-only
                `pyarrow.LargeBinaryArray` or `pyarrow.LargeStringArray`, which has no object for
                each string. Components with more axes, and examples that are not in a batch, are
                not affected.
            warn_after_s: A call of a Python function, or a read of a file from its beginning to
                its end, that takes more seconds is named in a warning of the logger
                `headrace.pipeline`, with the example it is for: once, while it is still in
                progress.
            cache_directory: Directory for parts of remote files. Several processes may use it, and
                a killed process leaves nothing there that another would mistake for data.
            cache_bytes: Limit on the size of the cache; the least recently used parts are removed,
                and parts that do not fit are not kept. Parts have up to a MiB. Each process may
                exceed the limit by a sixteenth. None for 16 GiB.
            index: The use of index files, which keep the places of records for a shuffle of all
                examples, so that the next start scans nothing. "auto", the default, reads the index
                of a file, and writes one after a scan that it had to do: beside the file, as
                `NAME.hrindex`, or, where that cannot be written or the file is remote, in
                `index_directory` or in the user's cache, `$XDG_CACHE_HOME/headrace/indexes`. A
                damaged or outdated one is replaced. The order of the examples is the same with
                and without it. "memory" reads and writes none: each program scans the files.
                "off" neither reads nor scans; a shuffle that needs one is refused.
            index_directory: A directory for indexes that cannot be written beside their files.

        Raises:
            TypeError: If `deterministic` is not a bool, `warn_after_s` not a number, or
                `cache_directory` or `index_directory` not a path.
            ValueError: If a number is not at least 1, `strings` or `index` is none of these, or
                `warn_after_s` is not above 0; if `cache_bytes` is given without a
                `cache_directory`, or a directory is a URL.
            ModuleNotFoundError: If `strings` is "arrow" and pyarrow is not installed; the extra
                `headrace[arrow]` installs it.
        """
        if deterministic is not None:
            check_bool("options", "deterministic", deterministic)
        changed = dict(self._options)
        for name, value in (("num_threads", num_threads), ("memory_bytes", memory_bytes)):
            if value is not None:
                changed[name] = checked_int("options", name, value, 1)
        if deterministic is not None:
            changed["deterministic"] = deterministic
        if strings is not None:
            changed["strings"] = checked_kind(strings)
        directories = (("cache_directory", cache_directory), ("index_directory", index_directory))
        for name, directory in directories:
            if directory is not None:
                changed[name] = checked_directory(directory, name)
        if cache_bytes is not None:
            changed["cache_bytes"] = checked_int("options", "cache_bytes", cache_bytes, 1)
            if "cache_directory" not in changed:
                raise ValueError("options: cache_bytes is given without a cache_directory.")
        if index is not None:
            changed["index"] = checked_mode(index)
        if warn_after_s is not None:
            changed["warn_after_s"] = checked_seconds("warn_after_s", warn_after_s)
        optioned = type(self)(self._stages, changed, self._base)
        optioned._known = self._known
        return optioned
