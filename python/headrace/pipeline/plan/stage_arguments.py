"""Arguments of the engine's stages: arrays, defaults and padding with their types."""

from typing import Any, Literal, TypeAlias

import numpy as np

from headrace.core import engine
from headrace.pipeline.describe import stages
from headrace.pipeline.describe.padding import fillers, multiples_of
from headrace.pipeline.describe.specs import Specs
from headrace.pipeline.describe.types import (
    Feature,
    Ragged,
    Spec,
    carried,
    element_type,
    engine_code,
)

# How a batch holds a component: see `engine.Stage.collate`.
Layout: TypeAlias = Literal["stacked", "joined", "arrays", "lists"]

__all__ = ["layouts_of", "origin_stage", "padding_of", "parse_stage", "rows_of"]


def rows_of(arrays: stages.Arrays) -> engine.Plan:
    """Returns the plan of arrays in memory."""
    specs = arrays.spec
    coded = [
        (carried(array), engine_code(specs[name].dtype)) for name, array in arrays.arrays.items()
    ]
    return engine.Plan.arrays(coded)


def origin_stage(stage: stages.WithOrigin | stages.OriginFiles, num_columns: int) -> engine.Stage:
    """Returns the stage that adds the origin of examples, or that keeps only their files."""
    if isinstance(stage, stages.OriginFiles):
        return engine.Stage.origin_files()
    return engine.Stage.with_origin(num_columns)


def parse_stage(parse: stages.Parse, before: Specs, sightings: engine.Sightings) -> engine.Stage:
    """Returns the stage that parses `Example` records."""
    lists = [(name, f) for name, f in parse.features if isinstance(f, Ragged)]
    dense = [(name, f) for name, f in parse.features if isinstance(f, Feature)]
    attrs = {
        "sparse_keys": [name for name, _ in lists],
        "sparse_types": [_type_attr(feature) for _, feature in lists],
        "dense_keys": [name for name, _ in dense],
        "dense_types": [_type_attr(feature) for _, feature in dense],
        "dense_shapes": [("shape", list(feature.shape)) for _, feature in dense],
    }
    names = list(before)
    kept = [index for index, name in enumerate(names) if name != "record"]
    defaults = [_default(name, feature) for name, feature in dense]
    texts = [name for name, f in parse.features if element_type("parse", f.dtype) is str]
    return engine.Stage.parse(attrs, defaults, names.index("record"), kept, texts, sightings)


def _type_attr(feature: Feature | Ragged) -> tuple[str, int]:
    return "dtype", engine_code(element_type("parse", feature.dtype))


def _default(name: str, feature: Feature) -> tuple[Any, int]:
    dtype = element_type("parse", feature.dtype)
    kind: Any = object if isinstance(dtype, type) else dtype
    if feature.default is None:
        return np.zeros(0, kind), engine_code(dtype)
    value = feature.default.encode() if isinstance(feature.default, str) else feature.default
    try:
        filled = np.broadcast_to(np.asarray(value, kind), feature.shape)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"parse: the default of {name!r} is {feature.default!r}, expected {dtype} of shape "
            f"{feature.shape} or a scalar."
        ) from error
    return np.array(filled, order="C"), engine_code(dtype)


def layouts_of(batch: stages.Batch | stages.PaddedBatch, before: Specs) -> list[Layout]:
    """Returns how a batch holds each component."""
    if not isinstance(batch, stages.Batch):
        return []

    def layout(name: str, spec: Spec) -> Layout:
        if name in batch.lists:
            return "lists" if spec.is_list else "arrays"
        return "joined" if batch.ragged is not None and spec.is_list else "stacked"

    return [layout(name, spec) for name, spec in before.items()]


def padding_of(
    batch: stages.PaddedBatch | stages.BucketByLength, before: Specs
) -> tuple[list[tuple[Any, int]], list[list[int] | None], tuple[int, ...]]:
    """Returns the padding of batches: values, multiples of sizes, and boundaries of lengths."""
    values = fillers(batch, before)
    multiples = {name: multiples_of(batch, name, spec) for name, spec in before.items()}
    if isinstance(batch, stages.PaddedBatch) or not batch.pad_to_boundary:
        return values, list(multiples.values()), ()
    # The component is padded to its boundary even if it has one length.
    rest = multiples[batch.component] or [0] * len(before[batch.component].shape or ())
    multiples[batch.component] = [1, *rest[1:]]
    return values, list(multiples.values()), batch.boundaries
