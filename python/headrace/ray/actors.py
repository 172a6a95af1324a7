"""The Ray actors: the readers, and the head that manages them."""

import logging
import os
import pickle
import time
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

import ray

from headrace.read_service import (
    Advice,
    BatchReply,
    BatchRequest,
    Layout,
    Loads,
    Reader,
    ReaderAssignment,
    ReaderReply,
    advice,
    arranged,
)

__all__ = ["Head", "Report", "ServiceLayout", "Settings"]

_LOG: Final = logging.getLogger("headrace.ray")
# The time limit in seconds for an answer from a reader that may be lost.
_PATIENCE_S: Final = 5.0
# The number of seconds that a process may take to start before it counts as missing.
_STARTING_S: Final = 60.0
# The number of seconds that readers get to answer requests of ended trainers. Ray prints a line for
# each unanswered call.
_CLOSING_S: Final = 2.0
# A trainer counts as ended if it has not reported for this many seconds.
_GONE_S: Final = 60.0
# The number of seconds between two changes by autoscaling.
_SETTLING_S: Final = 10.0


@dataclass(frozen=True)
class Settings:
    """The arguments of `serve`.

    Attributes:
        num_readers: The initial number of readers.
        cpus_per_reader: The number of CPUs that Ray reserves for each reader.
        parked_bytes: The limit in bytes on the batches that a reader keeps for trainers that have
            not requested them yet.
        autoscale: The minimum and maximum number of readers for automatic scaling. None disables
            it.
    """

    num_readers: int
    cpus_per_reader: float
    parked_bytes: int
    autoscale: tuple[int, int] | None


class ServiceLayout(NamedTuple):
    """The head's answer to trainers: the layout of readers, and the actors by name."""

    layout: Layout
    readers: dict[str, Any]


class Report(NamedTuple):
    """The regular report of a trainer.

    Attributes:
        trainer: The trainer's name.
        rank: The trainer's rank.
        world: The number of trainers.
        version: The version of the layout that the trainer uses.
        oldest: The number of the trainer's next batch.
        end: The number of the first batch that the trainer has not requested.
        seconds: The time since the trainer's last report.
        waiting: The share of that time that the trainer spent waiting.
        working: The share of time that each reader spent working, for readers that sent this
            trainer a reply.
    """

    trainer: str
    rank: int
    world: int
    version: int
    oldest: int
    end: int
    seconds: float
    waiting: float
    working: dict[str, float]


class ReaderActor:
    """A `Reader` as a Ray actor."""

    def __init__(self, head: Any, parked_bytes: int) -> None:
        """Gets the pipeline from the head. An argument would have to outlive every restart."""
        self._reader = Reader(pickle.loads(ray.get(head.pipe.remote())), parked_bytes)
        self._gone: set[str] = set()

    def give(self, asks: list[BatchRequest]) -> ReaderReply:
        """Returns batches of one trainer. See `Reader.give_together`."""
        first = asks[0]
        if first.trainer in self._gone:
            return ReaderReply([BatchReply(None, 0, first.cursor, first.num_skipped, [], 0.0)], 0.0)
        return self._reader.give_together(asks)

    def forget(self, trainer: str) -> None:
        """Answers the open requests of a trainer without producing batches."""
        self._gone.add(trainer)

    def wait_until_idle(self) -> None:
        """Returns when all earlier requests have been answered."""

    def pid(self) -> int:
        """Returns the process ID. Answers immediately, even during other work."""
        return os.getpid()

    def node(self) -> str:
        """Returns the node on which it runs. Answers immediately, even during other work."""
        return str(ray.get_runtime_context().get_node_id())


@dataclass
class _Trainer:
    """The head's record of a trainer: its node and its last report."""

    node: str
    report: Report
    time: float = field(default_factory=time.monotonic)


