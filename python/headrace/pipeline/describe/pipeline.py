"""The pipeline itself: an immutable description, which grows by its methods."""

import os
import secrets
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any, Final, Literal, NoReturn

from headrace.core.errors import OutOfRangeError
from headrace.core.process_rank import process_rank
from headrace.pipeline.describe import stages
from headrace.pipeline.describe.arguments import (
    check_bool,
    check_budget,
    check_function,
    check_remainder,
    checked_directory,
    checked_int,
    checked_ints,
    checked_names,
    checked_num_callers,
    checked_seconds,
)
from headrace.pipeline.describe.even_ranks import check_even
from headrace.pipeline.describe.features import as_feature
from headrace.pipeline.describe.lengths import length_of
from headrace.pipeline.describe.padding import as_values
from headrace.pipeline.describe.piece_shards import check_pieces, read_by_shard
from headrace.pipeline.describe.random_access import (
    check_reachable,
    check_skippable,
    keeps_all,
    needs_scan,
)
from headrace.pipeline.describe.source import InferredSource, Source
from headrace.pipeline.describe.specs import (
    Known,
    Specs,
    after,
    batch_depth,
    gives_anything,
    known_names,
    runs_python,
    static_specs,
)
from headrace.pipeline.describe.stages import Even, Remainder, Stage
from headrace.pipeline.describe.types import Spec
from headrace.pipeline.describe.window_files import files_of_window
from headrace.pipeline.outputs.arrow import check_arrow, record_batches
from headrace.pipeline.outputs.jax import JaxBatches, check_jax
from headrace.pipeline.outputs.ray_data import ray_dataset
from headrace.pipeline.outputs.torch import TorchLoader, torch_loader
from headrace.pipeline.plan.index_files import (
    IndexMode,
    checked_mode,
    index_files,
    places_of_records,
)
from headrace.pipeline.plan.spec_inference import chain_specs
from headrace.pipeline.plan.splits import splits
from headrace.pipeline.run.batches import Batches
from headrace.pipeline.run.count import count_of
from headrace.pipeline.run.order_advice import History, check_one_order, warn_of_leaks
from headrace.pipeline.run.state import resumed
from headrace.pipeline.run.string_arrays import StringKind, checked_kind

__all__ = ["Pipeline"]

# The number of files that a window reads at once, by default.
_NUM_OPEN: Final = 16
# Each open file takes memory, and systems limit how many there are.
_MOST_OPEN: Final = 10_000


