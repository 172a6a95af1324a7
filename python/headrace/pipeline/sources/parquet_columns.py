"""Reads columns of small Parquet files into memory, such as those that describe a data set."""

from collections.abc import Mapping, Sequence
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from headrace.core import engine
from headrace.core.allocation_guard import available_bytes
from headrace.pipeline.sources.column_options import components_of, native, specs_of
from headrace.pipeline.values.column_conversion import shown

__all__ = ["read_columns"]


def read_columns(
    where: str, paths: Sequence[bytes], columns: Mapping[str, Any]
) -> dict[str, npt.NDArray[Any]]:
    """Returns columns of Parquet files as arrays.

    Args:
        where: The source's name, for messages.
        paths: The files, in order.
        columns: The types of the columns, by name. Each row must have a single value.

    Raises:
        OpError: If a file cannot be read, or has no such columns.
    """
    pairs = tuple(columns.items())
    specs = specs_of(where, pairs)
    components = components_of(where, specs, pairs, ())
    parts: dict[str, list[npt.NDArray[Any]]] = {name: [] for name in specs}
    with engine.op_errors():
        rows = engine.parquet_rows(paths, list(map(native, components)), [], [])
        execution = engine.Execution(
            rows.plan,
            name=where,
            epoch=0,
            checkpoint=None,
            function_states=[],
            num_threads=1,
            num_callers=0,
            num_python_workers=0,
            num_stages=0,
            memory_bytes=max(available_bytes() // 4, 64 << 20),
            max_outputs=1,
            is_batched=False,
            is_deterministic=True,
            is_synchronous=False,
            keeps_origins=False,
        )
        try:
            while (block := execution.next(False)) is not None:
                _, values = cast("tuple[int, list[Any]]", block)  # Nothing is skipped.
                for (name, spec), column in zip(specs.items(), values, strict=True):
                    parts[name].append(np.asarray(shown(column, spec)))
        finally:
            execution.close()
    return {
        name: np.concatenate(arrays) if arrays else np.empty(0, _dtype(specs[name].dtype))
        for name, arrays in parts.items()
    }


def _dtype(dtype: Any) -> Any:
    return object if isinstance(dtype, type) else dtype
