"""`videos`: the paths of video files."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from headrace.core import engine
from headrace.pipeline.paths.paths import Paths, as_paths, find_files
from headrace.pipeline.sources.file_source import FileSource, SourcePlan, check_paths
from headrace.pipeline.values.types import Spec, engine_code

__all__ = ["VideoPaths", "Videos", "videos"]


class VideoPaths(FileSource, is_base=True):
    """A source of the paths of video files, which `clips` reads."""

    is_scanned: ClassVar = False
    is_kept_for_shuffle: ClassVar = False
    numbers_lines: ClassVar = False
    piece: ClassVar = "file"

    @property
    def may_have_index(self) -> bool:
        """False, because the files themselves are not read."""
        return False

    @property
    def obstacle(self) -> None:
        """None, because paths can be accessed at random."""
        return None

    @property
    def is_reordered(self) -> bool:
        """False, because the files themselves are not read."""
        return False

    def window_pieces(self, block_bytes: int | None) -> list[str]:
        """Returns an empty list, because the files themselves are not read."""
        return []

    def records(self) -> None:
        """Returns None, because the files themselves are not read."""

    @staticmethod
    def path_plan(paths: Sequence[bytes], columns: Mapping[str, Sequence[Any]]) -> SourcePlan:
        """Returns a plan that produces the paths of files.

        Args:
            paths: The files.
            columns: The components by name: paths or ints.
        """
        arrays = [
            np.array(column, object if column is paths else np.int64) for column in columns.values()
        ]
        codes = [engine_code(str if array.dtype == object else array.dtype) for array in arrays]
        plan = engine.Plan.arrays(list(zip(arrays, codes, strict=True)))
        are_paths = [(index, name) for index, name in enumerate(columns) if columns[name] is paths]
        return SourcePlan(plan, paths, [check_paths(are_paths)], part="names")


@dataclass(frozen=True)
class Videos(VideoPaths):
    """The paths of video files.

    Attributes:
        paths: The user's paths and patterns.
    """

    classes: ClassVar = None

    paths: tuple[str, ...]

    @property
    def name(self) -> str:
        """The source's name in messages."""
        return "videos"

    @property
    def spec(self) -> dict[str, Spec]:
        """The components of an example."""
        return {"video": Spec(str, ()), "path": Spec(str, ())}

    def counts(self) -> list[int]:
        """Returns 1 for each file, because each file is one example."""
        return [1] * len(find_files(self.name, self.paths))

    def planned(self, specs: Any, add_python_worker: Callable[[Any], int]) -> SourcePlan:
        """Returns a plan that produces the paths."""
        paths = find_files(self.name, self.paths)
        return self.path_plan(paths, {"video": paths, "path": paths})


def videos(paths: Paths) -> Videos:
    """Lists video files, for `Pipeline.clips`. Each example is `{"video": str, "path": str}`.

    Both components contain the path of the file. `clips("video")` replaces `video` with frames and
    keeps `path`. No file is read before that.

    Args:
        paths: The files to list; see `tfrecords`.

    Raises:
        TypeError: If a path is invalid.
        ValueError: If there are no paths.

    Examples:
        >>> from pathlib import Path
        >>> length = Path("walk.mp4").write_bytes(b"...")
        >>> next(iter(hr.videos("*.mp4")))
        {'video': 'walk.mp4', 'path': 'walk.mp4'}
    """
    return Videos(as_paths("videos", paths))
