"""Prints reports one after the other, or puts them together to one document."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from headrace.cli.content.files import files_of
from headrace.cli.failing import Failure, failure_of
from headrace.cli.inspecting.examples import as_json, lines_of_example, write_pictures
from headrace.cli.inspecting.file import inspected
from headrace.cli.inspecting.report import Looked, Shown
from headrace.cli.inspecting.text import damage_lines, lines_of

__all__ = ["Output"]


class Output:
    """Inspects files and shows what was found.

    Args:
        looked: How closely they are looked at.
        png: The directory for images, if they are wanted.
        is_printed: Whether reports are printed; else they are only kept.

    Attributes:
        reports: Those of all files that could be read.
        is_whole: Whether all files could be read, and none is damaged.
    """

    def __init__(self, looked: Looked, png: Path | None, is_printed: bool) -> None:
        self.reports: list[dict[str, Any]] = []
        self.is_whole = True
        self._looked = looked
        self._png = png
        self._is_printed = is_printed

    def add(self, argument: str) -> None:
        """Inspects a file, or those of a directory or a pattern."""
        with self._noting_failures():
            for path in files_of("inspect", argument):
                with self._noting_failures():
                    self._add(path)

    @contextmanager
    def _noting_failures(self) -> Iterator[None]:
        """Lets stderr say what cannot be read, and goes on."""
        try:
            yield
        except Exception as error:
            failure = error if isinstance(error, Failure) else failure_of(error)
            if failure is None or isinstance(error, BrokenPipeError):
                raise
            failure.show()
            self.is_whole = False

    def _add(self, path: str) -> None:
        report, shown = inspected(path, self._looked)
        if self._is_printed:
            self._print(report, shown)
        report["first"] = list(map(as_json, shown))
        report["pictures"] = [str(name) for one in shown for name in self._written(path, one)]
        if self._is_printed:
            for name in report["pictures"]:
                click.echo(f"  wrote {name}")
        self.reports.append(report)
        self.is_whole = self.is_whole and not report["damage"]

    def _written(self, path: str, shown: Shown) -> list[Path]:
        return [] if self._png is None else list(write_pictures(path, shown, self._png))

    def _print(self, report: dict[str, Any], shown: list[Shown]) -> None:
        has_colours = _has_colours()
        if self.reports:
            click.echo()
        for line in lines_of(report):
            click.echo(line)
        for one in shown:
            for line in lines_of_example(one, has_colours):
                click.echo(line, color=has_colours)
        for line in damage_lines(report):
            click.echo(line)


def _has_colours() -> bool:
    """Returns whether stdout is a terminal that has 24-bit colours, and wants them."""
    return (
        sys.stdout.isatty()
        and not os.environ.get("NO_COLOR")
        and os.environ.get("COLORTERM", "").lower() in ("truecolor", "24bit")
    )
