"""``headrace convert``: converts files from one format to another."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Final

import click

from headrace.cli.option_types import budget, pairs, size
from headrace.cli.wording import count_of, echo_json, shortened
from headrace.core.repr_prefix import without_passwords

if TYPE_CHECKING:
    from headrace.cli.convert.run import ConversionResult

__all__ = ["convert"]

_FORMATS: Final = ("tfrecord", "csv", "json-lines", "parquet", "tar", "image-folder")
_EXTENSIONS: Final = {
    ".tfrecord": "tfrecord",
    ".tfrecords": "tfrecord",
    ".csv": "csv",
    ".jsonl": "json-lines",
    ".ndjson": "json-lines",
    ".parquet": "parquet",
    ".tar": "tar",
}
_COMPRESSIONS: Final = {
    "tfrecord": ("gzip", "zlib"),
    "parquet": ("snappy", "gzip", "zstd", "brotli", "lz4"),
    "csv": ("gzip",),
    "json-lines": ("gzip",),
    "tar": ("gzip",),
    "image-folder": (),
}
_CASTS: Final = ("float32", "str")
_MOST_SKIPPED: Final = 20


@click.command(short_help="Convert files to or from TFRecords.")
@click.argument("sources", nargs=-1, required=True, metavar="SOURCE...")
@click.argument("output", metavar="OUTPUT")
@click.option(
    "--to",
    type=click.Choice(_FORMATS),
    help="Format of the output. By default, it follows from the name.",
)
@click.option(
    "--from",
    "source_format",
    type=click.Choice((*_FORMATS, "images", "text")),
    help="Format of the sources. By default, it is detected from their content.",
)
@click.option(
    "--shards", type=click.IntRange(min=1), help="Divide the output into this many files."
)
@click.option(
    "--shard-bytes",
    callback=size,
    metavar="SIZE",
    help="Start a new file after the example that reaches this size, such as 100M or 1GiB.",
)
@click.option("--compression", help="gzip or zlib. For Parquet: snappy, gzip, zstd, brotli or lz4.")
@click.option(
    "--shuffle",
    "seed",
    type=click.IntRange(min=0),
    metavar="SEED",
    help="Shuffle all examples with this seed.",
)
@click.option(
    "--window",
    type=click.IntRange(min=1),
    help="Shuffle over a window of this many examples instead of all of them.",
)
@click.option(
    "--skip-errors",
    callback=budget,
    metavar="NUMBER|SHARE",
    help="Skip up to this many damaged examples, or up to this fraction of all, such as 0.01.",
)
@click.option("--header/--no-header", default=None, help="Whether CSV files have a header line.")
@click.option(
    "--column",
    "columns",
    multiple=True,
    callback=pairs,
    metavar="NAME=TYPE",
    help="Type of a column in CSV or JSON lines, such as int, float, str, bytes, bool or int[].",
)
@click.option(
    "--default",
    "defaults",
    multiple=True,
    callback=pairs,
    metavar="NAME=VALUE",
    help="Value to use if a column has no value, or if a sample in a tar archive lacks a file.",
)
@click.option("--select", multiple=True, metavar="NAME", help="Keep only these features.")
@click.option(
    "--rename", multiple=True, callback=pairs, metavar="OLD=NEW", help="Rename a feature."
)
@click.option(
    "--base64",
    multiple=True,
    metavar="NAME",
    help="Write a bytes feature as base64 in CSV and JSON lines, or decode it from base64.",
)
@click.option(
    "--cast",
    multiple=True,
    callback=pairs,
    metavar="NAME=TYPE",
    help="When writing TFRecords: convert numbers to float32 (rounded) or to str.",
)
@click.option(
    "--key", metavar="NAME", help="When writing tar: the feature that contains the key of a sample."
)
@click.option(
    "--image",
    metavar="NAME",
    help="When writing an image folder: the feature that contains the image.",
)
@click.option(
    "--label",
    metavar="NAME",
    help="When writing an image folder: the feature that contains the class.",
)
@click.option(
    "--name",
    metavar="NAME",
    help="When writing an image folder: the feature that contains the file name.",
)
@click.option(
    "--overwrite", is_flag=True, help="Replace existing files, and start from the beginning."
)
@click.option("--json", "as_json", is_flag=True, help="Print the report as JSON.")
def convert(
    to: str | None,
    rename: tuple[tuple[str, str], ...],
    overwrite: bool,
    as_json: bool,
    compression: str | None,
    **options: Any,
) -> None:
    """Convert CSV, JSON lines, Parquet, tar or image folders to TFRecords, or back.

    Either the sources or the output must be TFRecords. If a conversion is interrupted, run the same
    command again: it continues after the last complete file.

    The exit code is 1 if the conversion fails, and 130 after Ctrl-C.
    """
    from headrace.io import storage  # noqa: PLC0415 (see commands.py)

    output = options["output"] = storage.local_path(options["output"])
    if to is None:
        to = "image-folder" if output.endswith("/") else _format_of_name(output)
    if to == "image-folder":
        options["output"] = os.path.normpath(output)
    if compression is None and output.endswith(".gz"):
        compression = "gzip"
    compression = None if compression == "none" else compression
    if to == "image-folder" and storage.is_remote(output):
        raise click.UsageError(
            f"{output}: an image folder must have a local path. Write it locally, then copy it."
        )
    _check_usage(to, compression, options)
    from headrace.cli.convert.request import Request  # noqa: PLC0415
    from headrace.cli.convert.run import convert as run  # noqa: PLC0415
    from headrace.cli.interrupts import Interrupted, Interrupts  # noqa: PLC0415

    renamed = tuple((new, old) for old, new in rename)
    request = Request(to=to, compression=compression, rename=renamed, **options)
    try:
        with Interrupts() as interrupts:
            done = run(request, overwrite, interrupts)
    except Interrupted as interruption:
        click.echo("Interrupted. Run the same command again to continue.", err=True)
        click.get_current_context().exit(interruption.exit_code)
    if as_json:
        echo_json(done.as_json())
    else:
        _print(done)


def _print(done: ConversionResult) -> None:
    for one in done.skipped[:_MOST_SKIPPED]:
        click.echo(f"skipped: {shortened(one.reason, 400)}", err=True)
    if done.skipped:
        click.echo(f"{count_of(len(done.skipped), 'example')} skipped", err=True)
    if done.num_before:
        parts = count_of(done.num_before, "part")
        click.echo(f"continued after {parts} from an earlier run", err=True)
    first, last = done.files[0], done.files[-1]
    first, last = without_passwords(first), without_passwords(last)
    names = first if first == last else f"{first} to {os.path.basename(last)}"
    files = count_of(len(done.files), "file")
    click.echo(f"{count_of(done.num_examples, 'example')} in {files}: {names}")


def _format_of_name(output: str) -> str:
    extension = os.path.splitext(output.removesuffix(".gz"))[1].lower()
    if extension not in _EXTENSIONS:
        raise click.UsageError(
            f"{output}: the format is not clear from the name. Pass --to, or use a name that ends "
            f"with {', '.join(_EXTENSIONS)}."
        )
    return _EXTENSIONS[extension]


def _check_usage(to: str, compression: str | None, options: dict[str, Any]) -> None:
    """Rejects options that contradict each other."""
    if options["shards"] and options["shard_bytes"]:
        raise click.UsageError(
            "--shards and --shard-bytes cannot be used together. Use only one of them."
        )
    if options["window"] and options["seed"] is None:
        raise click.UsageError("--window works only with --shuffle. Add --shuffle SEED.")
    if to == "image-folder" and (options["shards"] or options["shard_bytes"]):
        raise click.UsageError("an image folder has no shards. Remove --shards and --shard-bytes.")
    _check_casts(to, dict(options["cast"]))
    if options["key"] and to != "tar":
        raise click.UsageError(f"--key works only with --to tar, but the output is {to}.")
    for name in ("image", "label", "name"):
        if options[name] and to != "image-folder":
            raise click.UsageError(
                f"--{name} works only with --to image-folder, but the output is {to}."
            )
    compressions = _COMPRESSIONS[to]
    if compression is not None and compression not in compressions:
        raise click.UsageError(
            f"--compression {compression} does not work for {to}, expected one of "
            f"{', '.join((*compressions, 'none'))}."
        )


def _check_casts(to: str, casts: dict[str, str]) -> None:
    for name, kind in casts.items():
        if kind not in _CASTS:
            raise click.UsageError(f"--cast {name}={kind}: expected {' or '.join(_CASTS)}.")
        if to != "tfrecord":
            raise click.UsageError(f"--cast works only with --to tfrecord, but the output is {to}.")