class Pipeline:
    """A source of examples and the stages that they go through.

    Made by a function such as `headrace.tfrecords`, not by its constructor. Each method returns a
    new pipeline. No file is opened and no thread is started before it is iterated. The batches
    depend only on this description and the data, not on the number of threads, on memory or on
    timing.

    Two pipelines are equal if their stages are equal: seeds included, Python functions by identity.

    Attributes:
        stages: The source, and the stages after it.
    """

    __slots__ = ("_base", "_history", "_known", "_options", "_specs", "stages")

    def __init__(
        self,
        chain: tuple[Stage, ...],
        options: Mapping[str, Any] | None = None,
        base: "Pipeline | None" = None,
    ) -> None:
        self.stages: Final = chain
        # The pipeline without the last stage, which may know its components already.
        self._base: Final = base
        self._options: Final = dict(options or {})
        self._specs: Final = static_specs(chain)
        self._known: Known | None = None
        self._history: Final = History(chain)

    def parse(self, features: Mapping[str, Any]) -> "Pipeline":
        """Reads the component `record` as an `Example`, and replaces it by components.

        Args:
            features: For each feature its type, for a scalar; or a `Feature`, or a `Ragged`; or
                TensorFlow 1's `FixedLenFeature`, `VarLenFeature` and `FixedLenSequenceFeature` of
                scalars, which are lists. An `Example` holds int64, float32 and bytes. A warning
                names each list that none of the first 1,000 records has.

        Raises:
            TypeError: If a feature does not have a type that an `Example` holds.
            ValueError: If there are no features, there is no component `record`, or a name is
                taken.
        """
        if not isinstance(features, Mapping) or not all(isinstance(n, str) for n in features):
            raise TypeError(
                f"parse: features are {features!r}, expected a dict of types, such as "
                "{'image': bytes, 'label': int}."
            )
        if not features:
            raise ValueError("parse: no features given, expected at least one.")
        chosen = tuple((name, as_feature(name, feature)) for name, feature in features.items())
        return self._then(stages.Parse(chosen))

    def map(
        self,
        function: Callable[..., Mapping[str, Any]],
        seed: int | None = None,
        num_threads: int = 1,
        num_processes: int = 0,
    ) -> "Pipeline":
        """Replaces each example (after `batch` each batch) by a function's result for it.

        The function gets a dict of NumPy scalars, `bytes` and `str` objects and read-only arrays,
        and returns a dict of such values, with the same names for each example. It is called in
        order, in a separate thread, or by several threads at the same time; results come in order
        all the same. The components that it returns are learned from the first example, in an extra
        call if `spec` is used before an iteration begins and no `cache` follows.

        It may return Python values too, and nothing is rounded: `bool` becomes bool, `int` int64,
        `float` float64 (write `np.float32(x)` for less), alone or in lists whose items have equal
        lengths. An empty list gets the type that the component has in other examples.

        Args:
            function: The function, called for each example, or for each batch.
            seed: With a seed, from 0 to 2^63 - 1, the function gets a `numpy.random.Generator` as
                its second argument. Its draws depend only on the seed, the epoch and the position
                of the example in its source (after `batch` the number of the batch). Two functions
                with one seed get the same draws. A generator that the function keeps stays that of
                its example.
            num_threads: The number of threads that call the function at the same time; it must be
                safe to call from several threads then. That helps where it releases Python's global
                lock, as OpenCV, Pillow and NumPy do for large arrays. A state serves any number.
            num_processes: The number of processes that call the function, in place of threads of
                this one; 0 for none. That helps where it holds Python's lock. Arrays and strings go
                there and back through shared memory. Other processes must be able to import the
                function, or cloudpickle must be installed (the extra `processes`).

        Raises:
            TypeError: If the function cannot be called.
            ValueError: If `seed` or `num_threads` is out of range, or `num_threads` is more than 1
                for a native function or one that keeps a state.
        """
        check_function("map", function)
        chosen = None if seed is None else checked_int("map", "seed", seed, 0)
        callers = checked_num_callers("map", function, num_threads, num_processes)
        return self._then(stages.Map(function, chosen, *callers))

    def with_origin(self) -> "Pipeline":
        """Adds where each example came from: `file`, as found, and `record_number`, from 0.

        Raises:
            ValueError: If it does not come right after a source of files, or there is a component
                of one of these names.
        """
        if len(self.stages) > 1 or not isinstance(self.stages[0], (stages.Files, Source)):
            raise ValueError(
                f"with_origin: it follows {self.stages[-1].name}, expected a source of files right "
                "before it. Write it behind the source."
            )
        return self._then(stages.WithOrigin())

    def filter(
        self,
        function: Callable[[dict[str, Any]], object],
        num_threads: int = 1,
        num_processes: int = 0,
    ) -> "Pipeline":
        """Keeps the examples for which a function is true. It is called as that of `map`.

        Args:
            function: The function to call for each example, or for each batch.
            num_threads: As for `map`: how many threads call it.
            num_processes: As for `map`: how many processes call it.

        Raises:
            TypeError: If it cannot be called.
            ValueError: If `num_threads` is refused, as by `map`.
        """
        check_function("filter", function)
        callers = checked_num_callers("filter", function, num_threads, num_processes)
        return self._then(stages.Filter(function, *callers))

    def flat_map(
        self,
        function: Callable[..., Iterable[Mapping[str, Any]]],
        seed: int | None = None,
        num_threads: int = 1,
        num_processes: int = 0,
    ) -> "Pipeline":
        """Replaces each example by all those that a function returns or yields for it.

        Args:
            function: The function, called for each example; its values are as for `map`.
            seed: As for `map`: with a seed, the function gets a generator as its second argument.
            num_threads: As for `map`: how many threads call it.
            num_processes: As for `map`: how many processes call it.

        Raises:
            TypeError: If it cannot be called.
            ValueError: After `batch`, or if `seed` is out of range, or `num_threads` is refused.
        """
        check_function("flat_map", function)
        if batch_depth(self.stages):
            raise ValueError("flat_map: it follows a batch, expected examples. Use unbatch before.")
        chosen = None if seed is None else checked_int("flat_map", "seed", seed, 0)
        callers = checked_num_callers("flat_map", function, num_threads, num_processes)
        return self._then(stages.FlatMap(function, chosen, *callers))

    def select(self, *names: str) -> "Pipeline":
        """Keeps the components of these names, in this order.

        Raises:
            TypeError: If one is not a string.
            ValueError: If there are no names, a name occurs twice, or there is no component of a
                name.
        """
        return self._then(stages.Select(checked_names("select", names)))

    def rename(self, **names: str) -> "Pipeline":
        """Renames components: after `rename(old="new")` the component `old` is called `new`.

        The old name comes first, as in pandas, polars and xarray. For a name that is not an
        identifier write `rename(**{"old name": "new"})`.

        Raises:
            TypeError: If a new name is not a string.
            ValueError: If there are no names, there is no component of an old name, or two
                components would have the same name.
        """
        checked_names("rename", names.values())
        return self._then(stages.Rename(tuple(names.items())))

    def take(self, count: int) -> "Pipeline":
        """Keeps the first `count` examples, or batches after `batch`.

        Raises:
            ValueError: If `count` is negative.
        """
        return self._then(stages.Take(checked_int("take", "count", count, 0)))

    def skip(self, count: int) -> "Pipeline":
        """Omits the first `count` examples, or batches after `batch`.

        Raises:
            ValueError: If `count` is negative.
        """
        return self._then(stages.Skip(checked_int("skip", "count", count, 0)))

    def split(self, *shares: float, seed: int = 0) -> "tuple[Pipeline, ...]":
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
    ) -> "Pipeline":
        """Keeps every `count`-th example from number `index` on: one reader's share of `count`.

        Without arguments they are the rank of this process and the number of processes, as
        `torch.distributed` or JAX has them, whichever is initialised, or else the variables RANK
        and WORLD_SIZE. They are taken now; `describe()` says which, and from whom.

        All readers need the same order. So a shuffle or a mix before this must have a seed.

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
            by: "example" for every `count`-th example of the one order. "piece" behind a shuffle
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
                "examples the files of each rank have is not known. Leave out by for equal ranks."
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
    ) -> "Pipeline":
        """Puts the examples into another order, which is another one in each epoch.

        A window follows sources whose files it reads in another order in each epoch, `num_open` of
        them at once, one example of each in turn. These are the files before it, also through
        functions, filters, `concat` and `mix`. Files before `take`, `skip`, `shard`, `zip`,
        batches, `cache` and another shuffle keep their order, since those depend on it.

        With `block_bytes`, the pieces that are permuted and read in turn are not whole files but
        runs of whole records: those that begin in the same `block_bytes` bytes of a file. So a
        small window mixes nearly as a full shuffle does, and still reads `block_bytes` at a time.
        Pieces of text lines, JSON lines and records of fixed lengths need no index. CSV,
        TFRecords and tar archives are indexed when the first piece of a file is read (CSV since a
        line end between quotes ends no record). The borders are kept as the offsets of a full
        shuffle are. A compressed file is one piece, and so is one of Parquet, `files` or
        `image_folder`. Line numbers in errors, `with_origin`, `split` and random draws need the
        number of the lines before a piece: they are counted when the first one is asked for,
        which reads the file once more.

        Args:
            window: The number of waiting examples from which the next is drawn, each equally
                likely. None for a full shuffle, which needs random access to all examples: after
                `arrays`, `tfrecords`, `text_lines`, `csv`, `json_lines`, `fixed_length_records`,
                `files`, `image_folder` and `webdataset` without compression, and `concat` of these,
                with only `parse`, `select`, `rename`, `map`, `with_origin` and `cache` between. A
                first scan finds the places of the records of files and writes them into indexes,
                with which the next start scans nothing; see `options(index=...)`. An index serves
                a file for as long as its size and time of change, or its ETag, are the same.
                After `parquet` all wanted columns are kept in memory.
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
                        "one of them: blocks are parts of files in another order. Leave out files."
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
                "no window. Leave them out, or give a window, such as shuffle(window=10_000)."
            )
        check_reachable(self.stages)
        return self._then(stages.Shuffle(None, chosen, seed is not None))

    def epochs(self, count: int | None = None) -> "Pipeline":
        """Repeats everything before it `count` times, or without end.

        Raises:
            ValueError: If `count` is negative.
        """
        chosen = None if count is None else checked_int("epochs", "count", count, 0)
        if chosen is None or chosen > 1:
            warn_of_leaks(self.stages)
        return self._then(stages.Epochs(chosen))

    def batch(self, size: int, remainder: Remainder = "keep") -> "Pipeline":
        """Puts examples together: each component becomes an array with one more leading axis.

        Args:
            size: Examples of a batch, at least 1.
            remainder: The treatment of an incomplete last batch: "keep" returns a smaller batch,
                "drop" drops it, "pad" adds zeros and empty strings up to `size`, and to all batches
                a bool component `mask`, which is false for the added examples.

        Raises:
            ValueError: If `size` or `remainder` is invalid, or a component is a list of any length.
        """
        checked_int("batch", "size", size, 1)
        check_remainder("batch", remainder)
        return self._then(stages.Batch(size, remainder))

    def padded_batch(
        self,
        size: int,
        values: Any = None,
        multiple_of: int = 1,
        remainder: Remainder = "keep",
    ) -> "Pipeline":
        """As `batch`; lists of any length are filled up to the longest one of the batch.

        A list is a component whose first axis has no known length: see `spec`. Each array that a
        Python function returns is one, even if all have the same shape; in a native function
        `hr.ops.ensure_shape` sets known lengths.

        Args:
            size: Examples of a batch, at least 1.
            values: The padding values: None for zeros and empty strings, one number for all numbers
                or one string for all strings, or a dict with a value for some names. Each has to
                fit its component: an int64 cannot be padded with 0.5.
            multiple_of: Lengths are padded to a multiple of this, at least 1.
            remainder: As for `batch`.

        Raises:
            TypeError: If a value is neither a number nor a string.
            ValueError: If `size`, `multiple_of` or `remainder` is out of range, or a value has no
                component, or does not fit it.
        """
        checked_int("padded_batch", "size", size, 1)
        checked_int("padded_batch", "multiple_of", multiple_of, 1)
        check_remainder("padded_batch", remainder)
        chosen = as_values("padded_batch", values)
        return self._then(stages.PaddedBatch(size, chosen, multiple_of, remainder))

    def bucket_by_length(
        self,
        name: str,
        boundaries: Iterable[int],
        size: int | None = None,
        max_elements: int | None = None,
        pad_to_boundary: bool = False,
        remainder: Remainder = "keep",
        values: Any = None,
    ) -> "Pipeline":
        """Puts examples of similar lengths together, and fills them up as `padded_batch` does.

        Each bucket collects examples in order; a batch is returned as soon as its bucket has
        enough.

        Args:
            name: The component whose length decides: a list, or an array, by its first axis.
            boundaries: The longest length of each bucket, ascending. Longer examples go into a last
                bucket.
            size: Number of examples in a batch.
            max_elements: The largest number of elements of the component in a batch, padding
                included; a longer example is a batch on its own. Give this, or `size`, or both.
            pad_to_boundary: Whether lists, and the component, are padded to the boundary of the
                bucket rather than to the longest of the batch.
            remainder: As for `batch`; "pad" needs `size` alone.
            values: As for `padded_batch`.

        Raises:
            ValueError: If there is no such component or it has no length, after `batch`, or if
                another argument is out of range.
        """
        where = "bucket_by_length"
        checked_names(where, [name])
        check_bool(where, "pad_to_boundary", pad_to_boundary)
        limits = checked_ints(where, "boundaries", boundaries, 1)
        if not limits or list(limits) != sorted(set(limits)):
            raise ValueError(f"{where}: boundaries are {limits}, expected at least one, rising.")
        if size is None and max_elements is None:
            raise ValueError(f"{where}: no size given, expected size or max_elements or both.")
        for label, value in (("size", size), ("max_elements", max_elements)):
            if value is not None:
                checked_int(where, label, value, 1)
        check_remainder(where, remainder)
        if remainder == "pad" and (size is None or max_elements is not None):
            raise ValueError(
                f"{where}: remainder is 'pad', expected size without max_elements then. Use 'keep'."
            )
        if batch_depth(self.stages):
            raise ValueError(f"{where}: it follows a batch, expected examples. Use unbatch before.")
        chosen = as_values(where, values)
        return self._then(
            stages.BucketByLength(
                name, limits, size, max_elements, pad_to_boundary, remainder, chosen
            )
        )

    def pack(
        self,
        length: int,
        names: str | Iterable[str],
        split: bool = False,
        max_open: int = 64,
    ) -> "Pipeline":
        """Packs lists one after the other into rows of one length, with little padding.

        Each example goes, whole, into the first open row that has room for it (first fit). If none
        has, a new row is opened; if too many are open, the fullest is returned. Rows are returned
        as soon as they are full. The rest of a row is padded with zeros. Empty lists are skipped.

        The result is one example for each row: each component of shape (length,); `segment_ids`,
        int32, the number of the packed example in the row, from 1, for each element, and 0 for
        padding; and `positions`, int32, the position in the list, from 0. `statistics()` has the
        share of padding.

        Args:
            length: Number of elements in a row, at least 1.
            names: The components to pack, whose lists have equal lengths in an example; by default
                all.
            split: Whether lists longer than a row are cut into pieces. Their positions continue;
                each piece has its own number. Otherwise they are an error.
            max_open: The largest number of rows open at the same time, at least 1. More rows need
                less padding and hold back more examples.

        Raises:
            TypeError: If `split` is not a bool, or a name not a string.
            ValueError: If a number is out of range, a component is missing or not a list of
                numbers, or there are other components; or after `batch`.
        """
        checked_int("pack", "length", length, 1)
        checked_int("pack", "max_open", max_open, 1)
        check_bool("pack", "split", split)
        chosen = checked_names("pack", (names,) if isinstance(names, str) else names)
        if batch_depth(self.stages):
            raise ValueError("pack: it follows a batch, expected examples. Use unbatch before.")
        return self._then(stages.Pack(length, chosen, split, max_open))

    def cache(self) -> "Pipeline":
        """Keeps all examples in memory, so that what comes before is called once for each.

        Later passes read them from there. The stages before always run as epoch 0, so a shuffle or
        random draws before `cache` are the same in all epochs; those after it differ. The examples
        count as `memory_bytes`. They live as long as this pipeline or one made from it. If a pass
        is left before its end, the next one continues after the examples it has returned; examples
        read ahead are made again. Two iterations that run at the same time, before a whole pass is
        cached, each make the examples themselves. Functions that keep a state, and functions that
        draw in a part of a combination, are called again for the examples that components are
        learned from.

        Raises:
            ValueError: After `epochs`.
        """
        if stages.has_epochs(self.stages):
            raise ValueError(
                "cache: it follows epochs, all of which it would keep. Write cache() before "
                "epochs(...)."
            )
        return self._then(stages.Cache())

    def unbatch(self) -> "Pipeline":
        """Takes the leading axis apart: each row becomes an example.

        Raises:
            ValueError: If a component is a scalar.
        """
        return self._then(stages.Unbatch())

    def skip_errors(self, budget: int | float, raises_at_end: bool = False) -> "Pipeline":
        """Skips damaged records, and examples at which a function raises.

        This applies to the stages before. Skipped examples are listed in `Batches.skipped`, in
        order: the file, the number and the position of the record, the stage and the failure. The
        list is part of the state. After a record of a TFRecord file whose data are damaged, the
        next one is read, and after a stray quote in a CSV file, the next valid line. Damage that
        hides the beginning of the next record ends the file. Lost records count: lines, or an
        estimate of the records in the rest of the file from the length of the records before; if
        none is possible, it is an error. Failures that are not an example's fault remain errors: a
        file that cannot be opened or read, an iterator or a Parquet file that fails, an interrupt.

        `take`, `skip`, `shard` and `batch` before this count only examples that were not skipped. A
        batch whose examples do not fit together, or at which a function fails, is skipped as a
        whole.

        Args:
            budget: The largest number of examples that may be skipped in the whole iteration, at
                least 0; or the largest share of those read so far, above 0.0 and below 1.0, checked
                whenever one is skipped, from 1,000 examples on, and at the end. 1 << 62 skips all
                failures, including losses that cannot be counted.
            raises_at_end: Whether `errors.SkippedExamples` follows the last batch if any examples
                were skipped. Its text counts them.

        Raises:
            TypeError: If `budget` is not a number, or `raises_at_end` not a bool.
            ValueError: If `budget` is out of range, or a full shuffle of `concat` comes before
                this.

        If the budget is exceeded, the failure that exceeded it is raised while the pipeline is
        iterated, with the number of earlier ones; a share that is too large at the end of the data
        raises `errors.SkippedExamples`.
        """
        check_budget(budget)
        check_bool("skip_errors", "raises_at_end", raises_at_end)
        check_skippable(self.stages)
        return self._then(stages.SkipErrors(budget, raises_at_end))

    def prefetch(self, count: int) -> "Pipeline":
        """Lets up to `count` batches be ready before they are asked for; 2 without it.

        Raises:
            ValueError: If `count` is not at least 1.
        """
        return self._then(stages.Prefetch(checked_int("prefetch", "count", count, 1)))

    def options(
        self,
        num_threads: int | None = None,
        memory_bytes: int | None = None,
        deterministic: bool | None = None,
        strings: StringKind | None = None,
        stuck_after_s: float | None = None,
        cache_directory: str | os.PathLike[str] | None = None,
        cache_bytes: int | None = None,
        index: IndexMode | None = None,
        index_directory: str | os.PathLike[str] | None = None,
    ) -> "Pipeline":
        """Says what the pipeline may use, whether it keeps the order, and how strings come.

        Args:
            num_threads: Threads of the engine, which read, decode, gather and compute native
                functions; None for as many as there are cores. A Python function always has a
                separate thread, except on a free-threaded Python.
            memory_bytes: Limit on the memory of data that are read and not used yet: read-ahead,
                windows, finished batches. None for a quarter of the memory of the machine or its
                control group, at least 64 MiB.
            deterministic: False lets finished parts overtake others: the order of the examples
                differs each time, and an error may come before examples that preceded it. Otherwise
                the order does not depend on these options.
            strings: The form in a batch of a component with one string in each example: "numpy", an
                array of `bytes` or `str` objects, or "arrow", a read-only
                `pyarrow.LargeBinaryArray` or `pyarrow.LargeStringArray`, which has no object for
                each string. Components with more axes, and examples that are not in a batch, are
                not affected.
            stuck_after_s: A call of a Python function, or a read of a file from its beginning to
                its end, that takes more seconds is named in a warning of the logger
                `headrace.pipeline`, with the example it is for: once, while it is still in
                progress.
            cache_directory: Directory for parts of remote files. Several processes may use it, and
                a killed process leaves nothing there that another would mistake for data.
            cache_bytes: Limit on the size of the cache; the least recently used parts are removed,
                and parts that do not fit are not kept. Parts have up to a MiB. Each process may
                exceed the limit by a sixteenth. None for 16 GiB.
            index: The use of index files, which keep the places of records for a shuffle of all
                examples, so that the next start scans nothing. "auto", the default, reads the index
                of a file, and writes one after a scan that it had to do: beside the file, as
                `NAME.hrindex`, or, where that cannot be written or the file is remote, in
                `index_directory` or in the user's cache, `$XDG_CACHE_HOME/headrace/indexes`. A
                damaged or outdated one is made anew. The order of the examples is the same with
                and without it. "memory" reads and writes none: each program scans the files.
                "off" neither reads nor scans; a shuffle of all examples that needs one of these is
                refused.
            index_directory: A directory for indexes that cannot be written beside their files.

        Raises:
            TypeError: If `deterministic` is not a bool, `stuck_after_s` not a number, or
                `cache_directory` or `index_directory` not a path.
            ValueError: If a number is not at least 1, `strings` or `index` is none of these, or
                `stuck_after_s` is not above 0; if `cache_bytes` is given without a
                `cache_directory`, or a directory is a URL.
            ModuleNotFoundError: If `strings` is "arrow" and pyarrow is not installed; the extra
                `headrace[arrow]` installs it.
        """
        if deterministic is not None:
            check_bool("options", "deterministic", deterministic)
        changed = dict(self._options)
        for name, value in (("num_threads", num_threads), ("memory_bytes", memory_bytes)):
            if value is not None:
                changed[name] = checked_int("options", name, value, 1)
        if deterministic is not None:
            changed["deterministic"] = deterministic
        if strings is not None:
            changed["strings"] = checked_kind(strings)
        directories = (("cache_directory", cache_directory), ("index_directory", index_directory))
        for name, directory in directories:
            if directory is not None:
                changed[name] = checked_directory(directory, name)
        if cache_bytes is not None:
            changed["cache_bytes"] = checked_int("options", "cache_bytes", cache_bytes, 1)
            if "cache_directory" not in changed:
                raise ValueError("options: cache_bytes is given without a cache_directory.")
        if index is not None:
            changed["index"] = checked_mode(index)
        if stuck_after_s is not None:
            changed["stuck_after_s"] = checked_seconds("stuck_after_s", stuck_after_s)
        optioned = Pipeline(self.stages, changed, self._base)
        optioned._known = self._known
        return optioned

    def epoch(self, number: int) -> Batches:
        """Starts one epoch, numbered from 0: each has different orders of shuffles.

        Raises:
            ValueError: If `number` is negative, or the pipeline has `epochs` already.
        """
        checked_int("epoch", "number", number, 0)
        if any(isinstance(stage, stages.Epochs) for stage in self.stages):
            raise ValueError("epoch: the pipeline has epochs(...) already. Leave that out.")
        return self._start(number, keeps_workers=True)

    def count(self) -> int:
        """Returns how many examples, or batches, the pipeline gives.

        This is `len` where it is known. Otherwise all examples are read and counted, which takes as
        long as an epoch, or less: stages that cannot change the number are skipped. Functions
        before the last stage that can, such as `filter`, are called. If epochs differ, as after a
        filter on random draws, a pipeline without `epochs` counts epoch 0.

        Raises:
            TypeError: If the pipeline is endless.
        """
        known = self._all_specs()
        try:
            return count_of(self.stages, self._options, known)
        finally:
            known.forget(self.stages)

    @property
    def spec(self) -> dict[str, Spec]:
        """The components of an example, or of a batch.

        After a Python function, it is called for the first example.

        Raises:
            OpError: If the first example cannot be read then.
            OutOfRangeError: If there are no examples.
        """
        if self._specs is not None:
            return dict(self._specs)
        known = self.known()
        if known.empty_at is not None:
            raise OutOfRangeError(
                None,
                None,
                f"spec: {self.stages[known.empty_at]} has no example, from which the components "
                "behind it are learned, expected one. Check what comes before it.",
            )
        return dict(known.specs[-1])

    @property
    def classes(self) -> tuple[str, ...]:
        """The names of the classes, for images of `image_folder`: label 0 is the first one.

        Raises:
            AttributeError: If the source has no classes.
            NotFoundError: If there are none in the directory.
        """
        source = self.stages[0]
        if not isinstance(source, Source) or source.classes is None:
            raise AttributeError(
                f"classes: {source.name} has no classes, expected a pipeline that begins with "
                "image_folder."
            )
        return source.classes

    def describe(self) -> str:
        """Returns the stages and the components, as text for people."""
        lines = [self._described(number, stage) for number, stage in enumerate(self.stages)]
        options = [f"options: {name}={value}" for name, value in self._options.items()]
        if "num_threads" in self._options and any(map(runs_python, self.stages)):
            options.append("options: num_threads leaves each Python function one thread of its own")
        known, source = static_specs(self.stages), self.stages[0]
        if isinstance(source, InferredSource) and source.spec is None:
            lines.append(f"{source.name}: {source.described()}")
            known = self._with_inferred(source)
        components = (
            ["components: known when the first example has gone through the functions"]
            if known is None
            else [f"component {name!r}: {spec!r}" for name, spec in known.items()]
        )
        return "\n".join([*lines, *options, *components])

    def _with_inferred(self, source: InferredSource) -> Specs | None:
        specs = source.inferred()
        for stage in self.stages[1:]:
            if gives_anything(stage):
                return None
            specs = after(stage, specs)
        return specs

    def resume(self, state: Mapping[str, Any] | None, allow: Collection[str] = ()) -> Batches:
        """Continues where another iteration stood: with the batches that would have followed there.

        They are the same bytes, also in another process, with other options, and with the files in
        another directory. If only `map`, `select`, `rename`, `parse`, batches and one `epochs`
        follow `shard`, the number of shards and the batch size may change, too: the state of one
        shard serves them all, and the number of examples read so far in the epoch must be divisible
        by the new number. This is refused for a shard in a part of `mix`, `concat` or `zip`, before
        a function with a state, and after epochs in which shards had different lengths.

        Functions are identified by their names. Their code is not compared, and neither is the
        content of arrays. A Python function may be called again for some examples before the
        position. Examples from `iterable` are made again from the beginning of the epoch, and
        skipped. A `cache` is empty in another process; the next whole epoch fills it.

        Args:
            state: The result of `Batches.state`, or None for the beginning. Seeds not given by the
                program are taken from it.
            allow: Permitted differences from the pipeline of the state: "epochs" for their number,
                "weights" for the weights of `mix`.

        Raises:
            TypeError: If the state is not a dict.
            ValueError: If it is damaged, or of another pipeline, other files or a newer version;
                the text says which.
        """
        return self._start(0) if state is None else self._resumed(state, allow, False)

    def _resumed(self, state: Mapping[str, Any], allow: Collection[str], keeps: bool) -> Batches:
        found = resumed(self.stages, state, allow)
        return Batches(
            found.chain, self._options, self._all_specs, found.epoch, found, keeps_workers=keeps
        )

    def to_torch(
        self, device: Any = None, pin_memory: bool | None = None, length: int | None = None
    ) -> TorchLoader:
        """Returns a loader of tensors for PyTorch, to be used as a `DataLoader` is.

        Each `iter` of it is the next epoch, and `state_dict` and `load_state_dict` work as in
        torchdata's `StatefulDataLoader`. Tensors of the CPU share their memory with the batch.

        Args:
            device: The device of the tensors, as `torch.device` takes it. Copies run one batch
                ahead of the loop, on a side stream for CUDA. None leaves tensors on the CPU.
            pin_memory: Whether tensors pass through pinned memory; None means only if the device is
                CUDA.
            length: The number of batches in an epoch, for loops that use `len` where the pipeline
                does not know it; see `count`. An epoch with another number is an error.

        Raises:
            ModuleNotFoundError: If PyTorch is not installed.
            RuntimeError: If there is no such device.
            TypeError: If `pin_memory` is neither a bool nor None.
            ValueError: If `length` is negative.
        """
        return torch_loader(self, self._start_at, device, pin_memory, length)

    def to_jax(self, sharding: Any = None, state: Mapping[str, Any] | None = None) -> JaxBatches:
        """Starts an iteration whose numbers are arrays of JAX, two batches ahead of the loop.

        Args:
            sharding: A `jax.sharding.Sharding`: arrays are global, and the batches of this process
                are its part of them. None for the default device of JAX.
            state: The state to continue from, as for `resume`; None for the beginning.

        Raises:
            ModuleNotFoundError: If JAX is not installed.
            ValueError: If the state does not belong to the pipeline.
        """
        check_jax()
        return JaxBatches(self.resume(state), sharding)

    def to_arrow(self) -> Any:
        """Starts an iteration as a `pyarrow.RecordBatchReader`.

        Polars, DuckDB, pandas and others read it through Arrow's C stream interface. A record batch
        is a batch, or, without `batch`, some examples. Axes become lists, of a fixed size where
        that is known. Numbers and strings are not copied.

        Raises:
            ModuleNotFoundError: If pyarrow is not installed; the extra `headrace[arrow]` installs
                it.
            TypeError: If the number of axes of a component is unknown.
        """
        check_arrow()
        known, options = self._all_specs(), {**self._options, "strings": "arrow"}
        specs = known.specs[-1]
        if batch_depth(self.stages) > 0:
            specs = {name: spec.row() for name, spec in specs.items()}
        batches = Batches(self.stages, options, known, 0, in_columns=True)
        return record_batches(batches, specs)

    def to_ray_dataset(self, num_blocks: int = 8) -> Any:
        """Returns a `ray.data.Dataset` of the examples of this pipeline of batches.

        Nothing runs before the dataset is used. Block `i` has the batches `i`, `i + num_blocks`, …
        of the one order, made by a Ray task. Ray Data does not keep the order of blocks unless it
        is asked to.

        Args:
            num_blocks: Number of reading tasks, at least 1.

        Raises:
            ModuleNotFoundError: If Ray is not installed; the extra `headrace[ray]` installs it.
            ValueError: If the pipeline gives examples or has no order, or `num_blocks` is out of
                range.
        """
        return ray_dataset(self, checked_int("to_ray_dataset", "num_blocks", num_blocks, 1))

    def __iter__(self) -> Batches:
        self._history.note_begin()
        return self._start(0)

    def __len__(self) -> int:
        return length_of(self.stages, index_files(self._options))

    def __bool__(self) -> bool:
        """True: whether there are examples is not known before they are read."""
        return True

    def __contains__(self, value: object) -> NoReturn:
        raise TypeError(
            "in: a pipeline does not look for values; each would have to be read. Iterate over it, "
            "or write filter(...)."
        )

    def __getitem__(self, index: object) -> NoReturn:
        raise TypeError(
            f"[{index!r}]: a pipeline gives its examples in order, expected an iteration. Write "
            "next(iter(pipe)) for the first one, skip(n) and take(n) for others."
        )

    def __reversed__(self) -> NoReturn:
        raise TypeError("reversed: a pipeline is read from its beginning. Collect it in a list.")

    def __copy__(self) -> "Pipeline":
        return self

    def __deepcopy__(self, memo: object) -> "Pipeline":
        """The pipeline itself, since it never changes."""
        return self

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Pipeline):
            return NotImplemented
        return self.stages == other.stages and self._options == other._options

    def __hash__(self) -> int:
        return hash(self.stages)

    def __repr__(self) -> str:
        return f"Pipeline({', '.join(str(stage) for stage in self.stages)})"

    def _described(self, number: int, stage: Stage) -> str:
        is_full = isinstance(stage, stages.Shuffle) and stage.window is None
        if is_full and keeps_all(self.stages[:number]):
            return f"{stage}: all examples; a first pass over Parquet files keeps them in memory"
        if is_full and needs_scan(self.stages[:number]):
            return f"{stage}: all examples; {places_of_records(self._options)}"
        if isinstance(stage, stages.Shuffle) and stage.window is not None:
            return f"{stage}: {files_of_window(self.stages[:number], stage)}"
        if isinstance(stage, stages.Shard):
            taken_from = f": taken from {stage.taken_from}" if stage.taken_from else ""
            return f"{stage}{taken_from}{read_by_shard(self.stages, number)}"
        return str(stage)

    def _then(self, stage: Stage) -> "Pipeline":
        # Missing names are refused here, where they are written.
        check_even(self.stages, stage)
        known_names((*self.stages, stage))
        return Pipeline((*self.stages, stage), self._options, self)

    def _start_at(self, epoch: int, state: Mapping[str, Any] | None) -> Batches:
        """Begins an epoch of a loader, which keeps its worker processes between epochs."""
        return self._start(epoch, True) if state is None else self._resumed(state, (), True)

    def _start(self, epoch: int, keeps_workers: bool = False) -> Batches:
        if epoch:
            self._history.note_later_epoch()
        at_end = self._history.note_end if epoch == 0 else None
        return Batches(
            self.stages,
            self._options,
            self._all_specs,
            epoch,
            at_end=at_end,
            keeps_workers=keeps_workers,
        )

    @property
    def chosen_options(self) -> dict[str, Any]:
        """The options that `options` was given, by name."""
        return dict(self._options)

    def known(self) -> Known:
        """Returns the components after each stage.

        After a Python function, it is called for the first example.
        """
        try:
            known = self._all_specs()
        finally:
            release_workers(self.stages)
        # Until the next iteration, the function or its data may change.
        known.forget(self.stages)
        return known

    def _all_specs(self) -> Known:
        # A loop, since there may be more stages than the recursion limit.
        unknown: list[Pipeline] = []
        pipe: Pipeline | None = self
        while pipe is not None and pipe._known is None:
            unknown.append(pipe)
            pipe = None if _has_skipped(pipe.stages) else pipe._base
        known = None if pipe is None else pipe._known
        for pipe in reversed(unknown):
            try:
                known = chain_specs(pipe.stages, known, options=self._options)
            except BaseException:
                release_workers(self.stages)
                raise
            if known.is_whole:
                # Otherwise there may be examples the next time.
                pipe._known = known
        if known is not None:
            return known
        assert self._known is not None
        return self._known


def release_workers(chain: tuple[Stage, ...]) -> None:
    """Ends worker processes that wait for an iteration."""
    for part in stages.parts_of(chain[0]):
        release_workers(part)
    for stage in chain:
        if isinstance(stage, (stages.Map, stages.Filter, stages.FlatMap)):
            stage.holder.release()


def _has_skipped(chain: tuple[Stage, ...]) -> bool:
    """Returns whether failures are skipped; then what is before must not fail alone."""
    return any(isinstance(stage, stages.SkipErrors) for stage in chain)
