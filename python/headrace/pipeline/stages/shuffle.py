"""`shuffle`: a different order in each epoch, of all examples or over a window."""

import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Final, Literal, Self

from headrace.core import engine
from headrace.pipeline.stages.arguments import checked_int
from headrace.pipeline.stages.chain import Chain
from headrace.pipeline.stages.components import has_epochs
from headrace.pipeline.stages.random_access import check_reachable, pieces_before, shard_of_pieces
from headrace.pipeline.stages.stage import Effect, KeepsComponents, Planning, Stage

__all__ = ["Shuffle", "ShuffleMethod", "files_of_window"]

# The number of files that a window reads at once, by default.
_NUM_OPEN: Final = 16
# Each open file takes memory, and systems limit how many there are.
_MOST_OPEN: Final = 10_000


@dataclass(frozen=True)
class Shuffle(KeepsComponents):
    """A different order in each epoch: of all examples, or over a window.

    Attributes:
        window: The number of waiting examples; None for all.
        seed: The seed of the orders.
        is_seed_given: Whether the program gave the seed.
        index: The record offsets of files, or the borders of their pieces, once known. Kept
            between iterations.
        num_open: For a window, the largest number of files that are read in turn.
        file_order: For a window, the order of files: "shuffled" for another one in each epoch, or
            "sequential".
        block_bytes: For a window, the size of the pieces of files; None for whole files.
    """

    window: int | None
    seed: int
    is_seed_given: bool = field(compare=False, repr=False)
    index: engine.Index = field(default_factory=engine.Index, compare=False, repr=False)
    # These defaults differ from those of `Pipeline.shuffle`, so that states always name both.
    num_open: int = 1
    file_order: Literal["shuffled", "sequential"] = "sequential"
    block_bytes: int | None = None

    effect: ClassVar = Effect.REORDERS
    needs_values: ClassVar = False
    added_axes: ClassVar = 0
    draws: ClassVar = True

    @property
    def full_shuffle(self) -> bool:
        """Whether it shuffles all examples."""
        return self.window is None

    def length_after(self, length: float) -> float:
        """Returns how many examples come out of it."""
        return length

    def plan_into(self, planning: Planning) -> None:
        """Adds its work to a plan."""
        if self.window is None:
            planning.plan = planning.shuffle_all(self.index, self.seed)
            return
        seed = self.seed if self.file_order == "shuffled" else None
        plan = planning.plan
        shard = shard_of_pieces(planning.chain, planning.index)
        if (self.num_open, seed, shard) != (1, None, (0, 1)):
            size = self.block_bytes
            blocks = None if size is None else engine.Blocks(size, self.index, planning.indexes)
            plan = plan.in_pieces(self.num_open, seed, shard, blocks)
        planning.plan = plan.window(self.window, self.seed)


