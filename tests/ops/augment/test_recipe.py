"""The ImageNet recipe of docs/guides/transform/augmentation.md, over files that the test makes."""

import io

import numpy as np
import pytest
from PIL import Image

import headrace as hr

MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


@hr.native
def augmented(example):
    image = hr.ops.random_resized_crop(example["data"], 32)
    image = hr.ops.random_horizontal_flip(image)
    image = hr.ops.rand_augment(image)
    return {"image": hr.ops.normalize(image, MEAN, STD), "label": example["label"]}


@hr.native
def mixed(batch):
    images, labels = hr.ops.cutmix(batch["image"], batch["label"], num_classes=3, layout="CHW")
    return {"image": images, "label": labels}


def photographs(root, photo):
    for label in range(3):
        (root / f"class {label}").mkdir()
        for number in range(9):
            image = Image.fromarray(photo(50 + number, 60 + label))
            kept = image.convert("L") if number == 4 else image
            kept.save(root / f"class {label}" / f"{number}.jpg", quality=90 - number)


def test_recipe_yields_the_same_batches_for_any_number_of_threads_and_after_a_resume(
    tmp_path, photo
):
    photographs(tmp_path, photo)
    train = hr.image_folder(tmp_path).shuffle(seed=1).options(index="memory")
    train = train.map(augmented, seed=2).batch(4, remainder="drop").map(mixed, seed=3)
    expected = list(train.options(num_threads=1).epoch(0))
    assert len(expected) == 6
    for batch in expected:
        assert batch["image"].shape == (4, 3, 32, 32)
        assert batch["image"].dtype == np.float32
        assert np.allclose(batch["label"].sum(1), 1)
        assert abs(batch["image"]).max() < 3
    running = train.options(num_threads=4).epoch(0)
    example = [next(running), next(running)]
    example += train.resume(running.state())
    for one, other in zip(expected, example, strict=False):
        assert np.array_equal(one["image"], other["image"])
        assert np.array_equal(one["label"], other["label"])
    another = next(iter(train.epoch(1)))
    assert not np.array_equal(another["image"], expected[0]["image"])


def test_error_for_damage_names_the_file(tmp_path, photo):
    photographs(tmp_path, photo)
    file = io.BytesIO()
    Image.fromarray(photo()).save(file, "JPEG")
    (tmp_path / "class 1" / "9.jpg").write_bytes(file.getvalue()[:300])
    train = hr.image_folder(tmp_path).options(index="memory").map(augmented, seed=2).batch(4)
    with pytest.raises(hr.errors.InvalidArgumentError, match=r"RandomResizedCrop.*9\.jpg"):
        list(train)
