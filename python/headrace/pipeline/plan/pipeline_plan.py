"""The result of planning: the engine's plan, Python functions, files and measured stages."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias

from headrace.core import engine
from headrace.pipeline.functions.python_functions import PythonWorker, name_of
from headrace.pipeline.stages.stage import Stage

__all__ = ["CacheDirectory", "MeteredStage", "PipelinePlan", "SharedState", "measured"]


@dataclass(frozen=True)
class MeteredStage:
    """A stage whose work is measured.

    Attributes:
        stage: The stage.
        num_parallel: The maximum number of parallel tasks, or None for the number of threads.
        is_python: Whether the stage is a Python function.
        reads_files: Whether the stage's tasks wait for storage.
        part: The name of this part of the stage, if its parts are measured separately.
        python_worker: The number of the Python worker, if the stage is a Python function.
        left_out: The number of remaining tokens that don't fill a window.
    """

    stage: Stage
    num_parallel: int | None = None
    is_python: bool = False
    reads_files: bool = False
    part: str = ""
    python_worker: int | None = None
    left_out: int = 0

    @property
    def name(self) -> str:
        """The stage and its function, such as "map(augment)"."""
        name = self.stage.name
        if (function := self.stage.called_function) is not None:
            return f"{name}({name_of(function)})"
        return f"{name}, {self.part}" if self.part else name


# A cache directory and its size limit in bytes.
CacheDirectory: TypeAlias = tuple[str, int]


@dataclass
class PipelinePlan:
    """The engine's plan, and the work of Python threads for it.

    Attributes:
        plan: The plan for the engine.
        python_workers: The workers that call Python functions.
        stages: The measured stages, in the order of their numbers.
        files: The files of each source, in the order of the sources.
        num_ready: The maximum number of results that wait for the consumer.
        seen_components: The optional components that have occurred, for each `parse` and each
            source.
        contents: The files that native functions depend on; see `TracedFunction`.
        disk_caches: The disk caches.
    """

    plan: engine.Plan
    python_workers: list[PythonWorker] = field(default_factory=list)
    stages: list[MeteredStage] = field(default_factory=list)
    files: list[Sequence[bytes]] = field(default_factory=list)
    num_ready: int = 2
    seen_components: list[engine.SeenComponents] = field(default_factory=list)
    contents: list[tuple[str, str]] = field(default_factory=list)
    disk_caches: list[engine.DiskCache] = field(default_factory=list)


class SharedState(NamedTuple):
    """State shared by the parts of a combined pipeline; see `PipelinePlan`."""

    python_workers: list[PythonWorker]
    counted: list[MeteredStage]
    files: list[Sequence[bytes]]
    cache: CacheDirectory | None
    is_learning: bool
    is_resumed: bool
    seen_components: list[engine.SeenComponents]
    contents: list[tuple[str, str]]
    indexes: engine.IndexFiles
    disk_caches: list[engine.DiskCache]
    mix_checkpoint: list[Any] | None = None
    chain: Sequence[Stage] = ()


def measured(stage: Stage) -> MeteredStage:
    """Returns the entry under which a stage's work is measured."""
    return MeteredStage(
        stage, stage.num_parallel, is_python=stage.runs_python, part=stage.measured_part
    )
