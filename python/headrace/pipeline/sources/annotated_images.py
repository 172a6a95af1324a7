"""The base class of sources that read images and the objects in them, for detection."""

import os
from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, ClassVar, NamedTuple, NoReturn

import numpy as np
import numpy.typing as npt

from headrace.core import engine
from headrace.core.errors import InvalidArgumentError, NotFoundError
from headrace.io import storage
from headrace.pipeline.functions.python_functions import PythonWorker
from headrace.pipeline.sources.file_source import FileSource, SourcePlan, check_paths
from headrace.pipeline.values.types import Spec, Specs, engine_code

__all__ = [
    "AnnotatedImages",
    "Annotations",
    "Outlines",
    "check_images_exist",
    "checked_boxes",
    "read_text",
    "refuse",
]

_BOXES = Spec(np.dtype(np.float32), (None, 4))
_LABELS = Spec(np.dtype(np.int64), (None,))
_MASKS = "masks"
_SIZE = "size of the image"


class Outlines(NamedTuple):
    """The outlines of all objects, from which the engine draws masks.

    Attributes:
        numbers: The outlines as `DrawMasks` of the engine reads them, int32.
        ends: The position at which the outlines of each image end, int64.
        sizes: The height and width of each image, int32, (images, 2).
    """

    numbers: npt.NDArray[np.int32]
    ends: npt.NDArray[np.int64]
    sizes: npt.NDArray[np.int32]


class Annotations(NamedTuple):
    """The objects in a list of images.

    Attributes:
        paths: The image files.
        counts: The number of objects in each image, int64.
        boxes: The boxes of all objects, float32, (objects, 4).
        labels: The class of each object, int64.
        of_objects: Additional values for each object, by component.
        of_images: Additional values for each image, by component.
        classes: The class names, in label order, or None if they are unknown.
        outlines: The outlines of the objects, for the component `masks`, or None for no masks.
    """

    paths: list[str]
    counts: npt.NDArray[np.int64]
    boxes: npt.NDArray[np.float32]
    labels: npt.NDArray[np.int64]
    of_objects: Mapping[str, npt.NDArray[Any]]
    of_images: Mapping[str, npt.NDArray[Any]]
    classes: tuple[str, ...] | None
    outlines: Outlines | None = None


class _Once:
    """Annotations that have been read. They are not pickled."""

    def __init__(self) -> None:
        self.annotations: Annotations | None = None

    def __reduce__(self) -> tuple[type["_Once"], tuple[()]]:
        return _Once, ()


@dataclass(frozen=True)
class AnnotatedImages(FileSource, is_base=True):
    """Image files with the boxes and labels of their objects.

    The annotations are read when the pipeline first needs them, and are then kept in memory.

    Attributes:
        object_specs: The additional components with one value per object.
        image_specs: The additional components with one value per image.
    """

    facts: ClassVar[tuple[str, ...]] = (*FileSource.facts, "object_specs", "image_specs")

    is_scanned: ClassVar = True
    is_kept_for_shuffle: ClassVar = False
    numbers_lines: ClassVar = False
    piece: ClassVar = "file"
    object_specs: ClassVar[Mapping[str, Spec]]
    image_specs: ClassVar[Mapping[str, Spec]]

    _once: _Once = field(default_factory=_Once, init=False, repr=False, compare=False)

    @property
    def spec(self) -> dict[str, Spec]:
        """The components of an example."""
        return {
            "image": Spec(bytes, ()),
            "boxes": _BOXES,
            "labels": _LABELS,
            **self.object_specs,
            **self.image_specs,
            "path": Spec(str, ()),
        }

    @property
    def classes(self) -> tuple[str, ...] | None:
        """The class names, in label order, or None if they are unknown."""
        return self.annotations.classes

    @property
    def annotations(self) -> Annotations:
        """The objects in the images. They are read only once.

        Raises:
            InvalidArgumentError: If the annotations are invalid.
            NotFoundError: If a file is missing.
        """
        if self._once.annotations is None:
            self._once.annotations = self.read()
        return self._once.annotations

    @abstractmethod
    def read(self) -> Annotations:
        """Reads the annotations."""

    def planned(self, specs: Specs, add_python_worker: Callable[[PythonWorker], int]) -> SourcePlan:
        """Returns a plan that reads the images one after the other."""
        annotations = self.annotations
        paths = [os.fsencode(path) for path in annotations.paths]
        plan = engine.whole_files(paths, [])
        columns = self._columns(annotations)
        names = ["path", "image", *columns]
        stages = [
            check_paths([(0, "path")]),
            engine.Stage.with_file_rows(2, list(columns.values()), len(paths)),
        ]
        if annotations.outlines is not None:
            stages.append(engine.Stage.draw_masks(names.index(_MASKS), names.index(_SIZE)))
        stages.append(engine.Stage.select([names.index(name) for name in specs]))
        return SourcePlan(plan, paths, stages, len(paths), part="annotations")

    def records(self) -> None:
        """Returns None, because each file is one record."""

    def counts(self) -> list[int]:
        """Returns 1 for each file, because each file is one example."""
        return [1] * len(self.annotations.paths)

    def _columns(self, annotations: Annotations) -> dict[str, engine.Column]:
        lists: dict[str, npt.NDArray[Any]] = {
            "boxes": annotations.boxes,
            "labels": annotations.labels,
            **annotations.of_objects,
        }
        ends = np.cumsum(annotations.counts)
        columns = {name: _each(values, ends) for name, values in lists.items()}
        columns |= {name: _column(values) for name, values in annotations.of_images.items()}
        if annotations.outlines is not None:
            numbers, ends, sizes = annotations.outlines
            columns |= {_MASKS: _each(numbers, ends), _SIZE: _column(sizes)}
        return columns


