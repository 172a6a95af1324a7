"""Starts readers, and defines the feed from which trainers get their batches."""

import logging
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Final

import ray
from ray import cloudpickle
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from headrace.core.errors import UnavailableError
from headrace.pipeline.pipeline import Pipeline
from headrace.pipeline.run.reader_shards import check_shares, work_of_all
from headrace.pipeline.stages.arguments import checked_int
from headrace.pipeline.stages.components import steps
from headrace.pipeline.stages.stage import Effect, Step
from headrace.ray.actors import Head, Settings
from headrace.ray.answers import answer_of
from headrace.ray.batches import FeedBatches, Part
from headrace.ray.strings import with_buffers

__all__ = ["Feed", "serve"]

_LOG: Final = logging.getLogger("headrace.ray")
_CREDIT_BYTES: Final = 64 << 20
_PARKED_BYTES: Final = 256 << 20
_PATIENCE_S: Final = 30.0


def serve(
    pipe: Pipeline,
    num_readers: int,
    cpus_per_reader: float = 1,
    autoscale: tuple[int, int] | None = None,
    parked_bytes: int = _PARKED_BYTES,
) -> "Feed":
    """Starts readers that together produce the batches of one pipeline.

    Each reader is a Ray actor with its own engine and produces every `num_readers`-th batch.
    A reader runs `batch`, and the stages that turn one example into one, only for its own batches.
    All earlier stages, such as filters, shuffle windows and reading a stream, run in every reader.
    The files must be accessible from all readers.

    Args:
        pipe: A pipeline that has a `batch` stage. Any missing seed was drawn when the pipeline was
            created, so all readers use the same one.
        num_readers: The number of readers, at least 1.
        cpus_per_reader: The number of CPUs that Ray reserves for each reader. If it is at least 1,
            the engine uses that many threads, unless the pipeline sets a different number.
        autoscale: The minimum and maximum number of readers for automatic scaling. None disables
            it. You can then call `add_readers` and `remove_readers`.
        parked_bytes: The limit in bytes on the batches that a reader keeps for trainers that have
            not requested them yet. Batches beyond the limit are dropped, and produced again on
            request.

    Raises:
        TypeError: If `pipe` is not a pipeline.
        ValueError: If the pipeline has no `batch` or no fixed order, or if a number is out of
            range.
    """
    if not isinstance(pipe, Pipeline):
        raise TypeError(f"serve: got {type(pipe).__name__}, expected a pipeline.")
    check_shares("serve", pipe)
    checked_int("serve", "num_readers", num_readers, 1)
    checked_int("serve", "parked_bytes", parked_bytes, 0)
    if autoscale is not None and not 1 <= autoscale[0] <= autoscale[1]:
        raise ValueError(
            f"serve: autoscale is {autoscale}, expected the minimum and the maximum number of "
            "readers."
        )
    if functions := [str(stage) for stage in _done_for_all(pipe) if _takes_time(stage)]:
        _LOG.warning(
            "every reader runs %s for all batches, not just for its own, because later stages "
            "depend on the results. If this takes too long, move batch, and stages that turn "
            "each example into exactly one, to the end of the pipeline.",
            ", ".join(functions),
        )
    has_arrow_strings = pipe._options.get("strings") == "arrow"
    if "num_threads" not in pipe._options and cpus_per_reader >= 1:
        pipe = pipe.options(num_threads=int(cpus_per_reader))
    if not ray.is_initialized():
        ray.init()
    pickled = cloudpickle.dumps(with_buffers(pipe))
    settings = Settings(num_readers, cpus_per_reader, parked_bytes, autoscale)
    # The head runs on the caller's node. Ray would choose any node, and losing that node would end
    # all readers.
    here = NodeAffinitySchedulingStrategy(ray.get_runtime_context().get_node_id(), soft=False)
    head = ray.remote(Head).options(num_cpus=0, scheduling_strategy=here).remote(pickled, settings)
    ray.get(head.known.remote())
    return Feed(head, has_arrow_strings)


