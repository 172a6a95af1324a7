"""Calls functions in a worker process: several neighbouring stages, row by row."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal

import numpy as np
import numpy.typing as npt

from headrace.pipeline.functions.cached_probe_results import (
    CachedProbeResults,
    copied,
    digest_of,
    key_of,
)
from headrace.pipeline.functions.global_generators import GlobalDraws
from headrace.pipeline.functions.indexed_rows import IndexedRows
from headrace.pipeline.functions.random_generators import Generators
from headrace.pipeline.values.column_conversion import as_values, decoded
from headrace.pipeline.values.json_values import json_value
from headrace.pipeline.values.nested import NestedList, nested_value
from headrace.pipeline.values.types import Json, Spec, Specs
from headrace.pipeline.values.unchanged import with_unchanged, without_unchanged
from headrace.pipeline.workers.sending import PackedError
from headrace.pipeline.workers.shared_rows import SharedRows

__all__ = ["Failure", "Result", "Step", "Steps"]

_ONE: Final = (None,)


@dataclass(frozen=True)
class Step:
    """One stage that a worker process runs.

    Attributes:
        stage: "map", "filter" or "flat_map".
        where: The stage and its function, for messages.
        seed: The seed for the function's random generators, or None if it doesn't need them.
        input_specs: The input components.
        output_specs: The components of the results, or None while they are being learned.
        first: The function's cached result for the first example, from when its components were
            learned.
    """

    stage: Literal["map", "filter", "flat_map"]
    where: str
    seed: int | None
    input_specs: Specs
    output_specs: Specs | None
    first: CachedProbeResults | None = None


@dataclass(frozen=True)
class Failure:
    """A function's error, with its row and step."""

    row: int
    step: int
    error: PackedError


@dataclass
class Result:
    """The results of the steps for some rows.

    Attributes:
        rows: The function's result for each row, while components are being learned.
        kept: The numbers of the input rows with an output row, or None if a row can have several.
        counts: The number of output rows for each input row.
        failed: The skipped rows.
        error: The error that stopped the calls, or None if there was none.
        is_stopped: Whether the worker had to stop before the end.
        done: For each step, the number of its rows and the time in seconds that they took.
        digest: The digest of the last step's first example, while components are being learned.
    """

    rows: list[Any] = field(default_factory=list)
    kept: list[int] = field(default_factory=list)
    counts: list[int] = field(default_factory=list)
    failed: list[Failure] = field(default_factory=list)
    error: Failure | None = None
    is_stopped: bool = False
    done: list[tuple[int, float]] = field(default_factory=list)
    digest: bytes | None = None


