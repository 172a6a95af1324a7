"""`yolo`: images with one text file of boxes each."""

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from headrace.core.errors import NotFoundError
from headrace.io import storage
from headrace.pipeline.paths.listing import files_below
from headrace.pipeline.sources.annotated_images import (
    AnnotatedImages,
    Annotations,
    checked_boxes,
    read_text,
    refuse,
)
from headrace.pipeline.sources.class_folder import folder_path
from headrace.pipeline.sources.image_folder import IMAGES
from headrace.pipeline.stages.stage import named
from headrace.pipeline.values.types import Spec

__all__ = ["Yolo", "yolo"]


@dataclass(frozen=True)
class Yolo(AnnotatedImages):
    """Images with one text file of boxes each.

    Attributes:
        images: The directory of the images.
        labels: The directory of the text files.
        class_names: The names of the classes, or None if they are unknown.
    """

    object_specs: ClassVar[Mapping[str, Spec]] = {}
    image_specs: ClassVar[Mapping[str, Spec]] = {}

    images: str
    labels: str
    class_names: tuple[str, ...] | None = named(None, keyword="classes")

    @property
    def name(self) -> str:
        """The source's name in messages."""
        return "yolo"

    @property
    def classes(self) -> tuple[str, ...] | None:
        """The class names, in label order, or None if they are unknown."""
        return self.class_names

    def read(self) -> Annotations:
        """Reads the text files."""
        root = os.path.join(self.images, "")
        paths = [path for path in _files(root) if path.lower().endswith(IMAGES)]
        if not paths:
            raise NotFoundError(
                None,
                None,
                f"yolo: {self.images}: this directory has no images, expected files whose names "
                "end with .jpg or .png, for example.",
            )
        known = set(_files(os.path.join(self.labels, "")))
        files = [
            os.path.join(self.labels, os.path.splitext(path[len(root) :])[0] + ".txt")
            for path in paths
        ]
        if known.isdisjoint(files):
            raise NotFoundError(
                None,
                None,
                f"yolo: {self.labels}: this directory has no text file for any image, expected "
                f"{files[0]}, for example. Pass labels=..., the directory of the text files.",
            )
        objects = [self._objects(file) if file in known else [] for file in files]
        places = [
            f"{file}: line {line}"
            for file, of_file in zip(files, objects, strict=True)
            for line, _ in of_file
        ]
        numbers = np.array([values for of_file in objects for _, values in of_file], np.float64)
        numbers = numbers.reshape(-1, 5)
        boxes = checked_boxes("yolo", numbers[:, 1:], lambda number: places[number])
        return Annotations(
            paths,
            np.array([len(of_file) for of_file in objects], np.int64),
            boxes.astype(np.float32),
            numbers[:, 0].astype(np.int64),
            {},
            {},
            self.class_names,
        )

    def _objects(self, file: str) -> list[tuple[int, list[float]]]:
        """Returns the line and the five numbers of each object."""
        lines = enumerate(read_text("yolo", file).splitlines(), 1)
        return [
            (number, self._object(file, number, line)) for number, line in lines if line.strip()
        ]

    def _object(self, file: str, number: int, line: str) -> list[float]:
        place, fields = f"{file}: line {number}", line.split()
        if len(fields) != 5:
            refuse(
                "yolo",
                place,
                f"the line has {len(fields)} values, expected 5: the class, the centre x and y, "
                "the width and the height. Polygons, keypoints and confidences are not supported.",
            )
        try:
            label, box = int(fields[0]), [float(field) for field in fields[1:]]
        except ValueError:
            refuse("yolo", place, f"the line is {line!r}, expected an integer and four numbers.")
        end = np.inf if self.class_names is None else len(self.class_names)
        if not 0 <= label < end:
            expected = "at least 0" if self.class_names is None else f"from 0 to {end - 1}"
            refuse("yolo", place, f"the class is {label}, expected {expected}. Check classes=....")
        if max(box) > 1.5:
            refuse(
                "yolo",
                place,
                f"the box is {box}, expected fractions of the image's width and height. Divide "
                "pixels by the size of the image.",
            )
        return [label, *box]


def yolo(
    images: str | os.PathLike[str],
    labels: str | os.PathLike[str] | None = None,
    classes: Sequence[str] | None = None,
) -> Yolo:
    """Reads images and their objects from a data set in the format of YOLO (Ultralytics).

    Each image has a text file with the same name and one line per object: `class x y width height`.
    The position is the centre, and all four numbers are fractions of the image's width and height.
    An example has these components:

    - `image`: bytes, the image file. Decode it with `headrace.ops.decode_image`.
    - `boxes`: float32, (objects, 4): the numbers of the file. Pass them to operations together with
      `format="cxcywh", normalized=True`.
    - `labels`: int64, (objects,): the class, from 0.
    - `path`: str.

    Images are sorted by path, including those in subdirectories. An image without a text file has
    no objects.

    Args:
        images: The directory of the images, such as `coco8/images/train`.
        labels: The directory of the text files. By default, the last directory named `images` in
            the path is replaced with `labels`, as in `coco8/labels/train`.
        classes: The class names, for `Pipeline.classes`. Any other class is then an error.

    Raises:
        TypeError: If `images` or `labels` is not a path, or a class is not a string.
        ValueError: If `labels` is missing, and `images` contains no directory named `images`.

    Source: https://docs.ultralytics.com/datasets/detect/.

    Examples:
        >>> from pathlib import Path
        >>> for name, content in [("images/1.jpg", "..."), ("labels/1.txt", "3 0.5 0.5 0.2 0.4")]:
        ...     Path("farm", name).parent.mkdir(parents=True, exist_ok=True)
        ...     length = Path("farm", name).write_text(content)
        >>> example = next(iter(hr.yolo("farm/images")))
        >>> example["labels"], example["boxes"]
        (array([3]), array([[0.5, 0.5, 0.2, 0.4]], dtype=float32))
    """
    root = folder_path("yolo", images)
    names = None if classes is None else tuple(classes)
    if isinstance(classes, str) or not all(isinstance(name, str) for name in names or ()):
        raise TypeError(f"yolo: classes is {classes!r}, expected a list of strings.")
    if labels is not None:
        return Yolo(root, folder_path("yolo", labels), names)
    before, directory, after = os.path.join(root, "").rpartition("/images/")
    if not directory:
        raise ValueError(
            f"yolo: {root!r} contains no directory named 'images', so the directory of the text "
            "files is unknown. Pass labels=...."
        )
    return Yolo(root, f"{before}/labels/{after}".rstrip("/"), names)


def _files(root: str) -> Iterable[str]:
    if storage.is_remote(root):
        return sorted(entry.path for entry in storage.files_below(root.rstrip("/")))
    return files_below(root)
