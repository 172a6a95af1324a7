"""An iteration over a pipeline: its threads, and the batches that it yields."""

import copy
import logging
import os
import sys
import threading
import time
import weakref
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, NoReturn, cast

from headrace.core import engine
from headrace.core.errors import FailedPreconditionError
from headrace.core.live_objects import LiveObjects
from headrace.core.processors import num_cores
from headrace.core.repr_prefix import printable
from headrace.core.tracebacks import hide_own_frames
from headrace.pipeline.functions.python_functions import PythonWorker
from headrace.pipeline.paths.index_files import index_files
from headrace.pipeline.plan.pipeline_plan import PipelinePlan
from headrace.pipeline.plan.planner import plan
from headrace.pipeline.plan.revisions import (
    check_contents,
    contents_of,
    pinned,
    revisions_of,
)
from headrace.pipeline.run.episodes import find_episodes, forget_changed_episodes
from headrace.pipeline.run.global_order import GlobalOrder
from headrace.pipeline.run.limits import cache_of, memory_bytes_of
from headrace.pipeline.run.metrics import Meter, Metrics
from headrace.pipeline.run.missing_components import MissingComponents
from headrace.pipeline.run.mixture_parts import CHANGED_MIXTURE_ORDER, MixtureParts
from headrace.pipeline.run.reports import Reports
from headrace.pipeline.run.sample_weights import forget_changed_weights, read_weights
from headrace.pipeline.run.skipped import Report
from headrace.pipeline.run.state import ResumePoint, check_files, damaged, identity_of, state_of
from headrace.pipeline.run.step_counter import StepCounter
from headrace.pipeline.run.threads.gil_share import GilShares
from headrace.pipeline.run.threads.iteration_end import close, close_or_interrupt
from headrace.pipeline.run.threads.python_threads import Threads, callers_of
from headrace.pipeline.stages.arguments import checked_int
from headrace.pipeline.stages.components import ChainSpecs, all_sources, batch_depth
from headrace.pipeline.stages.skip_errors import SkipErrors
from headrace.pipeline.stages.source import Origin
from headrace.pipeline.stages.stage import Stages
from headrace.pipeline.values.column_conversion import shown
from headrace.pipeline.values.nested import NestedList
from headrace.pipeline.values.string_arrays import arrow_array
from headrace.pipeline.values.types import Spec

if TYPE_CHECKING:
    from headrace.pipeline.run.live_report import IterationReport
    from headrace.pipeline.run.node.local_ranks import LocalRanks
    from headrace.pipeline.run.progress import Progress

__all__ = ["Batches", "open_batches"]

# The GIL is measured once an iteration has run for this many seconds.
_LOOKED_AT_S: Final = 0.2

# If this environment variable is set, the process reports to `headrace top`.
_REPORT_VARIABLE: Final = "HEADRACE_TOP"

_log: Final = logging.getLogger("headrace.pipeline")
_alive: "LiveObjects[Batches]" = LiveObjects()

# The maximum number of stages. Each stage calls the previous one on the same stack.
_MOST_STAGES: Final = 500


