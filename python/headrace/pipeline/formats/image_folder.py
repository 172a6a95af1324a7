"""Images in a directory for each class."""

import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, Final

import numpy as np

from headrace.core import engine
from headrace.core.errors import InvalidArgumentError, NotFoundError
from headrace.io import storage
from headrace.io.os_errors import os_errors
from headrace.pipeline.describe.pipeline import Pipeline
from headrace.pipeline.describe.source import Source, SourcePlan, check_paths
from headrace.pipeline.describe.types import Spec
from headrace.pipeline.plan.listing import files_below

__all__ = ["IMAGES", "ImageFolder", "image_folder"]

# The extensions of the formats that operations decode.
_DECODED: Final = (".jpg", ".jpeg", ".png", ".gif", ".bmp")
# The extensions of other images, which must not be skipped without notice.
_OTHERS: Final = (
    *(".webp", ".tif", ".tiff", ".ppm", ".pgm", ".pbm", ".pnm", ".jp2", ".j2k", ".jxl", ".avif"),
    *(".heic", ".heif", ".ico", ".svg", ".psd", ".exr", ".hdr", ".dng", ".raw", ".jfif"),
)

# The extensions of all images that a folder may have, for outputs that store them unchanged.
IMAGES: Final = (*_DECODED, *_OTHERS)


@dataclass(frozen=True)
class ImageFolder(Source):
    """Images with the numbers of their directories as labels.

    Attributes:
        root: The directory with a subdirectory for each class.
        extensions: The endings of names of images, in lower case.
    """

    is_reachable: ClassVar[bool] = True

    root: str
    extensions: tuple[str, ...] = _DECODED

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
        """Returns the plan, which reads one file after the other."""
        root = os.path.join(self.root, "")
        paths = list(map(os.fsencode, self._images()))
        encoded = list(map(os.fsencode, self.classes))
        plan = engine.labelled_files(paths, len(os.fsencode(root)), encoded)
        return SourcePlan(plan, paths, [check_paths([(2, "path")])], len(paths))

    def counts(self) -> list[int]:
        """Returns the number of examples in each file, which is 1."""
        return [1] * len(self._images())

    def _images(self) -> list[str]:
        root, classes = os.path.join(self.root, ""), self.classes
        files = _files_of_classes(root, classes)
        images = (self._images_of(os.path.join(root, name), files[name]) for name in classes)
        return [path for of_class in images for path in of_class]

    def _images_of(self, directory: str, files: list[str]) -> list[str]:
        images = [path for path in files if path.lower().endswith(self.extensions)]
        others = [path for path in files if path.lower().endswith(_OTHERS)]
        if self.extensions == _DECODED and others:
            raise InvalidArgumentError(
                None,
                None,
                f"image_folder: {others[0]}: this image and {len(others) - 1} more in the class "
                f"are in a format that headrace.ops does not decode, expected {_listed(_DECODED)}. "
                "Name those that you want: image_folder(root, extensions=['jpg', 'webp']), and "
                "decode them in a Python function.",
            )
        if not images:
            raise NotFoundError(
                None,
                None,
                f"image_folder: {directory}: there are no images in this directory, expected "
                f"files whose names end with {_listed(self.extensions)}. Remove it, or put images "
                f"into it.{_why_none(directory)}",
            )
        return images


def image_folder(root: str | os.PathLike[str], extensions: Iterable[str] | None = None) -> Pipeline:
    """Reads images from a directory that has a directory for each class.

    An example is `{"data": bytes, "label": int64, "path": str}`; `data` is the whole file. Labels
    are numbered in the order of the sorted names of the classes, which the pipeline and all
    pipelines made of it have as `classes`. Within a class, images are sorted by their paths,
    including those in directories below it. Hidden directories and files without the extension of
    an image are skipped. Links are followed, but a file with several names in `root` is read once:
    under its own name, which also gives its label, else under the first one.

    Args:
        root: The directory.
        extensions: The endings of names of images, such as ["jpg", "webp"], in any case; other
            files are skipped. None for JPEG, PNG, GIF and BMP, which `headrace.ops` decodes; then
            images of other formats are an error of the iteration.

    Raises:
        TypeError: If `root` is not a path, or `extensions` not strings.
        ValueError: If there are no extensions.

    Source: `torchvision.datasets.ImageFolder`, which also takes hidden directories for classes.
    """
    if not isinstance(root, (str, os.PathLike)) or isinstance(os.fspath(root), bytes):
        raise TypeError(f"image_folder: {root!r} is no path, expected a str or a pathlib.Path.")
    path = storage.local_path(os.fspath(root))
    chosen = _DECODED if extensions is None else _extensions(extensions)
    return Pipeline((ImageFolder(path.rstrip("/") if storage.is_remote(path) else path, chosen),))


def _extensions(given: Iterable[str]) -> tuple[str, ...]:
    chosen = (given,) if isinstance(given, str) else tuple(given)
    if not all(isinstance(one, str) and one.strip(".") for one in chosen):
        raise TypeError(f"image_folder: extensions are {chosen}, expected strings such as 'jpg'.")
    if not chosen:
        raise ValueError("image_folder: no extensions given, expected at least one, or None.")
    return tuple(f".{one.lower().lstrip('.')}" for one in chosen)


def _listed(extensions: tuple[str, ...]) -> str:
    return ", ".join(extensions)


def _files_of_classes(root: str, classes: Iterable[str]) -> dict[str, list[str]]:
    """Returns the files of each class, sorted, without hidden ones; each file is in one class."""
    files: dict[str, list[str]] = {name: [] for name in classes}
    for path in _remote_files(root) if storage.is_remote(root) else files_below(root):
        name, *below = path[len(root) :].split("/")
        if below and name in files and not below[-1].startswith("."):
            files[name].append(path)
    return files


def _why_none(directory: str) -> str:
    if storage.is_remote(directory) or not os.path.islink(directory):
        return ""
    target = os.path.realpath(directory)
    return f" It is a link to {target}: images that have another name here count there."


def _remote_files(root: str) -> Iterator[str]:
    for entry in storage.files_below(root.rstrip("/")):
        *directories, _ = entry.path[len(root) :].split("/")
        if not any(name.startswith(".") for name in directories):
            yield entry.path
