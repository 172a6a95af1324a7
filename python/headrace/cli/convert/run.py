"""Runs a conversion: reads the examples and writes the shards. It can continue an earlier run."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

from headrace.cli.convert.folder import FOLDER_PART, Folder
from headrace.cli.convert.naming import Names
from headrace.cli.convert.request import Format, Request
from headrace.cli.convert.rows import row_maker
from headrace.cli.convert.shards import check_parquet, make_shard
from headrace.cli.convert.source import Source, source_of
from headrace.cli.convert.survey import Survey, checked_names, surveyed
from headrace.cli.failures import Failure
from headrace.cli.interrupts import Interrupts
from headrace.core.progress import Bar
from headrace.io import storage
from headrace.io.atomic_file import AtomicFile
from headrace.io.os_errors import os_errors
from headrace.pipeline import Batches, Skipped
from headrace.pipeline.writing.journal import Journal
from headrace.pipeline.writing.run import Output, has_size, write_shards
from headrace.pipeline.writing.shard import Shard
from headrace.pipeline.writing.tfrecord import RecordShard
from headrace.pipeline.writing.wording import UnwritableError

__all__ = ["ConversionResult", "convert"]

_ANEW: Final = "Use the same arguments to continue, or --overwrite to start again."


class ConversionResult(NamedTuple):
    """The result of a conversion.

    Attributes:
        files: The output files. For an image folder, only its directory.
        num_examples: The number of examples in the output.
        num_before: The number of files that an earlier run wrote.
        skipped: The skipped examples.
    """

    files: list[str]
    num_examples: int
    num_before: int
    skipped: list[Skipped]

    def as_json(self) -> dict[str, Any]:
        """Returns the result as data for `--json`."""
        return {
            "files": self.files,
            "examples": self.num_examples,
            "parts_of_earlier_run": self.num_before,
            "skipped": [one._asdict() for one in self.skipped],
        }


def convert(request: Request, overwrite: bool, interrupts: Interrupts) -> ConversionResult:
    """Runs the requested conversion.

    Args:
        request: The request.
        overwrite: If True, existing output files are replaced and an earlier run is not continued.
        interrupts: The signals to check after each example.

    Raises:
        Failure: If the conversion is impossible.
        Interrupted: If a signal arrived. Complete files are kept, and the next run continues after
            them.
        OpError: If a source cannot be read, or the output cannot be written.
    """
    if request.to == Format.PARQUET:
        check_parquet()
    source = source_of(request)
    if Format.TFRECORD not in (source.format, request.to):
        raise Failure(
            f"{request.sources[0]} is {source.format} and the output is {request.to}, but one of "
            "the two must be TFRecords. Convert to TFRecords first."
        )
    checked_names(source, request)
    directory = os.path.dirname(request.output)
    if storage.is_remote(request.output):
        # This fails if the directory is not writable.
        AtomicFile(request.output).discard()
    elif directory:
        with os_errors(directory):
            Path(directory).mkdir(parents=True, exist_ok=True)
    with Journal(request.output, "headrace convert") as journal:
        try:
            return _Conversion(request, source, journal, interrupts).run(overwrite)
        except UnwritableError as error:
            raise Failure(str(error)) from error


class _Conversion:
    """One run of a conversion."""

    def __init__(
        self, request: Request, source: Source, journal: Journal, interrupts: Interrupts
    ) -> None:
        self._request = request
        self._source = source
        self._journal = journal
        self._interrupts = interrupts
        self._make_row = row_maker(source, request)
        is_divided = bool(request.shards or request.shard_bytes)
        self._names = Names(request.output, request.shards, is_divided)

    def run(self, overwrite: bool) -> ConversionResult:
        """Writes all missing shards."""
        is_begun = self._is_begun() and not overwrite
        survey = self._known() if is_begun else self._begun(overwrite)
        num_before = len(self._journal.done)
        folder = None
        if survey.folder is not None:
            written = (name for line in self._journal.done for name in line["names"])
            folder = Folder(self._request.output, survey.folder, written)
        with self._examples() as examples, Bar("convert", survey.num_examples, " examples") as bar:
            bar.advance(sum(line["examples"] for line in self._journal.done))
            output = _Output(self._source, self._request, self._names, survey, folder)
            num_examples = write_shards(
                output.showing(bar, self._interrupts), examples, self._journal
            )
            self._check_number(survey, num_examples)
            skipped = examples.skipped
        if folder is not None:
            folder.publish()
        files = [line["path"] for line in self._journal.done]
        self._journal.remove()
        return ConversionResult(
            files if folder is None else [self._request.output],
            num_examples,
            num_before,
            skipped,
        )

    def _is_begun(self) -> bool:
        """Returns whether an earlier run has written, or may have written, something."""
        header = self._journal.header
        is_same = header is not None and header["request"] == self._request.as_json()
        return bool(self._journal.done) or is_same

    def _known(self) -> Survey:
        """Returns the survey of an earlier run if this run may continue it."""
        header = self._journal.header or {}
        before, now = header["request"], self._request.as_json()
        for key in now:
            if before.get(key) != now[key]:
                raise Failure(
                    f"{self._request.output}: {key} is {now[key]!r}, but the run that started "
                    f"this output used {before.get(key)!r}. {_ANEW}"
                )
        for line in self._journal.done:
            if line["path"] and not has_size(line["path"], line["size"]):
                raise Failure(
                    f"{line['path']}: the earlier run wrote {line['size']} bytes, but the file "
                    "has changed since. Use --overwrite to start again."
                )
        for path in self._names.leftovers():
            storage.remove(path)
        return Survey.from_json(header["survey"])

    def _begun(self, overwrite: bool) -> Survey:
        """Surveys the examples and starts the journal."""
        existing = self._names.existing()
        if existing and (not overwrite or os.path.isdir(existing[0])):
            remedy = "Remove it" if os.path.isdir(existing[0]) else "Use --overwrite to replace it"
            raise Failure(f"{existing[0]} already exists. {remedy}, or choose another output.")
        survey = surveyed(self._source, self._request, self._make_row, self._interrupts)
        shards = self._request.shards or 1
        if survey.num_examples is not None and survey.num_examples < shards:
            raise Failure(
                f"{self._request.sources[0]}: there are only {survey.num_examples} examples for "
                f"{shards} shards, but each shard needs at least one. Use fewer --shards."
            )
        self._journal.begin({"request": self._request.as_json(), "survey": survey.as_json()})
        for path in [*existing, *self._names.leftovers()]:
            storage.remove(path)
        if self._request.to == Format.IMAGE_FOLDER:
            Folder.clear(self._request.output)
        return survey

    def _examples(self) -> Batches:
        """Returns an iteration that continues after the examples already written."""
        done = self._journal.done
        try:
            return self._source.pipeline.resume(done[-1]["state"] if done else None)
        except ValueError as error:
            raise Failure(f"{self._request.output}: {error} {_ANEW}") from error

    def _check_number(self, survey: Survey, num_examples: int) -> None:
        source = self._request.sources[0]
        if not num_examples:
            raise Failure(f"{source}: there are no examples, so nothing was written.")
        if survey.num_examples is not None and survey.num_examples != num_examples:
            raise Failure(
                f"{source}: there were {survey.num_examples} examples when they were counted, but "
                f"{num_examples} were read. Convert the source again with --overwrite when no "
                "other program writes to it."
            )


class _Output(Output):
    """The output files of a conversion."""

    def __init__(
        self, source: Source, request: Request, names: Names, survey: Survey, folder: Folder | None
    ) -> None:
        self.shard_bytes = request.shard_bytes
        self._request = request
        self._names = names
        self._survey = survey
        self._folder = folder
        self._make_row = row_maker(source, request)
        # Records that go from TFRecords to TFRecords are copied unchanged.
        self._is_raw = (source.format, request.to) == (Format.TFRECORD, Format.TFRECORD) and not (
            request.select or request.rename
        )

    def showing(self, bar: Bar, interrupts: Interrupts) -> _Output:
        """Sets a progress bar that advances with each example, and the signals to check."""
        self._bar, self._interrupts = bar, interrupts
        return self

    def begin(self, number: int) -> tuple[str, Shard]:
        if self._folder is not None:
            return "", self._folder.part()
        path = self._names.shard(number)
        return path, make_shard(path, self._survey.columns, self._request)

    def most(self, number: int) -> int | None:
        if self._folder is not None:
            return FOLDER_PART
        shards, count = self._request.shards, self._survey.num_examples
        if shards is None or count is None:
            return None
        return (number + 1) * count // shards - number * count // shards

    def write(self, shard: Shard, example: Mapping[str, Any], number: int) -> int:
        if self._is_raw and isinstance(shard, RecordShard):
            return shard.write_record(example["record"])
        return shard.write(self._make_row(dict(example), number), number)

    def note(self) -> None:
        self._interrupts.check()
        self._bar.advance()

    def names(self) -> list[str]:
        return [] if self._folder is None else self._folder.names
