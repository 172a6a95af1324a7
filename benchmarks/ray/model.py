"""A discrete-event model of readers that feed trainers, as `headrace.ray` lets them.

Readers make their batches one after the other, in the order of their numbers, and go past those of
the others. Trainers ask ahead, take their batches in order, and step together. The head starts
readers, answers trainers that join, and hears reports. Every time is an event of one queue.
"""

import heapq
import math
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import count, pairwise

__all__ = ["Constants", "Result", "Setting", "simulate"]


@dataclass(frozen=True)
class Constants:
    """Measured times and sizes, in seconds and bytes; see `benchmarks.ray.__main__`.

    Attributes:
        call_s: What a batch costs on its way, however small it is.
        byte_s: What each byte of it costs: copied into the object store, mapped again.
        reader_start_s: From the start of a reader's process to its first batch.
        report_s: What the head does for a report.
        known_s: What it does for a trainer that joins, for few readers, and for a reader that asks
            for the pipeline.
        add_s: What the head does to start a reader.
        handle_bytes: What a trainer is told of each reader.
        handle_s: What the head does for each reader that it tells of.
        lost_s: How long a reader is gone whose process was killed.
    """

    call_s: float
    byte_s: float
    reader_start_s: float
    report_s: float
    known_s: float
    add_s: float
    handle_bytes: int
    handle_s: float
    lost_s: float


@dataclass(frozen=True)
class Setting:
    """The setting of a simulation.

    Attributes:
        num_readers: Each on a host of its own.
        num_trainers: Each on a host of its own.
        make_s: What a reader needs to make a batch.
        skim_s: What it needs to go past a batch of another.
        batch_bytes: How large a batch is.
        step_s: What a trainer does with a batch.
        num_steps: How many batches each trainer takes.
        network_bytes_s: What a host sends or receives a second.
        asked_ahead: How many batches a trainer has asked for.
        jitter: The deviation of `make_s`, as a share of it.
        lost_at_step: When the process of the first reader is killed; None for never.
        reports_s: How often a trainer reports.
    """

    num_readers: int
    num_trainers: int
    make_s: float
    skim_s: float
    batch_bytes: int
    step_s: float
    num_steps: int = 60
    network_bytes_s: float = 1.25e9
    asked_ahead: int = 8
    jitter: float = 0.1
    lost_at_step: int | None = None
    reports_s: float = 1.0


@dataclass
class Result:
    """The result of a simulation.

    Attributes:
        rate: Batches a second of all trainers, between the first step and the last.
        first_batch_s: From `serve` to the last trainer's first batch.
        longest_stand_s: The longest time between two steps of a trainer.
        balance: The busiest reader's work over the mean.
    """

    rate: float = 0.0
    first_batch_s: float = 0.0
    longest_stand_s: float = 0.0
    balance: float = 0.0


@dataclass
class _Server:
    """Does one job after the other."""

    free_at: float = 0.0
    busy: float = 0.0

    def serve(self, now: float, seconds: float) -> float:
        """Returns when something is done that comes now."""
        self.free_at = max(self.free_at, now) + seconds
        self.busy += seconds
        return self.free_at


@dataclass
class _Reader(_Server):
    """A reader: a server with a queue of batches to make, and a sender."""

    wire: _Server = field(default_factory=_Server)
    parked: dict[int, int] = field(default_factory=dict)
    asked: dict[int, int] = field(default_factory=dict)
    next_number: int = 0
    is_making: bool = False


