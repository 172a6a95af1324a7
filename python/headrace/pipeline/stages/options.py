"""`options`: settings for threads, memory, order, strings, caches and index files."""

import os
from typing import Literal, Self

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
    """The method `options`. It adds no stage."""

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
        node: Literal["shared", "separate"] | None = None,
    ) -> Self:
        """Sets options for threads, memory, order, strings, caches and index files.

        Options that you don't pass keep their values. Only `deterministic=False` changes the order
        of the examples.

        Args:
            num_threads: How many threads the engine uses to read, decode and run native functions.
                Defaults to the number of cores, or to a container's CPU limit. More threads than
                cores help only if reads wait for storage. Python functions run in their own
                threads, set by `num_threads` of their stage.
            memory_bytes: The memory limit for data that has been read but not used yet: read-ahead,
                shuffle windows and finished batches. Defaults to a quarter of the memory of the
                machine or container, and at least 64 MiB.
            deterministic: If False, work that finishes early may overtake other work. The order
                then differs in each run, and an error may be raised before earlier examples are
                returned.
            strings: How batches store components with one string per example. "numpy" uses an array
                of `bytes` or `str` objects. "arrow" uses a read-only `pyarrow.LargeBinaryArray` or
                `pyarrow.LargeStringArray`, which avoids creating an object per string. Single
                examples and components with more axes are not affected.
            warn_after_s: A time limit in seconds. If a call of a Python function or a read of a
                whole file takes longer, the logger `headrace.pipeline` warns once, while it is
                still running, and names the example.
            cache_directory: A directory that caches parts of remote files. Several processes can
                share it. Killing a process does not damage it.
            cache_bytes: The maximum size of `cache_directory`. When it is full, the least recently
                used parts are removed. A part is at most 1 MiB, and each process may exceed the
                limit by a sixteenth. Defaults to 16 GiB.
            index: How to use index files, which store record positions for full shuffles. "auto"
                (the default) reads a file's index if there is one. Otherwise, it scans the file and
                writes one next to it as `NAME.hrindex`. If that is not possible, or the file is
                remote, the index goes to `index_directory`, which defaults to
                `$XDG_CACHE_HOME/headrace/indexes`. Damaged and outdated indexes are replaced.
                "memory" scans the files in every program and neither reads nor writes indexes.
                "off" does not scan either, so a full shuffle that needs an index raises an error.
                The setting does not change the order of the examples.
            index_directory: A directory for the indexes that cannot be written next to their files.
            node: With "shared", the ranks of one node share one reading engine. Files are read and
                decoded once, and each rank gets its batches from shared memory. Batches, states and
                digests are the same as with "separate" (the default). One rank's process runs the
                engine. If it dies, another rank continues at the right batch. The pipeline must end
                with batches, and all ranks of the node must start the same iterations in the same
                order. Requires Linux and the variables that torchrun sets: LOCAL_RANK,
                LOCAL_WORLD_SIZE and MASTER_PORT.

        Raises:
            TypeError: If `deterministic` is not a bool, `warn_after_s` is not a number, or a
                directory is not a path.
            ValueError: If a number is below 1, `strings`, `index` or `node` is not one of the
                values above, or `warn_after_s` is not above 0. Also if `cache_bytes` is set without
                a `cache_directory`, or a directory is a URL.
            ModuleNotFoundError: If `strings` is "arrow" and pyarrow is not installed. `pip install
                headrace[arrow]` installs it.

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
                    "options: cache_bytes is set, but cache_directory is not. Set both, or "
                    "remove cache_bytes."
                )
        if index is not None:
            changed["index"] = checked_mode(index)
        if node is not None:
            changed["node"] = _checked_node(node)
        if warn_after_s is not None:
            changed["warn_after_s"] = checked_seconds("warn_after_s", warn_after_s)
        optioned = type(self)(self._stages, changed, self._base)
        optioned._chain_specs = self._chain_specs
        return optioned


def _checked_node(node: str) -> str:
    if node not in ("shared", "separate"):
        raise ValueError(f"options: node is {node!r}, expected 'shared' or 'separate'.")
    return node
