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
        """Sets threads, memory, order, the form of strings, caches and indexes.

        Options that you do not pass keep their value. They do not change the order of the examples,
        except for `deterministic=False`.

        Args:
            num_threads: The number of the engine's threads, which read, decode and run native
                functions. None for the number of cores, or a container's CPU limit. More threads
                help only if reads wait for storage. Each Python function has threads of its own in
                addition, as many as its stage's `num_threads`.
            memory_bytes: The limit on memory for data that are read but not used yet: read-ahead,
                shuffle windows and finished batches. None for a quarter of the memory of the
                machine or its control group, at least 64 MiB.
            deterministic: If False, parts that finish early overtake others. The order then differs
                in each run, and an error may be raised before earlier examples are returned.
            strings: The form in which a batch holds a component with one string per example.
                "numpy" is an array of `bytes` or `str` objects. "arrow" is a read-only
                `pyarrow.LargeBinaryArray` or `pyarrow.LargeStringArray`, which needs no object per
                string. Components with more axes and single examples do not change.
            warn_after_s: A time in seconds. If one call of a Python function or one read of a whole
                file takes longer, the logger `headrace.pipeline` warns once, while it is still
                running, and names the example.
            cache_directory: A directory for parts of remote files. Several processes can share it,
                and a killed process leaves nothing damaged.
            cache_bytes: The maximum size of `cache_directory`. The least recently used parts are
                removed. A part has up to 1 MiB. Each process may exceed the limit by a sixteenth.
                None for 16 GiB.
            index: The use of index files, which store the positions of records for a full shuffle.
                "auto", the default, reads the index of a file if it exists, and otherwise scans the
                file and writes one. It is written beside the file as `NAME.hrindex`. If that is not
                possible, or the file is remote, it is written to `index_directory`, or by default
                to `$XDG_CACHE_HOME/headrace/indexes` in the user's cache. Damaged and outdated
                indexes are replaced. "memory" scans the files in each program, and reads and writes
                no index. "off" neither reads an index nor scans, so a full shuffle that needs one
                raises an error. The order of the examples is the same with all of them.
            index_directory: A directory for indexes that cannot be written beside their files.

        Raises:
            TypeError: If `deterministic` is not a bool, `warn_after_s` is not a number, or a
                directory is not a path.
            ValueError: If a number is below 1, `strings` or `index` is not one of these words, or
                `warn_after_s` is not above 0. Also if `cache_bytes` is set without a
                `cache_directory`, or a directory is a URL.
            ModuleNotFoundError: If `strings` is "arrow" and pyarrow is not installed. The extra
                `headrace[arrow]` installs it.

        Examples:
            >>> pipe = hr.arrays({"x": range(4)}).batch(4).options(num_threads=2)
            >>> next(iter(pipe))
            {'x': array([0, 1, 2, 3])}
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
                raise ValueError(
                    "options: cache_bytes is set without a cache_directory. Pass "
                    "both, or omit cache_bytes."
                )
        if index is not None:
            changed["index"] = checked_mode(index)
        if warn_after_s is not None:
            changed["warn_after_s"] = checked_seconds("warn_after_s", warn_after_s)
        optioned = type(self)(self._stages, changed, self._base)
        optioned._chain_specs = self._chain_specs
        return optioned