class _Simulation:
    def __init__(self, setting: Setting, constants: Constants, seed: int) -> None:
        self.setting, self.constants = setting, constants
        self.random = random.Random(seed)
        self.events: list[tuple[float, int, Callable[[float], None]]] = []
        self.ties = count()
        self.head = _Server()
        self.readers = [_Reader(next_number=index) for index in range(setting.num_readers)]
        self.wires = [_Server() for _ in range(setting.num_trainers)]
        self.have: list[set[int]] = [set() for _ in range(setting.num_trainers)]
        self.asked_to = list(range(setting.num_trainers))
        self.step = 0
        self.is_stepping = False
        self.steps: list[float] = []
        self.is_lost = False

    def at(self, time: float, what: Callable[[float], None]) -> None:
        heapq.heappush(self.events, (time, next(self.ties), what))

    def run(self) -> Result:
        setting, constants = self.setting, self.constants
        # The head starts all readers; their processes start side by side.
        started = self.head.serve(0.0, constants.add_s * setting.num_readers)
        for index, reader in enumerate(self.readers):
            reader.free_at = math.inf
            runs = started + constants.reader_start_s * self.random.uniform(0.8, 1.2)
            self.at(runs, lambda now, index=index: self.begin(now, index))
        for trainer in range(setting.num_trainers):
            # It is told of those that it has to ask.
            num_told = setting.num_readers // math.gcd(setting.num_readers, setting.num_trainers)
            joined = self.head.serve(0.0, constants.known_s + constants.handle_s * num_told)
            told = constants.handle_bytes * num_told / setting.network_bytes_s
            self.at(joined + told, lambda now, trainer=trainer: self.ask(now, trainer))
            self.report(joined, trainer)
        while self.events and self.step < setting.num_steps:
            now, _, what = heapq.heappop(self.events)
            what(now)
        times = self.steps
        work = [reader.busy for reader in self.readers]
        return Result(
            rate=(len(times) - 1) * setting.num_trainers / max(times[-1] - times[0], 1e-9),
            first_batch_s=times[0],
            longest_stand_s=max(b - a for a, b in pairwise(times)),
            balance=max(work) * len(work) / sum(work),
        )

    def begin(self, now: float, index: int) -> None:
        """Lets a reader whose process runs ask the head for the pipeline."""
        reader = self.readers[index]
        reader.free_at = self.head.serve(now, self.constants.known_s)
        self.at(reader.free_at, lambda time: self.make(time, index))

    def report(self, now: float, trainer: int) -> None:
        when = now + self.setting.reports_s * self.random.uniform(0.9, 1.1)

        def arrive(time: float) -> None:
            self.head.serve(time, self.constants.report_s)
            self.report(time, trainer)

        self.at(when, arrive)

    def ask(self, now: float, trainer: int) -> None:
        world = self.setting.num_trainers
        limit = trainer + (self.step + self.setting.asked_ahead) * world
        while self.asked_to[trainer] < limit:
            number = self.asked_to[trainer]
            self.asked_to[trainer] += world
            index = number % self.setting.num_readers
            reader = self.readers[index]
            if reader.parked.pop(number, None) is not None:
                self.send(now, index, number, trainer)
            else:
                reader.asked[number] = trainer
                self.make(now, index)

    def make(self, now: float, index: int) -> None:
        """Lets a reader make its next batch, if anybody has asked for it or a later one."""
        reader, setting = self.readers[index], self.setting
        if reader.is_making or now < reader.free_at or not reader.asked:
            return
        reader.is_making = True
        output = max(self.random.gauss(1.0, setting.jitter), 0.1) * setting.make_s
        skimmed = setting.skim_s * (setting.num_readers - 1)
        way = self.constants.call_s + self.constants.byte_s * setting.batch_bytes
        done = reader.serve(now, output + skimmed + way)
        self.at(done, lambda time: self.made(time, index))

    def made(self, now: float, index: int) -> None:
        reader = self.readers[index]
        reader.is_making = False
        number = reader.next_number
        reader.next_number += self.setting.num_readers
        if (trainer := reader.asked.pop(number, None)) is None:
            reader.parked[number] = 1
        else:
            self.send(now, index, number, trainer)
        self.make(now, index)

    def send(self, now: float, index: int, number: int, trainer: int) -> None:
        seconds = self.setting.batch_bytes / self.setting.network_bytes_s
        sent = self.readers[index].wire.serve(now, seconds)
        arrived = max(self.wires[trainer].serve(sent - seconds, seconds), sent)
        self.at(arrived, lambda time: self.arrive(time, number, trainer))

    def arrive(self, now: float, number: int, trainer: int) -> None:
        self.have[trainer].add(number)
        self.try_step(now)

    def try_step(self, now: float) -> None:
        """All trainers step together, once each has its batch."""
        world = self.setting.num_trainers
        expected = [trainer + self.step * world for trainer in range(world)]
        if self.is_stepping or not all(
            number in have for number, have in zip(expected, self.have, strict=True)
        ):
            return
        for number, have in zip(expected, self.have, strict=True):
            have.remove(number)
        self.steps.append(now)
        self.is_stepping = True
        self.at(now + self.setting.step_s, self.stepped)

    def stepped(self, now: float) -> None:
        self.is_stepping = False
        self.step += 1
        if self.step == self.setting.lost_at_step and not self.is_lost:
            self.is_lost = True
            # What it was making is made again; it continues once it is back.
            self.readers[0].serve(now, self.constants.lost_s)
            self.readers[0].busy -= self.constants.lost_s
            self.at(self.readers[0].free_at, lambda time: self.make(time, 0))
        for trainer in range(self.setting.num_trainers):
            self.ask(now, trainer)
        self.try_step(now)


def simulate(setting: Setting, constants: Constants, seed: int = 1) -> Result:
    """Runs the model once.

    Args:
        setting: What is simulated.
        constants: What was measured.
        seed: Of the jitter.
    """
    return _Simulation(setting, constants, seed).run()
