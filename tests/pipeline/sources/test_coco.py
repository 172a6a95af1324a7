"""Images with the annotations of a COCO file."""

import json
import pickle

import numpy as np
import pytest

import headrace as hr
from headrace.core import errors

NAMES = {7: "b.jpg", 3: "sub/a.png", 9: "c.jpg"}
OBJECTS = [
    {"id": 1, "image_id": 9, "category_id": 40, "bbox": [1, 2, 3, 4], "area": 9.5, "iscrowd": 1},
    {"id": 2, "image_id": 7, "category_id": 2, "bbox": [0.5, 0, 10, 20]},
    {"id": 3, "image_id": 9, "category_id": 2, "bbox": [5, 6, 0, 8], "area": 3},
]
CATEGORIES = [{"id": 40, "name": "dog"}, {"id": 2, "name": "cat"}]


def write(root, **changes):
    """Writes images and a COCO file, and returns the arguments of `coco`."""
    for name in NAMES.values():
        (root / "photos" / name).parent.mkdir(parents=True, exist_ok=True)
        (root / "photos" / name).write_bytes(name.encode())
    images = [{"id": number, "file_name": name} for number, name in NAMES.items()]
    content = {"images": images, "annotations": OBJECTS, "categories": CATEGORIES} | changes
    (root / "boxes.json").write_text(json.dumps(content))
    return root / "photos", root / "boxes.json"


def test_images_are_sorted_by_id_and_have_their_objects(tmp_path, items_of):
    pipe = hr.coco(*write(tmp_path))
    assert pipe.classes == ("cat", "dog")
    assert len(pipe) == 3
    first, second, third = items_of(pipe)
    assert [row["image_id"] for row in (first, second, third)] == [3, 7, 9]
    assert [row["image"] for row in (first, second, third)] == [b"sub/a.png", b"b.jpg", b"c.jpg"]
    assert first["path"] == str(tmp_path / "photos/sub/a.png")
    assert first["boxes"].shape == (0, 4)
    assert [first[name].shape for name in ("labels", "area", "iscrowd")] == [(0,)] * 3
    assert second["boxes"].tolist() == [[0.5, 0, 10.5, 20]]
    assert second["area"].tolist() == [200]
    assert third["boxes"].tolist() == [[1, 2, 4, 6], [5, 6, 5, 14]]
    assert third["labels"].tolist() == [1, 0]
    assert third["area"].tolist() == [9.5, 3]
    assert third["iscrowd"].tolist() == [True, False]


def test_components_have_the_declared_types(tmp_path):
    pipe = hr.coco(*write(tmp_path))
    assert pipe.spec == {
        "image": hr.Spec(bytes, ()),
        "boxes": hr.Spec(np.dtype(np.float32), (None, 4)),
        "labels": hr.Spec(np.dtype(np.int64), (None,)),
        "area": hr.Spec(np.dtype(np.float32), (None,)),
        "iscrowd": hr.Spec(np.dtype(np.bool_), (None,)),
        "image_id": hr.Spec(np.dtype(np.int64), ()),
        "path": hr.Spec(str, ()),
    }
    for example in pipe:
        for name, spec in pipe.spec.items():
            if isinstance(spec.dtype, np.dtype):
                assert example[name].dtype == spec.dtype


def test_objects_stay_with_their_image_after_shuffles_shards_and_a_resume(tmp_path):
    pipe = hr.coco(*write(tmp_path)).shuffle(seed=3).epochs(4)
    expected = [(int(row["image_id"]), row["boxes"].tolist()) for row in pipe]
    boxes = {3: [], 7: [[0.5, 0, 10.5, 20]], 9: [[1, 2, 4, 6], [5, 6, 5, 14]]}
    assert dict(expected) == boxes
    running = iter(pipe)
    rows = [next(running) for _ in range(5)]
    rows += pipe.resume(running.state())
    assert [(int(row["image_id"]), row["boxes"].tolist()) for row in rows] == expected
    shards = [list(hr.coco(*write(tmp_path)).shard(rank, 2)) for rank in (0, 1)]
    assert sorted(int(row["image_id"]) for shard in shards for row in shard) == [3, 7, 9]


def test_combined_data_sets_keep_their_own_objects(tmp_path):
    one = hr.coco(*write(tmp_path / "one"))
    other = hr.coco(*write(tmp_path / "other", annotations=[]))
    rows = list(hr.concat([other, one]).shuffle(window=6, seed=1))
    counts = sorted((int(row["image_id"]), len(row["boxes"])) for row in rows)
    assert counts == [(3, 0), (3, 0), (7, 0), (7, 1), (9, 0), (9, 2)]


def test_pickled_pipeline_reads_the_annotations_again(tmp_path):
    pipe = hr.coco(*write(tmp_path))
    assert len(pipe) == 3
    copy = pickle.loads(pickle.dumps(pipe))
    assert [len(row["boxes"]) for row in copy] == [0, 1, 2]


def test_ragged_batches_hold_all_objects(tmp_path):
    [batch] = hr.coco(*write(tmp_path)).select("boxes", "labels").padded_batch(3)
    assert batch["boxes"].shape == (3, 2, 4)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"annotations": None}, r"boxes.json: the list 'annotations' is missing"),
        ({"images": []}, r"boxes.json: 'images' is empty"),
        ({"images": [{"id": 1}]}, r"boxes.json: images\[0\]: id is 1 and file_name is None"),
        ({"images": [{"id": 1, "file_name": "b.jpg"}] * 2}, r"images\[1\]: the id 1 occurs twice"),
        ({"categories": [{"id": "x", "name": "y"}]}, r"categories\[0\]: id is 'x'"),
        (
            {"annotations": [{**OBJECTS[0], "bbox": [1, 2, 3]}]},
            r"annotations\[0\] \(id 1\): bbox is",
        ),
        ({"annotations": [{**OBJECTS[0], "image_id": 5}]}, r"image_id is 5, which is not in 'ima"),
        ({"annotations": [{**OBJECTS[0], "category_id": [1]}]}, r"category_id is \[1\], which is"),
        ({"annotations": [{**OBJECTS[0], "iscrowd": 2}]}, r"iscrowd is 2, expected a number, and"),
        (
            {"annotations": [*OBJECTS, {**OBJECTS[1], "bbox": [1, 2, -3, 4], "id": 44}]},
            r"annotations\[3\] \(id 44\): the box is \(1, 2, -3, 4\), expected finite numbers",
        ),
    ],
)
def test_error_for_invalid_annotations_names_file_and_entry(tmp_path, changes, message):
    with pytest.raises(errors.InvalidArgumentError, match=message):
        iter(hr.coco(*write(tmp_path, **changes)))


def test_error_for_damaged_json_names_file_and_position(tmp_path):
    images, file = write(tmp_path)
    file.write_text(file.read_text()[:-5])
    with pytest.raises(errors.InvalidArgumentError, match=r"coco: .*boxes.json: .* line 1 column"):
        len(hr.coco(images, file))


def test_missing_files_are_named_before_the_first_example(tmp_path):
    images, file = write(tmp_path)
    (images / "b.jpg").unlink()
    with pytest.raises(errors.NotFoundError, match=r"coco: .*b\.jpg: no such file, but .*boxes"):
        iter(hr.coco(images, file))
    with pytest.raises(errors.NotFoundError, match=r"nothing.json; .* Pass the JSON file of the"):
        iter(hr.coco(images, tmp_path / "nothing.json"))


def test_arguments_are_checked():
    with pytest.raises(TypeError, match="coco: 3 is not a path"):
        hr.coco("photos", 3)
