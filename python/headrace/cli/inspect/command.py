"""``headrace inspect``: shows the contents of files."""

from __future__ import annotations

from pathlib import Path

import click

__all__ = ["inspect"]


@click.command(short_help="Show the contents of files.")
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@click.option(
    "--records",
    type=click.IntRange(min=0),
    default=1000,
    show_default=True,
    help="Infer the features from this many records. The other records are still counted and "
    "checked.",
)
@click.option(
    "--examples",
    type=click.IntRange(min=0),
    help="Show this many examples of a file or folder. By default, one for a file and none for a "
    "folder. Images are drawn if the terminal supports 24-bit colours.",
)
@click.option(
    "--png",
    type=click.Path(path_type=Path, file_okay=False),
    help="Save the images of the shown examples as PNG files in this directory.",
)
@click.option(
    "--quick",
    is_flag=True,
    help="Read only as many records as --records, without counting the rest.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the report as JSON.")
@click.pass_context
def inspect(
    context: click.Context,
    files: tuple[str, ...],
    records: int,
    examples: int | None,
    png: Path | None,
    quick: bool,
    as_json: bool,
) -> None:
    """Show the contents of files.

    You see the kind of each file, its compression, the number and size of its records, its
    features, the first example, and any damage. The kind is detected from the content: TFRecord,
    CSV, JSON lines, tar, Parquet, images, text, checkpoints or event files.

    For a folder, you see a summary. To see each file on its own, pass a quoted pattern such as
    'FOLDER/*', or use --json.

    The exit code is 1 if a file is damaged or cannot be read.
    """
    from headrace.cli.inspect.output import Output  # noqa: PLC0415 (see commands.py)
    from headrace.cli.inspect.report import InspectOptions  # noqa: PLC0415
    from headrace.cli.wording import echo_json  # noqa: PLC0415

    if png is not None:
        png.mkdir(parents=True, exist_ok=True)
    looked = InspectOptions(records, 1 if examples is None else examples, not as_json, quick)
    output = Output(looked, png, not as_json, num_of_folder=examples or 0)
    for argument in files:
        output.add(argument)
    if as_json:
        echo_json({"files": output.reports})
    context.exit(0 if output.is_whole else 1)
