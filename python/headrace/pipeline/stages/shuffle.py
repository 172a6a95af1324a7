"""`shuffle`: a different order in each epoch, over all examples or a window."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Final, Literal, Self

from headrace.core import engine
from headrace.pipeline.stages.arguments import checked_int, random_seed
from headrace.pipeline.stages.chain import Chain
from headrace.pipeline.stages.components import has_epochs
from headrace.pipeline.stages.random_access import check_reachable, pieces_before, shard_of_pieces
from headrace.pipeline.stages.stage import Effect, KeepsComponents, Planning, Stage

__all__ = ["Shuffle", "ShuffleMethod", "files_of_window"]

# The default number of files that a window reads at a time.
_NUM_OPEN: Final = 16
# Every open file uses memory, and the operating system limits their number.
_MOST_OPEN: Final = 10_000


@dataclass(frozen=True)
class Shuffle(KeepsComponents):
    """Shuffles all examples or a window of them, differently in each epoch.

    Attributes:
        window: The number of examples in the window, or None for a full shuffle.
        seed: The seed that determines the orders.
        is_seed_given: Whether the user passed the seed.
        index: The record positions of the files, or the boundaries of their blocks, once known.
            Kept between iterations.
        num_open: With a window, the maximum number of files to read in turn.
        file_order: With a window, "shuffled" for a different file order in each epoch, or
            "sequential".
        block_bytes: With a window, the block size in bytes, or None for whole files.
    """

    window: int | None
    seed: int
    is_seed_given: bool = field(compare=False, repr=False)
    index: engine.Index = field(default_factory=engine.Index, compare=False, repr=False)
    # These defaults differ from `Pipeline.shuffle`'s. States therefore always include both fields.
    num_open: int = 1
    file_order: Literal["shuffled", "sequential"] = "sequential"
    block_bytes: int | None = None

    effect: ClassVar = Effect.REORDERS
    needs_values: ClassVar = False
    added_axes: ClassVar = 0
    draws: ClassVar = True

    @property
    def full_shuffle(self) -> bool:
        """Whether this is a full shuffle."""
        return self.window is None

    def length_after(self, length: float) -> float:
        """Returns the number of output examples."""
        return length

    def plan_into(self, planning: Planning) -> None:
        """Adds this step to a plan."""
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
        """Shuffles the examples, in a different order each epoch.

        Without `window`, this is a full shuffle: any example can come first. It needs random
        access, so it can follow any source except `iterable` and `mix`, as long as the files are
        not compressed. In between, you can only use `cache`, `split` and stages that turn each
        example into one example, such as `parse` and `map`. Files are scanned once to find their
        records. The positions are saved in index files, so later runs start without a scan (see
        `options(index=...)`). An index is valid as long as the file's size and modification time,
        or its ETag, stay the same. After `parquet` and `arrow`, the shuffle holds all selected
        columns in memory.

        With `window`, the shuffle holds that many examples and draws each next example at random.
        It also shuffles the order of the source's files in each epoch, and reads `num_open` files
        at a time, one example from each in turn. Files keep their order if `take`, `skip`, `shard`,
        `zip`, a batch, `cache` or another shuffle comes before the window, because these stages
        depend on the order.

        With `block_bytes`, the shuffle reorders blocks of files instead of whole files. A small
        window then mixes almost as well as a full shuffle, and reads are still `block_bytes` long.
        A block contains every record that starts within its bytes. Compressed files, files from
        `files` or from a class folder, and Parquet row groups are never divided. CSV, TFRecord and
        tar files are indexed when their first block is read. A file is read a second time, to count
        its records, if you use `with_origin`, `split` or random draws, or if an error needs a line
        number.

        Args:
            window: The number of examples that the window holds, at least 1. None for a full
                shuffle.
            seed: The same seed always gives the same orders. Must be between 0 and 2^63 - 1. If
                None, this call picks a random seed.
            num_open: With a window, the number of files to read at a time.
            file_order: With a window, "shuffled" reorders the files in each epoch, and "sequential"
                keeps their order. With "sequential" and `num_open=1`, an example moves forward by
                at most `window` places.
            block_bytes: With a window, the size of the blocks to reorder, such as `4 << 20`. Small
                blocks mix better, and large ones are faster to read.

        Raises:
            ValueError: If an argument is out of range. Also if `num_open`, `file_order` or
                `block_bytes` is set without `window`, if `block_bytes` is combined with
                `file_order="sequential"`, if a full shuffle has no random access, or if the shuffle
                follows `epochs`.

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
                "shuffle: cannot come after epochs, because examples of different epochs are "
                "never mixed. Write shuffle(...) before epochs(...)."
            )
        if checked_int("shuffle", "num_open", num_open, 1) > _MOST_OPEN:
            raise ValueError(f"shuffle: num_open is {num_open}, expected at most {_MOST_OPEN:,}.")
        if file_order not in ("shuffled", "sequential"):
            raise ValueError(
                f"shuffle: file_order is {file_order!r}, expected 'shuffled' for a different "
                "order in each epoch, or 'sequential'."
            )
        chosen = random_seed() if seed is None else checked_int("shuffle", "seed", seed, 0)
        if window is not None:
            checked_int("shuffle", "window", window, 1)
            if block_bytes is not None:
                checked_int("shuffle", "block_bytes", block_bytes, 1)
                if file_order == "sequential":
                    raise ValueError(
                        f"shuffle: block_bytes is {block_bytes}, but file_order is 'sequential'. "
                        "block_bytes shuffles parts of files, so it does not work with this "
                        "file_order. Remove one of the two."
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
                "shuffle: num_open, file_order and block_bytes work only with a window. Remove "
                "them, or pass a window, such as shuffle(window=10_000)."
            )
        check_reachable(self._stages)
        return self._then(Shuffle(None, chosen, seed is not None))


def files_of_window(chain: Sequence[Stage], shuffle: Shuffle) -> str:
    """Describes the order in which a window reads its examples.

    Args:
        chain: The stages before the shuffle.
        shuffle: A shuffle with a window.
    """
    if not (names := pieces_before(chain, shuffle.block_bytes)):
        return "the window gets the examples in their original order"
    files = " and ".join(dict.fromkeys(names))
    order = (
        "in a different order in each epoch"
        if shuffle.file_order == "shuffled"
        else "in their order"
    )
    at_once = "one at a time" if shuffle.num_open == 1 else f"{shuffle.num_open} at a time"
    return f"it reads {files} {order}, {at_once}"
