"""The session, which runs graphs.

Source: `tf.Session` in TensorFlow 1.15.
"""

import atexit
import contextlib
import itertools
import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeVar, overload

from headrace.core import engine
from headrace.core.errors import CancelledError, InvalidArgumentError, OpError
from headrace.core.live_objects import LiveObjects
from headrace.graph import Graph, Operation, Tensor, call_at_reset, default_session
from headrace.graph.lowering.feeding import convert_feeds, feed_tensors
from headrace.ops.sparse.tensor import SparseTensor, SparseTensorValue
from headrace.tf1.session.base import BaseSession
from headrace.tf1.session.devices import DeviceAttributes, cpu
from headrace.tf1.session.fetching import Fetches, FetchPlan
from headrace.tf1.session.options import CallableOptions, ConfigProto, RunOptions
from headrace.tf1.session.partial import PartialRun
from headrace.tf1.session.runners import Progress

if TYPE_CHECKING:
    from headrace.protos import GraphDef
    from headrace.tf1.session.traces.tracing import Tracing

__all__ = ["Session", "open_sessions"]

_Key = TypeVar("_Key")

# How long program exit waits for Python functions in runner threads, in seconds.
_EXIT_SECONDS: Final = 0.5

# The sessions whose runs are cancelled at exit, because runner threads may be blocked in native
# calls.
_open_sessions: "LiveObjects[Session]" = LiveObjects()
# Numbers the partial runs.
_partial_runs: Final = itertools.count()


class _NamedTuple(Protocol):
    """A named tuple of fetches. Its values are returned in a named tuple of the same class."""

    @property
    def _fields(self) -> tuple[str, ...]: ...


