"""Writes a pipeline's examples to files, for `Pipeline.write`."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Protocol

from headrace.core.errors import AlreadyExistsError, FailedPreconditionError
from headrace.core.progress import Bar
from headrace.core.repr_prefix import without_passwords
from headrace.io import storage
from headrace.io.atomic_file import AtomicFile
from headrace.io.os_errors import os_errors
from headrace.pipeline.run.batches import Batches
from headrace.pipeline.stages.arguments import check_bool, checked_int
from headrace.pipeline.stages.components import batch_depth, steps
from headrace.pipeline.stages.stage import Stages
from headrace.pipeline.values.types import Spec
from headrace.pipeline.writing.column import Column
from headrace.pipeline.writing.formats import Format, format_of, is_records
from headrace.pipeline.writing.journal import Journal
from headrace.pipeline.writing.names import ShardNames
from headrace.pipeline.writing.run import Output, has_size, write_shards
from headrace.pipeline.writing.shard import Shard
from headrace.pipeline.writing.tfrecord import RecordShard
from headrace.pipeline.writing.values import values_of_example
from headrace.pipeline.writing.wording import UnwritableError

__all__ = ["write"]

_ANEW: Final = "To start again, remove the shards and the hidden file next to them."


class Description(Protocol):
    """The methods of a pipeline that this module uses."""

    @property
    def _stages(self) -> Stages: ...

    @property
    def spec(self) -> dict[str, Spec]: ...

    @property
    def _options(self) -> dict[str, Any]: ...

    def count(self) -> int: ...

    def __len__(self) -> int: ...

    def resume(self, state: Mapping[str, Any] | None) -> Batches: ...


def write(
    pipe: Description, path: str | os.PathLike[str], num_shards: int, resume: bool
) -> list[str]:
    """Writes all examples; see `Pipeline.write`."""
    output = storage.local_path(os.fspath(path))
    names, file_format = _checked(pipe, output, num_shards, resume)
    directory = os.path.dirname(output)
    if directory and not storage.is_remote(output):
        with os_errors(directory):
            Path(directory).mkdir(parents=True, exist_ok=True)
    with Journal(output, "headrace write") as journal:
        header = journal.header if resume else None
        if header is not None:
            _check_done(output, names, journal, num_shards)
        elif existing := [line["path"] for line in journal.done] or names.existing():
            remedy = "Remove it" if resume else "Pass resume=True to continue, remove it"
            raise AlreadyExistsError(
                None,
                None,
                f"write: {existing[0]} already exists. {remedy}, or choose another path.",
            )
        names.remove_leftovers()
        if header is None:
            count = pipe.count() if num_shards > 1 else None
            if count is not None and count < num_shards:
                raise ValueError(
                    f"write: there are only {count} examples for {num_shards} shards, but each "
                    "shard needs at least one. Use fewer shards."
                )
            columns = file_format[0].columns(pipe.spec)
            header = {"shards": num_shards, "count": count, "columns": columns}
        _write(pipe, names, file_format, header, journal)
    return names.paths


def _checked(
    pipe: Description, output: str, num_shards: int, resume: bool
) -> tuple[ShardNames, tuple[Format, str | None]]:
    """Returns the names of the shards, with their format and compression."""
    checked_int("write", "num_shards", num_shards, 1)
    check_bool("write", "resume", resume)
    names, file_format = ShardNames(output, num_shards), format_of(output)
    if storage.is_remote(output):
        # Raises an error if files can't be written to this directory.
        AtomicFile(names.paths[0]).discard()
    if batch_depth(pipe._stages) > 0:
        raise ValueError(
            "write: the pipeline yields batches, expected examples. Remove batch(...), or call "
            "unbatch() after it."
        )
    if any(step.length_after(1) == math.inf for step in steps(pipe._stages)):
        raise ValueError("write: the pipeline is endless. Pass a count to epochs(...).")
    if not pipe._options.get("deterministic", True):
        raise ValueError(
            "write: the pipeline has options(deterministic=False), but its order must be fixed. "
            "Remove that option."
        )
    return names, file_format


def _check_done(output: str, names: ShardNames, journal: Journal, num_shards: int) -> None:
    """Raises an error unless an earlier run started the same output, and its shards exist."""
    header = journal.header or {}
    if header.get("shards") != num_shards:
        raise ValueError(
            f"write: num_shards is {num_shards}, but the run that started "
            f"{without_passwords(output)} used {header.get('shards')}. Use the same number. "
            f"{_ANEW}"
        )
    for line in journal.done:
        if not has_size(line["path"], line["size"]):
            raise FailedPreconditionError(
                None,
                None,
                f"write: {line['path']}: the earlier run wrote {line['size']} bytes, but the file "
                f"has changed since. {_ANEW}",
            )
    finished = {line["path"] for line in journal.done}
    for path in names.existing():
        # If a run was killed between renaming a shard and recording it, the shard is written again
        # with the same bytes.
        if path not in finished and path != names.paths[len(finished)]:
            raise AlreadyExistsError(
                None, None, f"write: {path} exists, but was not written by the earlier run. {_ANEW}"
            )


def _write(
    pipe: Description,
    names: ShardNames,
    file_format: tuple[Format, str | None],
    header: Mapping[str, Any],
    journal: Journal,
) -> None:
    """Writes the shards that are not in the journal yet."""
    count, columns = header["count"], [Column(*column) for column in header["columns"]]
    state = journal.done[-1]["state"] if journal.done else header.get("state")
    try:
        examples = pipe.resume(state)
    except ValueError as error:
        raise ValueError(f"write: {error} {_ANEW}") from error
    if state is None:
        journal.begin({**header, "state": examples.state()})
    with examples, Bar("write", count if count is not None else _length(pipe), " examples") as bar:
        bar.advance(sum(line["examples"] for line in journal.done))
        output = _Shards(names.paths, file_format, columns, is_records(pipe.spec), count, bar)
        num_examples = write_shards(output, examples, journal)
    if not num_examples:
        raise ValueError("write: there are no examples, so nothing was written.")
    if count is not None and num_examples != count:
        raise FailedPreconditionError(
            None,
            None,
            f"write: the pipeline had {count} examples when they were counted, but then yielded "
            f"{num_examples}. {_ANEW}",
        )


def _length(pipe: Description) -> int | None:
    try:
        return len(pipe)
    except TypeError:
        return None


class _Shards(Output):
    """The shards of a pipeline's examples."""

    def __init__(
        self,
        paths: Sequence[str],
        file_format: tuple[Format, str | None],
        columns: list[Column],
        is_raw: bool,
        count: int | None,
        bar: Bar,
    ) -> None:
        self._paths = paths
        self._format, self._compression = file_format
        self._columns = columns
        self._is_raw = is_raw
        self._count = count
        self._bar = bar
        # The shape of each array with several axes. It must be the same in all examples.
        self._shapes: dict[str, tuple[int, ...]] = {}
        self._shaped = [one.name for one in columns if one.rank > 1]

    def begin(self, number: int) -> tuple[str, Shard]:
        if number == len(self._paths):
            raise FailedPreconditionError(
                None,
                None,
                f"write: the pipeline had {self._count} examples when they were counted, but now "
                f"yields more. {_ANEW}",
            )
        path = self._paths[number]
        return path, self._format.begin(path, self._compression, self._columns)

    def most(self, number: int) -> int | None:
        if self._count is None:
            return None
        shards = len(self._paths)
        return (number + 1) * self._count // shards - number * self._count // shards

    def write(self, shard: Shard, example: Mapping[str, Any], number: int) -> int:
        if self._is_raw and isinstance(shard, RecordShard):
            return shard.write_record(example["record"])
        row = values_of_example(example)
        if not self._format.keeps_shapes:
            for name in self._shaped:
                self._check_shape(name, row[name].shape or (), number)
        return shard.write(row, number)

    def note(self) -> None:
        self._bar.advance()

    def _check_shape(self, name: str, shape: tuple[int, ...], number: int) -> None:
        first_shape = self._shapes.setdefault(name, shape)
        if first_shape != shape:
            raise UnwritableError(
                f"write: the component {name!r} of example {number} has shape {shape}, but "
                f"another example has {first_shape}. {self._format.name} does not store shapes, "
                "so all must be the same. Write Parquet, or reshape the component in a map."
            )
