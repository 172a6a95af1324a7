"""Converts: reads examples, writes shards, and continues where a run before was ended."""

from __future__ import annotations

import math
import os
from pathlib import Path
from typing import Any, Final, NamedTuple

from headrace.cli.convert.folder import FOLDER_PART, Folder
from headrace.cli.convert.journal import Journal
from headrace.cli.convert.naming import Names
from headrace.cli.convert.request import Format, Request
from headrace.cli.convert.rows import row_maker
from headrace.cli.convert.shards.make import make_shard
from headrace.cli.convert.shards.parquet import check_parquet
from headrace.cli.convert.shards.shard import Shard
from headrace.cli.convert.shards.tfrecord import RecordShard
from headrace.cli.convert.source import Source, source_of
from headrace.cli.convert.survey import Survey, checked_names, surveyed
from headrace.cli.failures import Failure
from headrace.cli.interrupts import Interrupts
from headrace.cli.progress import Bar
from headrace.io.os_errors import os_errors
from headrace.pipeline import Batches, Skipped

__all__ = ["Converted", "convert"]

_ANEW: Final = "Give the same arguments to go on, or --overwrite to start anew."


class Converted(NamedTuple):
    """The result of a conversion.

    Attributes:
        files: The files of the output; for an image folder only the directory.
        num_examples: The number of examples in them.
        num_before: The number of files that an earlier run had written.
        skipped: The skipped examples.
    """

    files: list[str]
    num_examples: int
    num_before: int
    skipped: list[Skipped]

    def as_json(self) -> dict[str, Any]:
        """Returns this as the document of `--json` has it."""
        return {
            "files": self.files,
            "examples": self.num_examples,
            "parts_of_earlier_run": self.num_before,
            "skipped": [one._asdict() for one in self.skipped],
        }


def convert(request: Request, overwrite: bool, interrupts: Interrupts) -> Converted:
    """Converts what a request says.

    Args:
        request: The request.
        overwrite: Whether existing files of these names are replaced, and an earlier run is
            forgotten.
        interrupts: Signals, checked between two examples.

    Raises:
        Failure: If it is impossible.
        Interrupted: If there was a signal. Complete files stay, and the next run continues from
            there.
        OpError: If a source cannot be read, or the output cannot be written.
    """
    if request.to == Format.PARQUET:
        check_parquet()
    source = source_of(request)
    if Format.TFRECORD not in (source.format, request.to):
        raise Failure(
            f"{request.sources[0]} is {source.format}, and the output {request.to}; expected "
            "TFRecords as one of them. Convert to TFRecords first."
        )
    checked_names(source, request)
    directory = os.path.dirname(request.output)
    if directory:
        with os_errors(directory):
            Path(directory).mkdir(parents=True, exist_ok=True)
    with Journal(request.output) as journal:
        return _Conversion(request, source, journal, interrupts).run(overwrite)


