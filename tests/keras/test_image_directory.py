"""Images from directories, for Keras."""

import numpy as np
import pytest
from tests.keras.class_directories import (
    picture,
    write,
    write_bmp,
    write_gif,
    write_image,
)

from headrace.errors import InvalidArgumentError, NotFoundError
from headrace.keras import adapter, image_dataset_from_directory


@pytest.fixture
def pets(tmp_path):
    """A directory of 12 images, whose first pixels are their numbers."""
    for number in range(12):
        image = np.full((2, 2, 3), number, np.uint8)
        write_image(tmp_path / ("dog" if number % 3 else "cat") / f"{number:02}.png", image)
    (tmp_path / ".git").mkdir()
    (tmp_path / "README.md").write_text("x")
    return tmp_path


def read(directory, **arguments):
    arguments = {"image_size": (2, 2), "shuffle": False, "verbose": False} | arguments
    return image_dataset_from_directory(directory, **arguments)


def numbers(data):
    return [int(n) for images, *_ in map(as_tuple, data) for n in images[:, 0, 0, 0]]


def as_tuple(batch):
    return batch if isinstance(batch, tuple) else (batch,)


def test_classes_and_their_files_are_sorted(pets):
    data = read(pets)
    assert data.class_names == ["cat", "dog"]
    assert numbers(data) == [0, 3, 6, 9, 1, 2, 4, 5, 7, 8, 10, 11]
    assert data.file_paths[3:5] == [f"{pets}/cat/09.png", f"{pets}/dog/01.png"]
    ((images, labels),) = data
    assert (images.dtype, images.shape, labels.dtype) == (np.float32, (12, 2, 2, 3), np.int32)
    assert labels.tolist() == [0] * 4 + [1] * 8


def test_label_mode_determines_the_encoding(pets):
    _, binary = next(iter(read(pets, label_mode="binary", class_names=["dog", "cat"])))
    assert binary.dtype == np.float32
    assert binary[6:10].tolist() == [[0], [0], [1], [1]]
    _, vectors = next(iter(read(pets, label_mode="categorical")))
    assert vectors.dtype == np.float32
    assert vectors[3:5].tolist() == [[1, 0], [0, 1]]
    for without in ({"label_mode": None}, {"labels": None}):
        data = read(pets, **without)
        assert data.class_names is None
        assert next(iter(data)).shape == (12, 2, 2, 3)
    data = read(pets, labels=[5, *range(11)])
    assert data.class_names == sorted(map(str, range(11)), key=int)
    assert next(iter(data))[1].tolist() == [5, *range(11)]
    assert next(iter(read(pets, labels=[0.5] * 12)))[1].dtype == np.float32


def test_class_names_choose_the_classes(pets):
    data = read(pets, class_names=["dog"])
    assert (data.class_names, len(data.file_paths)) == (["dog"], 8)


@pytest.mark.parametrize("split", [0.2, 0.5])
def test_split_matches_keras(pets, split, capsys):
    order = np.random.RandomState(7).permutation(12)
    names = np.array([0, 3, 6, 9, 1, 2, 4, 5, 7, 8, 10, 11])[order].tolist()
    num_train = 12 - int(split * 12)
    shuffled = {"shuffle": True, "seed": 7, "validation_split": split, "verbose": True}
    train, validation = read(pets, subset="both", **shuffled)
    assert [int(path[-6:-4]) for path in train.file_paths] == names[:num_train]
    assert [int(path[-6:-4]) for path in validation.file_paths] == names[num_train:]
    assert capsys.readouterr().out == (
        "Found 12 files belonging to 2 classes.\n"
        f"Using {num_train} files for training.\n"
        f"Using {12 - num_train} files for validation.\n"
    )
    assert read(pets, subset="training", **shuffled).file_paths == train.file_paths
    alone = read(pets, subset="validation", **shuffled)
    assert alone.file_paths == validation.file_paths
    # Only the training part is shuffled, unless the validation part is read alone.
    assert numbers(validation) == names[num_train:]
    assert sorted(numbers(train)) == sorted(names[:num_train])
    assert numbers(train) != numbers(train)


