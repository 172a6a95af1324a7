"""Images with the annotations of a Pascal VOC data set."""

import pytest

import headrace as hr
from headrace.core import errors


def item(name, *edges, difficult=None):
    box = "".join(
        f"<{edge}>{value}</{edge}>"
        for edge, value in zip(("xmin", "ymin", "xmax", "ymax"), edges, strict=True)
    )
    flag = "" if difficult is None else f"<difficult>{difficult}</difficult>"
    return f"<object><name>{name}</name>{flag}<bndbox>{box}</bndbox></object>"


@pytest.fixture
def voc(tmp_path):
    """Two listed images, one of them with two objects, and an unlisted image."""
    files = {
        "ImageSets/Main/train.txt": "2008_2\n2008_1 -1\n",
        "JPEGImages/2008_1.jpg": "one",
        "JPEGImages/other.png": "two",
        "Annotations/2008_1.xml": "<annotation></annotation>",
        "Annotations/2008_2.xml": "<annotation><filename>other.png</filename>"
        + item("dog", 11, 21, 30, 40, difficult=1)
        + item("cat", 1, 1, 5.5, 6)
        + "</annotation>",
        "Annotations/2008_3.xml": "",
    }
    for name, content in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(content)
    return tmp_path


def test_listed_images_have_their_objects(voc, items_of):
    pipe = hr.pascal_voc(voc)
    first, second = items_of(pipe)
    assert [first["image"], second["image"]] == [b"two", b"one"]
    assert [first["image_id"], second["image_id"]] == ["2008_2", "2008_1"]
    assert first["boxes"].tolist() == [[10, 20, 30, 40], [0, 0, 5.5, 6]]
    assert [pipe.classes[label] for label in first["labels"]] == ["dog", "cat"]
    assert first["difficult"].tolist() == [True, False]
    assert second["boxes"].shape == (0, 4)
    assert len(pipe) == 2
    assert len(pipe.classes) == 20


def test_classes_can_be_chosen(voc):
    assert next(iter(hr.pascal_voc(voc, classes=["cat", "dog"])))["labels"].tolist() == [1, 0]
    with pytest.raises(
        errors.InvalidArgumentError, match=r"2008_2.xml: object 0: the name is 'dog', which is not"
    ):
        iter(hr.pascal_voc(voc, classes=["cat"]))
    with pytest.raises(TypeError, match="classes is 'cat', expected a list"):
        hr.pascal_voc(voc, classes="cat")
    with pytest.raises(TypeError, match="image_set is 3, expected a string"):
        hr.pascal_voc(voc, 3)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("<annotation>", "2008_1.xml: no element found"),
        (f"<a>{item('cat', 5, 1, 3, 2)}</a>", r"2008_1.xml: object 0: the box is \(5, 1, -2, 1\)"),
        (f"<a>{item('cat', 'x', 1, 3, 2)}</a>", "2008_1.xml: object 0: bndbox is .*'x'"),
        ("<a><object><name>cat</name></object></a>", "object 0: bndbox is .*None"),
    ],
)
def test_error_for_invalid_annotations_names_file_and_object(voc, content, message):
    (voc / "Annotations/2008_1.xml").write_text(content)
    with pytest.raises(errors.InvalidArgumentError, match=f"pascal_voc: .*{message}"):
        iter(hr.pascal_voc(voc))


def test_missing_files_are_named_before_the_first_example(voc):
    with pytest.raises(errors.NotFoundError, match=r"val.txt; .* Pass the directory that contains"):
        iter(hr.pascal_voc(voc, "val"))
    (voc / "JPEGImages/other.png").unlink()
    with pytest.raises(errors.NotFoundError, match=r"other.png: no such file, but .*train.txt"):
        iter(hr.pascal_voc(voc))
    (voc / "Annotations/2008_1.xml").unlink()
    with pytest.raises(errors.NotFoundError, match=r"2008_1.xml; No such file"):
        iter(hr.pascal_voc(voc))
    (voc / "ImageSets/Main/train.txt").write_text("\n")
    with pytest.raises(errors.InvalidArgumentError, match=r"train.txt: the list is empty"):
        iter(hr.pascal_voc(voc))
