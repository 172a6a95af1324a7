"""`coco`: images with the annotations of a COCO file."""

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Final, cast

import numpy as np
import numpy.typing as npt

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
from headrace.pipeline.sources.coco_outlines import Entry, outlines_of
from headrace.pipeline.stages.arguments import check_bool
from headrace.pipeline.stages.stage import named
from headrace.pipeline.values.types import Spec

__all__ = ["Coco", "coco"]

_SECTIONS: Final = ("images", "annotations", "categories")
# The most pixels of an image with masks.
_MOST_PIXELS: Final = 2**31 - 1


@dataclass(frozen=True)
class Coco(AnnotatedImages):
    """Images with the annotations of a COCO file.

    Attributes:
        images: The directory of the images.
        file: The JSON file.
        masks: Whether each object has a mask.
        keypoints: Whether each object has keypoints.
        iscrowd: Whether to keep only crowds, or only single objects. None for all annotations.
    """

    object_specs: ClassVar[Mapping[str, Spec]] = {
        "area": Spec(np.dtype(np.float32), (None,)),
        "iscrowd": Spec(np.dtype(np.bool_), (None,)),
    }
    image_specs: ClassVar[Mapping[str, Spec]] = {"image_id": Spec(np.dtype(np.int64), ())}

    images: str
    file: str
    masks: bool = named(False)
    keypoints: bool = named(False)
    iscrowd: bool | None = named(None)

    @property
    def name(self) -> str:
        """The source's name in messages."""
        return "coco"

    @property
    def names(self) -> tuple[str, ...]:
        """The component names."""
        return tuple(self._specs(None))

    @property
    def spec(self) -> dict[str, Spec] | None:  # type: ignore[override]
        """The components of an example, or None if the number of keypoints must be read."""
        return None if self.keypoints else self._specs(None)

    def inferred(self) -> dict[str, Spec]:
        """Reads the annotations, and returns the components of an example."""
        return self._specs(self.annotations.of_objects["keypoints"].shape[1])

    def described(self) -> str:
        """Describes how the number of keypoints is determined."""
        return "the number of keypoints is that in the annotations"

    def _specs(self, num_keypoints: int | None) -> dict[str, Spec]:
        specs = super().spec
        after = {name: specs.pop(name) for name in (*self.image_specs, "path")}
        if self.masks:
            specs["masks"] = Spec(np.dtype(np.uint8), (None, None, None))
        if self.keypoints:
            specs["keypoints"] = Spec(np.dtype(np.float32), (None, num_keypoints, 2))
            specs["visibility"] = Spec(np.dtype(np.uint8), (None, num_keypoints))
        return specs | after

    def read(self) -> Annotations:
        """Reads the JSON file."""
        content = self._content()
        file_names = self._by_id(content["images"], "images", "file_name")
        categories = self._by_id(content["categories"], "categories", "name")
        if not file_names:
            refuse("coco", self.file, "'images' is empty, expected at least one image.")
        label_of = {category: label for label, category in enumerate(sorted(categories))}
        images = sorted(file_names.items())
        row_of = {image_id: row for row, (image_id, _) in enumerate(images)}
        paths = [os.path.join(self.images, file_name) for _, file_name in images]
        check_images_exist("coco", paths, self.file)
        entries = content["annotations"]
        numbers = np.array([self._object(*item, row_of, label_of) for item in enumerate(entries)])
        numbers = numbers.reshape(-1, 8)
        checked_boxes("coco", numbers[:, :4], lambda number: self._place(entries, number))
        order = np.argsort(numbers[:, 6], kind="stable")
        if self.iscrowd is not None:
            order = order[numbers[order, 5] == self.iscrowd]
        numbers = numbers[order]
        rows = numbers[:, 6].astype(np.int64)
        boxes = numbers[:, :4]
        boxes[:, 2:] += boxes[:, :2]
        of_objects: dict[str, npt.NDArray[Any]] = {
            "area": numbers[:, 4].astype(np.float32),
            "iscrowd": numbers[:, 5] != 0,
        }
        if self.keypoints:
            of_objects |= self._keypoints(content["categories"], entries, order.tolist())
        outlines = None
        if self.masks:
            sizes = {row_of[image["id"]]: self._size(image) for image in content["images"]}
            outlines = outlines_of(
                [
                    Entry(self._place(entries, number), row, entries[number].get("segmentation"))
                    for number, row in zip(order.tolist(), rows.tolist(), strict=True)
                ],
                sizes,
            )
        return Annotations(
            paths,
            np.bincount(rows, minlength=len(paths)),
            boxes.astype(np.float32),
            numbers[:, 7].astype(np.int64),
            of_objects,
            {"image_id": np.array([image_id for image_id, _ in images], np.int64)},
            tuple(categories[category] for category in sorted(categories)),
            outlines,
        )

    def _content(self) -> dict[str, Any]:
        """Returns the content of the file, after checking that all sections are lists."""
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
                f"the list {missing[0]!r} is missing, expected an object with the lists 'images', "
                "'annotations' and 'categories'. Pass the file of instances, not of captions.",
            )
        return cast("dict[str, Any]", content)

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

    def _size(self, image: dict[str, Any]) -> tuple[int, int]:
        """Returns the height and the width of an image."""
        height: Any = image.get("height")
        width: Any = image.get("width")
        are_sides = all(type(side) is int and side > 0 for side in (height, width))
        if not are_sides or height * width > _MOST_PIXELS:
            refuse(
                "coco",
                f"{self.file}: image {image['id']}",
                f"height is {height!r} and width is {width!r}, expected positive integers with a "
                f"product of at most {_MOST_PIXELS:,}. Masks need them: correct the file, or omit "
                "masks=True.",
            )
        return height, width

    def _keypoints(
        self, categories: list[Any], entries: list[Any], order: Sequence[int]
    ) -> dict[str, npt.NDArray[Any]]:
        """Returns the keypoints of the objects in this order, and their visibility."""
        names = {category["id"]: category.get("keypoints") for category in categories}
        count_of = {key: len(value) for key, value in names.items() if isinstance(value, list)}
        lists = [entry.get("keypoints", []) for entry in entries]
        lengths = [len(values) // 3 for values in lists if isinstance(values, list)]
        most = max(count_of.values() or lengths, default=0)
        if most == 0:
            refuse(
                "coco",
                self.file,
                "there are no keypoints. Pass a file such as person_keypoints_train2017.json, or "
                "omit keypoints=True.",
            )
        points = np.zeros((len(order), most, 3), np.float64)
        for row, number in enumerate(order):
            values = lists[number]
            expected = count_of.get(entries[number]["category_id"], most)
            is_list = isinstance(values, list) and all(map(_is_number, values))
            if not is_list or len(values) not in (0, 3 * expected):
                refuse(
                    "coco",
                    self._place(entries, number),
                    f"keypoints is {values!r}, expected {3 * expected} numbers x, y, visibility. "
                    "Correct the annotation, or remove it.",
                )
            points[row, : len(values) // 3] = np.reshape(values, (-1, 3))
        visibility = points[:, :, 2]
        is_valid = np.isfinite(points).all((1, 2)) & np.isin(visibility, (0, 1, 2)).all(1)
        if not is_valid.all():
            number = order[int(np.argmin(is_valid))]
            refuse(
                "coco",
                self._place(entries, number),
                f"keypoints is {lists[number]!r}, expected finite numbers, with a visibility of 0, "
                "1 or 2. Correct the annotation, or remove it.",
            )
        return {
            "keypoints": points[:, :, :2].astype(np.float32),
            "visibility": visibility.astype(np.uint8),
        }

    def _place(self, entries: list[Any], number: int) -> str:
        return f"{self.file}: annotations[{number}] (id {entries[number].get('id')})"


def coco(
    images: str | os.PathLike[str],
    annotations: str | os.PathLike[str],
    masks: bool = False,
    keypoints: bool = False,
    iscrowd: bool | None = None,
) -> Coco:
    """Reads images and their objects from a data set in COCO format.

    An example has these components:

    - `image`: bytes, the image file. Decode it with `headrace.ops.decode_image`.
    - `boxes`: float32, (objects, 4): left, top, right and bottom in pixels.
    - `labels`: int64, (objects,): the position of the category in `Pipeline.classes`. Categories
      are sorted by id, so there are no gaps between labels.
    - `area`: float32, (objects,): the area in pixels, from the file.
    - `iscrowd`: bool, (objects,): whether the box contains a crowd instead of one object.
    - `masks`, if requested: uint8, (objects, height, width): 1 inside the object, otherwise 0.
    - `keypoints`, if requested: float32, (objects, points, 2): the positions x, y in pixels.
    - `visibility`, together with `keypoints`: uint8, (objects, points): 0 if a point is not in the
      file, 1 if it is hidden and 2 if it is visible.
    - `image_id`: int64, and `path`: str.

    Images are sorted by id. Images without objects are included, with arrays of length 0.

    Args:
        images: The directory of the images.
        annotations: The JSON file, such as `instances_train2017.json`. It is read when the pipeline
            first needs it, and its numbers are then kept in memory.
        masks: If True, each object has a mask. Polygons and both kinds of run lengths are drawn as
            by pycocotools. Images need `height` and `width` in the file.
        keypoints: If True, each object has keypoints. If categories have different numbers of
            keypoints, or an object has none, missing points are (0, 0) with visibility 0.
        iscrowd: If False, annotations of crowds are left out. If True, all other annotations are.

    Raises:
        TypeError: If an argument is not a path, or not a bool. All other errors are raised when the
            pipeline first needs the annotations.
        InvalidArgumentError: If the file is not in this format, or an annotation is invalid.
        NotFoundError: If the file or an image does not exist.

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
    check_bool("coco", "masks", masks)
    check_bool("coco", "keypoints", keypoints)
    if iscrowd is not None:
        check_bool("coco", "iscrowd", iscrowd)
    return Coco(folder_path("coco", images), storage.local_path(file), masks, keypoints, iscrowd)


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)
