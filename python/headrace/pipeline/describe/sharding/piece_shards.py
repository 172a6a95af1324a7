"""Ranks that read different files: the stages that `shard(by="piece")` may follow."""

from collections.abc import Sequence
from typing import Final

from headrace.pipeline.describe import stages
from headrace.pipeline.describe.random_access import is_read_late, needs_scan, reads_files
from headrace.pipeline.describe.sharding.window_files import files_before
from headrace.pipeline.describe.source import Source
from headrace.pipeline.describe.stages import Stage

__all__ = ["check_pieces", "read_by_shard", "shard_of_pieces"]

# Stages between the window and the shard that work on each example alone.
_OF_EXAMPLES: Final = (
    stages.Parse,
    stages.Select,
    stages.Rename,
    stages.Map,
    stages.Filter,
    stages.FlatMap,
    stages.Epochs,
    stages.Prefetch,
)


def check_pieces(chain: Sequence[Stage]) -> None:
    """Checks that the files before a window can be divided among ranks.

    Args:
        chain: The stages before `shard(by="piece")`.

    Raises:
        ValueError: If they cannot be.
    """
    where = "shard: by='piece' gives each rank files of its own"
    window = _window(chain)
    if window is None:
        raise ValueError(
            f"{where}, expected a shuffle over a window before it, and only parse, select, rename, "
            "map, filter, flat_map and epochs between. Write shuffle(window=...) before "
            "shard(..., by='piece')."
        )
    before = chain[:window]
    if _has_mix(before):
        raise ValueError(
            f"{where}, but mix draws from the files of each part by itself. Omit by, or give "
            "each part of the mix a window and shard(..., by='piece')."
        )
    if not files_before(before):
        raise ValueError(
            f"{where}, but the examples of {before[0].name} reach the window in their order, not "
            "by files. Omit by, or write take, skip, batches and cache after shard(...)."
        )


def shard_of_pieces(chain: Sequence[Stage], window: int) -> tuple[int, int]:
    """Returns the index and the count of the shard whose pieces a window reads.

    Args:
        chain: All stages.
        window: The index of a shuffle over a window.
    """
    for stage in chain[window + 1 :]:
        if isinstance(stage, stages.Shard) and stage.by == "piece":
            return stage.index, stage.count
        if not isinstance(stage, _OF_EXAMPLES):
            break
    return 0, 1


def read_by_shard(chain: Sequence[Stage], index: int) -> str:
    """Returns the share of the data that one rank reads, as text; empty without files or ranks.

    Args:
        chain: All stages.
        index: The index of a `shard`.
    """
    shard, before = chain[index], chain[:index]
    if not isinstance(shard, stages.Shard) or shard.count == 1 or not reads_files(before):
        return ""
    if shard.by == "piece":
        return f"; it reads 1 of {shard.count} {_pieces(before)}, others in each epoch"
    full = [n for n, s in enumerate(before) if isinstance(s, stages.Shuffle) and s.window is None]
    if full and is_read_late(chain, full[-1]):
        scan = ", and the scan" if needs_scan(before) else ""
        return f"; it reads 1 of {shard.count} examples{scan}"
    return f"; it reads all examples, and keeps 1 of {shard.count}"


def _window(chain: Sequence[Stage]) -> int | None:
    for index in range(len(chain) - 1, 0, -1):
        stage = chain[index]
        if isinstance(stage, stages.Shuffle):
            return None if stage.window is None else index
        if not isinstance(stage, _OF_EXAMPLES):
            return None
    return None


def _pieces(chain: Sequence[Stage]) -> str:
    """Returns the word for the pieces of files that ranks divide."""
    is_in_blocks = any(getattr(stage, "block_bytes", None) is not None for stage in chain)
    words = {"piece" if is_in_blocks and word == "file" else word for word in _words(chain)}
    return f"{words.pop() if len(words) == 1 else 'piece'}s"


def _words(chain: Sequence[Stage]) -> set[str]:
    source = chain[0]
    if parts := stages.parts_of(source):
        return {word for part in parts for word in _words(part)}
    return {source.piece if isinstance(source, Source) else "file"}


def _has_mix(chain: Sequence[Stage]) -> bool:
    return isinstance(chain[0], stages.Mix) or any(map(_has_mix, stages.parts_of(chain[0])))
