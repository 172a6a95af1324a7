"""Images in a directory for each class."""

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, Final

import numpy as np

from headrace import engine, storage
from headrace.errors import NotFoundError
from headrace.os_errors import os_errors
from headrace.pipeline.elements import Spec
from headrace.pipeline.listing import files_below
from headrace.pipeline.pipeline import Pipeline
from headrace.pipeline.source import Source, SourcePlan

__all__ = ["ImageFolder", "image_folder"]

_EXTENSIONS: Final = (*(".jpg", ".jpeg", ".png", ".ppm", ".bmp", ".pgm", ".tif", ".tiff", ".webp"),)


@dataclass(frozen=True)
class ImageFolder(Source):
    """Images, whose labels are the directories they are in.

    Attributes:
        root: The directory with a directory for each class.
    """

    is_reachable: ClassVar[bool] = True

    root: str

    @property
    def name(self) -> str:
        """Its name in messages: that of the function that makes it."""
        return "image_folder"

    @property
    def spec(self) -> dict[str, Spec]:
        """The components of an example."""
        return {
            "data": Spec(bytes, ()),
            "label": Spec(np.dtype(np.int64), ()),
            "path": Spec(str, ()),
        }

    @property
    def classes(self) -> tuple[str, ...]:
        """The names of the classes, sorted: label 0 is that of the first one.

        Raises:
            NotFoundError: If there are none.
        """
        if storage.is_remote(self.root):
            inside = storage.entries(self.root)
            found = [entry.path.rpartition("/")[2] for entry in inside if entry.is_directory]
        else:
            with os_errors(self.root, ". Give the directory that has a directory for each class."):
                found = [entry.name for entry in os.scandir(self.root) if entry.is_dir()]
        names = tuple(sorted(name for name in found if not name.startswith(".")))
        if not names:
            raise NotFoundError(
                None,
                None,
                f"image_folder: {self.root}: there are no directories in it, expected one for each "
                "class.",
            )
        return names

    def planned(self, specs: dict[str, Spec], add_lane: Callable[[Any], int]) -> SourcePlan:
        """Returns the plan: one file after the other."""
        root = os.path.join(self.root, "")
        classes = self.classes
        paths = [os.fsencode(path) for name in classes for path in _images_of(root, name)]
        encoded = list(map(os.fsencode, classes))
        plan = engine.labelled_files(paths, len(os.fsencode(root)), encoded)
        return SourcePlan(plan, paths, num_parallel=len(paths))


def image_folder(root: str | os.PathLike[str]) -> Pipeline:
    """Reads images from a directory that has a directory for each class.

    An example is `{"data": bytes, "label": int64, "path": str}`; `data` is the whole file. Classes
    have their labels in the order of their sorted names, which the pipeline and all pipelines made
    of it have as `classes`. Within a class, images are sorted by their paths, those in directories
    below it included. Hidden directories and files without the extension of an image are left out.

    Args:
        root: The directory.

    Raises:
        TypeError: If `root` is no path.

    Source: `torchvision.datasets.ImageFolder`, which also takes hidden directories for classes.
    """
    if not isinstance(root, (str, os.PathLike)) or isinstance(os.fspath(root), bytes):
        raise TypeError(f"image_folder: {root!r} is no path, expected a str or a pathlib.Path.")
    path = storage.local_path(os.fspath(root))
    return Pipeline((ImageFolder(path.rstrip("/") if storage.is_remote(path) else path),))


def _images_of(root: str, name: str) -> list[str]:
    images = list(_walk(os.path.join(root, name)))
    if not images:
        raise NotFoundError(
            None,
            None,
            f"image_folder: {os.path.join(root, name)}: there are no images in this directory, "
            f"expected files whose names end with {', '.join(_EXTENSIONS)}. Remove it, or put "
            "images into it.",
        )
    return images


def _walk(directory: str) -> Iterator[str]:
    if storage.is_remote(directory):
        yield from _remote_images(directory)
        return
    yield from (path for path in files_below(directory) if _is_image(os.path.basename(path)))


def _remote_images(directory: str) -> Iterator[str]:
    for entry in storage.files_below(directory):
        *directories, file = entry.path[len(directory) + 1 :].split("/")
        is_hidden = any(name.startswith(".") for name in directories)
        if not is_hidden and _is_image(file):
            yield entry.path


def _is_image(file: str) -> bool:
    return file.lower().endswith(_EXTENSIONS) and not file.startswith(".")
