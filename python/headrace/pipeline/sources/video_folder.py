"""`video_folder`: video files in one directory per class."""

import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, ClassVar, Final

import numpy as np

from headrace.core.errors import InvalidArgumentError
from headrace.pipeline.sources.class_folder import ClassFolder, chosen_extensions, folder_path
from headrace.pipeline.sources.file_source import SourcePlan
from headrace.pipeline.sources.videos import VideoPaths
from headrace.pipeline.values.types import Spec

__all__ = ["VideoFolder", "video_folder"]

# The extensions of files that `clips` can read.
_DECODED: Final = (".mp4", ".m4v", ".mov", ".qt", ".3gp", ".3g2", ".webm", ".mkv")
# The extensions of other video formats. Such files must not be skipped silently.
_OTHERS: Final = (
    *(".avi", ".mpg", ".mpeg", ".m2v", ".ts", ".mts", ".m2ts", ".wmv", ".asf"),
    *(".flv", ".f4v", ".ogv", ".vob", ".mxf", ".divx", ".rm", ".rmvb", ".y4m", ".h264", ".hevc"),
)


@dataclass(frozen=True)
class VideoFolder(VideoPaths, ClassFolder):
    """The paths of video files, labelled with the number of their directory."""

    noun: ClassVar[str] = "video"
    decoded: ClassVar[tuple[str, ...]] = _DECODED
    others: ClassVar[tuple[str, ...]] = _OTHERS
    example: ClassVar[str] = "['mp4', 'avi']"
    decoder: ClassVar[str] = "clips"

    extensions: tuple[str, ...] = _DECODED

    @property
    def name(self) -> str:
        """The source's name in messages."""
        return "video_folder"

    @property
    def spec(self) -> dict[str, Spec]:
        """The components of an example."""
        return {
            "video": Spec(str, ()),
            "label": Spec(np.dtype(np.int64), ()),
            "path": Spec(str, ()),
        }

    def planned(self, specs: Any, add_python_worker: Callable[[Any], int]) -> SourcePlan:
        """Returns a plan that produces the paths and labels."""
        if self._archive() is not None:
            raise InvalidArgumentError(
                None,
                None,
                f"video_folder: {self.root}: videos in a zip archive cannot be read. Unpack it.",
            )
        files, root = self._files(), os.path.join(self.root, "")
        paths = list(map(os.fsencode, files))
        label_of = {name: label for label, name in enumerate(self.classes)}
        labels = [label_of[path[len(root) :].partition("/")[0]] for path in files]
        return self.path_plan(paths, {"video": paths, "label": labels, "path": paths})


def video_folder(
    root: str | os.PathLike[str], extensions: Iterable[str] | None = None
) -> VideoFolder:
    """Lists video files in a directory with one subdirectory per class, for `Pipeline.clips`.

    An example is `{"video": str, "label": int64, "path": str}`. Both `video` and `path` contain the
    path of the file. `clips("video")` replaces `video` with frames and keeps `path`. No file is
    read before that. Classes are sorted by name and labelled from 0, and `Pipeline.classes` returns
    the names. Within a class, files are sorted by path, including those in subdirectories. Hidden
    directories and files with other extensions are skipped. Links are followed, as in
    `image_folder`.

    Args:
        root: The directory that contains the class directories.
        extensions: The file extensions to list, such as ["mp4", "mov"], in upper or lower case.
            Other files are skipped. By default, it lists the formats that `clips` can read: MP4,
            MOV, Matroska and WebM (.mp4, .m4v, .mov, .qt, .3gp, .3g2, .mkv, .webm). Video files in
            other formats then raise an error during the iteration.

    Raises:
        TypeError: If `root` is not a path, or `extensions` contains anything but strings.
        ValueError: If `extensions` is empty.

    Examples:
        >>> from pathlib import Path
        >>> for name in ["jump/1.mp4", "run/1.mp4"]:
        ...     Path("moves", name).parent.mkdir(parents=True, exist_ok=True)
        ...     length = Path("moves", name).write_bytes(b"...")
        >>> pipe = hr.video_folder("moves")
        >>> pipe.classes
        ('jump', 'run')
        >>> [(example["path"], int(example["label"])) for example in pipe]
        [('moves/jump/1.mp4', 0), ('moves/run/1.mp4', 1)]
    """
    path = folder_path("video_folder", root)
    if extensions is None:
        return VideoFolder(path)
    return VideoFolder(path, chosen_extensions("video_folder", extensions, "mp4"))
