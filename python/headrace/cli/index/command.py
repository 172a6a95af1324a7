"""``headrace index``: where the records of TFRecord files are."""

from __future__ import annotations

import os
from pathlib import Path

import click

from headrace.cli.wording import count_of, echo_json
from headrace.core.repr_prefix import printable

__all__ = ["index"]


@click.command(short_help="Where the records of TFRecords are.")
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@click.option(
    "--output",
    type=click.Path(path_type=Path, file_okay=False),
    help="Write the indexes into this directory, not beside the files.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one document of JSON.")
def index(files: tuple[str, ...], output: Path | None, as_json: bool) -> None:
    """Writes FILE.idx, with a line "OFFSET SIZE" for each record, as NVIDIA DALI reads it.

    headrace itself needs no index: a shuffle of all examples finds their places in memory.

    Exits with 1 if a file is not an uncompressed TFRecord file, or damaged.
    """
    from headrace.cli.index.write import write_index  # noqa: PLC0415 (see commands.py)
    from headrace.cli.interrupts import Interrupted, Interrupts  # noqa: PLC0415
    from headrace.pipeline.plan.paths import find_files  # noqa: PLC0415

    if output is not None:
        output.mkdir(parents=True, exist_ok=True)
    directory = None if output is None else str(output)
    paths = [os.fsdecode(path) for path in find_files("index", files)]
    written = []
    try:
        with Interrupts() as interrupts:
            # Indexes of an earlier run lie among the files of a directory.
            for path in (path for path in paths if not path.endswith(".idx")):
                one = write_index(path, directory, interrupts)
                written.append(one._asdict())
                if not as_json:
                    click.echo(
                        f"{printable(one.index_path)}: {count_of(one.num_records, 'record')}"
                    )
    except Interrupted as interruption:
        click.echo("Interrupted.", err=True)
        click.get_current_context().exit(interruption.exit_code)
    if as_json:
        echo_json({"indexes": written})
