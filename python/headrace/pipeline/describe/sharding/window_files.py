"""The files that a shuffle over a window permutes."""

from collections.abc import Sequence
from typing import Final

from headrace.pipeline.describe import stages
from headrace.pipeline.describe.source import Source
from headrace.pipeline.describe.stages import Stage

__all__ = ["files_before", "files_of_window", "is_reordered"]

# Stages whose result depends on the order before them, which is therefore kept.
_ORDERED: Final = (
    stages.Take,
    stages.Skip,
    stages.Shard,
    stages.Share,
    stages.Shuffle,
    stages.Batch,
    stages.PaddedBatch,
    stages.BucketByLength,
    stages.Pack,
    stages.Cache,
    stages.Epochs,
)


def files_of_window(chain: Sequence[Stage], shuffle: stages.Shuffle) -> str:
    """Returns the order in which a window gets its examples, as text.

    Args:
        chain: The stages before the shuffle.
        shuffle: A shuffle over a window.
    """
    if not (names := _names(chain, shuffle.block_bytes)):
        return "the examples reach the window in their order"
    files = " and ".join(dict.fromkeys(names))
    order = "in another order in each epoch" if shuffle.files == "shuffled" else "in their order"
    at_once = "one after the other" if shuffle.num_open == 1 else f"{shuffle.num_open} at once"
    return f"it reads {files} {order}, {at_once}"


def files_before(chain: Sequence[Stage]) -> list[str]:
    """Returns the names of the sources whose files a window after these stages may permute."""
    return _names(chain, None)


def is_reordered(chain: Sequence[Stage]) -> bool:
    """Returns whether a shuffle after these stages permutes examples of files."""
    source, *behind = chain
    if any(isinstance(stage, _ORDERED) for stage in behind):
        return False
    if isinstance(source, (stages.Concat, stages.Mix)):
        return all(map(is_reordered, source.parts))
    return isinstance(source, (stages.Files, Source))


def _names(chain: Sequence[Stage], block_bytes: int | None) -> list[str]:
    """Returns the sources whose pieces may be permuted, as text.

    Args:
        chain: The stages before the window.
        block_bytes: The size of the pieces of files; None for whole files.
    """
    source, *behind = chain
    if any(isinstance(stage, _ORDERED) for stage in behind):
        return []
    blocks = "" if block_bytes is None else f"pieces of {block_bytes:,} bytes of "
    match source:
        case stages.Concat(parts=parts) | stages.Mix(parts=parts):
            return [name for part in parts for name in _names(part, block_bytes)]
        case stages.Files() | Source(has_pieces=True, piece="file"):
            return [f"{blocks}the files of {source.name}"]
        case Source(has_pieces=True, piece=piece):
            return [f"the {piece}s of {source.name}"]
    return []