class _Conversion:
    """One run."""

    def __init__(
        self, request: Request, source: Source, journal: Journal, interrupts: Interrupts
    ) -> None:
        self._request = request
        self._source = source
        self._journal = journal
        self._interrupts = interrupts
        self._make_row = row_maker(source, request)
        # TFRecords that become TFRecords again are copied unchanged.
        self._is_raw = (source.format, request.to) == (Format.TFRECORD, Format.TFRECORD) and not (
            request.select or request.rename
        )
        is_divided = bool(request.shards or request.shard_bytes)
        self._names = Names(request.output, request.shards, is_divided)
        self._num_examples = 0

    def run(self, overwrite: bool) -> Converted:
        """Writes all that is missing."""
        is_begun = self._is_begun() and not overwrite
        survey = self._known() if is_begun else self._begun(overwrite)
        num_before = len(self._journal.done)
        self._num_examples = sum(line["examples"] for line in self._journal.done)
        folder = None
        if survey.folder is not None:
            written = (name for line in self._journal.done for name in line["names"])
            folder = Folder(self._request.output, survey.folder, written)
        with self._examples() as examples, Bar("convert", survey.num_examples, " examples") as bar:
            bar.advance(self._num_examples)
            self._write(survey, folder, examples, bar)
            skipped = examples.skipped
        if folder is not None:
            folder.publish()
        files = [line["path"] for line in self._journal.done]
        self._journal.remove()
        return Converted(
            files if folder is None else [self._request.output],
            self._num_examples,
            num_before,
            skipped,
        )

    def _is_begun(self) -> bool:
        """Returns whether a run before has written something, or may have, just before its end."""
        header = self._journal.header
        is_same = header is not None and header["request"] == self._request.as_json()
        return bool(self._journal.done) or is_same

    def _known(self) -> Survey:
        """Returns what a run before has found out, if this one may continue with it."""
        header = self._journal.header or {}
        before, now = header["request"], self._request.as_json()
        for key in now:
            if before.get(key) != now[key]:
                raise Failure(
                    f"{self._request.output}: {key} is {now[key]!r}, but {before.get(key)!r} in "
                    f"the run that has begun it. {_ANEW}"
                )
        for line in self._journal.done:
            if line["path"] and not _has_size(line["path"], line["size"]):
                raise Failure(
                    f"{line['path']}: the run that has begun this wrote {line['size']} bytes, but "
                    "the file is not like that any more. Give --overwrite to start anew."
                )
        for path in self._names.leftovers():
            os.unlink(path)
        return Survey.from_json(header["survey"])

    def _begun(self, overwrite: bool) -> Survey:
        """Looks at the examples, and begins the journal."""
        existing = self._names.existing()
        if existing and (not overwrite or os.path.isdir(existing[0])):
            remedy = "Remove it" if os.path.isdir(existing[0]) else "Give --overwrite to replace it"
            raise Failure(f"{existing[0]}: it exists already. {remedy}, or give another output.")
        survey = surveyed(self._source, self._request, self._make_row, self._interrupts)
        shards = self._request.shards or 1
        if survey.num_examples is not None and survey.num_examples < shards:
            raise Failure(
                f"{self._request.sources[0]}: there are {survey.num_examples} examples for "
                f"{shards} shards, expected at least one for each. Give fewer --shards."
            )
        self._journal.begin({"request": self._request.as_json(), "survey": survey.as_json()})
        for path in [*existing, *self._names.leftovers()]:
            os.unlink(path)
        if self._request.to == Format.IMAGE_FOLDER:
            Folder.clear(self._request.output)
        return survey

    def _examples(self) -> Batches:
        """Returns an iteration that continues after the written examples."""
        done = self._journal.done
        try:
            return self._source.pipeline.resume(done[-1]["state"] if done else None)
        except ValueError as error:
            raise Failure(f"{self._request.output}: {error} {_ANEW}") from error

    def _write(self, survey: Survey, folder: Folder | None, examples: Batches, bar: Bar) -> None:
        """Writes shards until there are no examples left."""
        number = len(self._journal.done)
        while (first := next(examples, None)) is not None:
            path = "" if folder is not None else self._names.shard(number)
            shard = folder.part() if folder is not None else self._shard(path, survey)
            begin = self._num_examples
            try:
                self._fill(shard, first, examples, self._most(number, survey), bar)
                shard.publish()
            except BaseException:
                shard.discard()
                raise
            self._journal.is_needed = True
            self._journal.add(
                {
                    "path": path,
                    "size": os.path.getsize(path) if path else 0,
                    "names": folder.names if folder is not None else [],
                    "examples": self._num_examples - begin,
                    "state": examples.state(),
                }
            )
            number += 1
        source = self._request.sources[0]
        if not self._num_examples:
            raise Failure(f"{source}: there are no examples. Nothing is written.")
        if survey.num_examples is not None and survey.num_examples != self._num_examples:
            raise Failure(
                f"{source}: there were {survey.num_examples} examples at first, and then "
                f"{self._num_examples}. Convert it again, with --overwrite, when nothing writes it."
            )

    def _fill(
        self, shard: Shard, first: dict[str, Any], examples: Batches, most: int | None, bar: Bar
    ) -> None:
        """Writes examples until a shard has as many, or as many bytes, as it should."""
        example: dict[str, Any] | None = first
        count, size = 0, 0
        while example is not None:
            size += self._write_example(shard, example)
            count += 1
            self._interrupts.check()
            bar.advance()
            if count == most or size >= (self._request.shard_bytes or math.inf):
                return
            example = next(examples, None)

    def _write_example(self, shard: Shard, example: dict[str, Any]) -> int:
        number = self._num_examples
        self._num_examples += 1
        if self._is_raw and isinstance(shard, RecordShard):
            return shard.write_record(example["record"])
        return shard.write(self._make_row(example, number), number)

    def _shard(self, path: str, survey: Survey) -> Shard:
        return make_shard(path, survey.columns, self._request)

    def _most(self, number: int, survey: Survey) -> int | None:
        """Returns how many examples shard `number` gets at most."""
        if survey.folder is not None:
            return FOLDER_PART
        shards, count = self._request.shards, survey.num_examples
        if shards is None or count is None:
            return None
        return (number + 1) * count // shards - number * count // shards


def _has_size(path: str, size: int) -> bool:
    return os.path.isfile(path) and os.path.getsize(path) == size
