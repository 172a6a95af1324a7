"""`coco`: images with the annotations of a COCO file."""

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Final

import numpy as np

from headrace.io import storage
from headrace.pipeline.sources.annotated_images import (
    AnnotatedImages,
    Annotations,
    check_images_exist,
    checked_boxes,
    read_text,
    refuse,
)
from headrace.pipeline.sources.class_folder import folder_path
from headrace.pipeline.values.types import Spec

__all__ = ["Coco", "coco"]

_SECTIONS: Final = ("images", "annotations", "categories")


@dataclass(frozen=True)
class Coco(AnnotatedImages):
    """Images with the annotations of a COCO file.

    Attributes:
        images: The directory of the images.
        file: The JSON file.
    """

    object_specs: ClassVar[Mapping[str, Spec]] = {
        "area": Spec(np.dtype(np.float32), (None,)),
        "iscrowd": Spec(np.dtype(np.bool_), (None,)),
    }
    image_specs: ClassVar[Mapping[str, Spec]] = {"image_id": Spec(np.dtype(np.int64), ())}

    images: str
    file: str

    @property
    def name(self) -> str:
        """The source's name in messages."""
        return "coco"

    def read(self) -> Annotations:
        """Reads the JSON file."""
        file_names, objects, categories = self._sections()
        label_of = {category: label for label, category in enumerate(sorted(categories))}
        images = sorted(file_names.items())
        row_of = {image_id: row for row, (image_id, _) in enumerate(images)}
        paths = [os.path.join(self.images, file_name) for _, file_name in images]
        check_images_exist("coco", paths, self.file)
        numbers = np.array([self._object(*item, row_of, label_of) for item in enumerate(objects)])
        numbers = numbers.reshape(-1, 8)
        checked_boxes("coco", numbers[:, :4], lambda number: self._place(objects, number))
        rows = numbers[:, 6].astype(np.int64)
        order = np.argsort(rows, kind="stable")
        numbers = numbers[order]
        boxes = numbers[:, :4]
        boxes[:, 2:] += boxes[:, :2]
        return Annotations(
            paths,
            np.bincount(rows, minlength=len(paths)),
            boxes.astype(np.float32),
            numbers[:, 7].astype(np.int64),
            {"area": numbers[:, 4].astype(np.float32), "iscrowd": numbers[:, 5] != 0},
            {"image_id": np.array([image_id for image_id, _ in images], np.int64)},
            tuple(categories[category] for category in sorted(categories)),
        )

    def _sections(self) -> tuple[dict[int, str], list[Any], dict[int, str]]:
        """Returns the file of each image, the annotations, and the name of each category."""
        remedy = ". Pass the JSON file of the annotations."
        try:
            content = json.loads(read_text("coco", self.file, remedy))
        except json.JSONDecodeError as error:
            refuse("coco", self.file, f"{error}. Copy the file again.")
        missing = [
            name
            for name in _SECTIONS
            if not isinstance(content, dict) or not isinstance(content.get(name), list)
        ]
        if missing:
            refuse(
                "coco",
                self.file,
                f"there is no list {missing[0]!r}, expected an object with the lists 'images', "
                "'annotations' and 'categories'. Pass the file of instances, not of captions.",
            )
        images = self._by_id(content["images"], "images", "file_name")
        categories = self._by_id(content["categories"], "categories", "name")
        if not images:
            refuse("coco", self.file, "'images' is empty, expected at least one image.")
        return images, content["annotations"], categories

    def _by_id(self, items: list[Any], section: str, value: str) -> dict[int, str]:
        result: dict[int, str] = {}
        for number, item in enumerate(items):
            place = f"{self.file}: {section}[{number}]"
            entry = item if isinstance(item, dict) else {}
            key, text = entry.get("id"), entry.get(value)
            if not isinstance(key, int) or not isinstance(text, str):
                refuse(
                    "coco",
                    place,
                    f"id is {key!r} and {value} is {text!r}, expected an integer and a string. "
                    "Correct the file.",
                )
            if key in result:
                refuse("coco", place, f"the id {key} occurs twice. Number them differently.")
            result[key] = text
        return result

    def _object(
        self, number: int, item: Any, row_of: Mapping[int, int], label_of: Mapping[int, int]
    ) -> tuple[float, ...]:
        """Returns the box, the area, whether it is a crowd, the image's row, and the label."""
        entry: dict[str, Any] = item if isinstance(item, dict) else {}
        box: Any = entry.get("bbox")
        image: Any = entry.get("image_id")
        category: Any = entry.get("category_id")
        place = f"{self.file}: annotations[{number}] (id {entry.get('id')})"
        if not isinstance(box, list) or len(box) != 4 or not all(map(_is_number, box)):
            refuse(
                "coco",
                place,
                f"bbox is {box!r}, expected [x, y, width, height]. Correct the annotation, or "
                "remove it.",
            )
        for key, value, known in (
            ("image_id", image, row_of),
            ("category_id", category, label_of),
        ):
            if not isinstance(value, int) or value not in known:
                section = "images" if key == "image_id" else "categories"
                refuse("coco", place, f"{key} is {value!r}, which is not in {section!r}. Add it.")
        area = entry.get("area", box[2] * box[3])
        is_crowd = entry.get("iscrowd", 0)
        if not _is_number(area) or is_crowd not in (0, 1):
            refuse(
                "coco",
                place,
                f"area is {area!r} and iscrowd is {is_crowd!r}, expected a number, and 0 or 1.",
            )
        return (*box, area, is_crowd, row_of[image], label_of[category])

    def _place(self, objects: list[Any], number: int) -> str:
        return f"{self.file}: annotations[{number}] (id {objects[number].get('id')})"