class Steps:
    """Neighbouring stages with their functions. All except the last one are `map` stages."""

    def __init__(self, steps: Sequence[Step], functions: Sequence[Callable[..., Any]]) -> None:
        self._steps = list(steps)
        self._functions = list(functions)
        self._global_draws = [GlobalDraws(step.where, is_worker=True) for step in steps]
        self._digest: bytes | None = None
        self._draws = [None if step.seed is None else Generators(step.seed) for step in steps]

    def run(
        self,
        columns: Sequence[Sequence[Any]],
        row_ids: npt.NDArray[np.uint64],
        left_out: frozenset[int],
        skips_errors: bool,
        note: Callable[[int, int], bool],
        made_rows: SharedRows | None = None,
    ) -> Result:
        """Calls the functions for each row, up to the first error.

        Args:
            columns: The values of each component.
            row_ids: The ID of each row. It is the key for the row's random draws.
            left_out: The numbers of the rows to skip.
            skips_errors: Whether to skip rows that a function fails on.
            note: Called before each call with the numbers of the row and the step. Returns whether
                all calls must stop.
            made_rows: Receives the rows of the last step, or None while components are being
                learned, or for a single filter.
        """
        result = Result()
        if isinstance(self._functions[0], IndexedRows):
            coming = [int(n) for row, n in enumerate(columns[0]) if row not in left_out]
            self._functions[0].expect(coming)
        seconds, num_results = [0.0] * len(self._steps), [0] * len(self._steps)
        ids = row_ids.tolist()
        for row, values in enumerate(zip(*columns, strict=True)):
            if row in left_out:
                result.counts.append(0)
                continue
            step, inputs = 0, list(values)
            rows: Sequence[Any] = [inputs]
            try:
                for step, stage in enumerate(self._steps):
                    if note(row, step):
                        result.is_stopped = True
                        return result
                    begin = time.perf_counter()
                    before = rows
                    rows = self._call(step, row, inputs, ids[row], made_rows)
                    seconds[step] += time.perf_counter() - begin
                    num_results[step] += len(rows)
                    if stage.stage == "filter":
                        if rows and made_rows is not None and step:
                            made_rows.add_values(stage.where, before[0])
                    elif step + 1 < len(self._steps):
                        assert stage.output_specs is not None
                        inputs = _inputs_of(rows[0], stage.output_specs)
            except BaseException as error:
                failure = Failure(row, step, PackedError.of(error))
                if not (skips_errors and isinstance(error, Exception)):
                    result.error = failure
                    break
                result.failed.append(failure)
                rows = []
            if made_rows is None:
                result.rows.extend(rows)
            result.counts.append(len(rows))
            if rows:
                result.kept.append(row)
        result.done, result.digest = list(zip(num_results, seconds, strict=True)), self._digest
        return result

    def _call(
        self,
        number: int,
        row: int,
        values: Sequence[Any],
        row_id: Sequence[int],
        made_rows: SharedRows | None,
    ) -> Sequence[Any]:
        """Returns the rows a step makes from one row. For the last step, only the number counts."""
        step = self._steps[number]
        example = dict(zip(step.input_specs, values, strict=True))
        if row == 0 and step.output_specs is None:
            self._digest = digest_of(example)
        result = self._recalled(number, example, row_id) if row == 0 else None
        if result is None:
            function, draws = self._functions[number], self._draws[number]
            if draws is not None:
                function = _drawing(function, draws.at(*row_id))
            result = self._global_draws[number].watching(function)(example)
        if step.stage == "filter":
            return [values] if result else []
        if step.output_specs is None:
            inputs = dict(zip(step.input_specs, values, strict=True))
            if step.stage == "flat_map":
                return [[copied(with_unchanged(row, inputs, step.input_specs)) for row in result]]
            return [with_unchanged(result, inputs, step.input_specs)]
        if number + 1 < len(self._steps):
            return [as_values(step.where, result, step.output_specs)]
        assert made_rows is not None
        if step.stage == "map":
            made_rows.add(step.where, result)
            return _ONE
        num_before = len(made_rows)
        try:
            for item in result:
                made_rows.add(step.where, item)
        except BaseException:
            made_rows.keep(num_before)
            raise
        return range(len(made_rows) - num_before)

    def _recalled(self, number: int, example: dict[str, Any], row_id: Sequence[int]) -> Any:
        """Returns the cached result if this is the first example; None otherwise."""
        step = self._steps[number]
        if not step.first:
            return None
        key = key_of(row_id, step.seed is not None)
        result = step.first.pop(key, digest_of(example)) if key in step.first else None
        if result is None:
            return None
        if step.stage == "flat_map":
            return [without_unchanged(one, example) for one in result[0]]
        return without_unchanged(result[0], example)


def _drawing(
    function: Callable[..., Any], draws: "np.random.Generator"
) -> Callable[[dict[str, Any]], Any]:
    """Returns a call that also passes a generator."""
    return lambda example: function(example, draws)


def _inputs_of(values: Sequence[Any], specs: Specs) -> list[Any]:
    """Converts a function's results to inputs for the next function."""
    return [_as_given(value, spec) for value, spec in zip(values, specs.values(), strict=True)]


def _as_given(value: Any, spec: Spec) -> Any:
    if spec.dtype is Json:
        return json_value(value)
    if spec.is_nested:
        return nested_value(value, spec, is_given=True)
    if spec.is_listed:
        return NestedList([_as_given(array, spec.row()) for array in value], spec)
    if spec.dtype is str:
        return decoded(value)
    if isinstance(value, np.ndarray):
        if value.ndim == 0:
            return value[()]
        value.flags.writeable = False
    return value
