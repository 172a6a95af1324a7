"""The specs of components after each stage, found without running anything."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Final, NoReturn

import numpy as np

from headrace.pipeline.describe import stages
from headrace.pipeline.describe.native_function import NativeFunction
from headrace.pipeline.describe.padding import check_padding, padded_names
from headrace.pipeline.describe.source import Source
from headrace.pipeline.describe.stages import Stage
from headrace.pipeline.describe.types import Feature, Json, Ragged, Spec, Specs, element_type
from headrace.pipeline.plan.functions.first_results import FirstResults

__all__ = [
    "BATCHES",
    "Known",
    "Specs",
    "after",
    "batch_depth",
    "check_names",
    "gives_anything",
    "known_names",
    "num_cached",
    "runs_python",
    "static_specs",
    "zipped",
]

# Stages that group examples.
BATCHES: Final = (stages.Batch, stages.PaddedBatch, stages.BucketByLength)


@dataclass(frozen=True)
class Known:
    """The components after each stage, also in the pipelines that a source combines.

    Attributes:
        specs: The components after each stage.
        parts: The components of the pipelines that the source combines.
        empty_at: The number of the stage that had no example to learn from: components after it are
            unknown, and there are no examples. None if all are known.
        first: The results of functions for the first examples, for the next iteration.
    """

    specs: list[Specs]
    parts: "list[Known]"
    empty_at: int | None = None
    first: list[FirstResults] = field(default_factory=list, compare=False)

    def first_of(self, stage: Stage) -> FirstResults:
        """Returns the results of a stage's function for the first examples."""
        found = next((first for first in self.first if first.of is stage), None)
        if found is None:
            found = FirstResults(stage)
            self.first.append(found)
        return found

    def forget(self, chain: Sequence[Stage], is_cached: bool = False) -> None:
        """Forgets the results of functions, which may change before the next iteration.

        Functions before a cache are called once for each example, so their results are kept.

        Args:
            chain: The stages.
            is_cached: Whether a cache follows them.
        """
        cached = len(chain) if is_cached else num_cached(chain)
        for index, stage in enumerate(chain):
            for first in self.first:
                if first.of is stage:
                    first.forget(index < cached)
        for part, known in zip(stages.parts_of(chain[0]), self.parts, strict=True):
            known.forget(part, cached > 0)

    @property
    def is_whole(self) -> bool:
        """True if the components are known everywhere, also in all parts."""
        return self.empty_at is None and all(part.is_whole for part in self.parts)


def num_cached(chain: Sequence[Stage]) -> int:
    """Returns how many stages are before the last cache."""
    return max((n for n, stage in enumerate(chain) if isinstance(stage, stages.Cache)), default=0)


def static_specs(chain: Sequence[Stage]) -> Specs | None:
    """Returns the components after all stages; None after a Python function."""
    specs = _source(chain[0])
    for stage in chain[1:]:
        if specs is None or gives_anything(stage):
            return None
        specs = after(stage, specs)
    return specs


def gives_anything(stage: Stage) -> bool:
    """Returns whether a Python function decides the components after a stage."""
    return isinstance(stage, (stages.Map, stages.FlatMap)) and not isinstance(
        stage.function, NativeFunction
    )


def runs_python(stage: Stage) -> bool:
    """Returns whether a stage calls a function of Python for each example."""
    functions = (stages.Map, stages.FlatMap, stages.Filter)
    return isinstance(stage, stages.Iterable_) or (
        isinstance(stage, functions) and not isinstance(stage.function, NativeFunction)
    )


def known_names(chain: Sequence[Stage]) -> tuple[str, ...] | None:
    """Returns the names of the components after all stages, as far as they are known.

    After a Python function the types of components are unknown, but a later `select` tells their
    names, until the next function.
    """
    specs = _source(chain[0])
    names = _source_names(chain[0]) if specs is None else tuple(specs)
    for stage in chain[1:]:
        if specs is not None and not gives_anything(stage):
            specs = after(stage, specs)
            names = tuple(specs)
        else:
            specs, names = None, _names_after(stage, names)
    return names


def _source_names(source: Stage) -> tuple[str, ...] | None:
    if isinstance(source, Source):
        return source.names
    parts = [names for part in stages.parts_of(source) if (names := known_names(part)) is not None]
    if not parts or (isinstance(source, stages.Zip) and len(parts) < len(source.parts)):
        return None
    if isinstance(source, stages.Zip):
        return tuple(name for names in parts for name in names)
    return parts[0]


