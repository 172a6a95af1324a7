"""`pascal_voc`: images with the annotations of a Pascal VOC data set."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Final, NamedTuple
from xml.etree import ElementTree

import numpy as np

from headrace.pipeline.sources.annotated_images import (
    AnnotatedImages,
    Annotations,
    check_images_exist,
    checked_boxes,
    read_text,
    refuse,
)
from headrace.pipeline.sources.class_folder import folder_path
from headrace.pipeline.stages.stage import named
from headrace.pipeline.values.types import Spec

__all__ = ["PascalVoc", "pascal_voc"]

_CLASSES: Final = (
    *("aeroplane", "bicycle", "bird", "boat", "bottle", "bus", "car", "cat", "chair", "cow"),
    *("diningtable", "dog", "horse", "motorbike", "person", "pottedplant", "sheep", "sofa"),
    *("train", "tvmonitor"),
)
_EDGES: Final = ("xmin", "ymin", "xmax", "ymax")


class _Object(NamedTuple):
    edges: list[float]
    label: int
    is_difficult: bool


@dataclass(frozen=True)
class PascalVoc(AnnotatedImages):
    """Images with the annotations of a Pascal VOC data set.

    Attributes:
        root: The directory with the subdirectories `Annotations`, `ImageSets` and `JPEGImages`.
        image_set: The name of the list of images.
        class_names: The names of the classes, in label order.
    """

    object_specs: ClassVar[Mapping[str, Spec]] = {
        "difficult": Spec(np.dtype(np.bool_), (None,)),
    }
    image_specs: ClassVar[Mapping[str, Spec]] = {"image_id": Spec(str, ())}

    root: str
    image_set: str
    class_names: tuple[str, ...] = named(_CLASSES, keyword="classes")

    @property
    def name(self) -> str:
        """The source's name in messages."""
        return "pascal_voc"

    @property
    def classes(self) -> tuple[str, ...]:
        """The class names, in label order."""
        return self.class_names

    def read(self) -> Annotations:
        """Reads the list of images and their XML files."""
        listed = os.path.join(self.root, "ImageSets", "Main", f"{self.image_set}.txt")
        remedy = ". Pass the directory that contains Annotations, ImageSets and JPEGImages."
        lines = read_text("pascal_voc", listed, remedy).splitlines()
        # Lists of one class have a second column.
        names = [line.split()[0] for line in lines if line.strip()]
        if not names:
            refuse("pascal_voc", listed, "the list is empty, expected one image per line.")
        label_of = {name: label for label, name in enumerate(self.class_names)}
        paths: list[str] = []
        objects: list[list[_Object]] = []
        for name in names:
            file = os.path.join(self.root, "Annotations", f"{name}.xml")
            image, of_file = _read(file, label_of)
            paths.append(os.path.join(self.root, "JPEGImages", image or f"{name}.jpg"))
            objects.append(of_file)
        check_images_exist("pascal_voc", paths, listed)
        every = [item for of_file in objects for item in of_file]
        boxes = np.array([item.edges for item in every], np.float64).reshape(-1, 4)
        # In the files, pixels count from 1, and the last pixel belongs to the box.
        boxes[:, :2] -= 1
        return Annotations(
            paths,
            np.array([len(of_file) for of_file in objects], np.int64),
            boxes.astype(np.float32),
            np.array([item.label for item in every], np.int64),
            {"difficult": np.array([item.is_difficult for item in every], np.bool_)},
            {"image_id": np.array([name.encode() for name in names], object)},
            self.class_names,
        )


def _read(file: str, label_of: Mapping[str, int]) -> tuple[str | None, list[_Object]]:
    """Returns the name of the image, if it is stored, and the objects of an XML file."""
    try:
        root = ElementTree.fromstring(read_text("pascal_voc", file))
    except ElementTree.ParseError as error:
        refuse("pascal_voc", file, f"{error}. Copy the file again.")
    items = enumerate(root.findall("object"))
    objects = [_object(f"{file}: object {number}", item, label_of) for number, item in items]
    sizes = np.array([item.edges for item in objects], np.float64).reshape(-1, 4)
    sizes[:, 2:] -= sizes[:, :2]
    checked_boxes("pascal_voc", sizes, lambda number: f"{file}: object {number}")
    image = root.findtext("filename")
    return image, objects


def _object(place: str, item: ElementTree.Element, label_of: Mapping[str, int]) -> _Object:
    name = (item.findtext("name") or "").strip()
    if name not in label_of:
        refuse(
            "pascal_voc",
            place,
            f"the name is {name!r}, which is not a class. Pass classes=[...] with all names.",
        )
    texts = [item.findtext(f"bndbox/{edge}") for edge in _EDGES]
    try:
        edges = [float(text or "") for text in texts]
    except ValueError:
        shown = dict(zip(_EDGES, texts, strict=True))
        refuse("pascal_voc", place, f"bndbox is {shown}, expected four numbers.")
    return _Object(edges, label_of[name], (item.findtext("difficult") or "0").strip() == "1")


def pascal_voc(
    root: str | os.PathLike[str],
    image_set: str = "train",
    classes: Sequence[str] = _CLASSES,
) -> PascalVoc:
    """Reads images and their objects from a data set in the format of Pascal VOC.

    An example has these components:

    - `image`: bytes, the image file. Decode it with `headrace.ops.decode_image`.
    - `boxes`: float32, (objects, 4): left, top, right and bottom in pixels. In the files, pixels
      count from 1 and the last one belongs to the box, so 1 is subtracted from left and top.
    - `labels`: int64, (objects,): the position of the object's name in `classes`.
    - `difficult`: bool, (objects,): whether evaluations ignore the object.
    - `image_id`: str, such as "2008_000008", and `path`: str.

    Images are in the order of the list.

    Args:
        root: The directory that contains `Annotations`, `ImageSets` and `JPEGImages`, such as
            `VOCdevkit/VOC2012`.
        image_set: The name of a list in `ImageSets/Main`, without `.txt`.
        classes: The class names, in label order. Defaults to the 20 classes of Pascal VOC.

    Raises:
        TypeError: If `root` is not a path, or a name is not a string.

    Source: `torchvision.datasets.VOCDetection`, which returns the XML files as dicts.

    Examples:
        >>> from pathlib import Path
        >>> files = {
        ...     "ImageSets/Main/train.txt": "one",
        ...     "JPEGImages/one.jpg": "...",
        ...     "Annotations/one.xml": "<annotation><object><name>cat</name><bndbox>"
        ...     "<xmin>11</xmin><ymin>21</ymin><xmax>30</xmax><ymax>40</ymax>"
        ...     "</bndbox></object></annotation>",
        ... }
        >>> for name, content in files.items():
        ...     Path("voc", name).parent.mkdir(parents=True, exist_ok=True)
        ...     length = Path("voc", name).write_text(content)
        >>> example = next(iter(hr.pascal_voc("voc")))
        >>> example["boxes"]
        array([[10., 20., 30., 40.]], dtype=float32)
    """
    names = tuple(classes)
    if isinstance(classes, str) or not all(isinstance(name, str) for name in names):
        raise TypeError(f"pascal_voc: classes is {classes!r}, expected a list of strings.")
    if not isinstance(image_set, str):
        raise TypeError(f"pascal_voc: image_set is {image_set!r}, expected a string.")
    return PascalVoc(folder_path("pascal_voc", root), image_set, names)