class Session(BaseSession):
    """Runs operations of one graph and owns their state: queues, variables and readers.

    You can use it from many threads at once. When it is closed, for example at the end of a `with`
    block, runs that are blocked in other threads end with `CancelledError`.

    Each combination of fetches and feeds is compiled to a separate program. A session caches the
    512 to 1,024 most recently used programs. Older programs are compiled again when needed.

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
        super().__init__(target, graph, config)
        # The partial runs, by name.
        self._partial_runs: dict[str, PartialRun] = {}
        # The contexts that the `with` block has entered, or None outside a block. Guarded by the
        # lock.
        self._scope: ExitStack | None = None
        _open_sessions.add(self)

    @property
    def graph_def(self) -> "GraphDef":
        """The graph as a `GraphDef`; see `Graph.as_graph_def`.

        The message contains the shapes of all outputs if `infer_shapes` is set in `graph_options`.
        """
        return self._graph.as_graph_def(add_shapes=self._infers_shapes)

    @overload
    def run(
        self,
        fetches: Operation,
        feed_dict: Mapping[Any, Any] | None = None,
        options: RunOptions | None = None,
        run_metadata: object = None,
    ) -> None: ...

    @overload
    def run(
        self,
        fetches: SparseTensor,
        feed_dict: Mapping[Any, Any] | None = None,
        options: RunOptions | None = None,
        run_metadata: object = None,
    ) -> SparseTensorValue: ...

    @overload
    def run(
        self,
        fetches: _NamedTuple,
        feed_dict: Mapping[Any, Any] | None = None,
        options: RunOptions | None = None,
        run_metadata: object = None,
    ) -> Any: ...

    @overload
    def run(
        self,
        fetches: tuple[Any, ...],
        feed_dict: Mapping[Any, Any] | None = None,
        options: RunOptions | None = None,
        run_metadata: object = None,
    ) -> tuple[Any, ...]: ...

    @overload
    def run(
        self,
        fetches: list[Any],
        feed_dict: Mapping[Any, Any] | None = None,
        options: RunOptions | None = None,
        run_metadata: object = None,
    ) -> list[Any]: ...

    @overload
    def run(
        self,
        fetches: dict[_Key, Any],
        feed_dict: Mapping[Any, Any] | None = None,
        options: RunOptions | None = None,
        run_metadata: object = None,
    ) -> dict[_Key, Any]: ...

    @overload
    def run(
        self,
        fetches: Fetches,
        feed_dict: Mapping[Any, Any] | None = None,
        options: RunOptions | None = None,
        run_metadata: object = None,
    ) -> Any: ...

    def run(
        self,
        fetches: Any,
        feed_dict: Mapping[Any, Any] | None = None,
        options: RunOptions | None = None,
        run_metadata: object = None,
    ) -> Any:
        """Computes tensors and runs operations, and blocks until all are done.

        Every needed operation runs once. Independent operations run in any order. Operations that
        would block run last.

        Args:
            fetches: A tensor, operation, variable or sparse tensor, the name of one of these, or
                lists, tuples, named tuples and dicts of fetches.
            feed_dict: Values to use for tensors instead of computing them.
            options: See `RunOptions`.
            run_metadata: A `tf.RunMetadata` that receives the statistics requested in `options`:
                the start and end of each operation. The message is cleared first.

        Returns:
            The values in the structure of `fetches`: arrays that belong to the caller, NumPy
            scalars for scalars, `bytes` for strings, `SparseTensorValue` for sparse tensors, and
            None for operations.

        Raises:
            OpError: If an operation fails. The attribute `op` is the failed operation.
            RuntimeError: If the session is closed or the graph is empty.
            TypeError: If a fetch or feed has an unsupported type.
            ValueError: If a fetch or feed is not in the graph, or a value has the wrong shape.
        """
        is_plain = feed_dict is None and run_metadata is None and self._cost_steps is None
        if is_plain and isinstance(fetches, (Tensor, Operation)):
            return self._run_one(fetches, self._timeout(options))
        self._check_usable()
        plan = self._plan(fetches)
        feeds = convert_feeds(self._graph, feed_dict, self._lossy_feeds)
        return self._run(plan, feeds, options, run_metadata)

    def make_callable(
        self, fetches: Fetches, feed_list: Sequence[Any] | None = None, accept_options: bool = False
    ) -> Callable[..., Any]:
        """Returns a function that runs `fetches`, with one argument for each tensor in `feed_list`.

        Args:
            fetches: See `run`.
            feed_list: Tensors to feed, in the order of the function's arguments.
            accept_options: Accepted for compatibility, but not used, because the function always
                accepts `options` and `run_metadata`.

        Raises:
            TypeError: If a fetch has an unsupported type, or `feed_list` is not a list. Also raised
                by the returned function if the number of values is wrong.
            ValueError: If a fetch is not in the graph.
        """
        if not isinstance(feed_list, (list, tuple, type(None))):
            raise TypeError("`feed_list` must be a list or tuple.")
        plan = FetchPlan(self._graph, fetches)
        keys = list(feed_list or [])
        if not keys and isinstance(fetches, (Tensor, Operation)):
            return lambda options=None, run_metadata=None: self.run(
                fetches, options=options, run_metadata=run_metadata
            )

        def run(
            *args: object, options: RunOptions | None = None, run_metadata: object = None
        ) -> Any:
            if len(args) != len(keys):
                raise TypeError(f"expected {len(keys)} feed values, got {len(args)}")
            self._check_usable()
            feed_dict = dict(zip(keys, args, strict=True))
            feeds = convert_feeds(self._graph, feed_dict, self._lossy_feeds)
            return self._run(plan, feeds, options, run_metadata)

        return run

    def _make_callable_from_options(self, callable_options: CallableOptions) -> Callable[..., Any]:
        """Returns a function that runs the named elements and has an argument for each feed.

        Returns:
            The function. It returns a list of the fetched values and accepts `run_metadata`.
        """
        plan = FetchPlan(self._graph, list(callable_options.fetch))
        targets = [self._graph.get_operation_by_name(name) for name in callable_options.target]
        run = self.make_callable([*plan.tensors, *targets], list(callable_options.feed))

        def call(*args: object, run_metadata: object = None) -> Any:
            values = run(*args, options=callable_options.run_options, run_metadata=run_metadata)
            return plan.restore(dict(zip(plan.tensors, values, strict=False)))

        return call

    def partial_run_setup(self, fetches: Fetches, feeds: Sequence[Any] | None = None) -> str:
        """Starts a run in several parts. Each part is a call to `partial_run`.

        Args:
            fetches: The possible fetches of the parts; see `run`. Operations run as soon as all
                their inputs are fed.
            feeds: The possible feeds of the parts: a list of tensors.

        Returns:
            A handle for the run, to pass to `partial_run`.

        Raises:
            InvalidArgumentError: If there is nothing to fetch, a tensor is fed twice, or a tensor
                is both fed and fetched.
            RuntimeError: If the session is closed or the graph is empty.
            TypeError: If a fetch or feed has an unsupported type.
            ValueError: If a fetch is not in the graph.
        """
        self._check_usable()
        keys: Sequence[Any] = (
            feeds or () if isinstance(feeds, (list, tuple, type(None))) else [feeds]
        )
        tensors = tuple(tensor for key in keys for tensor in feed_tensors(self._graph, key))
        begun = PartialRun(FetchPlan(self._graph, fetches), tensors)
        handle = f"partial_run_{next(_partial_runs)}"
        with self._lock:
            self._partial_runs[handle] = begun
        return handle

    def partial_run(
        self, handle: str, fetches: Fetches, feed_dict: Mapping[Any, Any] | None = None
    ) -> Any:
        """Runs one part of a run. Operations from earlier parts do not run again.

        Args:
            handle: The result of `partial_run_setup`. The run ends if an operation fails, or after
                the part that feeds and fetches the last of the tensors passed to
                `partial_run_setup`.
            fetches: The tensors to fetch. Earlier parts must not have fetched them.
            feed_dict: Values for tensors that were not fed in earlier parts.

        Returns:
            The values; see `run`.

        Raises:
            InvalidArgumentError: If the run has ended, or a tensor was already fed or fetched, was
                not passed to `partial_run_setup`, or needs a tensor that was not fed yet.
            OpError: If an operation fails.
            RuntimeError: If the session is closed, or `fetches` contains an operation.
        """
        self._check_usable()
        plan = FetchPlan(self._graph, fetches)
        if plan.targets:
            raise RuntimeError("partial_run() requires empty target_list.")
        feeds = convert_feeds(self._graph, feed_dict, self._lossy_feeds)
        begun = self._partial_runs.get(handle)
        if begun is None:
            text = "Must run 'setup' before performing partial runs!"
            raise InvalidArgumentError(None, None, text)

        def compute(
            tensors: Sequence[Tensor],
            targets: Sequence[Operation],
            feeds: Mapping[Tensor, Any],
            done: frozenset[Operation],
        ) -> list[Any]:
            program = self._lower((tuple(tensors), tuple(targets), tuple(feeds)), done=done)
            arrays = [engine.native_array(array) for array in feeds.values()]
            try:
                return self._execute(program, arrays, self._timeout(None))
            except BaseException:
                self._partial_runs.pop(handle, None)
                raise

        result = begun.run(plan, feeds, compute)
        if begun.is_over:
            self._partial_runs.pop(handle, None)
        return result

    def list_devices(self) -> list[DeviceAttributes]:
        """Returns the devices that the session can use: one device for all processors.

        With `device_count={"CPU": 2}`, this device has two names.
        """
        return [cpu(number) for number in range(self._num_cpus)]

    def as_default(self) -> AbstractContextManager["Session"]:
        """Makes this the default session of the current thread, without closing it afterwards."""
        return default_session(self)

    def __enter__(self) -> "Session":
        with self._lock:
            if self._scope is not None:
                raise RuntimeError(
                    "Session context managers are not re-entrant. Use `Session.as_default()` if "
                    "you want to enter a session multiple times."
                )
            scope = self._scope = ExitStack()
        scope.enter_context(self._graph.as_default())
        scope.enter_context(self.as_default())
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        with self._lock:
            scope, self._scope = self._scope, None
        if scope is None:
            raise AttributeError("session: the `with` block was exited without being entered.")
        try:
            scope.close()
        finally:
            self.close()

    def _end_runners(self) -> None:
        """Ends the runners because the graph was reset, and records the reset as their error."""
        running = [
            runner
            for runner in self._runners.of_graph(self._graph)
            if runner.progress_in(self) is Progress.RUNNING
        ]
        for runner in running:
            text = "tf.reset_default_graph() ended the queue runners of this session"
            self._runners.fail(runner, CancelledError(None, None, text))
        self._runners.life.end(is_abandoned=True)
        for runner in running:
            with contextlib.suppress(OpError, RuntimeError):
                self.run(runner.cancel_op)

    def _run_one(self, fetch: Tensor | Operation, timeout: float | None) -> Any:
        """The fast path for most runs: one fetch and no feeds. It does as little as possible."""
        program = self._single.young.get(fetch)
        if program is None or not self._graph.is_fetchable(fetch):
            self._check_usable()
            plan = self._plan(fetch)
            program = self._single.add(fetch, self._program((plan.tensors, plan.targets, ())))
        self._check_open()
        results = self._execute(program, [], timeout)
        return results[0] if results else None

    def _run(
        self,
        plan: FetchPlan,
        feeds: dict[Tensor, Any],
        options: RunOptions | None,
        run_metadata: object,
    ) -> Any:
        tensors = tuple(tensor for tensor in plan.tensors if tensor not in feeds)
        key = tensors, plan.targets, tuple(feeds)
        arrays = [engine.native_array(array) for array in feeds.values()]
        has_costs = self._cost_steps is not None and self._cost_steps.count(
            tuple(map(frozenset, (plan.tensors, plan.targets, feeds)))
        )
        tracing = None
        if run_metadata is not None:
            tracing = _begin_tracing(options, run_metadata, has_costs)
        program = self._program(key) if tracing is None else self._lower(key, tracing)
        results = self._execute(program, arrays, self._timeout(options))
        if tracing is not None:
            tracing.tell(self._graph, self._lowering.needed_ops(*key))
        values = dict(zip(tensors, results, strict=True))
        # The value of a tensor that is both fed and fetched is the fed array.
        values |= {tensor: feeds[tensor] for tensor in plan.tensors if tensor in feeds}
        return plan.restore(values)


def _begin_tracing(
    options: RunOptions | None, run_metadata: object, has_costs: bool
) -> "Tracing | None":
    # Imported late, because protocol buffers are slow to import.
    from headrace.tf1.session.traces.tracing import begin_tracing  # noqa: PLC0415

    return begin_tracing(options, run_metadata, has_costs)


def open_sessions() -> list[Session]:
    """Returns all sessions that are still referenced and not closed."""
    return [session for session in _open_sessions.all() if not session.is_closed]


def _end_runs() -> None:
    """Ends all runs before the interpreter exits, and waits briefly for their Python functions.

    `crates/python/src/waiting/exit.rs` explains the reason.
    """
    engine.begin_exit()
    for session in _open_sessions.all():
        if session._process == os.getpid():
            session._cancellation.cancel()
    engine.wait_for_python_functions(_EXIT_SECONDS)


atexit.register(_end_runs)


def _end_runners_of(graph: Graph) -> None:
    for session in _open_sessions.all():
        if session.graph is graph and not session._cancellation.is_cancelled():
            session._end_runners()


call_at_reset(_end_runners_of)