class Head:
    """Starts and ends readers, and informs trainers about them. Batches do not pass through it."""

    def __init__(self, pipe: bytes, settings: Settings) -> None:
        """Starts the readers."""
        self._pipe = pipe
        self._settings = settings
        self._num_started = 0
        self._readers: dict[str, Any] = {}
        self._started_at: dict[str, float] = {}
        self._trainers: dict[str, _Trainer] = {}
        self._removed: dict[str, int] = {}
        self._changed_at = time.monotonic()
        self._start(settings.num_readers)
        self._layout = Layout(0, (ReaderAssignment(0, tuple(self._readers)),))

    def _start(self, count: int) -> list[str]:
        """Starts readers. If a reader dies, Ray restarts it, on another node if necessary."""
        settings = self._settings
        actor = ray.remote(concurrency_groups={"questions": 2})(ReaderActor).options(
            num_cpus=settings.cpus_per_reader,
            max_restarts=-1,
            max_task_retries=-1,
            scheduling_strategy="SPREAD",
        )
        me = ray.get_runtime_context().current_actor
        names = [f"reader-{self._num_started + number}" for number in range(count)]
        self._num_started += count
        for name in names:
            self._readers[name] = actor.remote(me, settings.parked_bytes)
            self._started_at[name] = time.monotonic()
        return names

    def pipe(self) -> bytes:
        """Returns the pipeline, as pickled by Ray."""
        return self._pipe

    def known(self) -> ServiceLayout:
        """Returns the layout of readers."""
        return ServiceLayout(self._layout, self._readers)

    def told(self, report: Report) -> ServiceLayout:
        """Returns the reader layout and the actors that one trainer needs."""
        names = self._layout.readers_of(report.oldest, report.world)
        return ServiceLayout(self._layout, {name: self._readers[name] for name in names})

    def join(self, node: str, report: Report) -> ServiceLayout:
        """Registers a trainer. After the last one has joined, assigns readers by node."""
        self._trainers[report.trainer] = _Trainer(node, report)
        nodes = {trainer.report.rank: trainer.node for trainer in self._trainers.values()}
        if len(nodes) == report.world and len(set(nodes.values())) > 1:
            self._arrange([nodes[rank] for rank in sorted(nodes)])
        return self.told(report)

    def _arrange(self, trainers: list[str]) -> None:
        nodes = self._nodes(self._layout.readers)
        order = arranged(nodes, trainers)
        if len(nodes) == len(self._layout.readers) and order != self._layout.readers:
            self._change(order)

    def _nodes(self, names: tuple[str, ...]) -> dict[str, str]:
        """Returns the nodes of the readers that answer."""
        asked = {self._node_of(name): name for name in names}
        ready, _ = ray.wait(list(asked), num_returns=len(asked), timeout=_PATIENCE_S)
        nodes = {}
        for answer in ready:
            try:
                nodes[asked[answer]] = ray.get(answer)
            except ray.exceptions.RayError:
                continue
        return nodes

    def _node_of(self, name: str) -> Any:
        return self._readers[name].node.options(concurrency_group="questions").remote()

    def report(self, report: Report) -> ServiceLayout | None:
        """Records a trainer's report. Returns the layout if the trainer's layout is outdated."""
        if (trainer := self._trainers.get(report.trainer)) is not None:
            trainer.report, trainer.time = report, time.monotonic()
        self._end_removed()
        if self._settings.autoscale is not None:
            self._autoscale(*self._settings.autoscale)
        return None if report.version == self._layout.version else self.told(report)

    def leave(self, trainer: str) -> None:
        """Removes a trainer that has ended."""
        self._trainers.pop(trainer, None)
        self._end_removed()

    def missing(self, name: str, report: Report) -> ServiceLayout:
        """Replaces a reader that a trainer is waiting for if the reader does not answer."""
        is_starting = time.monotonic() < self._started_at.get(name, 0) + _STARTING_S
        is_known = name in self._layout.readers and not is_starting
        if is_known and name not in self._nodes((name,)):
            if len(self._layout.readers) == 1:
                cpus = self._settings.cpus_per_reader
                _LOG.warning(
                    "%s does not answer. Check whether any node has %s free CPUs.", name, cpus
                )
                return self.told(report)
            _LOG.warning("%s does not answer, so the other readers take over its batches.", name)
            self._layout = self._layout.without(name)
            self._kill(name)
        return self.told(report)

    def add_readers(self, count: int) -> Layout:
        """Starts readers. They begin after the batches already requested."""
        self._change((*self._layout.readers, *self._start(count)))
        return self._layout

    def remove_readers(self, count: int) -> Layout:
        """Ends the last readers once no trainer waits for them.

        Raises:
            ValueError: If no reader would remain.
        """
        readers = self._layout.readers
        if count >= len(readers):
            raise ValueError(
                f"remove_readers: cannot remove {count} of {len(readers)} readers, because at "
                "least one must remain. To stop all, use close()."
            )
        self._change(readers[:-count])
        self._removed.update(dict.fromkeys(readers[-count:], self._layout.turns[-1].first))
        self._end_removed()
        return self._layout

    def _change(self, readers: tuple[str, ...]) -> None:
        reports = [trainer.report for trainer in self._trainers.values()]
        first = max((report.end for report in reports), default=0)
        oldest = min((report.oldest for report in reports), default=0)
        self._layout = self._layout.changed(readers, first, oldest)
        self._changed_at = time.monotonic()

    def _end_removed(self) -> None:
        """Ends removed readers after all running trainers have taken their last batches."""
        since = time.monotonic() - _GONE_S
        reports = [one.report for one in self._trainers.values() if one.time > since]
        for name, first in list(self._removed.items()):
            if all(one.version == self._layout.version and one.oldest >= first for one in reports):
                del self._removed[name]
                self._kill(name)

    def _kill(self, name: str) -> None:
        ray.kill(self._readers.pop(name))

    def advice(self) -> Advice:
        """Returns whether more or fewer readers are needed."""
        reports = [trainer.report for trainer in self._trainers.values()]
        seconds = min((report.seconds for report in reports), default=0.0)
        working = {name: load for one in reports for name, load in one.working.items()}
        now = [working[name] for name in self._layout.readers if name in working]
        waiting = sum(report.waiting for report in reports) / max(len(reports), 1)
        return advice(
            Loads(seconds, len(self._layout.readers), waiting, sum(now) / max(len(now), 1))
        )

    def _autoscale(self, least: int, most: int) -> None:
        if time.monotonic() - self._changed_at < _SETTLING_S:
            return
        advice = self.advice()
        num_wanted, count = min(max(advice.num_readers, least), most), len(self._layout.readers)
        if num_wanted > count:
            _LOG.info("%s. Adding %d.", advice.text, num_wanted - count)
            self.add_readers(num_wanted - count)
        elif num_wanted < count:
            _LOG.info("%s. Removing %d.", advice.text, count - num_wanted)
            self.remove_readers(count - num_wanted)

    def close(self) -> None:
        """Ends all readers after their open requests have been answered, or after a short time."""
        idle = [reader.wait_until_idle.remote() for reader in self._readers.values()]
        ray.wait(idle, num_returns=len(idle), timeout=_CLOSING_S)
        for name in list(self._readers):
            self._kill(name)