def test_shuffled_labels_stay_with_their_images(pets):
    data = read(pets, shuffle=True, seed=1, batch_size=5)
    epochs = [list(data) for _ in range(2)]
    orders = [[int(n) for images, _ in epoch for n in images[:, 0, 0, 0]] for epoch in epochs]
    assert orders[0] != orders[1]
    for epoch in epochs:
        for images, labels in epoch:
            assert (images[:, 0, 0, 0] % 3 > 0).tolist() == labels.tolist()
    again = read(pets, shuffle=True, seed=1, batch_size=5)
    assert numbers(again) == orders[0]


def test_directory_has_a_length_and_resumes_at_any_batch(pets):
    data = read(pets, shuffle=True, seed=1, batch_size=5)
    assert len(data) == 3
    batches = data.pipeline.epoch(1)
    next(batches)
    state = batches.state()
    expected = [batch["image"].tolist() for batch in batches]
    again = read(pets, shuffle=True, seed=1, batch_size=5).pipeline.resume(state)
    assert [batch["image"].tolist() for batch in again] == expected


def test_every_format_and_colour_mode_is_read(tmp_path):
    colours = np.zeros((2, 4, 3), np.uint8)
    colours[0, 0], colours[1, 3] = (10, 200, 30), (0, 0, 255)
    write_image(tmp_path / "x" / "a.PNG", colours)
    write_bmp(tmp_path / "x" / "b.bmp", colours)
    write_gif(tmp_path / "x" / "c.gif", [[0, 1, 1, 0], [1, 0, 0, 1]])
    write_image(tmp_path / "x" / "d.jpg", np.full((2, 4, 3), 77, np.uint8))
    write(tmp_path / "x" / "e.webp", b"not read")
    ((images, _),) = read(tmp_path, image_size=(2, 4))
    assert images[0].tolist() == images[1].tolist() == colours.tolist()
    assert images[2, :, :, 0].tolist() == [[0, 255, 255, 0], [255, 0, 0, 255]]
    assert (images[3] == 77).all()
    write_image(tmp_path / "y" / "a.png", colours)
    ((rgba, _),) = read(tmp_path, image_size=(2, 4), color_mode="rgba", class_names=["y"])
    assert rgba[0, 0, 0].tolist() == [10, 200, 30, 255]
    ((grey, _),) = read(tmp_path, image_size=(2, 4), color_mode="grayscale", class_names=["y"])
    assert grey.shape == (1, 2, 4, 1)
    assert grey[0, 0, 0, 0] == int(10 * 0.299 + 200 * 0.587 + 30 * 0.114)


def resized(tmp_path, image, **arguments):
    write_image(tmp_path / "x" / "a.png", image)
    return next(iter(read(tmp_path, labels=None, **arguments)))[0]


def test_resizing_aligns_pixel_centres(tmp_path):
    image = np.arange(16, dtype=np.uint8).reshape(4, 4, 1).repeat(3, 2)
    bilinear = resized(tmp_path, image, image_size=2)
    assert bilinear[:, :, 0].tolist() == [[2.5, 4.5], [10.5, 12.5]]
    nearest = resized(tmp_path, image, interpolation="nearest")
    assert (nearest.dtype, nearest[:, :, 0].tolist()) == (np.uint8, [[5, 7], [13, 15]])
    area = resized(tmp_path, image, interpolation="Area")
    assert area[:, :, 0].tolist() == [[2.5, 4.5], [10.5, 12.5]]
    first = resized(tmp_path, image, data_format="channels_first")
    assert (first.shape, first[0].tolist()) == ((3, 2, 2), bilinear[:, :, 0].tolist())


def test_crop_and_pad_keep_the_aspect_ratio(tmp_path):
    image = np.arange(8, dtype=np.uint8).reshape(2, 4, 1).repeat(3, 2)
    cropped = resized(tmp_path, image, crop_to_aspect_ratio=True)
    assert cropped[:, :, 0].tolist() == [[1, 2], [5, 6]]
    padded = resized(tmp_path, image, image_size=4, pad_to_aspect_ratio=True)
    assert padded[:, :, 0].tolist() == [[0] * 4, [0, 1, 2, 3], [4, 5, 6, 7], [0] * 4]


def test_images_are_not_batched_without_batch_size(pets):
    image, label = next(iter(read(pets, batch_size=None)))
    assert (image.shape, label) == ((2, 2, 3), 0)


