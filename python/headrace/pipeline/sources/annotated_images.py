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
    "check_images_exist",
    "checked_boxes",
    "read_text",
    "refuse",
]

_BOXES = Spec(np.dtype(np.float32), (None, 4))
_LABELS = Spec(np.dtype(np.int64), (None,))


class Annotations(NamedTuple):
    """The objects in a list of images.

    Attributes:
        paths: The image files.
        counts: The number of objects in each image, int64.
        boxes: The boxes of all objects, float32, (objects, 4).
        labels: The class of each object, int64.
        of_objects: Further values of each object, by component.
        of_images: Further values of each image, by component.
        classes: The class names, in label order; None if they are unknown.
    """

    paths: list[str]
    counts: npt.NDArray[np.int64]
    boxes: npt.NDArray[np.float32]
    labels: npt.NDArray[np.int64]
    of_objects: Mapping[str, npt.NDArray[Any]]
    of_images: Mapping[str, npt.NDArray[Any]]
    classes: tuple[str, ...] | None


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
        object_specs: The further components with one value per object.
        image_specs: The further components with one value per image.
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
        """The class names, in label order; None if they are unknown."""
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
        order = [1, *range(2, 2 + len(columns)), 0]
        stages = [
            check_paths([(0, "path")]),
            engine.Stage.with_file_rows(2, columns, len(paths)),
            engine.Stage.select(order),
        ]
        return SourcePlan(plan, paths, stages, len(paths), part="annotations")

    def records(self) -> None:
        """Returns None, because each file is one record."""

    def counts(self) -> list[int]:
        """Returns 1 for each file, because each file is one example."""
        return [1] * len(self.annotations.paths)

    def _columns(self, annotations: Annotations) -> list[engine.Column]:
        ends = [0, *np.cumsum(annotations.counts).tolist()]
        lists: dict[str, npt.NDArray[Any]] = {
            "boxes": annotations.boxes,
            "labels": annotations.labels,
            **annotations.of_objects,
        }
        columns = [
            engine.Column.each(
                [values[start:end] for start, end in pairwise(ends)],
                engine_code(self.spec[name].dtype),
            )
            for name, values in lists.items()
        ]
        for name, values in annotations.of_images.items():
            columns.append(engine.Column.dense(values, engine_code(self.spec[name].dtype)))
        return columns


def read_text(where: str, path: str, remedy: str = "") -> str:
    """Returns the contents of a text file.

    Raises:
        InvalidArgumentError: If it is not UTF-8.
        NotFoundError: If it does not exist.
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
        where: Name of the source, for errors.
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
