"""The pipeline: an immutable description, and the ways to iterate over it."""

import os
from collections.abc import Collection, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, NoReturn

from headrace.core.errors import OutOfRangeError
from headrace.core.tracebacks import with_short_tracebacks
from headrace.pipeline.outputs.arrow import check_arrow, record_batches
from headrace.pipeline.outputs.jax import JaxBatches, check_jax
from headrace.pipeline.outputs.ray_data import ray_dataset
from headrace.pipeline.outputs.torch import TorchLoader, torch_loader
from headrace.pipeline.paths.index_files import index_files
from headrace.pipeline.plan.lengths import length_of
from headrace.pipeline.plan.mixing_estimate import shuffle_in_words
from headrace.pipeline.run.batches import Batches
from headrace.pipeline.run.count import count_of
from headrace.pipeline.run.spec_inference import InferenceContext, chain_specs
from headrace.pipeline.run.state import resumed
from headrace.pipeline.sources.file_source import InferredSource
from headrace.pipeline.stages.arguments import checked_int
from headrace.pipeline.stages.batch import BatchMethod
from headrace.pipeline.stages.bucket_by_length import BucketByLengthMethod
from headrace.pipeline.stages.cache import CacheMethod
from headrace.pipeline.stages.components import (
    ChainSpecs,
    all_stages,
    batch_depth,
    source_of,
    static_specs,
    steps,
)
from headrace.pipeline.stages.epochs import EpochsMethod
from headrace.pipeline.stages.filter import FilterMethod
from headrace.pipeline.stages.flat_map import FlatMapMethod
from headrace.pipeline.stages.function_step import FunctionStep
from headrace.pipeline.stages.map import MapMethod
from headrace.pipeline.stages.options import OptionsMethod
from headrace.pipeline.stages.other_libraries import advice_on_method
from headrace.pipeline.stages.pack import PackMethod
from headrace.pipeline.stages.padded_batch import PaddedBatchMethod
from headrace.pipeline.stages.parse import ParseMethod
from headrace.pipeline.stages.prefetch import PrefetchMethod
from headrace.pipeline.stages.rename import RenameMethod
from headrace.pipeline.stages.select import SelectMethod
from headrace.pipeline.stages.shard import ShardMethod, read_by_shard
from headrace.pipeline.stages.shuffle import Shuffle, ShuffleMethod
from headrace.pipeline.stages.skip import SkipMethod
from headrace.pipeline.stages.skip_errors import SkipErrorsMethod
from headrace.pipeline.stages.split import SplitMethod
from headrace.pipeline.stages.stage import Effect, Stage, Stages
from headrace.pipeline.stages.take import TakeMethod
from headrace.pipeline.stages.unbatch import UnbatchMethod
from headrace.pipeline.stages.with_origin import WithOriginMethod
from headrace.pipeline.values.types import Spec, Specs

__all__ = ["Pipeline"]