def test_links_are_followed_on_request(tmp_path):
    write_image(tmp_path / "outside" / "1.png", picture(1, 3, 3))
    write_image(tmp_path / "pets" / "cat" / "0.png", picture(2, 3, 3))
    (tmp_path / "pets" / "cat" / "more").symlink_to(tmp_path / "outside")
    assert len(read(tmp_path / "pets").file_paths) == 1
    paths = read(tmp_path / "pets", follow_links=True).file_paths
    assert [path.rpartition("cat/")[2] for path in paths] == ["0.png", "more/1.png"]


def test_names_that_look_like_patterns_are_taken_literally(tmp_path):
    for name in ("[a]/*.png", "[a]/{1,2}.png", "a/1.png"):
        write_image(tmp_path / name, picture(1, 3, 3))
    assert len(next(iter(read(tmp_path)))[1]) == 3


def test_returned_pipeline_can_be_extended(pets):
    pipe = read(pets).pipeline.map(lambda batch: {**batch, "image": batch["image"] / 2})
    images, _ = next(iter(adapter(pipe)))
    assert images[:3, 0, 0, 0].tolist() == [0, 1.5, 3]


def test_error_for_a_damaged_image_names_the_file(pets):
    write(pets / "cat" / "03.png", b"\x89PNG\r\n\x1a\n and no more")
    with pytest.raises(InvalidArgumentError, match=r"cat/03\.png"):
        list(read(pets))


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"labels": "guess"}, "labels is 'guess', expected 'inferred', a list"),
        ({"labels": [1, 2]}, "labels has 2 values .* for each of the 12 files"),
        ({"labels": ["a"] * 12}, "labels has 12 values of type <U1, expected one number"),
        ({"labels": [2**40] * 12}, "labels has a number that does not fit into int32"),
        ({"labels": [1] * 12, "class_names": ["a"]}, "class_names is .* only works with"),
        ({"labels": None, "class_names": ["a"]}, "class_names is .* only works with"),
        ({"class_names": ["cat", "cow"]}, r"class_names is \['cat', 'cow'\], expected names of"),
        ({"label_mode": "one"}, "label_mode is 'one', expected 'int'"),
        ({"label_mode": "binary", "class_names": ["cat"]}, "needs exactly 2 classes"),
        ({"color_mode": "bgr"}, "color_mode is 'bgr', expected 'rgb'"),
        ({"image_size": (1, 2, 3)}, r"image_size is \(1, 2, 3\), expected two positive"),
        ({"image_size": (0, 2)}, r"image_size is \(0, 2\)"),
        ({"interpolation": "cubic"}, "interpolation is 'cubic', expected one of bilinear"),
        (
            {"interpolation": "gaussian", "crop_to_aspect_ratio": True},
            "interpolation='gaussian' does not work with crop_to_aspect_ratio",
        ),
        ({"crop_to_aspect_ratio": True, "pad_to_aspect_ratio": True}, "are both True"),
        ({"data_format": "last"}, "data_format is 'last', expected 'channels_last'"),
        ({"format": "grain"}, "format is 'grain', expected 'tf'"),
        ({"validation_split": 2.0, "subset": "both"}, "validation_split is 2.0, expected a number"),
        ({"validation_split": 0.5}, "validation_split is 0.5 and subset is None"),
        ({"subset": "training"}, "validation_split is None and subset is 'training'"),
        ({"validation_split": 0.5, "subset": "test"}, "subset is 'test', expected 'training'"),
        (
            {"validation_split": 0.5, "subset": "both", "shuffle": True},
            "seed is None, but validation_split with shuffle=True needs a seed",
        ),
        ({"validation_split": 0.01, "subset": "both"}, "leaves no file for validation"),
    ],
)
def test_errors_name_the_wrong_argument(pets, arguments, words):
    with pytest.raises(ValueError, match=words):
        read(pets, **arguments)


def test_missing_and_empty_directories_are_rejected(tmp_path):
    with pytest.raises(NotFoundError, match="no-such"):
        read(tmp_path / "no-such")
    with pytest.raises(NotFoundError, match="no-such"):
        read(tmp_path / "no-such", labels=None)
    with pytest.raises(ValueError, match=r"there are no files in .* end with .bmp, .gif"):
        read(tmp_path)
    with pytest.raises(ValueError, match="directory is 's3://bucket/pets', expected a local"):
        read("s3://bucket/pets")