def _names_after(  # noqa: PLR0911 (one for each stage)
    stage: Stage, names: tuple[str, ...] | None
) -> tuple[str, ...] | None:
    """Returns the names of the components after a stage, where types are unknown.

    Raises:
        ValueError: If the stage names a missing one.
    """
    match stage:
        case stages.Map() | stages.FlatMap():
            return None
        case stages.Batch(ragged="offsets"):
            # Which components are lists is not known.
            _check_known(stage, stage.lists, names)
            return None
        case stages.Select():
            _check_known(stage, stage.names, names)
            return stage.names
        case stages.Pack():
            _check_known(stage, stage.names, names)
            return (*stage.names, "segment_ids", "positions")
    if names is None:
        return None
    match stage:
        case stages.Parse():
            _check_known(stage, ["record"], names)
            kept = (name for name in names if name != "record")
            return (*kept, *(name for name, _ in stage.features))
        case stages.Rename():
            new_names = dict(stage.names)
            _check_renamed(stage, names)
            return tuple(new_names.get(name, name) for name in names)
        case stages.BucketByLength():
            _check_known(stage, [stage.component], names)
        case stages.Batch():
            _check_known(stage, stage.lists, names)
        case stages.PaddedBatch():
            _check_known(stage, [name for _, name in padded_names(stage)], names)
    is_filled = isinstance(stage, BATCHES) and stage.remainder == "pad"
    return (*names, "mask") if is_filled else names


def _check_known(stage: Stage, wanted: Sequence[str], names: Sequence[str] | None) -> None:
    for name in wanted:
        if names is not None and name not in names:
            _no_component(stage, name, names)


def _check_renamed(stage: stages.Rename, names: Iterable[str] | None) -> None:
    known = None if names is None else list(names)
    for old, new in stage.names:
        if known is not None and old not in known and new in known:
            there = ", ".join(map(repr, known))
            raise ValueError(
                f"rename: there is no component {old!r}, expected one of {there}. The old name "
                f"comes first, as rename(old='new'): write rename({new}={old!r})."
            )
    _check_known(stage, [old for old, _ in stage.names], known)


def _source(source: Stage) -> Specs | None:
    match source:
        case stages.Files() | stages.Arrays() | stages.Indexed() | Source():
            return source.spec
        case stages.Concat() | stages.Mix() | stages.Zip() as combined:
            known = [specs for part in combined.parts if (specs := static_specs(part)) is not None]
            if len(known) < len(combined.parts):
                return None
            return zipped(known) if isinstance(combined, stages.Zip) else known[0]
    return None


def zipped(parts: Sequence[Specs]) -> Specs:
    """Returns the components of pipelines side by side.

    Raises:
        ValueError: If two have a component of the same name.
    """
    specs: Specs = {}
    for part in parts:
        for name in part:
            if name in specs:
                raise ValueError(
                    f"zip: two pipelines have a component {name!r}, expected different names. "
                    "Rename one with rename(...)."
                )
        specs.update(part)
    return specs


def after(  # noqa: PLR0911, PLR0912 (one for each stage)
    stage: Stage, specs: Specs
) -> Specs:
    """Returns the components after a stage that is not a Python function.

    Raises:
        ValueError: If the stage cannot follow.
    """
    if isinstance(stage, BATCHES):
        _check_not_listed(stage, specs)
    match stage:
        case stages.Map(function=NativeFunction() as function, seed=seed):
            return function.traced("map", specs, seed).specs
        case stages.Filter(function=NativeFunction() as function):
            return function.traced("filter", specs, None).specs
        case stages.FlatMap(function=NativeFunction() as function, seed=seed):
            return function.traced("flat_map", specs, seed).specs
        case stages.Parse():
            return _parsed(stage, specs)
        case stages.Select():
            check_names(stage, stage.names, specs)
            return {name: specs[name] for name in stage.names}
        case stages.Rename():
            return _renamed(stage, specs)
        case stages.Batch():
            return _batch(stage, specs)
        case stages.PaddedBatch():
            check_padding(stage, specs)
            return _batched(_padded(specs), stage.size, stage.remainder)
        case stages.BucketByLength():
            return _bucketed(stage, specs)
        case stages.Pack():
            return _packed(stage, specs)
        case stages.WithOrigin() | stages.OriginFiles():
            return _with_origin(stage, specs)
        case stages.Unbatch():
            _check_not_joined(specs)
            return {name: _row(stage, name, spec) for name, spec in specs.items()}
    return specs


def batch_depth(chain: Sequence[Stage]) -> int:
    """Returns the number of leading axes that batches have added."""
    first = chain[0]
    parts = stages.parts_of(first)
    depth = batch_depth(parts[0]) if parts else 0
    for stage in chain[1:]:
        if isinstance(stage, BATCHES):
            depth += 1
        elif isinstance(stage, stages.Unbatch):
            # A leading axis of the example's own does not make a batch.
            depth = max(depth - 1, 0)
    return depth


