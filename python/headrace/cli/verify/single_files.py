"""Verification of files that are read one by one, since each defines its own components."""

from __future__ import annotations

from importlib import import_module

from headrace.cli.content.kind import Content, Kind
from headrace.cli.failures import Failure
from headrace.cli.file_pipelines import counted
from headrace.cli.inspect.parquet import opened
from headrace.cli.verify.result import Result
from headrace.core.errors import OpError
from headrace.core.repr_prefix import printable

__all__ = ["verified_alone"]


def verified_alone(content: Content) -> Result:
    """Reads all of a file."""
    result = Result(content)
    if content.mismatch is not None:
        result.fail("verify", content.mismatch)
        return result
    try:
        match content.kind:
            case Kind.PARQUET:
                result.num_records = _read_parquet(content.path)
            case Kind.BUNDLE:
                result.num_records = _read_bundle(content.path, result)
            case Kind.UNKNOWN:
                what = (
                    f"it looks like {content.detail}" if content.detail else "its kind is unknown"
                )
                result.fail("verify", f"{what}, so nothing of it can be checked. Leave it out.")
            case Kind.IMAGE:
                result.fail("verify", f"it is {content.detail}, which headrace does not decode.")
            case _:
                count = counted(content)
                result.num_records = count.num_records
                result.add(count.damage)
    except (OpError, Failure) as error:
        first, *_ = error.message.splitlines()
        result.fail(content.kind, first.removeprefix(f"{printable(content.path)}: "))
    return result


def _read_parquet(path: str) -> int:
    """Reads all pages; those that have a checksum are checked against it."""
    with opened(path) as file:
        arrow = import_module("pyarrow")
        try:
            return sum(batch.num_rows for batch in file.iter_batches())
        except (arrow.ArrowException, OSError) as error:
            raise Failure(f"{path}: {error} Copy the file again.") from error


def _read_bundle(path: str, result: Result) -> int:
    from headrace.cli.inspect.tensorflow1_files import read_bundle  # noqa: PLC0415  (few need it)

    number, failures = read_bundle(path)
    for failure in failures:
        result.fail("checkpoint", failure)
    return number
