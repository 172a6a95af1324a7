"""Measures a flow: producers put numbers into a queue, the main thread takes them out.

Every producer counts from 0, so that what came out can be checked against what went in.
"""

import json
import os
import threading
import time
from collections.abc import Callable
from typing import Protocol


class Channel(Protocol):
    """A queue under test; each call moves `batch` numbers."""

    def put(self, first: int) -> None:
        """Enqueues the numbers from `first` on."""

    def get(self) -> int | None:
        """Takes numbers and returns their sum; None at the end."""

    def end(self) -> None:
        """Closes the queue: `get` ends once it is empty. Called after the last `put`."""


def measure(channel: Channel, batch: int, num_producers: int, seconds: float) -> None:
    """Lets a channel run for some seconds and prints the result as a line of JSON."""
    is_over = threading.Event()
    counts = [0] * num_producers

    def produce(number: int) -> None:
        put, count = channel.put, 0
        while not is_over.is_set():
            for _ in range(16):
                put(count)
                count += batch
        counts[number] = count

    producers = [threading.Thread(target=produce, args=[n]) for n in range(num_producers)]

    def end() -> None:
        for producer in producers:
            producer.join()
        channel.end()

    ender = threading.Thread(target=end)

    def start() -> None:
        for thread in (*producers, ender):
            thread.start()

    taken, total = drain(channel.get, batch, seconds, start, is_over.set)
    ender.join()
    expected = sum(count * (count - 1) // 2 for count in counts)
    assert (taken, total) == (sum(counts), expected), "elements were lost or doubled"


def drain(
    get: Callable[[], int | None],
    batch: int,
    seconds: float,
    start: Callable[[], None],
    stop: Callable[[], None],
) -> tuple[int, int]:
    """Takes numbers until there are none; prints the rate.

    Args:
        get: As `Channel.get`.
        batch: Numbers a call.
        seconds: When to call `stop`.
        start: Lets numbers come.
        stop: Lets no more come.

    Returns:
        How many came, and their sum.
    """
    cpu = time.process_time()
    begin = time.perf_counter()
    start()
    calls = total = 0
    is_stopped = False
    while (numbers := get()) is not None:
        total += numbers
        calls += 1
        if not is_stopped and calls % 64 == 0 and time.perf_counter() > begin + seconds:
            is_stopped = True
            stop()
    report(calls * batch, time.perf_counter() - begin, time.process_time() - cpu)
    return calls * batch, total


def report(count: int, seconds: float, cpu_seconds: float) -> None:
    """Prints the measurement, with the CPU time of child processes that have ended."""
    children = os.times()
    cpu_seconds += children.children_user + children.children_system
    print(json.dumps({"count": count, "seconds": seconds, "cpu_seconds": cpu_seconds}))
