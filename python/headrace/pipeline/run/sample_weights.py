"""Reads the weights that `sample` draws with, in one pass over the examples before it."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from headrace.pipeline.run.component_reading import ComponentReading, Start
from headrace.pipeline.run.file_digests import version_of
from headrace.pipeline.stages.components import ChainSpecs
from headrace.pipeline.stages.sample import (
    DrawingWeights,
    Sample,
    check_sum,
    invalid_weight,
    samples_of,
)
from headrace.pipeline.stages.stage import Stage

__all__ = ["forget_changed_weights", "read_weights"]


def read_weights(
    chain: Sequence[Stage], chain_specs: ChainSpecs, options: Mapping[str, Any], start: Start
) -> None:
    """Reads the weights of all `sample` stages, unless an earlier iteration has read them.

    Args:
        chain: The stages, whose sources refer to specific commits.
        chain_specs: The components after each stage.
        options: The pipeline's options.
        start: The class `Batches`.

    Raises:
        ValueError: If a weight is invalid. The message names its record.
    """
    for part, specs in zip(chain[0].parts, chain_specs.parts, strict=True):
        read_weights(part, specs, options, start)
    for index, sample in samples_of(chain):
        empty = chain_specs.first_empty_stage
        if sample.read.known is None and (empty is None or empty >= index):
            name = cast("str", sample.component)
            reading = ComponentReading(chain[:index], name, chain_specs, options, start)
            sample.read.known = DrawingWeights(_weights(sample, reading))


def forget_changed_weights(chain: Sequence[Stage], files: Sequence[Sequence[bytes]]) -> bool:
    """Discards weights if their files have changed since they were read.

    Args:
        chain: The stages.
        files: The files of all sources, as the iteration reads them.

    Returns:
        True if weights have to be read again.
    """
    stages = list(_all_samples(chain))
    if not stages:
        return False
    identity = version_of(files)
    is_changed = False
    for sample in stages:
        known = sample.read.known
        if known is not None and known.files not in (None, identity):
            sample.read.known, is_changed = None, True
        elif known is not None:
            known.files = identity
    return is_changed


def _all_samples(chain: Sequence[Stage]) -> Iterator[Sample]:
    for part in chain[0].parts:
        yield from _all_samples(part)
    yield from (sample for _, sample in samples_of(chain))


def _weights(sample: Sample, reading: ComponentReading) -> npt.NDArray[np.float64]:
    """Returns the weight of each example."""
    columns = reading.columns()
    if sample.by is not None:
        return _even_weights(columns)
    read = [np.asarray(column, np.float64) for column in columns]
    weights = np.concatenate(read) if read else np.empty(0, np.float64)
    invalid = invalid_weight(weights)
    if invalid is not None:
        raise ValueError(
            f"sample: {reading.record(invalid)} has {weights[invalid]} in {reading.name!r}, "
            "expected a weight that is a finite number of at least 0. Fix the data, or filter it "
            "when you write it."
        )
    check_sum(f"the {len(weights)} weights in {reading.name!r}", weights)
    return weights


def _even_weights(columns: Iterator[npt.NDArray[Any]]) -> npt.NDArray[np.float64]:
    """Returns weights with which all classes are equally likely, given the classes."""
    numbers: dict[Any, int] = {}
    read = []
    for column in columns:
        labels, inverse = np.unique(column, return_inverse=True)
        of_labels = [numbers.setdefault(label, len(numbers)) for label in labels.tolist()]
        read.append(np.asarray(of_labels, np.int64)[inverse.reshape(-1)])
    if not read:
        return np.empty(0, np.float64)
    classes = np.concatenate(read)
    weights: npt.NDArray[np.float64] = 1 / np.bincount(classes).astype(np.float64)
    return weights[classes]