def check_names(stage: Stage, names: Sequence[str], specs: Specs) -> None:
    """Raises ValueError if there is no component of one of the names."""
    for name in names:
        if name not in specs:
            _no_component(stage, name, specs)


def _no_component(stage: Stage, name: str, names: Iterable[str]) -> NoReturn:
    known = list(names)
    near = get_close_matches(name, known, 1)
    hint = f" Did you mean {near[0]!r}?" if near else ""
    raise ValueError(
        f"{stage.name}: there is no component {name!r}, expected one of "
        f"{', '.join(map(repr, known))}.{hint}"
    )


def _parsed(stage: stages.Parse, specs: Specs) -> Specs:
    check_names(stage, ["record"], specs)
    if specs["record"].shape != ():
        raise ValueError(
            f"parse: the component 'record' is {specs['record']}, expected one string for each "
            "example. Use parse before batch."
        )
    kept = {name: spec for name, spec in specs.items() if name != "record"}
    for name, _ in stage.features:
        if name in kept:
            raise ValueError(
                f"parse: there is a component {name!r} already. Rename it before with rename(...)."
            )
    # In the engine's order: lists first.
    lists = {n: feature for n, feature in stage.features if isinstance(feature, Ragged)}
    others = {n: feature for n, feature in stage.features if isinstance(feature, Feature)}
    made = {
        **{
            n: Spec(element_type("parse", f.dtype), (None,), is_ragged=True)
            for n, f in lists.items()
        },
        **{n: Spec(element_type("parse", f.dtype), f.shape) for n, f in others.items()},
    }
    return {**kept, **made}


def _renamed(stage: stages.Rename, specs: Specs) -> Specs:
    new_names = dict(stage.names)
    _check_renamed(stage, specs)
    renamed = {new_names.get(name, name): spec for name, spec in specs.items()}
    if len(renamed) < len(specs):
        raise ValueError(f"rename: two components would have one name among {list(renamed)}.")
    return renamed


def _batch(stage: stages.Batch, specs: Specs) -> Specs:
    check_names(stage, stage.lists, specs)
    for name in stage.lists:
        remedy = "Use padded_batch" if specs[name].is_nested else ""
        if specs[name].dtype is Json:
            remedy = "A batch has a list of objects without that: leave it out"
        if remedy:
            raise ValueError(
                f"batch: lists has {name!r}, which is {specs[name]}, expected one array for each "
                f"example. {remedy}."
            )
    if stage.ragged is None:
        _check_no_lists(stage, {n: spec for n, spec in specs.items() if n not in stage.lists})
        batch = _batched(specs, stage.size, stage.remainder)
    else:
        batch = _joined(stage, specs)
    return batch | {name: batch[name]._replace(is_listed=True) for name in stage.lists}


def _joined(stage: stages.Batch, specs: Specs) -> Specs:
    """Returns the components of a batch whose lists are joined end to end."""
    lists = [n for n, spec in specs.items() if spec.is_list and n not in stage.lists]
    others = {name: spec for name, spec in specs.items() if name not in lists}
    stacked = _batched(others, stage.size, stage.remainder)
    num_offsets = None if stage.remainder == "keep" else stage.size + 1
    joined: Specs = {}
    for name, spec in specs.items():
        shape = spec.shape
        # After a Python function no size is known, so the engine compares the examples.
        is_known = shape is not None and any(size is not None for size in shape[1:])
        has_open_axes = shape is not None and is_known and None in shape[1:]
        if name not in stage.lists and (spec.is_nested or has_open_axes):
            raise ValueError(
                f"batch: the component {name!r} is {spec}, expected one unknown axis at most, the "
                "first. Use padded_batch, or drop it with select."
            )
        if name not in lists:
            joined[name] = stacked.pop(name)
            continue
        for added in (f"{name}.values", f"{name}.offsets"):
            if added in specs:
                raise ValueError(
                    f"batch: there is a component {added!r} already, expected another name. Rename "
                    f"it, or {name!r}."
                )
        joined[f"{name}.values"] = Spec(spec.dtype, None if shape is None else (None, *shape[1:]))
        joined[f"{name}.offsets"] = Spec(element_type("batch", int), (num_offsets,))
    return joined | stacked


def _check_not_listed(stage: Stage, specs: Specs) -> None:
    for name, spec in specs.items():
        if spec.is_listed:
            raise ValueError(
                f"{stage.name}: the component {name!r} of a batch is a list of arrays, expected "
                "arrays. Use unbatch before, or drop it with select."
            )


