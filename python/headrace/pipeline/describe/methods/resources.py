"""Methods of a pipeline for its cache, its skipped examples and its options."""

import os
from typing import Self

from headrace.pipeline.describe import stages
from headrace.pipeline.describe.arguments import (
    check_bool,
    check_budget,
    checked_directory,
    checked_int,
    checked_seconds,
)
from headrace.pipeline.describe.methods.chain import Chain
from headrace.pipeline.describe.random_access import check_skippable
from headrace.pipeline.plan.caching.keys import check_can_be_on_disk
from headrace.pipeline.plan.index_files import IndexMode, checked_mode
from headrace.pipeline.run.string_arrays import StringKind, checked_kind

__all__ = ["ResourceMethods"]


class ResourceMethods(Chain):
    """A cache, a budget for failures, and options."""

    __slots__ = ()

    def cache(
        self,
        directory: str | os.PathLike[str] | None = None,
        bytes: int | None = None,
        key: str | None = None,
    ) -> Self:
        """Keeps all examples in memory or on disk, so that the stages before run once for each.

        Later passes read them from there. The stages before always run as epoch 0, so a shuffle or
        random draws before `cache` are the same in all epochs; those after it differ. The examples
        count as `memory_bytes`. They live as long as this pipeline or one made from it. If a pass
        is left before its end, the next one continues after the examples it has returned; examples
        read ahead are made again. Two iterations that run at the same time, before a whole pass is
        cached, each make the examples themselves. Functions that draw in a part of a combination
        are called again for the examples that components are learned from: their draws depend on
        the combination.

        With `directory` the examples are in a file there, which later programs read too. It belongs
        to the description of the stages before, to the code of their functions with the values that
        they use, and to the names, sizes and times of change (or ETags) of the files: if one of
        these differs, the stages run again and write another file. If a function looks up names
        while it runs, all sources count that its module imports. Installed packages count with
        their versions. A file that a function opens by itself is not noticed. With `key`, the code
        of functions does not count: change the key yourself when their results change. A pass left
        before its end keeps nothing. If several processes begin the same pass, one of them writes.
        A killed process leaves nothing that is read. A damaged file is removed and made again. What
        was not kept, and why, is a warning of the logger `headrace.pipeline`; the examples are the
        same with and without it. If `skip_errors` has skipped a failure of a Python function before
        the cache, nothing is kept on disk. Only what is being read or written counts as
        `memory_bytes`. Small files beside it, `*.hrspecs`, have the components of functions'
        results, so that a full cache calls no function before it.

        Args:
            directory: A directory of this machine, which is made if there is none. None for memory.
            bytes: The most bytes of all caches in the directory, at least 1. The least recently
                used ones are removed for a new one. Examples that take more are not kept. None for
                any number.
            key: A text of your choice, such as "v3", that stands for the code of the functions
                before. None to compare the code.

        Raises:
            TypeError: If `directory` is not a path, `bytes` not an integer, or `key` not a string.
            ValueError: After `epochs`; if `directory` is a URL; if `bytes` or `key` is given
                without it; if
                a later program could not tell whether the examples are still the same: those of
                `iterable` and `indexed`, after a shuffle or `mix` without a seed, or of a function
                that keeps a state.

        A function that uses an object that cannot be compared between programs, such as a lock, is
        refused when the pipeline is iterated, unless there is a `key`.
        """
        if stages.has_epochs(self.stages):
            raise ValueError(
                "cache: it follows epochs, all of which it would keep. Write cache() before "
                "epochs(...)."
            )
        if directory is None:
            if bytes is not None:
                raise ValueError("cache: bytes is given without a directory.")
            if key is not None:
                raise ValueError("cache: key is given without a directory.")
            return self._then(stages.Cache())
        path = os.path.abspath(checked_directory(directory, "directory", "cache"))
        most = None if bytes is None else checked_int("cache", "bytes", bytes, 1)
        if key is not None and not isinstance(key, str):
            raise TypeError(f"cache: key is {key!r}, expected a string, such as 'v3'.")
        check_can_be_on_disk(self.stages)
        return self._then(stages.Cache(path, most, key))

    def skip_errors(self, budget: int | float, raises_at_end: bool = False) -> Self:
        """Skips damaged records, and examples at which a function raises.

        This applies to the stages before. Skipped examples are listed in `Batches.skipped`, in
        order: the file, the number and the position of the record, the stage and the failure. The
        list is part of the state. After a record of a TFRecord file whose data are damaged, the
        next one is read, and after a stray quote in a CSV file, the next valid line. Damage that
        hides the beginning of the next record ends the file. Lost records count: lines, or an
        estimate of the records in the rest of the file from the length of the records before; if
        none is possible, it is an error. Failures that are not an example's fault remain errors: a
        file that cannot be opened or read, an iterator or a Parquet file that fails, an interrupt.

        `take`, `skip`, `shard` and `batch` before this count only examples that were not skipped. A
        batch whose examples do not fit together, or at which a function fails, is skipped as a
        whole.

        Args:
            budget: The largest number of examples that may be skipped in the whole iteration, at
                least 0; or the largest share of those read so far, above 0.0 and below 1.0, checked
                whenever one is skipped, from 1,000 examples on, and at the end. 1 << 62 skips all
                failures, including losses that cannot be counted.
            raises_at_end: Whether `errors.SkippedExamples` follows the last batch if any examples
                were skipped. Its text counts them.

        Raises:
            TypeError: If `budget` is not a number, or `raises_at_end` not a bool.
            ValueError: If `budget` is out of range, or a full shuffle of `concat` comes before
                this.

        If the budget is exceeded, the failure that exceeded it is raised while the pipeline is
        iterated, with the number of earlier ones; a share that is too large at the end of the data
        raises `errors.SkippedExamples`.
        """
        check_budget(budget)
        check_bool("skip_errors", "raises_at_end", raises_at_end)
        check_skippable(self.stages)
        return self._then(stages.SkipErrors(budget, raises_at_end))

    def prefetch(self, count: int) -> Self:
        """Prepares up to `count` batches before they are asked for; 2 without this stage.

        Args:
            count: The largest number of batches that wait, at least 1.

        Raises:
            ValueError: If `count` is not at least 1.
        """
        return self._then(stages.Prefetch(checked_int("prefetch", "count", count, 1)))

    def options(
        self,
        num_threads: int | None = None,
        memory_bytes: int | None = None,
        deterministic: bool | None = None,
        strings: StringKind | None = None,
        stuck_after_s: float | None = None,
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
            stuck_after_s: A call of a Python function, or a read of a file from its beginning to
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
            TypeError: If `deterministic` is not a bool, `stuck_after_s` not a number, or
                `cache_directory` or `index_directory` not a path.
            ValueError: If a number is not at least 1, `strings` or `index` is none of these, or
                `stuck_after_s` is not above 0; if `cache_bytes` is given without a
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
        if stuck_after_s is not None:
            changed["stuck_after_s"] = checked_seconds("stuck_after_s", stuck_after_s)
        optioned = type(self)(self.stages, changed, self._base)
        optioned._known = self._known
        return optioned