def _done_for_all(pipe: Pipeline) -> list[Step]:
    """Returns the stages that each reader runs for all batches.

    Stages that process single rows are deferred until a stage needs their results.
    """
    done: list[Step] = []
    waiting: list[Step] = []
    for step in steps(work_of_all(pipe)):
        can_move = step.effect in _MOVING or step.counts_examples
        is_moving = can_move and not step.runs_python
        if is_moving and step.called_function is not None:
            waiting.append(step)
        elif not is_moving:
            done += [*waiting, step]
            waiting = []
    return done


# The stage only moves rows, or can be deferred.
_MOVING: Final = (Effect.EACH, Effect.REORDERS, Effect.SAMPLES, Effect.REPEATS)


def _takes_time(step: Step) -> bool:
    return step.called_function is not None or step.groups_evenly


class Feed:
    """A group of readers that produce batches. You can send it to any process of the cluster.

    The readers stop when you call `close` or leave the `with` block, and when the process that
    called `serve`, or its node, ends. Trainers then receive an `UnavailableError`.
    """

    def __init__(self, head: Any, has_arrow_strings: bool) -> None:
        self._head = head
        self._has_arrow_strings = has_arrow_strings

    def batches(
        self,
        rank: int = 0,
        world: int = 1,
        state: Mapping[str, Any] | None = None,
        epoch: int = 0,
        credit_bytes: int = _CREDIT_BYTES,
        copy: bool = False,
        patience_s: float = _PATIENCE_S,
    ) -> FeedBatches:
        """Starts the iteration of one trainer over the batches `rank`, `rank + world`, ….

        Args:
            rank: The number of the trainer, from 0.
            world: The number of trainers. All of them should read the same number of batches.
            state: The state to resume from: the result of `FeedBatches.state` of any trainer. The
                number of trainers and readers may have changed. None starts from the beginning.
            epoch: The number of the epoch, as for `Pipeline.epoch`.
            credit_bytes: The limit in bytes on the requested batches. One batch is always allowed.
            copy: If True, arrays are copied and writable. If False, they are in Ray's object store
                and read-only. Strings in NumPy arrays are always copied.
            patience_s: If no batch arrives for this many seconds, its reader is checked. If the
                reader does not respond, other readers take over.

        Raises:
            UnavailableError: If the feed was closed, or the process that called `serve`, or its
                node, has ended. The iteration also raises it at the first missing batch.
            ValueError: If a number is out of range, or the state is not the result of
                `FeedBatches.state`.
        """
        checked_int("batches", "world", world, 1)
        checked_int("batches", "epoch", epoch, 0)
        checked_int("batches", "credit_bytes", credit_bytes, 0)
        if checked_int("batches", "rank", rank, 0) >= world:
            raise ValueError(
                f"batches: rank is {rank}, expected a number less than world, which is {world}."
            )
        part = Part(rank, world, epoch, credit_bytes, copy, self._has_arrow_strings, patience_s)
        return FeedBatches(self._head, part, state)

    def __iter__(self) -> FeedBatches:
        return self.batches()

    @property
    def num_readers(self) -> int:
        """The number of readers."""
        return len(answer_of("num_readers", self._head.known.remote()).layout.readers)

    def add_readers(self, count: int) -> None:
        """Starts more readers. They work on batches that no trainer has requested yet.

        Args:
            count: The number of new readers, at least 1.

        Raises:
            ValueError: If `count` is below 1.
        """
        checked_int("add_readers", "count", count, 1)
        answer_of("add_readers", self._head.add_readers.remote(count))

    def remove_readers(self, count: int) -> None:
        """Stops readers once no trainer is waiting for their batches.

        Args:
            count: The number of readers to stop, at least 1.

        Raises:
            ValueError: If `count` is below 1 or no reader would remain.
        """
        checked_int("remove_readers", "count", count, 1)
        answer_of("remove_readers", self._head.remove_readers.remote(count))

    def bottleneck(self) -> str:
        """Returns a sentence on whether trainers wait and how many readers they need."""
        return str(answer_of("bottleneck", self._head.advice.remote()).text)

    def close(self) -> None:
        """Stops all readers. Trainers that have not finished receive an error."""
        # If the head is gone, its readers have ended.
        with suppress(UnavailableError):
            answer_of("close", self._head.close.remote())
        ray.kill(self._head)

    def __enter__(self) -> "Feed":
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()
