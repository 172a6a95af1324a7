"""The base class of sessions, with their state and their programs.

A run compiles its fetches to a native program. Programs are cached by their fetches and feeds. Each
run of a program is one native call, which releases the GIL. A run that only moves an element
releases the GIL only if it has to wait.
"""

import os
import threading
import weakref
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy.typing as npt

from headrace.core import engine
from headrace.graph import Graph, Operation, Tensor, get_default_graph
from headrace.graph.lowering.feeding import LossyFeeds, as_array
from headrace.graph.lowering.lowering import Lowering
from headrace.graph.lowering.resources import Resources
from headrace.tf1.ops.queues import QueueBase
from headrace.tf1.queues import QueueStatistics
from headrace.tf1.session.cache import RecentlyUsed
from headrace.tf1.session.cost_steps import CostSteps
from headrace.tf1.session.fetching import Fetches, FetchPlan
from headrace.tf1.session.flows import flow_of
from headrace.tf1.session.options import ConfigProto, RunOptions
from headrace.tf1.session.runners import Runners
from headrace.tf1.session.targets import config_of
from headrace.tf1.session.waits import Waits, Watch

if TYPE_CHECKING:
    from headrace.tf1.session.traces.tracing import Tracing

__all__ = ["BaseSession"]

_ProgramKey: TypeAlias = tuple[tuple[Tensor, ...], tuple[Operation, ...], tuple[Tensor, ...]]

# The minimum number of programs that a session caches. It caches at most twice as many.
_NUM_CACHED: Final = 512


def _end_in_process(process: int, end: Callable[[], None]) -> None:
    """Ends the threads of runners, unless they belong to the parent of a forked process."""
    if process == os.getpid():
        end()


