"""The pipeline: an immutable description, and the ways to iterate over it."""

import math
import os
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, NoReturn, cast

import numpy.typing as npt

from headrace.core.errors import OutOfRangeError
from headrace.core.repr_prefix import printable, printable_lines
from headrace.core.tracebacks import with_short_tracebacks
from headrace.pipeline.paths.index_files import index_files
from headrace.pipeline.plan.lengths import length_of
from headrace.pipeline.run.batches import Batches
from headrace.pipeline.run.count import count_of
from headrace.pipeline.run.episodes import count_episodes
from headrace.pipeline.run.spec_inference import InferenceContext, infer_specs
from headrace.pipeline.run.state import resumed
from headrace.pipeline.sources.file_source import InferredSource
from headrace.pipeline.stages.arguments import checked_int
from headrace.pipeline.stages.batch import BatchMethod
from headrace.pipeline.stages.bucket_by_length import BucketByLengthMethod
from headrace.pipeline.stages.bucket_by_shape import BucketByShapeMethod
from headrace.pipeline.stages.cache import CacheMethod
from headrace.pipeline.stages.clips import ClipsMethod
from headrace.pipeline.stages.components import (
    ChainSpecs,
    all_stages,
    batch_depth,
    source_of,
    specs_from,
    static_specs,
    steps,
)
from headrace.pipeline.stages.epochs import EpochsMethod
from headrace.pipeline.stages.filter import FilterMethod
from headrace.pipeline.stages.flat_map import FlatMapMethod
from headrace.pipeline.stages.function_step import callers
from headrace.pipeline.stages.map import MapMethod
from headrace.pipeline.stages.options import OptionsMethod
from headrace.pipeline.stages.other_libraries import advice_on_method
from headrace.pipeline.stages.pack import PackMethod
from headrace.pipeline.stages.padded_batch import PaddedBatchMethod
from headrace.pipeline.stages.parse import ParseMethod
from headrace.pipeline.stages.prefetch import PrefetchMethod
from headrace.pipeline.stages.rename import RenameMethod
from headrace.pipeline.stages.sample import SampleMethod
from headrace.pipeline.stages.select import SelectMethod
from headrace.pipeline.stages.shard import ShardMethod, read_by_shard
from headrace.pipeline.stages.shuffle import ShuffleMethod
from headrace.pipeline.stages.skip import SkipMethod
from headrace.pipeline.stages.skip_errors import SkipErrorsMethod
from headrace.pipeline.stages.split import SplitMethod
from headrace.pipeline.stages.stage import Effect, Stage, Stages
from headrace.pipeline.stages.take import TakeMethod
from headrace.pipeline.stages.unbatch import UnbatchMethod
from headrace.pipeline.stages.windows import WindowsMethod
from headrace.pipeline.stages.with_origin import WithOriginMethod
from headrace.pipeline.stages.without_steps import WithoutStepsMethod, with_all_steps
from headrace.pipeline.values.types import Spec, Specs

if TYPE_CHECKING:
    from headrace.pipeline.outputs.jax import JaxBatches
    from headrace.pipeline.outputs.mlx import MlxBatches
    from headrace.pipeline.outputs.torch import TorchLoader
    from headrace.pipeline.run.profile import Profile
    from headrace.pipeline.run.progress import Progress
    from headrace.pipeline.views.examples import Examples
    from headrace.pipeline.views.value_statistics import ValueStatistics

__all__ = ["Pipeline"]