class ShuffleMethod(Chain):
    """The method `shuffle`."""

    __slots__ = ()

    def shuffle(
        self,
        window: int | None = None,
        seed: int | None = None,
        num_open: int = _NUM_OPEN,
        file_order: Literal["shuffled", "sequential"] = "shuffled",
        block_bytes: int | None = None,
    ) -> Self:
        """Shuffles the examples, in a different order in each epoch.

        Without `window`, this is a full shuffle: any example can come first. It needs random
        access, so it can follow every source except `iterable` and `mix`, as long as the files are
        not compressed. Only stages that make one example from one, such as `parse` and `map`, may
        come between; so may `cache` and `split`. Files are scanned once for the positions of their
        records. The positions are stored in index files, so later runs start without a scan; see
        `options(index=...)`. An index is used as long as the file keeps its size and modification
        time, or its ETag. After `parquet` and `arrow`, the shuffle holds all selected columns in
        memory.

        With `window`, the shuffle holds that many examples and draws each next example from them.
        It also permutes the source's files in each epoch and reads `num_open` of them in turn, one
        example from each. Files keep their order if `take`, `skip`, `shard`, `zip`, a batch,
        `cache` or another shuffle comes before the window, because these depend on the order.

        With `block_bytes`, the shuffle permutes blocks of files instead of whole files. A small
        window then mixes almost as well as a full shuffle, and reads are still `block_bytes` long.
        A block consists of the whole records that begin in its bytes. These are always one block: a
        compressed file, a file of `files` or of a class folder, and a Parquet row group. CSV,
        TFRecord and tar files are indexed when their first block is read. If you use `with_origin`,
        `split` or random draws after blocks, or if an error needs a line number, the file is read a
        second time to count its records.

        Args:
            window: The number of examples that wait to be drawn, at least 1. None for a full
                shuffle.
            seed: The same seed always results in the same orders. From 0 to 2^63 - 1. None picks a
                random seed now.
            num_open: With a window, the number of files that are read in turn.
            file_order: With a window, "shuffled" permutes the files in each epoch and "sequential"
                keeps the order of the source. With "sequential" and `num_open=1`, each example
                moves forward by at most `window` places.
            block_bytes: With a window, the size of the blocks to permute, such as `4 << 20`. Small
                blocks mix better, and large ones are faster to read.

        Raises:
            ValueError: If an argument is out of range. Also if `num_open`, `file_order` or
                `block_bytes` is set without `window`, if `block_bytes` is set with
                `file_order="sequential"`, if a full shuffle has no random access, or if it follows
                `epochs`.

        Examples:
            >>> pipe = hr.arrays({"x": range(6)}).shuffle(seed=7).batch(6)
            >>> for epoch in range(2):
            ...     for batch in pipe.epoch(epoch):
            ...         print(batch["x"])
            [3 0 5 1 2 4]
            [2 4 0 3 1 5]
        """
        if has_epochs(self._stages):
            raise ValueError(
                "shuffle: it follows epochs, but epochs never mix. Write shuffle(...) before "
                "epochs(...)."
            )
        if checked_int("shuffle", "num_open", num_open, 1) > _MOST_OPEN:
            raise ValueError(f"shuffle: num_open is {num_open}, expected at most {_MOST_OPEN:,}.")
        if file_order not in ("shuffled", "sequential"):
            raise ValueError(
                f"shuffle: file_order is {file_order!r}, expected 'shuffled', for another order in "
                "each epoch, or 'sequential'."
            )
        chosen = secrets.randbits(63) if seed is None else checked_int("shuffle", "seed", seed, 0)
        if window is not None:
            checked_int("shuffle", "window", window, 1)
            if block_bytes is not None:
                checked_int("shuffle", "block_bytes", block_bytes, 1)
                if file_order == "sequential":
                    raise ValueError(
                        f"shuffle: block_bytes is {block_bytes} and file_order is 'sequential', "
                        "expected only one of them, because block_bytes permutes parts of files. "
                        "Omit "
                        "file_order."
                    )
            shuffle = Shuffle(
                window,
                chosen,
                seed is not None,
                num_open=num_open,
                file_order=file_order,
                block_bytes=block_bytes,
            )
            return self._then(shuffle)
        if num_open != _NUM_OPEN or file_order != "shuffled" or block_bytes is not None:
            raise ValueError(
                "shuffle: num_open, file_order and block_bytes apply only to a window, but there "
                "is no window. Omit them, or pass a window, such as shuffle(window=10_000)."
            )
        check_reachable(self._stages)
        return self._then(Shuffle(None, chosen, seed is not None))


def files_of_window(chain: Sequence[Stage], shuffle: Shuffle) -> str:
    """Returns the order in which a window gets its examples, as text.

    Args:
        chain: The stages before the shuffle.
        shuffle: A shuffle over a window.
    """
    if not (names := pieces_before(chain, shuffle.block_bytes)):
        return "the examples reach the window in their order"
    files = " and ".join(dict.fromkeys(names))
    order = (
        "in another order in each epoch" if shuffle.file_order == "shuffled" else "in their order"
    )
    at_once = "one after the other" if shuffle.num_open == 1 else f"{shuffle.num_open} at once"
    return f"it reads {files} {order}, {at_once}"
