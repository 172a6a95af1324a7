"""Measures queue operations beside other queues: `python -m benchmarks.queues`."""

import sys
from collections.abc import Iterator
from pathlib import Path

import click
from peers.environments import python_of

from benchmarks.comparison import Contender, Scenario, compare, describe_machine, table_of

HERE = Path(__file__).parent


@click.command()
@click.option("--rounds", default=5, show_default=True, help="How often each program runs.")
@click.option("--seconds", default=1.0, show_default=True, help="How long each run measures.")
@click.option("--peers/--no-peers", default=True, help="Whether to install and run TensorFlow.")
def main(rounds: int, seconds: float, peers: bool) -> None:
    """Measures queue operations beside those of the standard library and of TensorFlow."""
    tensorflow = python_of("tensorflow") if peers else None
    scenarios = list(scenarios_for(tensorflow, seconds))
    print(f"{describe_machine()}; medians of {rounds} rounds in turn\n")
    for scenario, results in zip(scenarios, compare(scenarios, rounds), strict=True):
        print(table_of(scenario, results))


def scenarios_for(tensorflow: Path | None, seconds: float) -> Iterator[Scenario]:
    """Yields the scenarios to measure; `tensorflow` is the Python that has TensorFlow."""

    def graph(name: str, way: str) -> list[Contender]:
        ours = [sys.executable, HERE / "graph.py", "headrace", way]
        pair = [Contender(f"headrace, {name}", ours, is_ours=True)]
        if tensorflow is not None:
            theirs = [tensorflow, HERE / "graph.py", "tensorflow", way]
            pair.append(Contender(f"TensorFlow, {name}", theirs))
        return pair

    def python(name: str, kind: str, *more: str) -> Contender:
        interpreter = tensorflow if kind == "tensorflow" else sys.executable
        command = [interpreter or "", HERE / "python.py", kind, *more]
        return Contender(name, command, is_ours=kind == "headrace")

    eager = [python("headrace, eager", "headrace")]
    eager += [python("TensorFlow, eager", "tensorflow")] if tensorflow is not None else []
    standard = [
        python("queue.Queue", "queue"),
        python("queue.SimpleQueue, unbounded", "simple"),
        python("multiprocessing.Queue", "multiprocessing"),
    ]
    for batch in (1, 128):
        size = "one at a time" if batch == 1 else f"{batch} at a time"
        for producers in (1, 4):
            arguments = ["--batch", str(batch), "--producers", str(producers)]
            arguments += ["--seconds", str(seconds)]
            who = "one producer" if producers == 1 else f"{producers} producers"
            yield Scenario(f"Eager, {size}, {who}", [*eager, *standard], arguments=arguments)
            for name, way in (("Session.run", "run"), ("make_callable", "callable")):
                title = f"{name} on both sides, {size}, {who}"
                yield Scenario(title, graph(name, way), arguments=arguments)
            title = f"Queue runner to Session.run, {size}, {who}"
            yield Scenario(title, graph("runner", "runner"), arguments=arguments)
    copies = [
        python("headrace, eager", "headrace", "--batches"),
        *(
            Contender(contender.name, contender.command)
            for contender in graph("Session.run", "batches")
        ),
        python("queue.Queue and numpy.stack", "queue", "--batches"),
        python("numpy.copy of the same bytes", "copy", "--batches"),
    ]
    arguments = ["--batch", "128", "--seconds", str(seconds)]
    yield Scenario("Batches of 128 examples of 3 KB, all there", copies, arguments=arguments)


if __name__ == "__main__":
    main()
