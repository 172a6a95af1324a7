"""`shard`: keeps one rank's share of the examples."""

import logging
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, ClassVar, Final, Literal, Self, TypeAlias, cast

from headrace.core.mesh_rank import check_no_model_parallel_mesh, is_mesh, mesh_rank
from headrace.core.process_rank import ProcessRank, process_rank
from headrace.pipeline.stages.arguments import checked_int
from headrace.pipeline.stages.chain import Chain
from headrace.pipeline.stages.components import all_stages, source_of, steps
from headrace.pipeline.stages.order_warnings import check_one_order
from headrace.pipeline.stages.random_access import (
    has_deferred_reads,
    is_sampled,
    needs_scan,
    pieces_before,
    reads_files,
    window_before,
)
from headrace.pipeline.stages.stage import Effect, KeepsComponents, Planning, Stage

__all__ = ["Even", "Shard", "ShardMethod", "read_by_shard"]

_log: Final = logging.getLogger("headrace.pipeline")

# How to handle the last examples if fewer examples than ranks are left.
Even: TypeAlias = Literal["drop", "pad"] | None


@dataclass(frozen=True)
class Shard(KeepsComponents):
    """Keeps every `count`-th example, starting at number `index`.

    Attributes:
        index: The rank.
        count: The number of ranks.
        even: How to handle the last examples if fewer examples than ranks are left.
        by: "example" to assign every `count`-th example, "piece" to assign whole files.
        taken_from: Where the rank and the number of ranks come from. Empty if the user passed them.
    """

    index: int
    count: int
    even: Even = field(default=None, metadata={"is_named": True})
    by: Literal["example", "piece"] = field(default="example", metadata={"is_named": True})
    taken_from: str = field(default="", compare=False, repr=False)

    effect: ClassVar = Effect.DIVIDES
    needs_values: ClassVar = False
    added_axes: ClassVar = 0

    @property
    def num_shares(self) -> int:
        """The number of ranks that the examples are divided among."""
        return self.count

    @property
    def makes_even(self) -> str | None:
        """How every rank gets the same number of examples, or None if ranks may differ."""
        return self.even

    @property
    def piece_shard(self) -> tuple[int, int] | None:
        """The rank and the number of ranks, if each rank reads different files, otherwise None."""
        return (self.index, self.count) if self.by == "piece" else None

    def length_after(self, length: float) -> float | None:
        """Returns the number of output examples, or None if each rank has its own files."""
        if self.by == "piece":
            return None
        if length == math.inf:
            return length
        if self.even == "drop":
            return length // self.count
        if self.even == "pad":
            return -(-length // self.count)
        return max(0, -((self.index - length) // self.count))

    def plan_into(self, planning: Planning) -> None:
        """Adds this step to a plan."""
        # With by="piece", the window before it reads only this rank's files. A sample after it
        # draws only from this rank's share.
        if self.by == "example" and not is_sampled(planning.chain, planning.index):
            planning.plan = planning.plan.shard(self.index, self.count, self.even, planning.lanes)


class ShardMethod(Chain):
    """The method `shard`."""

    __slots__ = ()

    def shard(
        self,
        index: Any = None,
        count: int | None = None,
        even: Even = None,
        by: Literal["example", "piece"] = "example",
    ) -> Self:
        """Keeps one rank's share: example `index`, and every `count`-th example after it.

        If you pass no arguments, the rank and the number of ranks come from `torch.distributed` or
        JAX if one of them is initialised. Otherwise, they come from the environment variables RANK
        and WORLD_SIZE. They are read when you call `shard`. `describe` shows the values and their
        source. If there are several ranks, the values are also logged once.

        If several processes need the same data, as in tensor parallelism, pass the data dimension
        of the mesh: `shard(mesh["dp"])`. Processes at the same position along this dimension then
        get the same examples.

        All ranks need the same order, so any shuffle or mix before `shard` needs a seed.

        If ranks wait for each other at every step, they also need the same number of batches, so
        set `even`. It works in every epoch, after `filter`, with files of different lengths, and
        when you resume with a different number of ranks. Stages after `shard` must then keep the
        number of examples, so call `filter`, `flat_map`, `unbatch`, `bucket_by_length`, `pack`,
        `split` and `skip_errors` before it.

        Args:
            index: The rank, from 0. Without `count`, you can also pass a one-dimensional
                `torch.distributed.DeviceMesh`, a PyTorch process group, or a pair of a
                `jax.sharding.Mesh` and an axis name.
            count: The number of ranks.
            even: How to end an epoch if fewer examples (or batches, after `batch`) are left than
                there are ranks. "drop" drops them. "pad" repeats them on the remaining ranks; a
                later `batch(..., remainder="pad")` sets `mask` to False for these copies. None
                assigns them to the first ranks.
            by: "example" assigns every `count`-th example. "piece" assigns whole files (or blocks,
                if the shuffle has `block_bytes`) and needs a shuffle with a window before it. Each
                rank then reads only its own files, which change every epoch, so ranks can have
                different numbers of examples. You can resume only on the same rank with the same
                number of ranks, except at the start of an epoch, when the number can change.
                Between the shuffle and `shard`, you can use `parse`, `select`, `rename`, `map`,
                `filter`, `flat_map` and `epochs`.

        Raises:
            RuntimeError: If you pass no arguments and the rank cannot be determined, or if PyTorch
                and JAX report different ranks.
            TypeError: If only one of `index` and `count` is passed, unless `index` is a mesh or a
                process group.
            ValueError: If `count` is below 1, or `index` is not below `count`. Also if the mesh has
                several dimensions or does not contain this process. Also if `even` or `by` is
                invalid or both are set, if `by="piece"` has no window before it or the examples do
                not come from files, or if `count` is above 1 and a shuffle or mix before it has no
                seed. Without arguments, also if RANK or WORLD_SIZE is not a valid number, or if the
                call is inside `with mesh:` and the mesh has a model-parallel dimension. Without
                `count`, also if an earlier stage has already taken one rank's share.

        Examples:
            >>> pipe = hr.arrays({"x": range(8)})
            >>> for rank in range(2):
            ...     print([int(example["x"]) for example in pipe.shard(rank, 2)])
            [0, 2, 4, 6]
            [1, 3, 5, 7]
        """
        if even not in (None, "drop", "pad"):
            raise ValueError(
                f"shard: even is {even!r}, expected 'drop' or 'pad' to give each rank the same "
                "number of examples, or None."
            )
        if by not in ("example", "piece"):
            raise ValueError(f"shard: by is {by!r}, expected 'example' or 'piece'.")
        if by == "piece" and even is not None:
            raise ValueError(
                f"shard: even={even!r} does not work with by='piece', because the number of "
                "examples in each rank's files is unknown. Remove by= to give each rank the same "
                "number."
            )
        if by == "piece":
            check_pieces(self._stages)
        taken_from = ""
        if count is None and (index is None or is_mesh(index)):
            self._check_first_of_process()
            index, count, taken_from = _found_rank(index)
        if index is None or count is None:
            raise TypeError(
                f"shard: index is {index} and count is {count}, but either both or neither must "
                "be set. Write shard(index, count), or shard() to use the rank of this process."
            )
        checked_int("shard", "count", count, 1)
        if checked_int("shard", "index", index, 0) >= count:
            raise ValueError(
                f"shard: index is {index}, expected a number less than count, which is {count}."
            )
        if count > 1:
            check_one_order(self._stages)
        return self._then(Shard(index, count, even, by, taken_from))

    def _check_first_of_process(self) -> None:
        """Raises ValueError if the pipeline already contains one rank's share."""
        for stage in self._stages:
            if isinstance(stage, Shard) and (stage.taken_from or stage.count > 1):
                source = (
                    f", the share of this process from {stage.taken_from}"
                    if stage.taken_from
                    else ""
                )
                raise ValueError(
                    f"shard: the pipeline already has shard({stage.index}, {stage.count}){source}, "
                    "and would drop most of it. Call shard once."
                )


def _found_rank(mesh: Any) -> ProcessRank:
    """Returns the rank of this process in a mesh, or among all processes for None."""
    if mesh is not None:
        return mesh_rank("shard", mesh)
    check_no_model_parallel_mesh("shard")
    rank = process_rank("shard")
    if rank.world_size > 1:
        _log_rank(rank)
    return rank


@cache
def _log_rank(rank: ProcessRank) -> None:
    _log.info(
        "shard: this process is rank %d of %d, taken from %s.",
        rank.rank,
        rank.world_size,
        rank.source,
    )


def check_pieces(chain: Sequence[Stage]) -> None:
    """Checks that the files before a window can be divided among ranks.

    Args:
        chain: The stages before `shard(by="piece")`.

    Raises:
        ValueError: If they cannot be divided.
    """
    where = "shard: by='piece' assigns whole files to each rank"
    window = window_before(chain)
    if window is None:
        raise ValueError(
            f"{where}, so it needs a windowed shuffle before it, and only parse, select, rename, "
            "map, filter, flat_map and epochs may come between. Write shuffle(window=...) before "
            "shard(..., by='piece')."
        )
    before = chain[:window]
    if any(stage.name == "mix" for stage in all_stages(before)):
        raise ValueError(
            f"{where}, but mix reads the files of each part separately. Remove by=, or call "
            "shuffle(window=...) and shard(..., by='piece') in each part."
        )
    if not pieces_before(before):
        raise ValueError(
            f"{where}, but the window does not shuffle whole files of {before[0].name}. Remove "
            "by=, or move take, skip, batches and cache after shard(...)."
        )


def read_by_shard(chain: Sequence[Stage], index: int) -> str:
    """Describes where a shard's rank comes from, and which share of the data it reads.

    Args:
        chain: All stages.
        index: The index of the `shard` stage.
    """
    shard = cast("Shard", chain[index])
    taken_from = f": rank from {shard.taken_from}" if shard.taken_from else ""
    return taken_from + _share_in_words(shard, chain, index)


def _share_in_words(shard: Shard, chain: Sequence[Stage], index: int) -> str:
    before = chain[:index]
    if shard.count == 1 or not reads_files(before):
        return ""
    if shard.by == "piece":
        return f"; it reads 1 of {shard.count} {_pieces(before)}, different ones in each epoch"
    full = [n for n, step in enumerate(steps(before), 1) if step.full_shuffle]
    if full and has_deferred_reads(chain, full[-1]):
        scan = ", and scans all files" if needs_scan(before) else ""
        return f"; it reads 1 of {shard.count} examples{scan}"
    return f"; it reads all examples and keeps 1 of {shard.count}"


def _pieces(chain: Sequence[Stage]) -> str:
    """Returns the term for the file pieces that are divided among ranks."""
    is_in_blocks = any(getattr(stage, "block_bytes", None) is not None for stage in chain)
    words = {"piece" if is_in_blocks and word == "file" else word for word in _words(chain)}
    return f"{words.pop() if len(words) == 1 else 'piece'}s"


def _words(chain: Sequence[Stage]) -> set[str]:
    source = source_of(chain)
    return {word for part in source.parts for word in _words(part)} or {source.piece}
