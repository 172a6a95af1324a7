"""Finds the episodes of `windows`, in one pass over the examples before it."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, cast

from headrace.pipeline.plan.planner import plan
from headrace.pipeline.plan.revisions import pinned, revisions_of
from headrace.pipeline.run.component_reading import ComponentReading, Start
from headrace.pipeline.run.file_digests import version_of
from headrace.pipeline.stages.components import ChainSpecs, steps
from headrace.pipeline.stages.random_access import obstacle
from headrace.pipeline.stages.stage import Stage
from headrace.pipeline.stages.windows import Windows

__all__ = ["count_episodes", "find_episodes", "forget_changed_episodes"]


def find_episodes(
    chain: Sequence[Stage],
    chain_specs: ChainSpecs,
    options: Mapping[str, Any],
    start: Start,
    is_needed: bool = False,
) -> None:
    """Finds the episodes of all `windows` stages that need them, unless they are known.

    Args:
        chain: The stages, whose sources refer to specific commits.
        chain_specs: The components after each stage.
        options: The pipeline's options.
        start: The class `Batches`.
        is_needed: Whether the episodes are needed even if no full shuffle follows.
    """
    last = max((n for n, step in enumerate(steps(chain), 1) if step.full_shuffle), default=0)
    for part, specs in zip(chain[0].parts, chain_specs.parts, strict=True):
        find_episodes(part, specs, options, start, is_needed or last > 0)
    for index, windows in _windows(chain):
        empty = chain_specs.first_empty_stage
        if empty is not None and empty < index:
            break
        if windows.episodes.ranges is None and _is_readable(chain, index, is_needed, last):
            name = cast("str", windows.within)
            reading = ComponentReading(chain[:index], name, chain_specs, options, start)
            windows.episodes.find(reading.columns())


def forget_changed_episodes(chain: Sequence[Stage], files: Sequence[Sequence[bytes]]) -> bool:
    """Discards episodes if their files have changed since they were found.

    Args:
        chain: The stages.
        files: The files of all sources, as the iteration reads them.

    Returns:
        True if episodes have to be found again.
    """
    known = [one for one in _all_windows(chain) if one.episodes.ranges is not None]
    if not known:
        return False
    version = version_of(files)
    for windows in known:
        if windows.episodes.files not in (None, version):
            windows.episodes.ranges = None
        windows.episodes.files = version
    return any(windows.episodes.ranges is None for windows in known)


def count_episodes(
    chain: Sequence[Stage],
    learn_specs: Callable[[], ChainSpecs],
    options: Mapping[str, Any],
    start: Start,
) -> None:
    """Finds the episodes on which the length depends, if a full shuffle could read the windows.

    Args:
        chain: The stages.
        learn_specs: Returns the components after each stage.
        options: The pipeline's options.
        start: The class `Batches`.
    """
    if not _depends_on_episodes(chain):
        return
    chain_specs, chain = learn_specs(), pinned(chain, revisions_of(chain))
    of_source = ChainSpecs(chain_specs.specs[:1], chain_specs.parts)
    forget_changed_episodes(chain, plan(chain[:1], of_source, is_learning=True).files)
    find_episodes(chain, chain_specs, options, start, is_needed=True)


def _depends_on_episodes(chain: Sequence[Stage]) -> bool:
    """Returns whether the number of windows depends on episodes that can be found."""
    return any(map(_depends_on_episodes, chain[0].parts)) or any(
        windows.depends_on_episodes and obstacle(chain[: index + 1]) is None
        for index, windows in _windows(chain)
    )


def _is_readable(chain: Sequence[Stage], index: int, is_needed: bool, last: int) -> bool:
    """Returns whether to find the episodes, which a full shuffle and `is_needed` require."""
    return index < last or (is_needed and obstacle(chain[: index + 1]) is None)


def _windows(chain: Sequence[Stage]) -> Iterator[tuple[int, Windows]]:
    for index, step in enumerate(steps(chain), 1):
        if isinstance(step, Windows) and step.within is not None:
            yield index, step


def _all_windows(chain: Sequence[Stage]) -> Iterator[Windows]:
    for part in chain[0].parts:
        yield from _all_windows(part)
    yield from (windows for _, windows in _windows(chain))
