"""``headrace index``: writes the positions of the records in files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from headrace.cli.wording import count_of, echo_json
from headrace.core.repr_prefix import printable

if TYPE_CHECKING:
    from headrace.cli.index.write import IndexResult

__all__ = ["index"]

_KINDS = ("tfrecord", "csv", "json lines", "tar", "text")


@click.command(short_help="Write index files with the positions of records.")
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@click.option(
    "--output",
    type=click.Path(path_type=Path, file_okay=False),
    help="Write the indexes to this directory, for options(index_directory=...), instead of next "
    "to the files.",
)
@click.option(
    "--kind",
    type=click.Choice(_KINDS),
    help="Kind of the files. By default, it is detected from their content.",
)
@click.option(
    "--dali",
    is_flag=True,
    help="Write FILE.idx for TFRecords instead, in the format of NVIDIA DALI.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the report as JSON.")
def index(
    files: tuple[str, ...], output: Path | None, kind: str | None, dali: bool, as_json: bool
) -> None:
    """Write an index file, FILE.hrindex, for each data file.

    With an index, a full shuffle starts without scanning the file, and len() works.

    The files can be TFRecords, CSV, JSON lines, tar or text, and must not be compressed. For a
    remote file, the index is uploaded next to the file. Files whose index is up to date are
    skipped.

    The exit code is 1 if a file is compressed or damaged, or has the wrong kind.
    """
    from headrace.cli.index.dali import write_dali  # noqa: PLC0415 (see commands.py)
    from headrace.cli.index.write import files_to_index, write_index  # noqa: PLC0415
    from headrace.cli.interrupts import Interrupted, Interrupts  # noqa: PLC0415
    from headrace.core.progress import Bar  # noqa: PLC0415

    if dali and kind is not None:
        raise click.UsageError("--dali works only with TFRecords. Remove --kind.")
    if output is not None:
        output.mkdir(parents=True, exist_ok=True)
    directory = None if output is None else str(output)
    paths = files_to_index(files)
    written = []
    try:
        with Bar("index", len(paths), " files", not dali) as bar:
            for path in paths:
                if dali:
                    with Interrupts() as interrupts:
                        one = write_dali(path, directory, interrupts)
                else:
                    one = write_index(path, directory, kind)
                bar.advance()
                written.append(one._asdict())
                if not as_json:
                    click.echo(_said(one))
    except Interrupted as interruption:
        click.echo("Interrupted.", err=True)
        click.get_current_context().exit(interruption.exit_code)
    if as_json:
        echo_json({"indexes": written})


def _said(one: IndexResult) -> str:
    records = count_of(one.num_records, "record")
    if one.index_path is None:
        return f"{printable(one.path)}: {records}, so it needs no index"
    there = "" if one.is_new else ", up to date"
    return f"{printable(one.index_path)}: {records}{there}"