class BaseSession:
    """Owns the state of a graph's operations: queues, variables, readers.

    Args:
        target: "", or the target of a `tf.train.Server`. Sessions always run in this process.
        graph: The graph to run. Defaults to the default graph.
        config: See `ConfigProto`.

    Raises:
        NotFoundError: If the target is another process.
        TypeError: If an argument has the wrong type.
    """

    def __init__(
        self, target: str = "", graph: Graph | None = None, config: ConfigProto | None = None
    ) -> None:
        if not isinstance(target, (str, bytes)):
            raise TypeError(f"target must be a string, but got {target!r}")
        of_target = config_of(target)
        if graph is not None and not isinstance(graph, Graph):
            raise TypeError(f"graph must be a tf.Graph, but got {type(graph)}")
        if config is not None and not isinstance(config, ConfigProto):
            raise TypeError(f"config must be a tf.ConfigProto, but got {type(config)}")
        self._graph = get_default_graph() if graph is None else graph
        # The options of the session take precedence over those of its target.
        configs = [options for options in (config, of_target) if options is not None]
        timeouts = [options.operation_timeout_in_ms for options in configs]
        self._timeout_ms = next(filter(None, timeouts), None)
        steps = None if config is None else config.cost_steps
        self._cost_steps = None if steps is None else CostSteps(*steps)
        self._num_cpus = 1 if config is None else config.num_cpus
        self._infers_shapes = config is not None and bool(config.graph_options.infer_shapes)
        lossy_feeds = [options.allow_lossy_feeds for options in configs]
        self._lossy_feeds = LossyFeeds(
            next((options for options in lossy_feeds if options is not None), None)
        )
        self._resources = Resources()
        rewrites = True if config is None else config.rewrites
        self._lowering = Lowering(self._resources, rewrites)
        self._waits = Waits(self)
        self._cancellation = engine.Cancellation(Watch(self._waits), Waits.patience_secs)
        self._runners = Runners(self._cancellation)
        self._lock = threading.Lock()
        self._programs: RecentlyUsed[_ProgramKey, engine.Program] = RecentlyUsed(_NUM_CACHED)
        # The programs with a single fetch and no feeds.
        self._single: RecentlyUsed[Tensor | Operation, engine.Program] = RecentlyUsed(_NUM_CACHED)
        # The plans of single fetches.
        self._plans: RecentlyUsed[Tensor | Operation, FetchPlan] = RecentlyUsed(_NUM_CACHED)
        # The runners' threads don't keep a session alive. They end with it.
        self._process = os.getpid()
        end = self._runners.life.end_with_session
        weakref.finalize(self, _end_in_process, self._process, end).atexit = False

    @property
    def graph(self) -> Graph:
        """The graph that this session runs."""
        return self._graph

    @property
    def is_closed(self) -> bool:
        """Whether the session was closed. Only in headrace."""
        return self._cancellation.is_cancelled()

    @property
    def runners(self) -> Runners:
        """The queue runners of this session, for `QueueRunner`. Only in headrace."""
        return self._runners

    @property
    def resources(self) -> Resources:
        """The resources of this session, for checkpoints. Only in headrace."""
        return self._resources

    def make_stop_flag(self) -> engine.StopFlag:
        """Returns a flag that ends a loop of `make_loop`."""
        return engine.StopFlag()

    def make_loop(self, fetches: Fetches, stop_flag: engine.StopFlag) -> Callable[[], None]:
        """Returns a function that runs fetches in a loop, without the GIL.

        Python code runs only if the fetches need a Python function. Values are discarded, but every
        fetched tensor must have a value, so variables must be initialized.

        The function does not keep the session alive. When `stop_flag` is set, it returns between
        two runs, but a blocked run must be woken. It raises an OpError as soon as a run fails. If a
        queue accepted elements beyond its capacity during a pause, the function waits until they
        are in the queue.

        Raises:
            RuntimeError: If the session is closed.
        """
        self._check_usable()
        plan = self._plan(fetches)
        program = self._program((plan.tensors, plan.targets, ()))
        cancellation, waits = self._runners.life.term.cancellation, self._waits
        filled = [self._resources.get(queue) for queue in flow_of(plan.ops).filled]
        queues = [queue for queue in filled if isinstance(queue, engine.Queue)]

        def run_loop() -> None:
            try:
                for queue in queues:
                    engine.settle_queue(queue, cancellation)
                engine.call_functions(program.run_loop(stop_flag, cancellation))
            except engine.EngineError as error:
                waits.raise_op_error(error)

        return run_loop

    def assign_variable(self, op: Operation, value: npt.ArrayLike) -> None:
        """Replaces the value of a variable without running the graph, for savers. Only in headrace.

        Args:
            op: The operation of the variable.
            value: An array with the variable's type.
        """
        variable = self._resources.get(op)
        assert isinstance(variable, engine.Variable)
        dtype = op.outputs[0].dtype.base_dtype
        try:
            variable.assign(as_array(value, dtype), dtype.as_datatype_enum)
        except engine.EngineError as error:
            engine.raise_op_error(error, self._graph)

    def fill_table(self, op: Operation, keys: npt.ArrayLike, values: npt.ArrayLike) -> None:
        """Replaces the entries of a mutable table, for savers. Only in headrace.

        Args:
            op: The operation of the table.
            keys: The keys, a vector.
            values: The values, one row per key.

        Raises:
            InvalidArgumentError: If the shapes do not match the table.
        """
        table = self._resources.get(op)
        assert isinstance(table, engine.MutableTable)
        arrays = as_array(keys, op.attrs["key_dtype"]), as_array(values, op.attrs["value_dtype"])
        try:
            table.fill(*arrays)
        except engine.EngineError as error:
            engine.raise_op_error(error, self._graph)

    def queue_statistics(self, queue: QueueBase) -> QueueStatistics:
        """Returns the current statistics of a queue of the graph. Does not run the graph or block.

        Raises:
            OpError: If the queue cannot be created.
            TypeError: If the queue is one of several, selected in each run.
        """
        op = queue.queue_ref.op
        native = self._resources.get(op) if op.definition.role.is_resource else None
        if not isinstance(native, engine.Queue):
            raise TypeError(
                f"queue '{queue.name}' is chosen at run time. Call this for each queue that "
                "it may be."
            )
        return QueueStatistics(**native.stats())

    def close(self) -> None:
        """Closes the session. Blocked runs raise `CancelledError`. A second call does nothing."""
        self._cancellation.cancel()
        self._runners.life.end(is_abandoned=False)

    def _check_open(self) -> None:
        if self._cancellation.is_cancelled():
            engine.linger_at_exit()
            raise RuntimeError("Attempted to use a closed Session.")

    def _check_usable(self) -> None:
        self._check_open()
        if self._graph.version == 0:
            raise RuntimeError(
                "The Session graph is empty.  Add operations to the graph before calling run()."
            )

    def _timeout(self, options: RunOptions | None) -> float | None:
        for timeout_ms in (options and options.timeout_in_ms, self._timeout_ms):
            if timeout_ms and timeout_ms > 0:
                return float(timeout_ms / 1000)
        return None

    def _plan(self, fetches: Fetches) -> FetchPlan:
        if not isinstance(fetches, (Tensor, Operation)):
            return FetchPlan(self._graph, fetches)
        plan = self._plans.get(fetches)
        if plan is None or not self._graph.is_fetchable(fetches):
            plan = self._plans.add(fetches, FetchPlan(self._graph, fetches))
        return plan

    def _execute(
        self, program: engine.Program, feeds: Sequence[Any], timeout: float | None
    ) -> list[Any]:
        try:
            results = program.run(feeds, self._cancellation, timeout)
            return results if type(results) is list else engine.call_functions(results)
        except engine.EngineError as error:
            self._waits.raise_op_error(error)
        except BaseException as error:
            self._waits.explain_interrupt(error)
            raise

    def _program(self, key: _ProgramKey) -> engine.Program:
        program = self._programs.get(key)
        return self._programs.add(key, self._lower(key)) if program is None else program

    def _lower(
        self,
        key: _ProgramKey,
        tracing: "Tracing | None" = None,
        done: frozenset[Operation] = frozenset(),
    ) -> engine.Program:
        try:
            return self._lowering.lower(*key, tracing, done)
        except engine.EngineError as error:
            engine.raise_op_error(error, self._graph)
