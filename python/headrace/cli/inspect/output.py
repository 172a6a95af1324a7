"""Prints reports one after the other, or as one JSON document."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from headrace.cli.failures import Failure, failure_of
from headrace.cli.file_kinds import files_of
from headrace.cli.inspect.examples import as_json, lines_of_example, write_pictures
from headrace.cli.inspect.file import inspected
from headrace.cli.inspect.folder import Folder
from headrace.cli.inspect.report import InspectOptions, ShownExample
from headrace.cli.inspect.text import damage_lines, lines_of
from headrace.core.repr_prefix import printable
from headrace.io.storage import is_remote
from headrace.pipeline.paths.listing import is_directory

__all__ = ["Output"]


class Output:
    """Inspects files, and prints or collects their reports.

    Args:
        looked: The inspection options.
        png: The directory for PNG files. None to write no PNG files.
        is_printed: Whether reports are printed. Otherwise they are only collected.
        num_of_folder: The number of examples to show after a folder's summary.

    Attributes:
        reports: The reports of all readable files. If reports are printed, the reports of folders
            are omitted.
        is_whole: Whether all files could be read and none are damaged.
    """

    def __init__(
        self, looked: InspectOptions, png: Path | None, is_printed: bool, num_of_folder: int = 0
    ) -> None:
        self.reports: list[dict[str, Any]] = []
        self.is_whole = True
        self._looked = looked
        self._png = png
        self._is_printed = is_printed
        self._num_of_folder = num_of_folder
        self._has_printed = False

    def add(self, argument: str) -> None:
        """Inspects a file or the files that match a pattern, or summarises a folder."""
        with self._noting_failures():
            paths = files_of("inspect", argument)
            is_folder = not is_remote(argument) and is_directory(argument)
            folder = Folder(argument) if is_folder and self._is_printed else None
            for path in paths:
                with self._noting_failures(folder):
                    self._add(path, folder)
            if folder is not None:
                self._print_lines(folder.lines())
                for path, shown in folder.examples:
                    click.echo(f"  {printable(path)}:")
                    self._print_examples(shown)

    @contextmanager
    def _noting_failures(self, folder: Folder | None = None) -> Iterator[None]:
        """Prints failures inside the `with` block to stderr, and continues."""
        try:
            yield
        except Exception as error:
            failure = error if isinstance(error, Failure) else failure_of(error)
            if failure is None or isinstance(error, BrokenPipeError):
                raise
            failure.show()
            self.is_whole = False
            if folder is not None:
                folder.add_unread()

    def _add(self, path: str, folder: Folder | None = None) -> None:
        looked = self._looked
        if folder is not None and self._png is None:
            num_shown = sum(len(shown) for _, shown in folder.examples)
            looked = looked._replace(num_examples=self._num_of_folder - num_shown)
        report, shown = inspected(path, looked)
        self.is_whole = self.is_whole and not report["damage"]
        if folder is not None:
            folder.add(report)
            if self._num_of_folder:
                folder.add_examples(path, shown)
            pictures = self._pictures(path, shown)
        else:
            if self._is_printed:
                self._print(report, shown)
            pictures = self._pictures(path, shown)
            report["first"] = list(map(as_json, shown))
            report["pictures"] = pictures
            self.reports.append(report)
        if self._is_printed:
            for name in pictures:
                click.echo(f"  wrote {printable(name)}")

    def _pictures(self, path: str, shown: list[ShownExample]) -> list[str]:
        return [str(name) for one in shown for name in self._written(path, one)]

    def _written(self, path: str, shown: ShownExample) -> list[Path]:
        return [] if self._png is None else list(write_pictures(path, shown, self._png))

    def _print(self, report: dict[str, Any], shown: list[ShownExample]) -> None:
        self._print_lines(lines_of(report))
        self._print_examples(shown)
        for line in damage_lines(report):
            click.echo(line)

    def _print_examples(self, shown: list[ShownExample]) -> None:
        has_colours = _has_colours()
        for one in shown:
            for line in lines_of_example(one, has_colours):
                click.echo(line, color=has_colours)

    def _print_lines(self, lines: Iterable[str]) -> None:
        if self._has_printed:
            click.echo()
        self._has_printed = True
        for line in lines:
            click.echo(line)


def _has_colours() -> bool:
    """Returns whether stdout is a terminal with 24-bit colours and colours are not disabled."""
    return (
        sys.stdout.isatty()
        and not os.environ.get("NO_COLOR")
        and os.environ.get("COLORTERM", "").lower() in ("truecolor", "24bit")
    )
