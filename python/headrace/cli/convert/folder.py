"""Writes image folders: a directory for each class, and a file for each image.

Images are written to a hidden directory next to the output. The directory is renamed to the output
once all images have been written.
"""

from __future__ import annotations

import os
import posixpath
import shutil
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from headrace.cli.convert.request import Request
from headrace.cli.examples.schema import Schema
from headrace.cli.failures import Failure
from headrace.cli.file_kinds import image_kind
from headrace.io.os_errors import os_errors
from headrace.pipeline.writing.shard import Shard
from headrace.pipeline.writing.values import Row, Values

__all__ = ["FOLDER_PART", "Folder", "FolderPlan", "folder_plan"]

FOLDER_PART: Final = 1000
"""The number of images between updates of the journal."""

_LABELS: Final = ("class", "image/class/text", "label", "image/class/label", "cls")
_NAMES: Final = ("path", "image/filename", "filename", "__key__")
_EXTENSIONS: Final = {
    "JPEG": (".jpg", ".jpeg"),
    "PNG": (".png",),
    "GIF": (".gif",),
    "BMP": (".bmp",),
    "TIFF": (".tif", ".tiff"),
    "WebP": (".webp",),
}


class FolderPlan(NamedTuple):
    """The role of each feature in an image folder.

    Attributes:
        image: The feature with the image file.
        label: The feature with the class.
        name: The feature with the file name. None to number the images.
        width: The width to which numeric classes are padded with zeros, so that they sort
            correctly.
    """

    image: str
    label: str
    name: str | None
    width: int


def folder_plan(schema: Schema, request: Request) -> FolderPlan:
    """Chooses the features for an image folder.

    Raises:
        Failure: If the features are ambiguous or missing.
    """
    images = [
        name
        for name, feature in schema.features.items()
        if feature.formats and feature.formats.total() == feature.num_strings
    ]
    image = _chosen("image", request.image, images, schema)
    if request.image is None and len(images) > 1:
        raise Failure(
            f"several features contain images: {', '.join(images)}. Choose one with --image."
        )
    label = _chosen(
        "label", request.label, [one for one in _LABELS if one in schema.features], schema
    )
    names = [one for one in _NAMES if one in schema.features]
    name = _chosen("name", request.name, names, schema) if request.name or names else None
    for one in filter(None, (image, label, name)):
        if not schema.features[one].is_scalar or schema.share(one) < 1:
            raise Failure(
                f"the feature '{one}' does not have exactly one value in each example. Choose "
                "another feature."
            )
    most = schema.features[label].most
    width = len(str(most)) if not schema.features[label].is_string else 0
    return FolderPlan(image, label, name, width)


def _chosen(option: str, name: str | None, candidates: Sequence[str], schema: Schema) -> str:
    if name is not None and name not in schema.features:
        features = ", ".join(schema.features)
        raise Failure(f"--{option} {name}: no such feature, expected one of {features}.")
    if name is None and not candidates:
        raise Failure(
            f"cannot tell which feature is the {option} of an image folder. Choose one with "
            f"--{option}: {', '.join(schema.features)}."
        )
    return name or candidates[0]


class Folder:
    """An image folder that is being written.

    Args:
        output: The directory.
        plan: The role of each feature.
        written: The names of the images that an earlier run wrote.

    Attributes:
        names: The names of the images in the current part.
    """

    def __init__(self, output: str, plan: FolderPlan, written: Iterable[str]) -> None:
        self._output = output
        self._directory = _partial(output)
        self._plan = plan
        self._known = set(written)
        self.names: list[str] = []
        with os_errors(self._directory):
            # The directory is missing if the earlier run was killed just after the rename.
            if not (self._known and os.path.isdir(output)):
                os.makedirs(self._directory, exist_ok=True)

    @staticmethod
    def clear(output: str) -> None:
        """Removes the files of an earlier run that will not be continued."""
        if os.path.isdir(_partial(output)):
            shutil.rmtree(_partial(output))

    def part(self) -> Shard:
        """Starts a new part."""
        self.names = []
        return _Part(self)

    def write(self, row: Row, number: int) -> int:
        """Writes an image."""
        data = _data(row[self._plan.image], self._plan.image, number)
        name = posixpath.join(self._class_of(row, number), self._name_of(row, data, number))
        if name in self._known:
            raise Failure(
                f"example {number} would be written to {name}, like an earlier example. Use "
                "--name to choose a feature with unique names, or drop the names with --select."
            )
        self._known.add(name)
        self.names.append(name)
        path = os.path.join(self._directory, *name.split("/"))
        with os_errors(path):
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "wb") as file:
                file.write(data)
        return len(data)

    def publish(self) -> None:
        """Renames the hidden directory to the output."""
        with os_errors(self._output):
            if os.path.isdir(self._directory):
                os.rename(self._directory, self._output)

    def _class_of(self, row: Row, number: int) -> str:
        text = _text(row[self._plan.label])
        if self._plan.width:
            return text.zfill(self._plan.width)
        if not text or "/" in text or text.startswith("."):
            raise Failure(
                f"example {number}: the class {text!r} cannot be the name of a directory. Use "
                "--label to choose another feature."
            )
        return text

    def _name_of(self, row: Row, data: bytes, number: int) -> str:
        name = f"{number:09d}" if self._plan.name is None else _text(row[self._plan.name])
        parts = [part for part in name.split("/") if part not in ("", ".")]
        if not parts or ".." in parts or parts[-1].startswith(".") or "\0" in name:
            raise Failure(
                f"example {number}: {name!r} is not a file name. Use --name to choose another "
                "feature."
            )
        # An image may be in subdirectories of the folder of its class. Otherwise, only the file
        # name is used.
        is_within = len(parts) > 1 and parts[0] == _text(row[self._plan.label])
        parts = parts[1:] if is_within else parts[-1:]
        extensions = _EXTENSIONS.get(image_kind(data) or "", (".jpg",))
        has_extension = parts[-1].lower().endswith(extensions)
        return "/".join(parts) if has_extension else "/".join(parts) + extensions[0]


class _Part(Shard):
    """A group of images with one entry in the journal."""

    def __init__(self, folder: Folder) -> None:
        self._folder = folder

    def write(self, row: Row, number: int) -> int:
        return self._folder.write(row, number)

    def publish(self) -> None:
        """Does nothing, because the directory is renamed once all images have been written."""

    def discard(self) -> None:
        """Does nothing, as the directory is hidden and the next run writes these images again."""


def _partial(output: str) -> str:
    directory, base = os.path.split(os.path.normpath(output))
    return os.path.join(directory, f".{base}.headrace-partial")


def _data(values: Values, name: str, number: int) -> bytes:
    if len(values.items) != 1 or not isinstance(values.items[0], bytes):
        raise Failure(
            f"example {number}: '{name}' is not an image. Use --image to choose another feature."
        )
    return values.items[0]


def _text(values: Values) -> str:
    item = values.items[0]
    return item.decode("utf-8", "surrogateescape") if isinstance(item, bytes) else str(item)
