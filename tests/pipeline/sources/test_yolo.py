"""Images with one text file of boxes each."""

import numpy as np
import pytest

import headrace as hr
from headrace.core import errors


@pytest.fixture
def farm(tmp_path):
    """Three images, one with two objects, and one without a text file."""
    files = {
        "images/train/b.jpg": "b",
        "images/train/sub/a.PNG": "a",
        "images/train/c.jpg": "c",
        "images/train/notes.md": "",
        "labels/train/b.txt": "3 0.5 0.25 0.2 0.4\n\n0 0.1 0.1 0.1 0.1\n",
        "labels/train/sub/a.txt": "",
    }
    for name, content in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(content)
    return tmp_path


def test_images_are_matched_with_their_label_files(farm, items_of):
    pipe = hr.yolo(farm / "images/train")
    rows = items_of(pipe)
    assert [row["image"] for row in rows] == [b"b", b"c", b"a"]
    assert [len(row["boxes"]) for row in rows] == [2, 0, 0]
    expected = np.float32([[0.5, 0.25, 0.2, 0.4], [0.1, 0.1, 0.1, 0.1]])
    assert np.array_equal(rows[0]["boxes"], expected)
    assert rows[0]["labels"].tolist() == [3, 0]
    assert rows[0]["path"] == str(farm / "images/train/b.jpg")
    assert rows[1]["boxes"].shape == (0, 4)
    assert len(pipe) == 3


def test_operations_move_normalized_boxes(farm):
    image = hr.native(lambda e: {"x": hr.ops.encode_png(e["x"])})
    pixels = np.zeros((20, 10, 3), np.uint8)
    (farm / "images/train/b.jpg").write_bytes(image({"x": pixels})["x"])

    @hr.native
    def flip(example):
        picture = hr.ops.decode_image(example["image"], expand_animations=False)
        options = {"format": "cxcywh", "normalized": True}
        return hr.ops.flip_left_right(picture, boxes=example["boxes"], **options)._asdict()

    row = next(iter(hr.yolo(farm / "images/train").map(flip)))
    expected = [[0.5, 0.25, 0.2, 0.4], [0.9, 0.1, 0.1, 0.1]]
    assert np.allclose(row["boxes"], expected)


def test_directory_of_text_files_can_be_chosen(farm):
    (farm / "labels").rename(farm / "boxes")
    pipe = hr.yolo(farm / "images/train", farm / "boxes/train")
    assert [len(row["labels"]) for row in pipe] == [2, 0, 0]
    with pytest.raises(ValueError, match=r"no directory named 'images', .* Pass labels="):
        hr.yolo(farm / "photos")


def test_class_names_limit_the_labels(farm):
    pipe = hr.yolo(farm / "images/train", classes=["cow", "pig", "hen", "dog"])
    assert pipe.classes == ("cow", "pig", "hen", "dog")
    with pytest.raises(AttributeError, match="yolo has no classes"):
        hr.yolo(farm / "images/train").classes  # noqa: B018
    with pytest.raises(
        errors.InvalidArgumentError,
        match=r"train/b.txt: line 1: the class is 3, expected from 0 to 2",
    ):
        iter(hr.yolo(farm / "images/train", classes=["cow", "pig", "hen"]))
    with pytest.raises(TypeError, match="classes is 'cow', expected a list"):
        hr.yolo(farm / "images/train", classes="cow")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("1 0.5 0.5 0.1", "line 2: the line has 4 values, expected 5"),
        ("1 0.5 0.5 0.1 0.1 0.3 0.2", "line 2: the line has 7 values, expected 5: .* Polygons"),
        ("1 0.5 x 0.1 0.2", "line 2: the line is '1 0.5 x 0.1 0.2', expected an integer"),
        ("-1 0.5 0.5 0.1 0.2", "line 2: the class is -1, expected at least 0"),
        ("1 50 60 10 20", "line 2: the box is .* expected fractions of the image"),
        ("1 0.5 0.5 -0.1 0.2", r"line 2: the box is \(0.5, 0.5, -0.1, 0.2\), expected finite"),
    ],
)
def test_error_for_invalid_lines_names_file_and_line(farm, line, message):
    (farm / "labels/train/c.txt").write_text(f"0 0.5 0.5 0.1 0.1\n{line}\n")
    with pytest.raises(errors.InvalidArgumentError, match=f"yolo: .*train/c.txt: {message}"):
        iter(hr.yolo(farm / "images/train"))


def test_directories_without_files_are_an_error(farm):
    with pytest.raises(errors.NotFoundError, match=r"has no text file for any image, expected .*b"):
        iter(hr.yolo(farm / "images/train", farm / "images"))
    with pytest.raises(errors.NotFoundError, match="this directory has no images"):
        iter(hr.yolo(farm / "labels", farm / "labels"))