class Pipeline(
    BatchMethod,
    BucketByLengthMethod,
    CacheMethod,
    EpochsMethod,
    FilterMethod,
    FlatMapMethod,
    MapMethod,
    PackMethod,
    PaddedBatchMethod,
    ParseMethod,
    PrefetchMethod,
    RenameMethod,
    SelectMethod,
    ShardMethod,
    ShuffleMethod,
    SkipMethod,
    SkipErrorsMethod,
    SplitMethod,
    TakeMethod,
    UnbatchMethod,
    WithOriginMethod,
    OptionsMethod,
):
    """A source of examples and the stages that they go through.

    Made by a function such as `headrace.tfrecords`, not by its constructor. Each method returns a
    new pipeline. No file is opened and no thread is started before it is iterated. The batches
    depend only on this description and the data, not on the number of threads, on memory or on
    timing.

    Two pipelines are equal if their stages are equal: seeds included, Python functions by identity.
    """

    __slots__ = ()

    def epoch(self, number: int) -> Batches:
        """Starts one epoch, numbered from 0: each has different orders of shuffles.

        Args:
            number: The number of the epoch, from 0.

        Returns:
            An iterator over its batches, or its examples without `batch`.

        Raises:
            ValueError: If `number` is negative, or the pipeline has `epochs` already.
        """
        checked_int("epoch", "number", number, 0)
        if any(step.effect is Effect.REPEATS for step in steps(self._stages)):
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
            return count_of(self._stages, self._options, known)
        finally:
            known.forget(self._stages)

    @property
    @with_short_tracebacks
    def spec(self) -> dict[str, Spec]:
        """The components of an example, or of a batch.

        A Python function is called for the first example to learn its components.

        Raises:
            OpError: If the first example cannot be read then.
            OutOfRangeError: If there are no examples.
        """
        if self._specs is not None:
            return dict(self._specs)
        known = self._learned_specs()
        if known.first_empty_stage is not None:
            raise OutOfRangeError(
                None,
                None,
                f"spec: {self._stages[known.first_empty_stage]} has no example, from which the "
                "components after it are learned, expected one. Check what comes before it.",
            )
        return dict(known.specs[-1])

    @property
    def classes(self) -> tuple[str, ...]:
        """The names of the classes, of `image_folder` and `audio_folder`; label 0 is the first.

        Raises:
            AttributeError: If the source has no classes.
            NotFoundError: If there are none in the directory.
        """
        source = source_of(self._stages)
        if source.classes is None:
            raise AttributeError(
                f"classes: {source.name} has no classes, expected a pipeline that begins with "
                "image_folder or audio_folder."
            )
        return source.classes

    def describe(self) -> str:
        """Returns the stages and the components, as text for people."""
        lines = [self._described(number, stage) for number, stage in enumerate(self._stages)]
        options = [f"options: {name}={value}" for name, value in self._options.items()]
        if "num_threads" in self._options and any(stage.runs_python for stage in self._stages):
            options.append("options: num_threads leaves each Python function one thread of its own")
        known, source = static_specs(self._stages), self._stages[0]
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
        for step in steps(self._stages):
            if step.has_unknown_output:
                return None
            specs = step.specs_after(specs)
        return specs

    def resume(self, state: Mapping[str, Any] | None, allow: Collection[str] = ()) -> Batches:
        """Continues from the state of another iteration, with the batches that would have followed.

        The batches are the same bytes, also in another process, with other options, and with the
        files in another directory. If only `map`, `select`, `rename`, `parse`, batches and one
        `epochs` follow `shard`, the number of shards and the batch size may change, too: the state
        of one shard serves them all, and the number of examples read so far in the epoch must be
        divisible by the new number. This is refused for a shard in a part of `mix`, `concat` or
        `zip`, before a function with a state, and after epochs in which shards had different
        lengths.

        Functions are identified by their names. Their code is not compared, and neither is the
        content of arrays. A Python function may be called again for some examples before the
        position. Examples from `iterable` are made again from the beginning of the epoch, and
        skipped. A `cache` is empty in another process; the next whole epoch fills it.

        Args:
            state: The result of `Batches.state`, or None for the beginning. Seeds not given by the
                program are taken from it.
            allow: Permitted differences from the pipeline of the state: "epochs" for their number,
                "weights" for the weights of `mix`, "parts" for its parts. Weights and parts may
                differ only where nothing behind `mix` holds examples back.

        Raises:
            TypeError: If the state is not a dict.
            ValueError: If it is damaged, or of another pipeline, other files or a newer version;
                the text says which.
        """
        return self._start(0) if state is None else self._resumed(state, allow, False)

    def _resumed(self, state: Mapping[str, Any], allow: Collection[str], keeps: bool) -> Batches:
        found = resumed(self._stages, state, allow)
        return Batches(
            found.chain,
            self._options,
            partial(self._all_specs, found.epoch, is_start=True),
            found.epoch,
            found,
            keeps_workers=keeps,
        )

    def replay(self, state: Mapping[str, Any]) -> Batches:
        """Returns an iteration from a state, with the origins of examples in `Batches.origins`."""
        found = resumed(self._stages, state, ())
        known = partial(self._all_specs, found.epoch)
        return Batches(found.chain, self._options, known, found.epoch, found, keeps_origins=True)

    def to_torch(
        self, device: Any = None, pin_memory: bool | None = None, length: int | None = None
    ) -> TorchLoader:
        """Returns a loader of tensors for PyTorch, to be used as a `DataLoader` is.

        Each `iter` of it is the next epoch, and `state_dict` and `load_state_dict` work as in
        torchdata's `StatefulDataLoader`. Tensors of the CPU share their memory with the batch.

        Args:
            device: The device of the tensors, as `torch.device` takes it. Copies run one batch
                ahead of the loop, on a side stream for CUDA. None keeps tensors on the CPU.
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

        Unless `jax_enable_x64` is set, JAX has no 64-bit numbers: floats are rounded to 32 bits,
        and a number out of the 32-bit range raises a ValueError with its batch.

        Args:
            sharding: A `jax.sharding.Sharding`: arrays are global, and the batches of this process
                are the shards of this process. None for the default device of JAX.
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
        if batch_depth(self._stages) > 0:
            specs = {name: spec.row() for name, spec in specs.items()}
        batches = Batches(self._stages, options, known, 0, in_columns=True)
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

    def write(
        self, path: str | os.PathLike[str], num_shards: int = 1, resume: bool = False
    ) -> list[str]:
        """Writes all examples of one epoch into files, and returns their paths.

        The ending of the name says the format: `.tfrecord`, `.tar` (samples as the library
        webdataset reads them), `.jsonl` (JSON lines) or `.parquet`; all but Parquet may end with
        `.gz`. Each shard has neighbouring examples, in the order of the pipeline, and their
        numbers differ by at most one. So the same pipeline writes the same files. A shard gets its
        name when it is whole and on the disk.

        Where the number of examples is not known, several shards need a count of all of them first
        (see `count`). A hidden file beside the shards has the progress. A component that the format
        cannot hold is refused before the first shard.

        Args:
            path: A path or the URL of a storage, with `{shard}` for the number, such as
                "out/train-{shard:05}.tfrecord", and `{num_shards}` if wanted. Missing directories
                are made. A remote shard is written on this machine first, and uploaded when it is
                whole.
            num_shards: The number of shards.
            resume: Whether to continue where an earlier call was ended or killed. Shards that it
                completed stay as they are, and the others come out as they would have. If there
                was no such call, writing starts from the beginning.

        Raises:
            AlreadyExistsError: If a shard exists, or another process is writing them.
            FailedPreconditionError: If the data or the shards have changed since an earlier call.
            ModuleNotFoundError: If something has to be installed for the format.
            ValueError: If the pipeline gives batches or no examples, the format is unknown or
                cannot hold a component, or `resume` is given for another pipeline.
        """
        # Programs that only read do not load it.
        from headrace.pipeline.writing.write import write  # noqa: PLC0415

        return write(self, path, num_shards, resume)

    @with_short_tracebacks
    def __iter__(self) -> Batches:
        self._history.note_begin()
        return self._start(0)

    def __len__(self) -> int:
        return length_of(self._stages, index_files(self._options))

    def __bool__(self) -> bool:
        """Returns True: the number of examples is not known before they are read."""
        return True

    if not TYPE_CHECKING:  # Hidden from mypy, so that it reports wrong names.

        def __getattr__(self, name: str) -> Any:
            if hasattr(type(self), name):
                return object.__getattribute__(self, name)  # Raises its own error again.
            text = f"'Pipeline' object has no attribute {name!r}"
            if not name.startswith("_"):
                text = f"{text}. {advice_on_method(name, dir(self))}"
            raise AttributeError(text)

        def __next__(self) -> NoReturn:
            raise TypeError(
                "next: a pipeline isn't an iterator, expected one. Write batches = iter(pipe), "
                "then next(batches)."
            )

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
        """Returns the pipeline itself, which is immutable."""
        return self

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Pipeline):
            return NotImplemented
        return self._stages == other._stages and self._options == other._options

    def __hash__(self) -> int:
        return hash(self._stages)

    def __repr__(self) -> str:
        return f"Pipeline({', '.join(str(stage) for stage in self._stages)})"

    def _described(self, number: int, stage: Stage) -> str:
        if isinstance(stage, Shuffle):
            return f"{stage}{shuffle_in_words(self._stages, number, self._options)}"
        return f"{stage}{read_by_shard(self._stages, number)}"

    def _start_at(self, epoch: int, state: Mapping[str, Any] | None) -> Batches:
        """Starts an epoch for a loader; worker processes stay alive between epochs."""
        return self._start(epoch, True) if state is None else self._resumed(state, (), True)

    def _start(self, epoch: int, keeps_workers: bool = False) -> Batches:
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
        )

    def _learned_specs(self, epoch: int = 0) -> ChainSpecs:
        """Returns the components after each stage.

        A Python function is called for the first example of an epoch to learn its components.
        """
        try:
            known = self._all_specs(epoch)
        finally:
            release_workers(self._stages)
        # The function or its data may change before the next iteration.
        known.forget(self._stages)
        return known

    def _all_specs(self, epoch: int = 0, is_start: bool = False) -> ChainSpecs:
        # A loop, since there may be more stages than the recursion limit.
        unknown: list[Pipeline] = []
        pipe: Pipeline | None = self
        while pipe is not None and pipe._known is None:
            unknown.append(pipe)
            pipe = None if _has_skipped(pipe._stages) else pipe._base
        known = None if pipe is None else pipe._known
        how = InferenceContext(self._options, is_start, epoch)
        for pipe in reversed(unknown):
            try:
                behind = steps(self._stages)[len(pipe._stages) - 1 :]
                known = chain_specs(pipe._stages, how, known, behind)
            except BaseException:
                release_workers(self._stages)
                raise
            if known.is_whole:
                # An empty result is not stored: there may be examples the next time.
                pipe._known = known
        if known is not None:
            return known
        assert self._known is not None
        return self._known


def release_workers(chain: Stages) -> None:
    """Ends worker processes that wait for an iteration."""
    for stage in all_stages(chain):
        if isinstance(stage, FunctionStep):
            stage.holder.release()


def _has_skipped(chain: Stages) -> bool:
    """Returns whether failures are skipped; then stages before must not be run on their own."""
    return any(step.judges_errors for step in steps(chain))
