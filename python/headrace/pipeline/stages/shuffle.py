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

    @property
    def draws(self) -> bool:
        """True: its orders are drawn."""
        return True

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
            blocks = None if size is None else (size, self.index, planning.indexes)
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
        """Shuffles the examples, into a different order in each epoch.

        A window follows sources whose files it reads in another order in each epoch, `num_open` of
        them at once, one example of each in turn. These are the files before it, also through
        functions, filters, `concat` and `mix`. Files before `take`, `skip`, `shard`, `zip`,
        batches, `cache` and another shuffle keep their order, since those depend on it.

        With `block_bytes`, the pieces that are permuted and read in turn are not whole files but
        runs of whole records: those that begin in the same `block_bytes` bytes of a file. So a
        small window mixes nearly as a full shuffle does, and still reads `block_bytes` at a time.
        Pieces of text lines, JSON lines and records of fixed lengths need no index. CSV, TFRecords
        and tar archives are indexed when the first piece of a file is read (CSV since a line end
        between quotes ends no record). The borders are kept as the offsets of a full shuffle are. A
        compressed file is one piece, and so are a file of `files` or of a folder and a row group of
        Parquet. Line numbers in errors, `with_origin`, `split` and random draws need the number of
        the lines before a piece: they are counted when the first one is asked for, which reads the
        file once more.

        Args:
            window: The number of waiting examples from which the next is drawn, each equally
                likely. None for a full shuffle, which needs random access to all examples: after
                `arrays`, `tfrecords`, `text_lines`, `csv`, `json_lines`, `fixed_length_records`,
                `files`, `image_folder`, `audio_folder` and `webdataset` without compression, and
                `concat` and `zip` of these and of their parts by `split`, with only `parse`,
                `select`, `rename`, `map`, `with_origin` and `cache` between. A first scan finds the
                places of the records of files and writes them into indexes, with which the next
                start scans nothing; see `options(index=...)`. An index serves a file for as long as
                its size and time of change, or its ETag, are the same. After `parquet` all wanted
                columns are kept in memory.
            seed: From 0 to 2^63 - 1. The same seed gives the same orders. None draws a seed now.
            num_open: For a window, the number of files that are read at once.
            file_order: For a window, "shuffled" to permute the files in each epoch, or "sequential"
                for the order of the source. With `num_open=1` and "sequential", each example comes
                at most `window` places early.
            block_bytes: For a window, the size of the pieces that are permuted instead of whole
                files, such as `4 << 20`. Small pieces mix better; large ones are read faster.

        Raises:
            ValueError: If an argument is out of range, or says how files are read but there is no
                window, or `block_bytes` stands with `file_order="sequential"`; if there is no
                random access to all examples; or after `epochs`, also within combined pipelines:
                epochs never mix.
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
                        "expected one of them: blocks are parts of files in another order. Omit "
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
                "shuffle: num_open, file_order and block_bytes say how a window is filled, but "
                "there is no window. Omit them, or give a window, such as shuffle(window=10_000)."
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