def coco(images: str | os.PathLike[str], annotations: str | os.PathLike[str]) -> Coco:
    """Reads images and their objects from a data set in COCO format.

    An example has these components:

    - `image`: bytes, the image file. Decode it with `headrace.ops.decode_image`.
    - `boxes`: float32, (objects, 4): left, top, right and bottom in pixels.
    - `labels`: int64, (objects,): the position of the category in `Pipeline.classes`. Categories
      are sorted by id, so there are no gaps between labels.
    - `area`: float32, (objects,): the area in pixels, from the file.
    - `iscrowd`: bool, (objects,): whether the box contains a crowd instead of one object.
    - `image_id`: int64, and `path`: str.

    Images are sorted by id. Images without objects are included, with arrays of length 0.

    Args:
        images: The directory of the images.
        annotations: The JSON file, such as `instances_train2017.json`. It is read when the pipeline
            first needs it, and its numbers are then kept in memory.

    Raises:
        TypeError: If an argument is not a path.

    Source: `torchvision.datasets.CocoDetection`, which returns the entries of the file unchanged.
    The format is described at https://cocodataset.org/#format-data.

    Examples:
        >>> import json
        >>> from pathlib import Path
        >>> Path("photos").mkdir()
        >>> length = Path("photos/1.jpg").write_bytes(b"...")
        >>> content = {
        ...     "images": [{"id": 1, "file_name": "1.jpg"}],
        ...     "categories": [{"id": 18, "name": "dog"}],
        ...     "annotations": [
        ...         {"id": 7, "image_id": 1, "category_id": 18, "bbox": [10, 20, 30, 40]}
        ...     ],
        ... }
        >>> length = Path("objects.json").write_text(json.dumps(content))
        >>> pipe = hr.coco("photos", "objects.json")
        >>> pipe.classes
        ('dog',)
        >>> next(iter(pipe))["boxes"]
        array([[10., 20., 40., 60.]], dtype=float32)
    """
    file = folder_path("coco", annotations)
    return Coco(folder_path("coco", images), storage.local_path(file))


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)
