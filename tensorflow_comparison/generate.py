"""Generates arguments with Hypothesis."""

import pickle
from pathlib import Path
from typing import Any

import hypothesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis.strategies import SearchStrategy

from tensorflow_comparison import checkpoints, expressions, messages, pictures, strategies

# A strategy and a number of examples for each key of `tensorflow_comparison.table.generated`.
STRATEGIES = {
    "small_arrays": (strategies.small_arrays(), 20),
    "indices": (strategies.indices(), 30),
    "queue_programs": (strategies.queue_programs(), 40),
    "csv_lines": (strategies.csv_lines(), 60),
    "raw_records": (strategies.raw_records(), 25),
    "texts": (strategies.texts(), 40),
    "fixed_lengths": (strategies.fixed_lengths(), 40),
    "record_files": (strategies.record_files(), 25),
    "lines_of_words": (strategies.lines_of_words(), 40),
    "pipelines": (strategies.pipelines(), 25),
    "checkpoints": (checkpoints.checkpoints(), 15),
    "expressions": (expressions.expressions(), 400),
    "examples": (messages.examples(), 60),
    "json_examples": (messages.json_examples(), 60),
    "sequence_examples": (messages.sequence_examples(), 25),
    "jpegs": (pictures.jpegs(), 40),
    "pngs": (pictures.pngs(), 40),
    "damaged_images": (pictures.damaged_images(), 60),
    "sizes": (pictures.sizes(), 25),
    "windows": (pictures.windows(), 40),
}


def write(path: Path, seed: int | None = None, times: int = 1) -> None:
    """Writes the arguments of all keys to a file for `tensorflow_comparison.table.load`.

    Args:
        path: The file.
        seed: The random seed; None for the same arguments in each run.
        times: A factor for the number of examples.
    """
    output = {
        key: examples(strategy, count * times, seed)
        for key, (strategy, count) in STRATEGIES.items()
    }
    path.write_bytes(pickle.dumps(output))


def examples(strategy: SearchStrategy[Any], count: int, seed: int | None = None) -> list[Any]:
    """Returns at most `count` distinct examples."""
    results: dict[str, Any] = {}

    @settings(
        max_examples=count,
        derandomize=seed is None,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(strategy)
    def collect(example: Any) -> None:
        results.setdefault(repr(example), example)

    (collect if seed is None else hypothesis.seed(seed)(collect))()
    return list(results.values())
