"""A session with its hooks and its queue runners' coordinator.

Source: `tf.train.MonitoredSession` in TensorFlow 1.15.
"""

import contextlib
from collections.abc import Mapping, Sequence
from typing import Any, Final

from headrace.core.errors import AbortedError, UnavailableError
from headrace.graph import GraphKeys
from headrace.tf1.coordinator import Coordinator, exception_of
from headrace.tf1.protos import RunMetadata
from headrace.tf1.queue_runners import start_queue_runners
from headrace.tf1.session import RunOptions, Session
from headrace.tf1.training.hooks.run_hook import (
    SessionRunArgs,
    SessionRunContext,
    SessionRunHook,
    SessionRunValues,
)

__all__ = ["PREEMPTION_ERRORS", "HookedSession"]

# A session that fails with one of these errors is recreated.
PREEMPTION_ERRORS: Final = (AbortedError, UnavailableError)

_CALLER: Final = "caller"


class HookedSession:
    """A session with hooks and a coordinator. It starts the queue runners of its graph.

    Args:
        session: The session, which is closed together with this object.
        hooks: The hooks that take part in each run.
        stop_grace_period_secs: The time limit in seconds for threads to end.
    """

    def __init__(
        self, session: Session, hooks: Sequence[SessionRunHook], stop_grace_period_secs: float
    ) -> None:
        # Programs look for the session in attributes with this name.
        self._sess = session
        self._hooks = hooks
        self._stop_grace_period_secs = stop_grace_period_secs
        self._has_stopped = False
        # The end of the input is not a clean stop here, because threads that wait for data must
        # receive the error.
        self.coord = Coordinator(clean_stop_exception_types=[])
        if session.graph.get_collection(GraphKeys.QUEUE_RUNNERS):
            start_queue_runners(sess=session, coord=self.coord)
        try:
            for hook in hooks:
                hook.after_create_session(session, self.coord)
        except BaseException:
            with contextlib.suppress(Exception):
                self.close()
            raise

    @property
    def session(self) -> Session:
        """The session."""
        return self._sess

    def should_stop(self) -> bool:
        """Returns whether a hook or a thread has requested a stop.

        Raises:
            BaseException: The error that ended a thread.
        """
        self.coord.raise_requested_exception()
        return self.coord.should_stop() or self._has_stopped

    def run(
        self,
        fetches: Any,
        feed_dict: Mapping[Any, Any] | None = None,
        options: RunOptions | None = None,
        run_metadata: RunMetadata | None = None,
    ) -> Any:
        """Runs the session like `Session.run`, and calls the hooks.

        Raises:
            RuntimeError: If a hook has already requested a stop, or two hooks feed the same tensor.
        """
        try:
            return self._run_with_hooks(fetches, feed_dict, options, run_metadata)
        except PREEMPTION_ERRORS:
            raise
        except Exception:
            cause = exception_of(self.coord)
            if isinstance(cause, PREEMPTION_ERRORS):
                # This run failed because a thread was preempted.
                raise cause from None
            raise

    def _run_with_hooks(
        self,
        fetches: Any,
        feed_dict: Mapping[Any, Any] | None,
        options: RunOptions | None,
        run_metadata: RunMetadata | None,
    ) -> Any:
        if self._has_stopped:
            raise RuntimeError("Run called even after should_stop requested.")
        context = SessionRunContext(SessionRunArgs(fetches, feed_dict), self._sess)
        options = options or RunOptions()
        run_metadata = run_metadata or RunMetadata()
        requested: dict[Any, Any] = {}
        feeds = self._ask_hooks(context, requested, feed_dict, options)
        # The caller's fetches come last: hooks then usually see the variables before the step, as
        # in TensorFlow.
        requested[_CALLER] = fetches
        results = self._sess.run(requested, feeds, options, run_metadata)
        for hook in self._hooks:
            hook.after_run(context, SessionRunValues(results.get(hook), options, run_metadata))
        self._has_stopped = self._has_stopped or context.stop_requested
        return results[_CALLER]

    def _ask_hooks(
        self,
        context: SessionRunContext,
        requested: dict[Any, Any],
        feed_dict: Mapping[Any, Any] | None,
        options: RunOptions,
    ) -> Mapping[Any, Any] | None:
        """Adds the hooks' fetches to `requested` and returns all feeds."""
        fed: dict[Any, Any] = {}
        for hook in self._hooks:
            run_args = hook.before_run(context)
            if run_args is None:
                continue
            if run_args.fetches is not None:
                requested[hook] = run_args.fetches
            if run_args.feed_dict:
                _check_apart(fed, run_args.feed_dict, "Same tensor is fed by two hooks.")
                fed.update(run_args.feed_dict)
            if run_args.options is not None:
                _merge(options, run_args.options)
        if not fed:
            return feed_dict
        if feed_dict:
            _check_apart(fed, feed_dict, "Same tensor is fed by a SessionRunHook and user.")
            fed.update(feed_dict)
        return fed

    def close(self) -> None:
        """Stops the threads, then closes the session.

        Raises:
            BaseException: The error that ended a thread.
        """
        self.coord.request_stop()
        try:
            self.coord.join(
                stop_grace_period_secs=self._stop_grace_period_secs, ignore_live_threads=True
            )
        finally:
            self._sess.close()


def _check_apart(first: Mapping[Any, Any], second: Mapping[Any, Any], message: str) -> None:
    both = first.keys() & second.keys()
    if both:
        raise RuntimeError(f"{message} Conflict(s): {sorted(map(str, both))}")


def _merge(options: RunOptions, hook_options: RunOptions) -> None:
    """Merges a hook's options into a run's: the more detailed trace and the longer timeout."""
    options.trace_level = max(options.trace_level or 0, hook_options.trace_level or 0)
    options.timeout_in_ms = max(options.timeout_in_ms or 0, hook_options.timeout_in_ms or 0)
    options.output_partition_graphs = bool(
        options.output_partition_graphs or hook_options.output_partition_graphs
    )
