"""A discrete-event model of readers that feed trainers, as in `headrace.ray`.

Readers make their batches one after the other, in numerical order, and skip other readers' batches.
Trainers request batches ahead, receive them in order, and step together. The head starts readers,
answers trainers that join, and receives reports. All events are in one queue, ordered by time.
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
        call_s: The fixed cost of transferring a batch of any size.
        byte_s: The cost per byte: copying into the object store, and mapping.
        reader_start_s: The time from the start of a reader process to its first batch.
        report_s: The head's time for a report.
        known_s: The head's time for a trainer that joins (with few readers), and for a reader that
            requests the pipeline.
        add_s: The head's time to start a reader.
        handle_bytes: The bytes about each reader that the head sends to a trainer.
        handle_s: The head's time for each reader in its answer to a trainer.
        lost_s: How long a reader is unavailable after its process was killed.
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
        num_readers: The number of readers, each on its own host.
        num_trainers: The number of trainers, each on its own host.
        make_s: A reader's time to make a batch.
        skim_s: A reader's time to skip another reader's batch.
        batch_bytes: The size of a batch.
        step_s: A trainer's time for a step.
        num_steps: The number of batches for each trainer.
        network_bytes_s: A host's network bandwidth per second.
        asked_ahead: The number of batches that a trainer requests ahead.
        jitter: The relative deviation of `make_s`.
        lost_at_step: The step at which the first reader's process is killed. None for never.
        reports_s: The interval of a trainer's reports.
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
        rate: The batches per second of all trainers, between the first step and the last.
        first_batch_s: The time from `serve` to the last trainer's first batch.
        longest_stand_s: The longest time between two steps of a trainer.
        balance: The busiest reader's work divided by the mean.
    """

    rate: float = 0.0
    first_batch_s: float = 0.0
    longest_stand_s: float = 0.0
    balance: float = 0.0


@dataclass
class _Server:
    """Processes one job after the other."""

    free_at: float = 0.0
    busy: float = 0.0

    def serve(self, now: float, seconds: float) -> float:
        """Adds a job and returns the time at which it is done."""
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
        # The head starts all readers one by one. Their processes start in parallel.
        started = self.head.serve(0.0, constants.add_s * setting.num_readers)
        for index, reader in enumerate(self.readers):
            reader.free_at = math.inf
            runs = started + constants.reader_start_s * self.random.uniform(0.8, 1.2)
            self.at(runs, lambda now, index=index: self.begin(now, index))
        for trainer in range(setting.num_trainers):
            # The head tells the trainer about the readers that it has to ask.
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
        """Lets a reader request the pipeline from the head, once its process runs."""
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
        """Lets a reader make its next batch, if a trainer has requested it or a later one."""
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
        """All trainers step together, as soon as each of them has its batch."""
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
            # Once the reader is back, it makes the interrupted batch again and continues.
            self.readers[0].serve(now, self.constants.lost_s)
            self.readers[0].busy -= self.constants.lost_s
            self.at(self.readers[0].free_at, lambda time: self.make(time, 0))
        for trainer in range(self.setting.num_trainers):
            self.ask(now, trainer)
        self.try_step(now)


def simulate(setting: Setting, constants: Constants, seed: int = 1) -> Result:
    """Runs the model once.

    Args:
        setting: The simulated setting.
        constants: The measured times and sizes.
        seed: The seed of the jitter.
    """
    return _Simulation(setting, constants, seed).run()
