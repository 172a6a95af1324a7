"""A pipeline as a table of its stages, without running it."""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, cast

from headrace.core.errors import OpError
from headrace.core.html import Html, fragment, num_bytes, table, tag
from headrace.io import storage
from headrace.pipeline.paths.index_files import index_files
from headrace.pipeline.plan.lengths import length_of
from headrace.pipeline.sources.file_source import FileSource, InferredSource
from headrace.pipeline.stages.components import batch_depth, source_of, steps
from headrace.pipeline.stages.stage import Effect, Stage, Stages
from headrace.pipeline.values.types import Spec, Specs

__all__ = ["overview"]

_MOST_LETTERS: Final = 160
_UNKNOWN: Final = "known after the first example"


def overview(chain: Stages, options: Mapping[str, Any], known: Sequence[Specs] | None) -> str:
    """Returns a table of the stages as HTML.

    This reads the same files as `len` and `describe`, and never calls a Python function.

    Args:
        chain: The stages.
        options: The pipeline's options.
        known: The components after each stage, if the pipeline has run.
    """
    try:
        specs: Sequence[Specs | None] = known or list(_specs(chain))
        lengths = _lengths(chain, options)
        files = _files(chain)
    except (OpError, OSError) as error:
        problem = tag("p", f"{type(error).__name__}: {error}")
        return fragment(table(("stage",), [(_stage(stage),) for stage in chain]), problem)
    rows: list[Sequence[str]] = []
    for number, (stage, after) in enumerate(zip(chain, specs, strict=True)):
        is_new = number == 0 or after != specs[number - 1]
        unit = "batches" if batch_depth(chain[: number + 1]) else "examples"
        length = lengths[number]
        rows.append(
            (
                _stage(stage),
                "" if length is None else "endless" if length == math.inf else f"{length:,} {unit}",
                _components(after) if is_new else Html(""),
                _size(after) if is_new else "",
            )
        )
    notes = [*files, *(f"{name}={value!r}" for name, value in options.items())]
    header = ("stage", "length", "components", "size")
    return fragment(table(header, rows), tag("small", ". ".join(notes)))


def _specs(chain: Stages) -> Iterator[Specs | None]:
    """Yields the components after each stage, or None if they are unknown before a run."""
    source = source_of(chain)
    specs = source.spec
    if specs is None and source.reads_files:
        specs = cast("InferredSource", source).inferred()
    yield specs
    for step in steps(chain):
        specs = None if specs is None else step.specs_after(specs)
        yield specs


def _lengths(chain: Stages, options: Mapping[str, Any]) -> list[float | None]:
    """Returns the number of examples or batches after each stage; None if it is unknown."""
    lengths = [_length(chain[:1], options)]
    for step in steps(chain):
        is_known = lengths[-1] is not None and step.effect is not Effect.SPLITS
        lengths.append(step.length_after(lengths[-1] or 0) if is_known else None)
    if lengths[-1] is None:
        lengths[-1] = _length(chain, options)
    return lengths


def _length(chain: Stages, options: Mapping[str, Any]) -> float | None:
    try:
        return length_of(chain, index_files(options))
    except TypeError:
        return None


def _files(chain: Stages) -> list[str]:
    """Returns the number of the source's files, and their size if they are on this machine."""
    source = source_of(chain)
    paths = getattr(source, "paths", None)
    if not source.reads_files or not paths or any(map(storage.is_remote, paths)):
        return []
    files = cast("FileSource", source).file_names()
    total = sum(storage.sizes(files))
    return [f"{len(files):,} {'file' if len(files) == 1 else 'files'}, {num_bytes(total)}"]


def _stage(stage: Stage) -> Html:
    # The text of a combination contains the text of its parts.
    text = f"{stage.name}(…)" if stage.parts else str(stage)
    parts = [
        tag("div", tag("small", " > ".join(str(step.name) for step in part)))
        for part in stage.parts
    ]
    cut = text if len(text) <= _MOST_LETTERS else f"{text[:_MOST_LETTERS]}…"
    return Html(tag("code", cut) + "".join(parts))


def _components(specs: Specs | None) -> Html:
    if specs is None:
        return tag("small", _UNKNOWN)
    lines = (
        tag("div", tag("code", name), " ", tag("small", _shown(spec)))
        for name, spec in specs.items()
    )
    return Html("".join(lines))


def _shown(spec: Spec) -> str:
    return repr(spec).removeprefix("Spec(").removesuffix(")")


def _size(specs: Specs | None) -> str:
    """Returns the size of an example, if all components have a fixed size."""
    total = 0
    for spec in (specs or {}).values():
        if isinstance(spec.dtype, type) or spec.shape is None or None in spec.shape:
            return ""
        total += spec.dtype.itemsize * math.prod(cast("tuple[int, ...]", spec.shape))
    return num_bytes(total) if specs else ""