class Batches(Reports):
    """One iteration over a pipeline.

    Iterate over it, or call `next`, to get batches (or examples, if the pipeline has no `batch`). A
    batch is a dict of writable arrays that belong to your program. Strings are stored in arrays of
    `bytes` or `str` objects, unless you change this with `options(strings=...)`. An example is a
    dict of NumPy scalars, arrays, `bytes` and `str`.

    The threads start when the iteration is created, or at the first `next` if an `iterable` has yet
    to determine its components. They stop and close their files at the end of the data, after an
    error, on `close`, at the end of a `with` block, when the object is deleted, and when the
    interpreter exits. Use an iteration from one thread at a time.

    Examples:
        >>> batches = iter(hr.arrays({"x": range(6)}).batch(2))
        >>> next(batches)
        {'x': array([0, 1])}
        >>> state = batches.state()
        >>> batches.close()
    """

    def __init__(
        self,
        chain: Stages,
        options: Mapping[str, Any],
        chain_specs: ChainSpecs | Callable[[], ChainSpecs],
        epoch: int,
        resumed: ResumePoint | None = None,
        in_columns: bool = False,
        at_end: Callable[[], None] | None = None,
        is_learning: bool = False,
        keeps_workers: bool = False,
        keeps_origins: bool = False,
        may_share: bool = False,
        is_shown: bool = False,
    ) -> None:
        """Starts the threads. If an iterator has to be called first, `next` starts them instead.

        Args:
            chain: The stages.
            options: The pipeline's options.
            chain_specs: The components, or a function that learns them.
            epoch: The epoch number.
            resumed: The state to resume from.
            in_columns: Whether to return whole columns instead of single examples.
            at_end: A function to call after all batches have been returned.
            is_learning: Whether to compute only requested examples, and to keep the examples of
                iterators.
            keeps_workers: Whether to keep worker processes for the next iteration.
            keeps_origins: Whether batches record where their examples come from.
            may_share: Whether this node's ranks may share one engine if the options request it.
            is_shown: With `is_learning`, whether steps are left out, as in an ordinary iteration.
        """
        if len(chain) > _MOST_STAGES:
            raise ValueError(
                f"the pipeline has {len(chain)} stages, but the maximum is {_MOST_STAGES}. "
                "Combine several functions, skips or takes into one."
            )
        # While components are learned, no batch is left out.
        counted = chain if is_shown or not is_learning else chain[:1]
        self._steps = StepCounter(counted, options, epoch, resumed)
        self._chain = chain
        self._options = options
        self._epoch = epoch
        self._resumed = resumed
        self._index_files = index_files(options)
        self._at_end = at_end
        self._has_taken = False
        self._meter = Meter(is_counted=not is_learning)
        weakref.finalize(self, self._meter.finish).atexit = False
        self._identity: dict[str, Any] | None = None
        self._version: int | None = None
        self._is_learning = is_learning
        self._keeps_workers = keeps_workers or is_learning
        self._keeps_origins = keeps_origins
        self._local_ranks = None
        if may_share and options.get("node") == "shared":
            # Imported here, because few programs share an engine.
            from headrace.pipeline.run.node.local_ranks import local_ranks  # noqa: PLC0415

            self._local_ranks = local_ranks(chain, options, epoch, resumed is not None)
        self._process = os.getpid()
        self._is_batched = batch_depth(chain) > 0
        self._has_arrow_strings = options.get("strings") == "arrow" and (
            self._is_batched or in_columns
        )
        self._is_deterministic = bool(options.get("deterministic", True))
        self._num_threads = options.get("num_threads") or num_cores()
        self._name = " > ".join(str(stage) for stage in chain[:1])
        self._end: weakref.finalize[..., Batches] | None = None
        # True if `close` was called before the threads were started.
        self._is_closed = False
        # The thread that closed the iteration, and the exception from a signal handler.
        self._closed_by: int | None = None
        self._failure: BaseException | None = None
        self._is_beginning = False
        # The threads that call the user's functions.
        self._callers: list[threading.Thread] = []
        # The thread that measures GIL use, until it is started.
        self._gil_watch: threading.Thread | None = None
        self._learn = chain_specs if callable(chain_specs) else None
        self._begin = time.monotonic()
        self._end_time: float | None = None
        if not callable(chain_specs):
            self._begin_with(chain_specs)
        elif not any(source.may_wait for source in all_sources(chain)):
            self._begin_with(chain_specs())
        _alive.add(self)

    @property
    def _has_begun(self) -> bool:
        return self._end is not None

    def _begin_now(self) -> None:
        """Learns the components and starts the threads, unless that has been done already.

        If `close` was called before, no function-calling thread starts, and the other threads stop
        at once.
        """
        if self._end is not None:
            return
        assert self._learn is not None
        self._check_caller()
        self._is_beginning = True
        try:
            self._begin_with(self._learn())
        finally:
            self._is_beginning = False

    @engine.op_errors()
    def _begin_with(self, chain_specs: ChainSpecs) -> None:
        """Starts the threads."""
        chain, options, resumed, epoch = self._chain, self._options, self._resumed, self._epoch
        self._order = GlobalOrder(chain, resumed, self._is_deterministic and not self._is_learning)
        self._revisions = revisions_of(chain) if resumed is None else resumed.revisions
        changed = None if resumed is None else resumed.mixture
        self._parts = MixtureParts(chain, changed)
        mix_checkpoint = changed.checkpoints if changed is not None and changed.is_changed else None
        planned = self._planned(chain_specs, mix_checkpoint)
        self._contents = contents_of(planned.contents)
        if resumed is not None:
            check_files(planned.files, resumed.files)
            is_changed = changed is not None and changed.is_changed
            check_contents(self._contents, resumed.contents, is_changed)
        self._files = planned.files
        self._disk_caches = planned.disk_caches
        self._counted = planned.stages
        stages = [replace(counted, part="") for counted in planned.stages]
        self._names = [stage.name for stage in planned.stages]
        self._name = printable(" > ".join(dict.fromkeys(stage.name for stage in stages)))
        judged = {
            number: cast("SkipErrors", counted.stage)
            for number, counted in enumerate(planned.stages)
            if counted.stage.judges_errors
        }
        self._functions = _functions(planned.python_workers, resumed)
        self._absent = MissingComponents(planned.seen_components)
        self._report = Report(judged, [stage.name for stage in stages])
        if resumed is not None:
            self._report.restore(resumed.skipped)
        self._specs = chain_specs.specs[-1]
        self._execution = (
            self._own_execution(planned)
            if self._local_ranks is None
            else self._member(self._local_ranks, planned, chain_specs)
        )
        self._order.begin(self._execution, planned.plan, epoch)
        self._meter.begin(self._execution, self._names, self._parts.counted_names)
        self._plan = planned.plan
        # A user's function may refer to the iteration. To avoid a cycle, neither the threads nor
        # the code that stops them refer to a Python worker.
        self._python_workers = planned.python_workers
        self._set_versions()
        self._gil_shares = GilShares(len(planned.python_workers))
        # If ranks share an engine, its owner calls the functions.
        python_workers = planned.python_workers if self._local_ranks is None else []
        threads = Threads(
            self._execution,
            python_workers,
            self._names,
            self._gil_shares,
            options,
            self._is_learning,
        )
        self._callers = threads.callers
        self._begin = time.monotonic()
        ending = threads.ending(self._name, self._worker_processes(python_workers))
        self._end = weakref.finalize(self, close, ending, self._process)
        if self._is_closed:
            self.close()
            return
        threads.start()
        self._gil_watch = threads.gil_watch
        if not self._is_learning:
            _report_to_top()

    def _worker_processes(self, python_workers: Sequence[PythonWorker]) -> list[Any]:
        """Returns the worker processes, prepared for this iteration."""
        processes = [
            worker_processes
            for python_worker in python_workers
            if (worker_processes := getattr(python_worker, "processes", None)) is not None
        ]
        for worker_processes in processes:
            worker_processes.hold = self._execution.hold
            worker_processes.keeps_workers = self._keeps_workers
        return processes

    def _planned(self, chain_specs: ChainSpecs, mix_checkpoint: list[Any] | None) -> PipelinePlan:
        """Plans the pipeline, after finding its episodes and the weights of its samples."""
        chain = pinned(self._chain, self._revisions)
        make_plan = partial(
            plan,
            chain,
            chain_specs,
            cache_of(self._options),
            self._is_learning,
            self._resumed is not None,
            self._index_files,
            self._order.seen,
            mix_checkpoint,
        )
        find_episodes(chain, chain_specs, self._options, Batches)
        read_weights(chain, chain_specs, self._options, Batches)
        planned = make_plan()
        is_changed = forget_changed_episodes(chain, planned.files)
        if forget_changed_weights(chain, planned.files) or is_changed:
            find_episodes(chain, chain_specs, self._options, Batches)
            read_weights(chain, chain_specs, self._options, Batches)
            planned = make_plan()
        return planned

    def _own_execution(self, planned: PipelinePlan) -> engine.Execution:
        """Starts an engine for this iteration alone."""
        resumed, callers = self._resumed, callers_of(planned.python_workers)
        is_on_request = any(source.reads_on_request for source in all_sources(self._chain))
        return engine.Execution(
            planned.plan,
            name=self._name,
            epoch=self._epoch,
            checkpoint=None if resumed is None else resumed.checkpoints,
            function_states=self._functions,
            num_threads=self._num_threads,
            num_callers=len(callers),
            num_python_workers=len(planned.python_workers),
            num_stages=len(planned.stages),
            memory_bytes=memory_bytes_of(self._options),
            max_outputs=0 if is_on_request else planned.num_ready,
            is_batched=self._is_batched,
            is_deterministic=self._is_deterministic,
            is_synchronous=self._is_learning or is_on_request,
            keeps_origins=self._keeps_origins,
        )

    def _member(
        self, ranks: "LocalRanks", planned: PipelinePlan, chain_specs: ChainSpecs
    ) -> engine.Execution:
        """Joins the other ranks of this node that share an engine."""
        # Imported here, because few programs share an engine.
        from headrace.pipeline.run.node.engine_lanes import EngineDescription  # noqa: PLC0415
        from headrace.pipeline.run.node.member import MemberExecution  # noqa: PLC0415
        from headrace.pipeline.run.node.messages import Place  # noqa: PLC0415

        resumed = self._resumed
        if self._parts.is_changed:
            raise ValueError(
                "options: node='shared' does not work if the parts or weights of mix have changed "
                "since the state was saved. Remove the option until the next checkpoint."
            )
        has_order = self._order.seen is not None
        what = EngineDescription(
            self._name,
            tuple(pinned(self._chain, self._revisions)),
            self._options,
            chain_specs,
            self._epoch,
            resumed is not None,
            self._index_files,
            planned.plan,
            has_order,
            len(planned.stages),
            self._parts.num_parts,
            self._process,
        )
        digest = None if resumed is None else resumed.digest
        point = (digest[1], digest[2], digest[3], digest[4]) if digest and has_order else None
        start = Place(
            0, None if resumed is None else resumed.checkpoints, point, [0] * self._parts.num_parts
        )
        # A member has all methods of `engine.Execution` that an iteration uses.
        return cast("engine.Execution", MemberExecution(ranks, what, start))

    def __iter__(self) -> "Batches":
        return self

    def __next__(self) -> dict[str, Any]:
        try:
            columns = self._take()
        except StopIteration:
            raise
        except BaseException as error:
            hide_own_frames(error)
            raise
        self._meter.batches += 1
        return columns

    def _take(self) -> dict[str, Any]:
        waiting = self._meter.waiting
        if waiting:
            return waiting.popleft()
        columns = self.next_columns()
        if columns is None:
            raise StopIteration
        num_rows, components = columns
        if self._is_batched:
            return components
        waiting.extend(
            {name: column[row] for name, column in components.items()} for row in range(num_rows)
        )
        return waiting.popleft()

    def next_columns(self) -> tuple[int, dict[str, Any]] | None:
        """Returns the next batch, or several examples in columns, with the number of rows.

        A column is an array, or a list if rows have different shapes. Returns None at the end.
        """
        if not self.is_open:
            self._check_end()
            return None
        if self._process != os.getpid():
            raise FailedPreconditionError(
                None,
                None,
                "this iteration over a pipeline was started before a fork, and its threads "
                "belong to the parent process. Start a new iteration in this process.",
            )
        self._check_caller()
        try:
            self._begin_now()
            batch = self._next()
            self._say_of_caches()
        except engine.EngineError as error:
            self._fail(error)
            engine.raise_op_error(error)
        except BaseException as error:
            self._fail(error)
            raise
        if batch is None:
            if not self.is_open:
                self._check_end()
            self.close()
            self._report.finish()
            if self._at_end is not None:
                self._at_end()
            self._absent.look(is_over=True)
            return None
        self._has_taken = True
        self._report.settle()
        self._absent.look()
        self._order.note_position(self._meter.num_left)
        if self._gil_watch is not None and time.monotonic() - self._begin > _LOOKED_AT_S:
            # A short iteration doesn't need advice about its functions.
            watch_gil, self._gil_watch = self._gil_watch, None
            watch_gil.start()
        num_rows, columns = batch
        return num_rows, {
            name: _component(name, spec, column)
            for (name, spec), column in zip(self._specs.items(), columns, strict=True)
        }

    def _say_of_caches(self) -> None:
        """Logs the warnings of disk caches."""
        for cache in self._disk_caches:
            for message in cache.messages():
                _log.warning("%s", message)

    def _next(self) -> tuple[int, list[Any]] | None:
        """Returns the next batch or examples, and adds preceding skipped examples to the report."""
        while True:
            result = self._execution.next(self._has_arrow_strings)
            if result is None:
                return None
            if isinstance(result, tuple):
                if not (self._is_batched and self._steps.count()):
                    return result
                self._has_taken = True
                self._report.settle()
                self._meter.leave_out_last()
                continue
            num_before = len(self._report.skipped)
            self._report.add(result)
            new = self._report.skipped[num_before:]
            self._meter.skipped += sum(skipped.num_lost or 1 for skipped in new)

    def _check_caller(self) -> None:
        """Rejects calls from the pipeline's own functions, because they would deadlock."""
        if self._is_beginning:
            raise FailedPreconditionError(
                None,
                None,
                f"pipeline '{self._name}': its first example is already being read, either by "
                "another thread or by a call of its own function. Use each iteration in one "
                "thread only.",
            )
        if threading.current_thread() in self._callers:
            raise FailedPreconditionError(
                None,
                None,
                f"pipeline '{self._name}': next was called by a function of the same pipeline, "
                "which would wait for itself. Iterate outside of that function, or over another "
                "pipeline.",
            )

    def _fail(self, error: BaseException) -> None:
        """Closes the iteration because `next` raises an error.

        An error of the pipeline always occurs at the same place in the order, so the iteration ends
        there. An exception from a signal handler can occur anywhere, so the iteration has not
        reached its end.
        """
        if self.is_open:
            is_over = self._end is not None and self._execution.state().is_over
            self._failure = None if is_over else error
            self.close()

    def _check_end(self) -> None:
        """Raises an error unless the data has ended, or this thread has closed the iteration."""
        if self._failure is not None:
            raise FailedPreconditionError(
                None,
                None,
                f"pipeline '{self._name}': this iteration ended early with "
                f"{type(self._failure).__name__}. Resume from its state(), or start a new "
                "iteration.",
            )
        if self._closed_by not in (None, threading.get_ident()):
            raise FailedPreconditionError(
                None,
                None,
                f"pipeline '{self._name}': another thread closed this iteration before the end of "
                "the data. Resume from its state(), or start a new iteration.",
            )

    def close(self) -> None:
        """Stops the threads and waits for them. Examples that were read ahead are dropped.

        If a Python function is running, this waits up to 0.15 s for it to return. If the function
        takes longer, its thread stops once the function returns.
        """
        self._meter.num_dropped += len(self._meter.waiting)
        self._meter.waiting.clear()
        self._meter.is_open = False
        self._end_time = self._end_time or time.monotonic()
        if self._end is None:
            self._is_closed = True
            self._closed_by = threading.get_ident()
        elif (finalizer := self._end.detach()) is not None:
            self._closed_by = self._closed_by or threading.get_ident()
            _, _, (ending, process), _ = finalizer
            close(ending, process, close_or_interrupt)

    @property
    def is_open(self) -> bool:
        """True until the threads have stopped."""
        return not self._is_closed if self._end is None else self._end.alive

    @property
    def num_left_out(self) -> int:
        """How many batches `without_steps` has left out in this iteration."""
        return self._steps.num_left_out

    @property
    def is_deterministic(self) -> bool:
        """True if the batches have a fixed order. `state` requires one."""
        return self._is_deterministic

    def state(self) -> dict[str, Any]:
        """Returns the position after the last batch that your loop received.

        The state is small and contains only data that `json` can serialise. It stores positions,
        not examples. Pass it to `Pipeline.resume`, in this process or another one. You can call
        `state` at any time, even before the first batch, after the last one, after `close` and
        after an error.

        Raises:
            FailedPreconditionError: If the pipeline has `options(deterministic=False)`, because
                there is no fixed order to resume.

        Examples:
            >>> pipe = hr.arrays({"x": range(6)}).batch(2)
            >>> with iter(pipe) as batches:
            ...     batch = next(batches)
            ...     state = batches.state()
            >>> next(pipe.resume(state))
            {'x': array([2, 3])}
        """
        if not self._is_deterministic:
            raise FailedPreconditionError(
                None,
                None,
                "state: the pipeline has options(deterministic=False), so there is no fixed "
                "order to resume. Remove that option.",
            )
        self._begin_now()
        identity = copy.deepcopy(self._identified())
        num_left, has_taken = self._meter.num_left, self._has_taken
        digest: list[int] | None
        if self._resumed is not None and self._parts.is_changed and not has_taken:
            # Until then, only the engine's own position is known, which is ahead of the loop's.
            checkpoints, digest = self._resumed.checkpoints, list(CHANGED_MIXTURE_ORDER)
        else:
            checkpoints = self._execution.checkpoint(num_left)
            digest = self._order.state(num_left)
        counts = self._meter.part_counts()
        mixture = self._parts.state(self._execution, self._plan, num_left, counts, has_taken)
        step = self._steps.number
        if step is not None and not self._is_batched:
            step += self._meter.batches
        return state_of(
            identity,
            checkpoints,
            self._report.state(),
            digest,
            mixture,
            step,
            self._steps.left_out,
        )

    def progress(self, description: str = "") -> "Progress":
        """Returns this iteration with a progress bar; see `Pipeline.progress`.

        Args:
            description: Text to show before the bar.

        Examples:
            >>> pipe = hr.arrays({"x": range(6)}).batch(2)
            >>> for batch in pipe.epoch(1).progress("epoch 1"):
            ...     print(batch["x"])
            [0 1]
            [2 3]
            [4 5]
        """
        # Imported here, because few programs show a bar.
        from headrace.pipeline.run.progress import Progress, num_before, num_steps  # noqa: PLC0415

        before = num_before(self._chain, self._resumed)
        total = None if before is None else num_steps(self._chain, self._index_files)
        number = (before or 0) + self._meter.batches + self.num_left_out
        unit = "batches" if self._is_batched else "examples"
        return Progress(self, description, total, number, unit)

    def set_version(self, version: int) -> None:
        """Sets the version of your model, from which journals count the age of rows.

        Call it whenever you have updated the model, before you request the next batch. `hr.journal`
        then drops rows whose version is less than `version - max_age`. Examples that a later stage
        already holds, such as a shuffle window, are not dropped. After a resume, the rows that were
        dropped before are dropped again, and only new rows depend on the version.

        Args:
            version: The version. It must not decrease.

        Raises:
            ValueError: If `version` is not an int, is negative or decreases, or the pipeline reads
                no journal.

        Examples:
            >>> with hr.Journal("episodes") as journal:
            ...     for version in range(4):
            ...         journal.append([{"return": float(version)}], version=version)
            >>> batches = iter(hr.journal("episodes", max_age=1))
            >>> batches.set_version(3)
            >>> [float(example["return"]) for example in batches]
            [2.0, 3.0]
        """
        number = checked_int("set_version", "version", version, 0)
        if not any(source.origin is Origin.JOURNAL for source in all_sources(self._chain)):
            raise ValueError(
                f"set_version: the pipeline reads no journal. Its source is {self._name}."
            )
        if self._version is not None and number < self._version:
            raise ValueError(
                f"set_version: version is {number}, expected at least {self._version}, which was "
                "set before."
            )
        self._version = number
        if self._has_begun:
            self._set_versions()

    def _set_versions(self) -> None:
        """Passes the version to the readers of journals."""
        for python_worker in self._python_workers:
            set_version = getattr(python_worker, "set_version", None)
            if self._version is not None and set_version is not None:
                set_version(self._version)

    def origins(self) -> list[tuple[str | None, int, int | None]]:
        """Returns where each example in the last batch comes from.

        This works only if the iteration was started by `Pipeline.replay`. Otherwise, the list is
        empty. Each origin is a tuple of three values: the file (None if there is none), the record
        number, and the offset of the record in the uncompressed file (None if it is unknown).
        """
        origins = self._execution.origins(self._meter.num_left)
        return [(os.fsdecode(one.file) or None, one.record, one.offset_bytes) for one in origins]

    @property
    def counts(self) -> dict[str, int]:
        """How many examples your loop has received from each part of `mix`.

        The keys are the names of the parts, or "0", "1" and so on if they have no names. Examples
        are counted as they leave `mix`, even if they end up in batches or packed rows. The count
        continues after a resume, and includes parts that have been removed. The dict is empty if
        the source is not `mix`.

        Raises:
            FailedPreconditionError: If a stage splits batches again, as `unbatch` does.

        Examples:
            >>> parts = {"a": hr.arrays({"x": range(4)}), "b": hr.arrays({"x": range(4)})}
            >>> batches = iter(hr.mix(parts, seed=7).batch(4))
            >>> batch = next(batches)
            >>> batches.counts
            {'a': 3, 'b': 1}
        """
        self._begin_now()
        return self._parts.counts(self._meter.part_counts())

    def metrics(self) -> Metrics:
        """Returns the counters and gauges of this iteration by name.

        Counters count what your loop received from this iteration. After a resume, they start at 0.
        A labelled metric is a dict keyed by its label, for example the stage name. The names are
        stable, and `headrace.metrics.export` uses the same ones for Prometheus and OpenTelemetry.

        | name | meaning |
        |---|---|
        | `headrace_batches_total` | batches received, or examples if there is no `batch` |
        | `headrace_wait_seconds_total` | time that your loop waited for batches |
        | `headrace_skipped_total` | examples skipped by `skip_errors` |
        | `headrace_stage_busy_seconds_total` | run time of each stage, summed over threads |
        | `headrace_stage_examples_total` | examples that each stage has returned |
        | `headrace_stage_bytes_total` | bytes that each stage has produced |
        | `headrace_part_examples_total` | examples received from each part of `mix` |
        | `headrace_memory_bytes` | memory in use that counts towards `memory_bytes` |
        | `headrace_iterations` | 1 while the iteration is open, 0 afterwards |

        Examples:
            >>> batches = iter(hr.arrays({"x": range(6)}).batch(2))
            >>> batch = next(batches)
            >>> batches.metrics()["headrace_batches_total"]
            1
        """
        return dict(self._meter.read())

    @property
    def epoch(self) -> int:
        """The number of the epoch that this iteration began with."""
        return self._epoch

    @property
    def position(self) -> int:
        """The number of examples in the global order up to the last batch, over all ranks.

        It counts from the beginning of the epoch that the iteration began with, also after a
        resume, and includes the examples that `without_steps` leaves out. Like `digest`, it does
        not depend on the number of ranks.

        Raises:
            FailedPreconditionError: If there is no global order; see `digest`.

        Examples:
            >>> batches = iter(hr.arrays({"x": range(8)}).shard(1, 2).batch(3))
            >>> batch = next(batches)
            >>> batches.position
            6
        """
        self._check_has_order("position")
        return self._order.position(self._meter.num_left, self._name)

    def digest(self) -> str:
        """Returns a short hash of the global order up to the current position.

        Use it to check that processes train on the same data. The digest is the same on all ranks
        that have received the same number of batches, on any machine and with any `options`. At a
        given position, it does not depend on the number of ranks. It continues after a resume. It
        changes with the order, the seeds, the names and sizes of the files (without their
        directories) and the stages that determine the order. Examples are identified by file and
        record, not by content. If another stage changes the order after `batch`, such as a `filter`
        of batches, batches are identified by number. Once `without_steps` has left out a step, the
        digest also depends on the numbers of the left-out steps.

        The global order is the order before `shard`. If there is no `shard`, it is the order before
        the last `batch`. If you iterate with `pipe.epoch(e)`, each epoch has its own digest.

        The call waits until the other ranks' examples of the last step have been read, and then
        takes microseconds. After `close`, it works only if these examples had already been read.

        Raises:
            FailedPreconditionError: If there is no global order. This is the case with
                `options(deterministic=False)`, for a `shard` inside a combined pipeline, for a
                `shard` before a `filter`, a shuffle or a similar stage, or if `epochs` comes
                between `shard` and `batch`. Also if the iteration was closed before the last step
                was read.

        Examples:
            >>> pipe = hr.arrays({"x": range(8)}).shuffle(seed=7)
            >>> ranks = [iter(pipe.shard(rank, 2).batch(2)) for rank in range(2)]
            >>> for batches in ranks:
            ...     batch = next(batches)
            >>> ranks[0].digest() == ranks[1].digest()
            True
        """
        self._check_has_order("digest")
        return self._order.digest(
            self._identified()["files"],
            self._steps.left_out_of_epoch,
            self._meter.num_left,
            self._name,
        )

    def _check_has_order(self, what: str) -> None:
        if not self._is_deterministic:
            raise FailedPreconditionError(
                None,
                None,
                f"{what}: the pipeline has options(deterministic=False), so its order is not "
                "fixed. Remove that option.",
            )
        self._begin_now()

    def _identified(self) -> dict[str, Any]:
        """Returns the entries that all states of this iteration share."""
        if self._identity is None:
            self._identity = identity_of(
                self._chain,
                self._files,
                self._epoch,
                self._functions,
                self._revisions,
                self._contents,
            )
        return self._identity

    def __repr__(self) -> str:
        what = "batches" if self._is_batched else "examples"
        end = "open" if self.is_open else "closed"
        return (
            f"Batches({self._name}: epoch {self._epoch}, {self._meter.batches} {what} taken, {end})"
        )

    def _live_report(self) -> "IterationReport":
        """Returns a report for `headrace top`, which JSON can represent."""
        from headrace.pipeline.run.live_report import (  # noqa: PLC0415
            IterationReport,
            stage_reports,
        )

        metrics = self._meter.read()
        now = self._end_time or time.monotonic()
        return IterationReport(
            number=id(self),
            name=self._name,
            epoch=self._epoch,
            unit="batches" if self._is_batched else "examples",
            count=self._meter.batches,
            seconds=now - self._begin,
            waiting_seconds=cast("float", metrics["headrace_wait_seconds_total"]),
            is_open=self.is_open,
            skipped=self._meter.skipped,
            memory_bytes=cast("float", metrics["headrace_memory_bytes"]),
            memory_limit_bytes=memory_bytes_of(self._options),
            stages=stage_reports(self._readings()) if self._has_begun else [],
        )

    def _repr_html_(self) -> str:
        """Returns the speed and a bar for each stage, for notebooks."""
        from headrace.pipeline.run.live_report import html_of  # noqa: PLC0415

        return html_of(self._live_report())

    def __contains__(self, value: object) -> NoReturn:
        raise TypeError("in: an iteration does not support `in`. Iterate over it.")

    def __getitem__(self, index: object) -> NoReturn:
        raise TypeError("[]: an iteration does not support indexing. Use next(batches).")

    def __reduce__(self) -> NoReturn:
        """Raises TypeError, because threads and open files cannot be copied or pickled."""
        raise TypeError(
            "an iteration over a pipeline has threads, so it cannot be copied or pickled. Copy "
            "the pipeline instead, and resume it with batches.state()."
        )

    def __enter__(self) -> "Batches":
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc_value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()