class Pipeline(
    BatchMethod,
    BucketByLengthMethod,
    BucketByShapeMethod,
    CacheMethod,
    ClipsMethod,
    EpochsMethod,
    FilterMethod,
    FlatMapMethod,
    MapMethod,
    PackMethod,
    PaddedBatchMethod,
    ParseMethod,
    PrefetchMethod,
    RenameMethod,
    SampleMethod,
    SelectMethod,
    ShardMethod,
    ShuffleMethod,
    SkipMethod,
    SkipErrorsMethod,
    SplitMethod,
    TakeMethod,
    UnbatchMethod,
    WindowsMethod,
    WithOriginMethod,
    WithoutStepsMethod,
    OptionsMethod,
):
    """A source of examples, and the stages that process them.

    Create a pipeline with a function such as `headrace.tfrecords`, not with the constructor. Each
    method returns a new pipeline. A pipeline only describes the work: files are opened and threads
    are started when you iterate over it.

    The batches depend only on this description and on the data, not on the number of threads, the
    memory limit or timing.

    Two pipelines are equal if their stages are equal, including seeds. Python functions are equal
    only if they are the same object.

    Examples:
        >>> pipe = hr.arrays({"x": range(4)}).shuffle(seed=7).batch(2)
        >>> for batch in pipe:
        ...     print(batch["x"])
        [1 3]
        [0 2]
    """

    __slots__ = ()

    def epoch(self, number: int) -> Batches:
        """Starts the iteration over one epoch.

        Shuffles and random draws differ from epoch to epoch. Iterating over the pipeline itself
        always starts epoch 0.

        Args:
            number: The epoch number, from 0.

        Returns:
            An iterator over the batches, or over the examples if there is no `batch`.

        Raises:
            ValueError: If `number` is negative, or the pipeline has an `epochs` stage.

        Examples:
            >>> pipe = hr.arrays({"x": range(4)}).shuffle(seed=7).batch(4)
            >>> for epoch in range(2):
            ...     for batch in pipe.epoch(epoch):
            ...         print(epoch, batch["x"])
            0 [1 3 0 2]
            1 [2 3 1 0]
        """
        checked_int("epoch", "number", number, 0)
        if any(step.effect is Effect.REPEATS for step in steps(self._stages)):
            raise ValueError("epoch: the pipeline already has epochs(...). Remove it.")
        return self._start(number, keeps_workers=True)

    def count(self) -> int:
        """Returns the number of examples (or batches, after `batch`).

        If the length is known, this is `len(pipe)`. Otherwise, it reads and counts all examples,
        which can take as long as an epoch. Stages that cannot change the number are skipped, but
        functions before the last `filter` or similar stage are called. If epochs have different
        lengths, for example because of a random filter, this counts epoch 0. If the pipeline has
        `epochs`, it counts all of them.

        Raises:
            TypeError: If the pipeline is endless.

        Examples:
            >>> hr.arrays({"x": range(10)}).filter(lambda example: example["x"] > 6).count()
            3
        """
        chain_specs = self._all_specs()
        try:
            return count_of(self._stages, self._options, chain_specs)
        finally:
            chain_specs.forget(self._stages)

    @property
    @with_short_tracebacks
    def spec(self) -> dict[str, Spec]:
        """The dtype and shape of each component of an example or batch.

        If a Python function determines the components, it is called for the first example.

        Raises:
            OpError: If the first example is needed and cannot be read.
            OutOfRangeError: If the first example is needed and there are no examples.

        Examples:
            >>> hr.arrays({"x": np.zeros((10, 28, 28), np.uint8), "y": range(10)}).batch(4).spec
            {'x': Spec(uint8, (None, 28, 28)), 'y': Spec(int64, (None,))}
        """
        if self._specs is not None:
            return dict(self._specs)
        chain_specs = self._learned_specs()
        if chain_specs.first_empty_stage is not None:
            raise OutOfRangeError(
                None,
                None,
                f"spec: {self._stages[chain_specs.first_empty_stage]} yields no examples, but at "
                "least one is needed to determine the components. Check the stages before it.",
            )
        return dict(chain_specs.specs[-1])

    @property
    def classes(self) -> tuple[str, ...]:
        """The class names of the source, such as `image_folder`, in label order.

        Raises:
            AttributeError: If the source has no classes.
            NotFoundError: If the directory has no class directories.
        """
        source = source_of(self._stages)
        if source.classes is None:
            raise AttributeError(
                f"classes: {source.name} has no classes. Only pipelines that begin with "
                "image_folder, audio_folder, coco, yolo or pascal_voc have them, or with tfds if "
                "exactly one feature is a class label."
            )
        return source.classes

    @property
    def stored_stats(self) -> dict[str, dict[str, npt.NDArray[Any]]]:
        """The statistics that a `lerobot` data set stores for each feature, read on access.

        For each feature, there are arrays such as `mean`, `std`, `min`, `max` and `count`. Image
        statistics are for values between 0 and 1, with the channels first.

        Raises:
            AttributeError: If the source has no statistics.
            NotFoundError: If the data set has no `meta/stats.json`.
        """
        source = source_of(self._stages)
        stats = source.stored_stats
        if stats is None:
            raise AttributeError(
                f"stored_stats: {source.name} has no statistics. Only pipelines that begin with "
                "lerobot have them."
            )
        return stats

    def describe(self) -> str:
        """Returns a readable list of the stages, options and components.

        Examples:
            >>> print(hr.arrays({"x": range(4)}).shuffle(seed=7).batch(2).describe())
            arrays(x: int64(4,))
            shuffle(None, 7)
            batch(2, 'keep')
            component 'x': Spec(int64, (None,))
        """
        lines = [self._described(number, stage) for number, stage in enumerate(self._stages)]
        options = [f"options: {name}={value}" for name, value in self._options.items()]
        if "num_threads" in self._options and any(stage.runs_python for stage in self._stages):
            options.append(
                "options: num_threads does not apply to Python functions, which have their own "
                "threads"
            )
        chain_specs, source = static_specs(self._stages), source_of(self._stages)
        if source.reads_files and source.spec is None:
            source = cast("InferredSource", source)
            lines.append(f"{source.name}: {source.described()}")
            chain_specs = self._with_inferred(source)
        components = (
            ["components: known after the functions have processed the first example"]
            if chain_specs is None
            else [f"component {name!r}: {spec!r}" for name, spec in chain_specs.items()]
        )
        return printable_lines("\n".join([*lines, *options, *components]))

    def show(self, n: int = 4, tokenizer: Any = None) -> "Examples":
        """Reads the first examples and returns an object that shows them.

        If a notebook cell ends with this object, pictures, sounds, texts and numbers appear, with
        boxes, masks and keypoints drawn on the pictures. In a terminal, it prints as text. After
        `batch`, it shows batches. Epoch 0 is read, and later iterations are not affected.

        The guide "Look at your data" lists which components are shown as pictures, sounds, boxes
        and so on.

        Args:
            n: The number of examples, or of batches.
            tokenizer: An object whose method `decode` converts a list of token IDs to text, such as
                a tokenizer of `tokenizers` or `transformers`. None shows the IDs.

        Raises:
            OpError: If an example cannot be read.
            ValueError: If `n` is negative.

        Examples:
            >>> hr.arrays({"x": [0.5, 1.5], "name": ["ant", "bee"]}).show(1)
            example 0
              x: float64, 0.5
              name: str, ant
        """
        from headrace.pipeline.views.examples import first_examples  # noqa: PLC0415

        most = checked_int("show", "n", n, 0)
        classes, is_batched = source_of(self._stages).classes, batch_depth(self._stages) > 0
        with self._view() as batches:
            return first_examples(batches, most, is_batched, classes, tokenizer)

    def progress(self, state: Mapping[str, Any] | None = None, description: str = "") -> "Progress":
        """Starts an iteration with a progress bar. It yields the same batches.

        The bar shows the number of batches, the rate, the time left if `len(pipe)` is known, and
        the share of the time that your loop waits for data. It is a bar of tqdm if tqdm is
        installed, in notebooks and terminals. Otherwise, a line on stderr is updated. If stderr is
        not a terminal, a line is written every 30 seconds.

        Args:
            state: The state to resume from, as in `resume`. The bar then continues at its position.
                None starts from the beginning.
            description: Text to show before the bar.

        Returns:
            An iterator with all methods of `Batches`, such as `state()`. `len` is the number of
            batches of the whole iteration.

        Examples:
            >>> pipe = hr.arrays({"x": range(6)}).batch(2)
            >>> batches = pipe.progress(description="train")
            >>> for batch in batches:
            ...     state = batches.state()
            >>> len(batches)
            3
        """
        batches = iter(self) if state is None else self.resume(state)
        return batches.progress(description)

    def stats(self, *names: str) -> "ValueStatistics":
        """Reads epoch 0, and returns ranges, means, standard deviations and class counts.

        A progress bar is shown meanwhile. Undecoded images and other strings are measured by their
        length, so decode pictures first, as in `pipe.map(decode).stats("image")`. Padding that
        `padded_batch` or `pack` has added counts as values.

        Args:
            names: The components. By default, all components.

        Returns:
            A dict of `ComponentStatistics` by name. Notebooks show it as a table.

        Raises:
            OpError: If an example cannot be read.
            TypeError: If the pipeline is endless.
            ValueError: If a component does not exist.

        Examples:
            >>> pipe = hr.arrays({"x": [1.0, 2.0, 6.0], "label": [1, 0, 1]})
            >>> statistics = pipe.stats("x", "label")
            >>> statistics["x"].mean, statistics["x"].max
            (3.0, 6.0)
            >>> statistics["label"].histogram
            {1: 2, 0: 1}
        """
        from headrace.pipeline.run.progress import num_steps  # noqa: PLC0415
        from headrace.pipeline.views.value_statistics import value_statistics  # noqa: PLC0415

        pipe = self.select(*names) if names else self
        if any(step.length_after(1) == math.inf for step in steps(self._stages)):
            raise TypeError(
                "stats: the pipeline is endless, because epochs() has no count. Call stats before "
                "epochs, or pass a count."
            )
        unit = "batches" if batch_depth(pipe._stages) else "examples"
        total = num_steps(pipe._stages, index_files(self._options))
        with pipe._view(in_columns=True) as batches:
            return value_statistics(batches, total, unit)

    def profile(
        self, seconds: float = 10.0, path: str | os.PathLike[str] = "headrace_trace.json"
    ) -> "Profile":
        """Runs the pipeline for a while, and records the activity of each thread in a trace file.

        Open the file in https://ui.perfetto.dev or chrome://tracing. It shows the stages on each
        thread, the calls of Python functions, how long the loop waited for each batch, and memory
        over time. The loop does nothing else, so this measures the maximum rate.

        The threads are sampled every millisecond. The start of each task is exact, and its end may
        be a millisecond early. Shorter tasks may be missing, but `statistics` counts them all.

        Args:
            seconds: How long to run, unless the data ends earlier. Epoch 0 is read.
            path: The path of the file. An existing file is replaced.

        Returns:
            The number of batches, the bottleneck and the statistics. `print` shows a summary.

        Raises:
            ValueError: If `seconds` is not positive, or the pipeline reads a journal.

        Examples:
            >>> profile = hr.arrays({"x": range(1000)}).batch(10).profile(5, "trace.json")
            >>> profile.count, profile.path
            (100, 'trace.json')
        """
        from headrace.pipeline.run.profile import profile_of  # noqa: PLC0415

        if not seconds > 0:
            raise ValueError(f"profile: seconds is {seconds}, expected a positive number.")
        if self._is_growing:
            raise ValueError(
                "profile: the pipeline reads a journal, whose rows belong to your training loop. "
                "Call bottleneck() or metrics() of that iteration."
            )
        find_specs = partial(self._all_specs, is_start=True)
        batches = Batches(self._stages, self._options, find_specs, 0)
        unit = "batches" if batch_depth(self._stages) else "examples"
        return profile_of(batches, seconds, os.fspath(path), unit)

    def _repr_html_(self) -> str:
        """Returns the stages, components and lengths as a table, for notebooks."""
        from headrace.pipeline.views.overview import overview  # noqa: PLC0415

        known = None if self._chain_specs is None else self._chain_specs.specs
        return overview(self._stages, self._options, known)

    def _with_inferred(self, source: InferredSource) -> Specs | None:
        return specs_from(source.inferred(), self._stages)

    def resume(self, state: Mapping[str, Any] | None, allow: Collection[str] = ()) -> Batches:
        """Resumes an earlier iteration from its state, and returns the batches that come next.

        The batches are identical, even in another process, with other options, or if the files have
        moved to another directory. You can also change the number of shards and the batch size if
        only `map`, `select`, `rename`, `parse`, batch stages and one `epochs` follow `shard`. The
        state of one shard can then be used by all shards, and the number of examples read so far in
        the epoch must be divisible by the new number of shards. You can't do this for a shard
        inside `mix`, `concat` or `zip`, before a function with a state, or after epochs in which
        shards had different lengths.

        Functions are compared by name, so changes to their code or to the contents of arrays are
        not noticed. A Python function may be called again for some examples before the saved
        position. The examples of `iterable` are produced again from the start of the epoch and
        skipped. In another process, a `cache` in memory is empty at first, and the next complete
        epoch fills it.

        Args:
            state: The result of `Batches.state`, or None to start from the beginning. If the
                program sets no seed, the seed from the state is used.
            allow: Which differences from the saved pipeline to allow. "epochs" allows a different
                number of epochs, "weights" different weights in `mix`, and "parts" different parts
                of `mix`. Weights and parts can change only if no stage after `mix` holds examples
                back.

        Raises:
            TypeError: If the state is not a dict.
            ValueError: If the state is damaged, or belongs to another pipeline, other files or a
                newer version. The message names the difference.

        Examples:
            >>> pipe = hr.arrays({"x": range(6)}).shuffle(seed=7).batch(2)
            >>> batches = iter(pipe)
            >>> first, state = next(batches), batches.state()
            >>> [batch["x"].tolist() for batch in batches]
            [[5, 1], [2, 4]]
            >>> [batch["x"].tolist() for batch in pipe.resume(state)]
            [[5, 1], [2, 4]]
        """
        return self._start(0) if state is None else self._resumed(state, allow, False)

    def _resumed(self, state: Mapping[str, Any], allow: Collection[str], keeps: bool) -> Batches:
        resume_point = resumed(self._stages, state, allow)
        return Batches(
            resume_point.chain,
            self._options,
            partial(self._all_specs, resume_point.epoch, is_start=True),
            resume_point.epoch,
            resume_point,
            keeps_workers=keeps,
            may_share=True,
        )

    def replay(self, state: Mapping[str, Any] | None, epoch: int = 0) -> Batches:
        """Resumes from a state like `resume`, and also records where each example comes from.

        `Batches.origins` returns the files and records of the last batch.

        Args:
            state: The result of `Batches.state`, or None to start at the beginning of `epoch`.
            epoch: The number of the epoch if there is no state, from 0.

        Raises:
            TypeError: If the state is not a dict.
            ValueError: If the state does not belong to this pipeline; see `resume`.

        Examples:
            >>> paths = hr.arrays({"x": [1, 2, 3, 4]}).write("numbers.jsonl")
            >>> pipe = hr.json_lines(paths).batch(2)
            >>> batches = iter(pipe)
            >>> first, state = next(batches), batches.state()
            >>> replayed = pipe.replay(state)
            >>> next(replayed)
            {'x': array([3, 4])}
            >>> [record_number for file, record_number, offset in replayed.origins()]
            [2, 3]
        """
        if state is None:
            return self._start(checked_int("replay", "epoch", epoch, 0), keeps_origins=True)
        resume_point = resumed(self._stages, state, ())
        find_specs = partial(self._all_specs, resume_point.epoch)
        return Batches(
            resume_point.chain,
            self._options,
            find_specs,
            resume_point.epoch,
            resume_point,
            keeps_origins=True,
        )

    def to_torch(
        self, device: Any = None, pin_memory: bool | None = None, length: int | None = None
    ) -> "TorchLoader":
        """Returns a loader of PyTorch tensors that you use like a `DataLoader`.

        Each `for` loop over the loader runs the next epoch. `state_dict` and `load_state_dict` work
        as in torchdata's `StatefulDataLoader`. CPU tensors share their memory with the batch.

        Args:
            device: Where to put the tensors, in any form that `torch.device` accepts. While your
                loop works on a batch, the next one is copied to the device (for CUDA, on a separate
                stream). None keeps tensors on the CPU.
            pin_memory: If True, tensors are copied through pinned memory. None does this only for
                CUDA devices.
            length: The number of batches in an epoch. Set it if your training loop needs `len` and
                the pipeline does not know its length; see `count`. An epoch with a different number
                of batches then raises an error.

        Raises:
            ModuleNotFoundError: If PyTorch is not installed.
            RuntimeError: If the device does not exist.
            TypeError: If `pin_memory` is neither a bool nor None.
            ValueError: If `length` is negative.
        """
        from headrace.pipeline.outputs.torch import torch_loader  # noqa: PLC0415

        return torch_loader(self, self._start_at, device, pin_memory, length)

    def to_jax(self, sharding: Any = None, state: Mapping[str, Any] | None = None) -> "JaxBatches":
        """Starts an iteration that yields JAX arrays, two batches ahead of your loop.

        If `jax_enable_x64` is off, JAX has no 64-bit numbers. Floats are then rounded to 32 bits,
        and an integer outside the 32-bit range raises a ValueError that names the batch.

        Args:
            sharding: A `jax.sharding.Sharding` for global arrays. Each batch is then this process's
                part of a global array. None uses JAX's default device.
            state: The state to resume from, as in `resume`. None starts from the beginning.

        Raises:
            ModuleNotFoundError: If JAX is not installed.
            ValueError: If the state does not belong to this pipeline.
        """
        from headrace.pipeline.outputs.jax import JaxBatches, check_jax  # noqa: PLC0415

        check_jax()
        return JaxBatches(self.resume(state), sharding)

    def to_mlx(self, state: Mapping[str, Any] | None = None) -> "MlxBatches":
        """Starts an iteration that yields MLX arrays, one batch ahead of your loop.

        MLX rounds `float64` to `float32`. A value that is out of range raises a ValueError that
        names the component. Strings stay NumPy arrays.

        Args:
            state: The state to resume from, as in `resume`. None starts from the beginning.

        Raises:
            ModuleNotFoundError: If MLX is not installed.
            ValueError: If the state does not belong to this pipeline.
        """
        from headrace.pipeline.outputs.mlx import MlxBatches, check_mlx  # noqa: PLC0415

        check_mlx()
        return MlxBatches(self.resume(state))

    def to_grain(self) -> Any:
        """Returns a `grain.IterDataset` of the batches, or of the examples if there is no `batch`.

        Its iterators can save their position at any element: `get_state` returns a dict that `json`
        can serialise, and `set_state` continues with exactly the next element, in any process. The
        elements are dicts of NumPy arrays.

        An iteration runs through the pipeline once. `RepeatIterDataset` would read the same epoch
        again, so add `epochs(n)` to the pipeline instead. With `mp_prefetch`, each worker process
        reads everything and keeps its share of the elements. Use it only if a function that you
        pass to Grain's `map` is slow, and set the seed of each shuffle.

        Raises:
            ModuleNotFoundError: If Grain is not installed.
        """
        from headrace.pipeline.outputs.grain import grain_dataset  # noqa: PLC0415

        return grain_dataset(self)

    def to_arrow(self) -> Any:
        """Starts an iteration as a `pyarrow.RecordBatchReader`.

        Polars, DuckDB, pandas and other libraries can read it through Arrow's C stream interface.
        Each record batch is one batch, or several examples if there is no `batch`. Array axes
        become lists, with a fixed size if it is known. Lists that `batch(ragged="offsets")` joined
        become lists again. Numbers and strings are not copied.

        Raises:
            ModuleNotFoundError: If pyarrow is not installed. `pip install headrace[arrow]` installs
                it.
            TypeError: If the number of axes of a component is unknown.

        Examples:
            >>> reader = hr.arrays({"x": [1, 2, 3]}).to_arrow()
            >>> reader.read_all().to_pydict()
            {'x': [1, 2, 3]}
        """
        from headrace.pipeline.outputs.arrow import check_arrow, record_batches  # noqa: PLC0415

        check_arrow()
        chain_specs, options = self._all_specs(), {**self._options, "strings": "arrow"}
        batches = Batches(self._stages, options, chain_specs, 0, in_columns=True)
        return record_batches(batches, chain_specs.specs[-1], batch_depth(self._stages) > 0)

    def to_ray_dataset(self, num_blocks: int = 8) -> Any:
        """Returns a `ray.data.Dataset` with the examples of this pipeline.

        The pipeline must yield batches. Nothing runs until you use the dataset. A Ray task reads
        each block. Block `i` contains the batches `i`, `i + num_blocks`, … in the order of the
        pipeline. Ray Data keeps the order of the blocks only if you set `preserve_order`.

        Args:
            num_blocks: The number of read tasks, at least 1.

        Raises:
            ModuleNotFoundError: If Ray is not installed. `pip install headrace[ray]` installs it.
            ValueError: If the pipeline has no `batch` or no fixed order, or `num_blocks` is out of
                range.
        """
        from headrace.pipeline.outputs.ray_data import ray_dataset  # noqa: PLC0415

        return ray_dataset(self, checked_int("to_ray_dataset", "num_blocks", num_blocks, 1))

    def write(
        self, path: str | os.PathLike[str], num_shards: int = 1, resume: bool = False
    ) -> list[str]:
        """Writes all examples of one epoch to files and returns their paths.

        The file extension sets the format: `.tfrecord`, `.tar` (samples for the webdataset
        library), `.jsonl` (JSON lines) or `.parquet`. All except Parquet can also end in `.gz`.
        Each shard contains consecutive examples in the order of the pipeline, and shard sizes
        differ by at most one. The same pipeline always writes the same files. A shard gets its
        final name only when it is complete and on disk.

        If the number of examples is unknown and there are several shards, the examples are counted
        first; see `count`. The progress is saved in a hidden file next to the shards. If the format
        cannot store a component, an error is raised before the first shard is written.

        Args:
            path: A path or a storage URL, such as "out/train-{shard:05}.tfrecord". `{shard}` is
                replaced by the shard's number, and `{num_shards}` by the number of shards. Missing
                directories are created. Remote shards are written locally first, and uploaded when
                they are complete.
            num_shards: The number of shards.
            resume: If True, continues an earlier call that was stopped or killed. Complete shards
                are kept, and the other shards get the same contents as they would have had. If
                there was no earlier call, writing starts from the beginning.

        Raises:
            AlreadyExistsError: If a shard already exists, or another process is writing the shards.
            FailedPreconditionError: If the data or the shards have changed since the earlier call.
            ModuleNotFoundError: If the format needs a package that is not installed.
            ValueError: If the pipeline yields batches or has no examples, the format is unknown or
                cannot store a component, or `resume` is set for a different pipeline.

        Examples:
            >>> hr.arrays({"x": range(10)}).write("train-{shard:02}.jsonl", num_shards=2)
            ['train-00.jsonl', 'train-01.jsonl']
            >>> hr.json_lines("train-*.jsonl").count()
            10
        """
        # This is imported here, because programs that only read don't need it.
        from headrace.pipeline.writing.write import write  # noqa: PLC0415

        return write(self, path, num_shards, resume)

    @with_short_tracebacks
    def __iter__(self) -> Batches:
        self._history.note_begin()
        return self._start(0)

    def __len__(self) -> int:
        return self._length_of(self._stages)

    def __bool__(self) -> bool:
        """Returns True, because the length may not be known yet."""
        return True

    if not TYPE_CHECKING:  # Hidden from mypy, so that mypy still reports unknown names.

        def __getattr__(self, name: str) -> Any:
            if hasattr(type(self), name):
                # This lets the property raise its own error again.
                return object.__getattribute__(self, name)
            text = f"'Pipeline' object has no attribute {name!r}"
            if not name.startswith("_"):
                text = f"{text}. {advice_on_method(name, dir(self))}"
            raise AttributeError(text)

        def __next__(self) -> NoReturn:
            raise TypeError(
                "next: a pipeline is not an iterator. Write batches = iter(pipe), then "
                "next(batches)."
            )

    def __contains__(self, value: object) -> NoReturn:
        raise TypeError(
            "in: a pipeline does not support `in`, which would read all examples. Iterate over it, "
            "or use filter(...)."
        )

    def __getitem__(self, index: object) -> NoReturn:
        raise TypeError(
            f"[{index!r}]: a pipeline does not support indexing. Use next(iter(pipe)) for the "
            "first example, and skip(n) and take(n) for others."
        )

    def __reversed__(self) -> NoReturn:
        raise TypeError(
            "reversed: a pipeline can only be read forwards. Collect its examples in a list first."
        )

    def __copy__(self) -> "Pipeline":
        return self

    def __deepcopy__(self, memo: object) -> "Pipeline":
        """Returns the pipeline itself, because it is immutable."""
        return self

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Pipeline):
            return NotImplemented
        return self._stages == other._stages and self._options == other._options

    def __hash__(self) -> int:
        return hash(self._stages)

    def __repr__(self) -> str:
        return printable(f"Pipeline({', '.join(str(stage) for stage in self._stages)})")

    @property
    def _is_growing(self) -> bool:
        return any(stage.is_growing for stage in all_stages(self._stages))

    @contextmanager
    def _view(self, in_columns: bool = False) -> Iterator[Batches]:
        """Starts an iteration of epoch 0 that does not affect later ones, and closes it.

        A journal does not record the rows that it reads.
        """
        options, is_growing = {**self._options, "strings": "numpy"}, self._is_growing
        find_specs = partial(self._all_specs, is_start=True)
        try:
            with Batches(
                self._stages,
                options,
                find_specs,
                0,
                in_columns=in_columns,
                is_learning=is_growing,
                is_shown=True,
            ) as batches:
                yield batches
        finally:
            release_workers(self._stages)
            if is_growing and self._chain_specs is not None:
                # Results of functions were kept for the next iteration.
                self._chain_specs.forget(self._stages)

    def _described(self, number: int, stage: Stage) -> str:
        effect = steps(self._stages)[number - 1].effect if number else None
        if effect is Effect.REORDERS:
            from headrace.pipeline.plan.mixing_estimate import shuffle_in_words  # noqa: PLC0415

            return f"{stage}{shuffle_in_words(self._stages, number, self._options)}"
        if effect is Effect.DIVIDES:
            return f"{stage}{read_by_shard(self._stages, number)}"
        return str(stage)

    def _epoch_length(self) -> int:
        """Returns the number of batches in an epoch, including omitted batches."""
        return self._length_of(with_all_steps(self._stages))

    def _length_of(self, chain: Stages) -> int:
        count_episodes(chain, self._all_specs, self._options, Batches)
        return length_of(chain, index_files(self._options))

    def _start_at(self, epoch: int, state: Mapping[str, Any] | None) -> Batches:
        """Starts an epoch for a loader, and keeps worker processes alive between epochs."""
        return self._start(epoch, True) if state is None else self._resumed(state, (), True)

    def _start(
        self, epoch: int, keeps_workers: bool = False, keeps_origins: bool = False
    ) -> Batches:
        if epoch:
            self._history.note_later_epoch()
        at_end = self._history.note_end if epoch == 0 else None
        return Batches(
            self._stages,
            self._options,
            partial(self._all_specs, epoch, is_start=True),
            epoch,
            at_end=at_end,
            keeps_workers=keeps_workers,
            keeps_origins=keeps_origins,
            may_share=not keeps_origins,
        )

    def _learned_specs(self, epoch: int = 0) -> ChainSpecs:
        """Returns the components after each stage.

        A Python function is called for the first example of the epoch to learn its components.
        """
        try:
            chain_specs = self._all_specs(epoch)
        finally:
            release_workers(self._stages)
        # The function or its data may change before the next iteration.
        chain_specs.forget(self._stages)
        return chain_specs

    def _all_specs(self, epoch: int = 0, is_start: bool = False) -> ChainSpecs:
        # This is a loop, because there may be more stages than the recursion limit.
        unknown: list[Pipeline] = []
        pipe: Pipeline | None = self
        while pipe is not None and pipe._chain_specs is None:
            unknown.append(pipe)
            pipe = None if _has_skipped(pipe._stages) else pipe._base
        chain_specs = None if pipe is None else pipe._chain_specs
        how = InferenceContext(self._options, is_start, epoch)
        for pipe in reversed(unknown):
            try:
                behind = steps(self._stages)[len(pipe._stages) - 1 :]
                chain_specs = infer_specs(pipe._stages, how, chain_specs, behind)
            except BaseException:
                release_workers(self._stages)
                raise
            if chain_specs.is_whole:
                # Empty results are not stored, because there may be examples next time.
                pipe._chain_specs = chain_specs
        if chain_specs is not None:
            return chain_specs
        assert self._chain_specs is not None
        return self._chain_specs


def release_workers(chain: Stages) -> None:
    """Stops the worker processes that are waiting for an iteration."""
    for caller in callers(chain):
        caller.of.holder.release()


def _has_skipped(chain: Stages) -> bool:
    """Returns whether errors are skipped. If so, earlier stages must not run on their own."""
    return any(step.judges_errors for step in steps(chain))
