"""Images in a directory for each class."""

import numpy as np
import pytest

from headrace import pipeline as hp
from headrace.core import errors


@pytest.fixture
def photos(tmp_path):
    """Two classes, one with images in a subdirectory, and files that are ignored."""
    names = ("b/1.JPG", "b/.hidden.png", "a/2.png", "a/10.jpeg", "a/sub/1.gif", "a/notes.txt")
    for name in (*names, ".git/1.png", "README.png"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(name.encode())
    return tmp_path


def test_labels_follow_sorted_directories(photos, items_of):
    pipeline = hp.image_folder(photos)
    examples = items_of(pipeline)
    assert pipeline.classes == ("a", "b")
    assert pipeline.shuffle(window=3, seed=1).batch(2).classes == ("a", "b")
    assert [(row["data"], row["label"], row["path"]) for row in examples] == [
        (b"a/10.jpeg", 0, f"{photos}/a/10.jpeg"),
        (b"a/2.png", 0, f"{photos}/a/2.png"),
        (b"a/sub/1.gif", 0, f"{photos}/a/sub/1.gif"),
        (b"b/1.JPG", 1, f"{photos}/b/1.JPG"),
    ]
    assert pipeline.spec["label"] == hp.Spec(np.dtype(np.int64), ())


def test_unsupported_images_are_an_error_unless_excluded(photos):
    (photos / "b" / "2.AVIF").touch()
    (photos / "b" / "3.jxl").touch()
    message = "b/2.AVIF: headrace.ops cannot decode this image and 1 more of its class"
    with pytest.raises(errors.InvalidArgumentError, match=message):
        iter(hp.image_folder(photos))
    [batch] = hp.image_folder(photos, ["jpg", ".JPEG", "avif"]).batch(10)
    assert [path.rpartition("/")[2] for path in batch["path"]] == ["10.jpeg", "1.JPG", "2.AVIF"]
    assert "'.avif'" in hp.image_folder(photos, ["avif"]).describe()


@pytest.mark.parametrize(
    ("extensions", "error"), [([], ValueError), ([1], TypeError), ([""], TypeError)]
)
def test_extensions_are_checked(photos, extensions, error):
    with pytest.raises(error, match=r"image_folder: .*extensions"):
        hp.image_folder(photos, extensions)


@pytest.mark.parametrize("end", ["", "/", "//"])
def test_trailing_slash_in_the_path_is_ignored(photos, end):
    [batch] = hp.image_folder(f"{photos}{end}").batch(10)
    assert batch["label"].tolist() == [0, 0, 0, 1]


def test_class_without_images_is_an_error(photos):
    (photos / "c").mkdir()
    (photos / "c" / "notes.txt").touch()
    pipeline = hp.image_folder(photos)
    with pytest.raises(errors.NotFoundError, match=r"c: this directory has no images"):
        iter(pipeline)


def test_links_do_not_duplicate_or_mislabel_images(photos):
    before = [(row["label"], row["path"]) for row in hp.image_folder(photos)]
    (photos / "a" / "up").symlink_to("..")
    (photos / "a" / "other").symlink_to("../b")
    (photos / "b" / "copy.jpg").symlink_to("1.JPG")
    assert [(row["label"], row["path"]) for row in hp.image_folder(photos)] == before
    (photos / "c").symlink_to("b")
    text = (
        r"c: this directory has no images.* The directory is a link to .*b\. If that directory "
        "is also part of another class"
    )
    with pytest.raises(errors.NotFoundError, match=text):
        iter(hp.image_folder(photos))


def test_images_outside_the_directory_are_labelled_by_the_link(photos, tmp_path_factory):
    outside = tmp_path_factory.mktemp("outside")
    (outside / "3.png").write_bytes(b"3")
    (photos / "c").symlink_to(outside)
    *_, row = hp.image_folder(photos)
    assert (row["data"], row["label"], row["path"]) == (b"3", 2, f"{photos}/c/3.png")


def test_missing_class_directories_are_an_error(tmp_path):
    pipeline = hp.image_folder(tmp_path)
    with pytest.raises(errors.NotFoundError, match="this directory has no subdirectories"):
        iter(pipeline)
    with pytest.raises(errors.NotFoundError, match="nowhere; No such file"):
        hp.image_folder(tmp_path / "nowhere").classes  # noqa: B018


def test_other_sources_have_no_classes():
    with pytest.raises(AttributeError, match=r"files has no classes. Only pipelines that begin"):
        hp.files("a").classes  # noqa: B018
    assert not hasattr(hp.files("a"), "classes")
    with pytest.raises(TypeError, match="image_folder: 3 is not a path"):
        hp.image_folder(3)