def _component(name: str, spec: Spec, column: Any) -> Any:
    """Converts a component to the form that the user receives."""
    if isinstance(column, tuple):
        array = arrow_array(name, spec, *column)
        return NestedList(array.to_pylist(), spec) if spec.is_listed else array
    return shown(column, spec)


def _functions(
    python_workers: Sequence[PythonWorker], resumed: ResumePoint | None
) -> list[str | None]:
    """Returns the state of each Python worker's function at the start of the epoch."""
    mine = [python_worker.initial for python_worker in python_workers]
    if resumed is None:
        return mine
    if resumed.mixture is not None and resumed.mixture.is_changed and not any(resumed.functions):
        return mine
    if len(resumed.functions) != len(mine):
        raise damaged()
    pairs = zip(resumed.functions, mine, strict=True)
    return [text if theirs is None else theirs for theirs, text in pairs]


def open_batches() -> list[Batches]:
    """Returns all iterations that are still referenced and not closed."""
    return [batches for batches in _alive.all() if batches.is_open]


def _report_to_top() -> None:
    """Starts to answer `headrace top`, if the process was started for it."""
    if os.environ.get(_REPORT_VARIABLE):
        # Imported here, because few processes report.
        from headrace.pipeline.run.monitor import watch_process  # noqa: PLC0415

        watch_process(_process_report)


def _process_report() -> dict[str, Any]:
    """Returns the reports of all open iterations, for `headrace top`."""
    reports = []
    for batches in open_batches():
        # An iteration may end at any time.
        with suppress(Exception):
            reports.append(batches._live_report())
    return {"process": os.getpid(), "command": sys.argv, "iterations": reports}