def _each(values: npt.NDArray[Any], ends: npt.NDArray[np.int64]) -> engine.Column:
    """Returns a column with a list per image."""
    lists = [values[start:end] for start, end in pairwise([0, *ends.tolist()])]
    return engine.Column.each(lists, engine_code(values.dtype))


def _column(values: npt.NDArray[Any]) -> engine.Column:
    """Returns a column with a value per image. Objects are strings."""
    return engine.Column.dense(values, engine_code(str if values.dtype == object else values.dtype))


def read_text(where: str, path: str, remedy: str = "") -> str:
    """Returns the contents of a text file.

    Raises:
        InvalidArgumentError: If the file is not UTF-8.
        NotFoundError: If the file does not exist.
    """
    try:
        with storage.open_file(path) as file:
            content = file.read()
    except NotFoundError as error:
        raise NotFoundError(None, None, f"{where}: {error.message}{remedy}") from error
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        refuse(where, path, f"{error}. Save the file as UTF-8.")


def checked_boxes(
    where: str, boxes: npt.NDArray[np.float64], described: Callable[[int], str]
) -> npt.NDArray[np.float64]:
    """Returns boxes x, y, width, height if all numbers are finite and no size is negative.

    Args:
        where: The name of the source, for errors.
        boxes: The boxes, (objects, 4).
        described: Returns the file and the record of a box, for errors.

    Raises:
        InvalidArgumentError: If a box is invalid.
    """
    is_valid = np.isfinite(boxes).all(1) & (boxes[:, 2:] >= 0).all(1)
    if not is_valid.all():
        number = int(np.argmin(is_valid))
        values = ", ".join(f"{value:g}" for value in boxes[number])
        raise InvalidArgumentError(
            None,
            None,
            f"{where}: {described(number)}: the box is ({values}), expected finite numbers and a "
            "width and height of at least 0. Correct the annotation, or remove it.",
        )
    return boxes


def refuse(where: str, place: str, text: str) -> NoReturn:
    """Raises the error for invalid annotations.

    Raises:
        InvalidArgumentError: Always.
    """
    raise InvalidArgumentError(None, None, f"{where}: {place}: {text}")


def check_images_exist(where: str, paths: list[str], annotations: str) -> None:
    """Checks that local image files exist, in one pass over their directories.

    Raises:
        NotFoundError: If a file is missing.
    """
    missing = [path for path in paths if not storage.is_remote(path) and not os.path.exists(path)]
    if missing:
        more = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
        raise NotFoundError(
            None,
            None,
            f"{where}: {missing[0]}{more}: no such file, but {annotations} lists it. Check the "
            "directory of the images, or copy the missing files.",
        )
