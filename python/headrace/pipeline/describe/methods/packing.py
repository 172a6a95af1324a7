"""The arguments of `pack`."""

from collections.abc import Iterable

from headrace.pipeline.describe.arguments import check_bool, checked_int, checked_names
from headrace.pipeline.describe.padding import as_values
from headrace.pipeline.describe.stages import Pack

__all__ = ["pack_stage"]


def pack_stage(
    length: int,
    names: str | Iterable[str],
    split: bool,
    max_open: int,
    along: str | Iterable[str],
    cu_seqlens: bool,
    balance: int | None,
    values: object,
) -> Pack:
    """Returns the stage, with checked arguments; see `Pipeline.pack`."""
    checked_int("pack", "length", length, 1)
    checked_int("pack", "max_open", max_open, 1)
    check_bool("pack", "split", split)
    check_bool("pack", "cu_seqlens", cu_seqlens)
    if balance is not None:
        checked_int("pack", "balance", balance, 1)
    chosen = checked_names("pack", _several(names))
    others = _several(along)
    others = checked_names("pack", others) if others else ()
    both = next((name for name in others if name in chosen), None)
    if both is not None:
        raise ValueError(f"pack: {both!r} is in names and in along, expected one of them.")
    fillers = as_values("pack", values)
    for name in dict(fillers) if isinstance(fillers, tuple) else ():
        if name not in chosen:
            raise ValueError(
                f"pack: values has a component {name!r}, expected one that is packed: "
                f"{', '.join(map(repr, chosen))}."
            )
    return Pack(length, chosen, split, max_open, others, cu_seqlens, balance, fillers)


def _several(names: str | Iterable[str]) -> tuple[str, ...]:
    return (names,) if isinstance(names, str) else tuple(names)
