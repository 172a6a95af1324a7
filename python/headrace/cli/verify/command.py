"""``headrace verify``: checks that all records of files can be read."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import click

from headrace.cli.wording import count_of, echo_json, seconds, shortened, size
from headrace.core.repr_prefix import printable

if TYPE_CHECKING:
    from headrace.cli.verify.files import VerifyResult

__all__ = ["verify"]


@click.command(short_help="Check files for damage.")
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@click.option(
    "--threads",
    type=click.IntRange(min=1),
    help="Number of reading threads. By default, one per core.",
)
@click.option("--verbose", "-v", is_flag=True, help="Also list undamaged files.")
@click.option("--json", "as_json", is_flag=True, help="Print the report as JSON.")
@click.pass_context
def verify(
    context: click.Context,
    files: tuple[str, ...],
    threads: int | None,
    verbose: bool,
    as_json: bool,
) -> None:
    """Check files for damage.

    The command reads all records, checks every checksum, decodes images, and parses CSV and JSON
    lines. It lists damaged files and records. After a damaged record, it continues if the format
    allows it.

    The exit code is 0 if everything is undamaged, and 1 if anything is damaged or cannot be read.
    """
    from headrace.cli.verify.files import verified  # noqa: PLC0415 (see commands.py)

    begin = time.monotonic()
    result = verified(files, threads)
    took = time.monotonic() - begin
    if as_json:
        echo_json(_document(result, took))
    else:
        _print(result, took, verbose)
    context.exit(0 if result.is_whole else 1)


def _document(actual: VerifyResult, took: float) -> dict[str, Any]:
    results = [result.as_json() for result in actual.results]
    return {
        "whole": actual.is_whole,
        "files": results,
        "unreadable": actual.unreadable,
        "records": sum(result["records"] for result in results),
        "bytes": sum(result["size_bytes"] for result in results),
        "seconds": took,
    }


def _print(results: VerifyResult, took: float, is_verbose: bool) -> None:
    for result in results.results:
        path = printable(result.content.path)
        for one in result.damage:
            click.echo(f"{path}: {_position_of(one)}{shortened(one['reason'], 400)}")
        if is_verbose and not result.damage:
            click.echo(f"{path}: undamaged, {count_of(result.num_records, 'record')}")
    for reason in results.unreadable:
        click.echo(f"headrace: {printable(reason)}", err=True)
    records = count_of(sum(result.num_records for result in results.results), "intact record")
    num_bytes = sum(result.content.size_bytes for result in results.results)
    damaged = [result for result in results.results if result.damage]
    damage = count_of(sum(len(result.damage) for result in damaged), "damaged place")
    ends = [f"{damage} in {count_of(len(damaged), 'file')}"] if damaged else []
    if results.unreadable:
        ends.append(f"{count_of(len(results.unreadable), 'file')} could not be read")
    how = ", ".join(ends) or "no damage"
    click.echo(
        f"{count_of(len(results.results), 'file')}, {records}, {size(num_bytes)} read in "
        f"{seconds(took)}: {how}"
    )


def _position_of(damage: dict[str, Any]) -> str:
    where = [] if damage["record"] is None else [f"record {damage['record']}"]
    where += [] if damage["offset_bytes"] is None else [f"at byte {damage['offset_bytes']}"]
    return f"{' '.join(where)}: " if where else ""
