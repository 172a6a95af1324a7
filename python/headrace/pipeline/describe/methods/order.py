"""Methods of a pipeline that choose examples, or change their order."""

import secrets
from typing import Final, Literal, Self

from headrace.core.process_rank import process_rank
from headrace.pipeline.describe import stages
from headrace.pipeline.describe.arguments import checked_int
from headrace.pipeline.describe.methods.chain import Chain
from headrace.pipeline.describe.random_access import check_reachable
from headrace.pipeline.describe.sharding.piece_shards import check_pieces
from headrace.pipeline.describe.stages import Even
from headrace.pipeline.plan.splits import splits
from headrace.pipeline.run.order_advice import check_one_order, warn_of_leaks

__all__ = ["OrderMethods"]


# The number of files that a window reads at once, by default.
_NUM_OPEN: Final = 16
# Each open file takes memory, and systems limit how many there are.
_MOST_OPEN: Final = 10_000


class OrderMethods(Chain):
    """Stages that keep some of the examples, or change their order."""

    __slots__ = ()

    def take(self, count: int) -> Self:
        """Keeps the first `count` examples, or batches after `batch`.

        Args:
            count: Their number, from 0.

        Raises:
            ValueError: If `count` is negative.
        """
        return self._then(stages.Take(checked_int("take", "count", count, 0)))

    def skip(self, count: int) -> Self:
        """Omits the first `count` examples, or batches after `batch`.

        Args:
            count: Their number, from 0.

        Raises:
            ValueError: If `count` is negative.
        """
        return self._then(stages.Skip(checked_int("skip", "count", count, 0)))

    def split(self, *shares: float, seed: int = 0) -> tuple[Self, ...]:
        """Returns pipelines that divide the examples, such as those for training and validation.

        `train, held_out = pipe.split(0.9, 0.1)`. Each example is in one of them, in the same one in
        all epochs, processes, ranks and resumes, wherever a shuffle comes: it depends on the seed,
        the number of its file and the number of its record in the file, also within combinations.
        Examples of a part keep their order. All examples that `flat_map` or `unbatch` makes of one
        record stay together. Shares hold on average: of 1,000 examples, 0.1 are 100 give or take 10
        or 20.

        Examples of `iterable` and `parquet` are numbered in order, so they have to come in the same
        order each time.

        Args:
            *shares: The share of each part, above 0; together 1.
            seed: From 0 to 2^63 - 1. Another seed divides the examples differently.

        Raises:
            TypeError: If a share is not a number.
            ValueError: If there are fewer than two shares, or they do not add up to 1, if `seed` is
                out of range, or after stages that group examples: batches and `pack`.
        """
        return tuple(self._then(stage) for stage in splits(self.stages, shares, seed))

    def shard(
        self,
        index: int | None = None,
        count: int | None = None,
        even: Even = None,
        by: Literal["example", "piece"] = "example",
    ) -> Self:
        """Keeps the share of one rank: every `count`-th example, from number `index` on.

        Without arguments they are the rank of this process and the number of processes, as
        `torch.distributed` or JAX has them, whichever is initialised, or else the variables RANK
        and WORLD_SIZE. They are taken now; `describe()` shows them and their source.

        All ranks need the same order. So a shuffle or a mix before this must have a seed.

        Ranks that wait for each other at each step need equally many batches. With `even`, they get
        equally many, in each epoch, also after `filter`, in files of different lengths, and after a
        resume with another number of ranks. No rank needs to know a length for that. What follows
        must not change the number of examples: a later `filter`, `flat_map`, `unbatch`,
        `bucket_by_length`, `pack`, `split` or `skip_errors` is refused; write it before.

        Args:
            index: The rank, from 0.
            count: The number of ranks.
            even: The treatment of the last examples of an epoch (after `batch` of the last batches)
                if they are fewer than ranks: "drop" drops them; with "pad" the ranks that have none
                repeat them in turn, and `mask` is false for these in a later
                `batch(..., remainder="pad")`. None gives them to the first ranks.
            by: "example" for every `count`-th example of the one order. "piece" after a shuffle
                over a window: each rank gets every `count`-th of the files (the pieces that the
                window reads), in another order in each epoch, and reads no other. Then ranks have
                as many examples as their files have, the window is filled from these, and a state
                serves the same rank of as many ranks alone; an epoch may begin with others. Between
                the window and this may be `parse`, `select`, `rename`, `map`, `filter`, `flat_map`
                and `epochs`.

        Raises:
            RuntimeError: If there are no arguments and no rank is known.
            TypeError: If only one of `index` and `count` is given.
            ValueError: If `count` is not at least 1, or `index` not below it; if `even` or `by` is
                none of these, or both are given; if there is no window before `by="piece"`, or its
                examples do not come by files; if `count` is above 1 and a shuffle or a mix before
                this has no seed, since each process would draw its own; if RANK and WORLD_SIZE are
                not a rank and a number of processes.
        """
        if even not in (None, "drop", "pad"):
            raise ValueError(
                f"shard: even is {even!r}, expected 'drop' or 'pad' for equally many examples on "
                "each rank, or None."
            )
        if by not in ("example", "piece"):
            raise ValueError(f"shard: by is {by!r}, expected 'example' or 'piece'.")
        if by == "piece" and even is not None:
            raise ValueError(
                f"shard: even is {even!r} and by is 'piece', expected one of them: how many "
                "examples the files of each rank have is not known. Omit by for equal ranks."
            )
        if by == "piece":
            check_pieces(self.stages)
        taken_from = ""
        if index is None and count is None:
            index, count, taken_from = process_rank("shard")
        if index is None or count is None:
            raise TypeError(
                f"shard: index is {index} and count {count}, expected both or neither. Write "
                "shard(index, count), or shard() for the rank of this process."
            )
        checked_int("shard", "count", count, 1)
        if checked_int("shard", "index", index, 0) >= count:
            raise ValueError(
                f"shard: index is {index}, expected one below count, which is {count}."
            )
        if count > 1:
            check_one_order(self.stages)
        return self._then(stages.Shard(index, count, even, by, taken_from))

    def shuffle(
        self,
        window: int | None = None,
        seed: int | None = None,
        num_open: int = _NUM_OPEN,
        files: Literal["shuffled", "in order"] = "shuffled",
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
            files: For a window, "shuffled" to permute the files in each epoch, or "in order" for
                the order of the source. With `num_open=1` and "in order", each example comes at
                most `window` places early.
            block_bytes: For a window, the size of the pieces that are permuted instead of whole
                files, such as `4 << 20`. Small pieces mix better; large ones are read faster.

        Raises:
            ValueError: If an argument is out of range, or says how files are read but there is no
                window, or `block_bytes` stands with `files="in order"`; if there is no random
                access to all examples; or after `epochs`, also within combined pipelines: epochs
                never mix.
        """
        if stages.has_epochs(self.stages):
            raise ValueError(
                "shuffle: it follows epochs, but epochs never mix. Write shuffle(...) before "
                "epochs(...)."
            )
        if checked_int("shuffle", "num_open", num_open, 1) > _MOST_OPEN:
            raise ValueError(f"shuffle: num_open is {num_open}, expected at most {_MOST_OPEN:,}.")
        if files not in ("shuffled", "in order"):
            raise ValueError(
                f"shuffle: files is {files!r}, expected 'shuffled', for another order in each "
                "epoch, or 'in order'."
            )
        chosen = secrets.randbits(63) if seed is None else checked_int("shuffle", "seed", seed, 0)
        if window is not None:
            checked_int("shuffle", "window", window, 1)
            if block_bytes is not None:
                checked_int("shuffle", "block_bytes", block_bytes, 1)
                if files == "in order":
                    raise ValueError(
                        f"shuffle: block_bytes is {block_bytes} and files is 'in order', expected "
                        "one of them: blocks are parts of files in another order. Omit files."
                    )
            shuffle = stages.Shuffle(
                window,
                chosen,
                seed is not None,
                num_open=num_open,
                files=files,
                block_bytes=block_bytes,
            )
            return self._then(shuffle)
        if num_open != _NUM_OPEN or files != "shuffled" or block_bytes is not None:
            raise ValueError(
                "shuffle: num_open, files and block_bytes say how a window is filled, but there is "
                "no window. Omit them, or give a window, such as shuffle(window=10_000)."
            )
        check_reachable(self.stages)
        return self._then(stages.Shuffle(None, chosen, seed is not None))

    def epochs(self, count: int | None = None) -> Self:
        """Repeats everything before it `count` times, or without end.

        An epoch may yield nothing, for example because a `filter` on random draws keeps no example.
        The other epochs still follow.

        Args:
            count: The number of epochs, from 0. None repeats without end, unless 100 epochs in a
                row yield nothing: then the source counts as empty, and the iteration ends.

        Raises:
            ValueError: If `count` is negative.
        """
        chosen = None if count is None else checked_int("epochs", "count", count, 0)
        if chosen is None or chosen > 1:
            warn_of_leaks(self.stages)
        return self._then(stages.Epochs(chosen))