def _check_no_lists(stage: Stage, specs: Specs) -> None:
    for name, spec in specs.items():
        if spec.is_ragged:
            raise ValueError(
                f"{stage.name}: the component {name!r} is a list of any length, expected rows of "
                f"one shape. Use padded_batch or batch(lists={name!r}), or drop it with select."
            )


def _padded(specs: Specs) -> Specs:
    return {
        name: Spec(spec.dtype, spec.shape) if spec.is_ragged else spec
        for name, spec in specs.items()
    }


def _bucketed(stage: stages.BucketByLength, specs: Specs) -> Specs:
    check_names(stage, [stage.component], specs)
    if specs[stage.component].shape == ():
        raise ValueError(
            f"bucket_by_length: the component {stage.component!r} is a scalar, expected a list or "
            "an array, whose first axis is its length."
        )
    check_padding(stage, specs)
    # Only "drop" and "pad", without max_elements, give batches of one size.
    is_fixed = stage.size is not None and stage.max_elements is None
    padded = _padded(specs)
    if stage.pad_to_boundary:
        padded[stage.component] = _to_boundary(padded[stage.component], stage.boundaries)
    return _batched(padded, stage.size or 0, stage.remainder if is_fixed else "keep")


def _to_boundary(spec: Spec, boundaries: Sequence[int]) -> Spec:
    """Returns the spec of rows of one length after padding to their boundary."""
    match spec.shape:
        case (int(length), *inner):
            width = next((boundary for boundary in boundaries if boundary >= length), length)
            return Spec(spec.dtype, (width, *inner))
    return spec


def _packed(stage: stages.Pack, specs: Specs) -> Specs:
    check_names(stage, (*stage.names, *stage.along), specs)
    added = ("segment_ids", "positions", *(("cu_seqlens",) if stage.cu_seqlens else ()))
    for name, spec in specs.items():
        if name in stage.along:
            _check_along(name, spec)
        elif name not in stage.names:
            raise ValueError(
                f"pack: there is a component {name!r}, expected only those that are packed. Drop "
                f"it with select({', '.join(map(repr, (*stage.names, *stage.along)))}), or name it "
                "in along."
            )
        else:
            is_list = spec.shape is None or len(spec.shape) == 1
            if not is_list or isinstance(spec.dtype, type):
                raise ValueError(
                    f"pack: the component {name!r} is {spec}, expected lists of numbers."
                )
        if name in added:
            raise ValueError(f"pack: there is a component {name!r} already. Rename it.")
    check_padding(stage, {name: specs[name] for name in stage.names})
    row = (stage.length,)
    packed = {name: Spec(specs[name].dtype, row) for name in stage.names}
    numbers = Spec(element_type("pack", np.int32), row)
    packed |= {"segment_ids": numbers, "positions": numbers}
    packed |= {name: Spec(specs[name].dtype, (None,), True) for name in stage.along}
    if stage.cu_seqlens:
        packed["cu_seqlens"] = Spec(element_type("pack", np.int32), (None,), True)
    return packed


def _check_along(name: str, spec: Spec) -> None:
    if spec.shape != ():
        raise ValueError(
            f"pack: the component {name!r} is {spec}, expected one value an example, as along "
            "makes a list of them. Pack it, or drop it with select."
        )


def _with_origin(stage: stages.WithOrigin | stages.OriginFiles, specs: Specs) -> Specs:
    if isinstance(stage, stages.OriginFiles):
        return {"file": Spec(str, ())}
    for name in ("file", "record_number"):
        if name in specs:
            raise ValueError(
                f"with_origin: there is a component {name!r} already, expected other names. Rename "
                "the column in the file."
            )
    made = {"file": Spec(str, ()), "record_number": Spec(element_type("with_origin", int), ())}
    return {**specs, **made}


def _batched(specs: Specs, size: int, remainder: stages.Remainder) -> Specs:
    batched = {
        name: spec.batched(None if remainder == "keep" else size) for name, spec in specs.items()
    }
    if remainder == "pad":
        if "mask" in batched:
            raise ValueError(
                "batch: there is a component 'mask' already. Rename it with rename(...)."
            )
        batched["mask"] = Spec(element_type("batch", bool), (size,))
    return batched


def _check_not_joined(specs: Specs) -> None:
    for name in specs:
        stem = name.removesuffix(".offsets")
        if stem != name and f"{stem}.values" in specs:
            raise ValueError(
                f"unbatch: the components '{stem}.values' and {name!r} are lists joined end to "
                "end, expected a row for each example. Use padded_batch before, or drop both with "
                "select."
            )


def _row(stage: Stage, name: str, spec: Spec) -> Spec:
    if spec.shape == ():
        raise ValueError(
            f"{stage.name}: the component {name!r} is a scalar, expected a leading axis. Use it "
            "after batch."
        )
    return spec.row()
