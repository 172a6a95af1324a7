"""Data sets of TensorFlow Datasets and RLDS."""

import json

import numpy as np
import pytest
from tests import tfds_files as tf

import headrace as hr
from headrace.core import errors
from headrace.testing import assert_resumes


def png(pixels):
    """Returns the bytes of a PNG."""
    encode = hr.native(lambda example: {"data": hr.ops.encode_png(example["image"])})
    return encode({"image": pixels})["data"]


def pixels_of(number, height=4, width=6):
    return np.random.default_rng(number).integers(0, 256, (height, width, 3), np.uint8)


FEATURES = {
    "image": tf.image(),
    "label": tf.label(3),
    "text": tf.text(),
    "box": tf.tensor("float32", (4,)),
    "meta": tf.features_dict({"id": tf.tensor("uint8"), "ok": tf.tensor("bool")}),
    "tokens": tf.sequence(tf.tensor("int32")),
    "objects": tf.sequence(
        tf.features_dict({"bbox": tf.tensor("float32", (4,)), "kind": tf.label(9)})
    ),
    "grid": tf.tensor("int16", (None, 2)),
    "words": tf.sequence(tf.sequence(tf.text())),
    "packed": tf.tensor("float64", (2, 2), "zlib"),
    "open": tf.tensor("uint16", (None, None), "bytes"),
    "wide": tf.tensor("uint64"),
}


def example_of(number):
    return {
        "image": png(pixels_of(number)),
        "label": number % 3,
        "text": f"text {number} ä",
        "box": [number, 0.5, -1, 2],
        "meta": {"id": number % 256, "ok": number % 2 == 0},
        "tokens": list(range(number % 4)),
        "objects": [{"bbox": [n, 1, 2, 3], "kind": n} for n in range(number % 3)],
        "grid": np.arange(2 * (number % 3)).reshape(-1, 2),
        "words": [["a"] * n for n in range(number % 4)],
        "packed": np.full((2, 2), number / 3),
        "open": np.full((number % 2 + 1, 3), number),
        "wide": 2**64 - 1 - number,
    }


@pytest.fixture
def toy(tmp_path):
    shards = [list(map(example_of, numbers)) for numbers in (range(5), range(5, 5), range(5, 11))]
    splits = {"train": shards, "test": [list(map(example_of, range(20, 23)))]}
    return tf.write_data_set(tmp_path / "toy", FEATURES, splits)


def numbers_of(pipe):
    return [int(example["meta.id"]) for example in pipe]


def test_features_have_tfds_types_and_shapes(toy):
    pipe = hr.tfds(toy, "test")
    assert {name: repr(spec) for name, spec in pipe.spec.items()} == {
        "box": "Spec(float32, (4,))",
        "grid": "Spec(int16, (None, 2))",
        "image": "Spec(bytes, ())",
        "label": "Spec(int64, ())",
        "meta.id": "Spec(uint8, ())",
        "meta.ok": "Spec(bool, ())",
        "objects.bbox": "Spec(float32, (None, 4))",
        "objects.kind": "Spec(int64, (None,), ragged)",
        "open": "Spec(uint16, (None, None))",
        "packed": "Spec(float64, (2, 2))",
        "text": "Spec(bytes, ())",
        "tokens": "Spec(int32, (None,), ragged)",
        "wide": "Spec(uint64, ())",
        "words": "Spec(bytes, (None, None), ragged)",
    }
    examples = list(pipe)
    assert len(pipe) == len(examples) == 3
    for number, example in zip(range(20, 23), examples, strict=True):
        expected = example_of(number)
        assert example["image"] == expected["image"]
        assert example["text"] == expected["text"].encode()
        assert (example["label"], example["meta.id"]) == (number % 3, number)
        assert example["meta.ok"] == (number % 2 == 0)
        assert example["wide"] == np.uint64(2**64 - 1 - number)
        np.testing.assert_array_equal(example["box"], np.float32(expected["box"]))
        np.testing.assert_array_equal(example["tokens"], expected["tokens"])
        boxes = np.float32([one["bbox"] for one in expected["objects"]]).reshape(-1, 4)
        np.testing.assert_array_equal(example["objects.bbox"], boxes)
        assert example["objects.kind"].tolist() == list(range(number % 3))
        np.testing.assert_array_equal(example["grid"], expected["grid"])
        assert [list(words) for words in example["words"]] == [
            [b"a"] * n for n in range(number % 4)
        ]
        np.testing.assert_array_equal(example["packed"], expected["packed"])
        np.testing.assert_array_equal(example["open"], expected["open"])


def test_images_are_decoded_on_request(toy):
    for decode in ("image", ("image",), ["image"]):
        pipe = hr.tfds(toy, "test", decode=decode)
        assert repr(pipe.spec["image"]) == "Spec(uint8, (None, None, 3))"
        for number, example in zip(range(20, 23), pipe, strict=True):
            np.testing.assert_array_equal(example["image"], pixels_of(number))
    with pytest.raises(ValueError, match=r"decode contains 'text', expected 'image' for all image"):
        list(hr.tfds(toy, "test", decode=("text",)))


def test_only_named_images_are_decoded(tmp_path):
    features = {"photo": tf.image(), "mask": tf.image((None, None, 1))}
    grey = png(np.zeros((2, 3, 1), np.uint8))
    example = {"photo": png(pixels_of(1)), "mask": grey}
    tf.write_data_set(tmp_path, features, {"train": [[example]]})
    (named,) = hr.tfds(tmp_path, decode=("mask",))
    assert (named["mask"].shape, named["photo"]) == ((2, 3, 1), example["photo"])
    (both,) = hr.tfds(tmp_path, decode=("image",))
    assert (both["mask"].shape, both["photo"].shape) == ((2, 3, 1), (4, 6, 3))


def test_16_bit_and_float_images_are_decoded(tmp_path):
    features = {
        "depth": tf.image((None, None, 1), "uint16"),
        "height": tf.image((None, None, 1), "float32"),
    }
    encode = hr.native(lambda example: {"data": hr.ops.encode_png(example["image"])})
    depth = np.arange(0, 60000, 10000, dtype=np.uint16).reshape(2, 3, 1)
    height = np.linspace(-1, 1, 6, dtype=np.float32).reshape(2, 3, 1)
    example = {
        "depth": encode({"image": depth})["data"],
        "height": png(height.view(np.uint8)),
    }
    tf.write_data_set(tmp_path, features, {"train": [[example]]})
    (decoded,) = hr.tfds(tmp_path, decode=("image",))
    np.testing.assert_array_equal(decoded["depth"], depth)
    np.testing.assert_array_equal(decoded["height"], height)


def test_video_frames_are_stacked(tmp_path):
    video = {
        "pythonClassName": "tensorflow_datasets.core.features.video_feature.Video",
        "video": {
            "shape": {"dimensions": ["-1", "4", "6", "3"]},
            "dtype": "uint8",
            "encodingFormat": "png",
        },
    }
    # A video is stored as a sequence of images.
    examples = [{"video": [png(pixels_of(n)) for n in range(count)]} for count in (2, 0, 3)]
    as_sequence = {"video": tf.sequence(tf.image((4, 6, 3)))}
    tf.write_data_set(tmp_path, as_sequence, {"train": [examples]})
    (tmp_path / "features.json").write_text(json.dumps(tf.features_dict({"video": video})))
    assert [len(example["video"]) for example in hr.tfds(tmp_path)] == [2, 0, 3]
    decoded = list(hr.tfds(tmp_path, decode=("image",)))
    assert [example["video"].shape for example in decoded] == [
        (count, 4, 6, 3) for count in (2, 0, 3)
    ]
    np.testing.assert_array_equal(decoded[2]["video"][1], pixels_of(1))


def test_wrong_image_shapes_are_rejected(tmp_path):
    tf.write_data_set(
        tmp_path, {"image": tf.image((28, 28, 1))}, {"train": [[{"image": png(pixels_of(1))}]]}
    )
    message = (
        r"toy-train.tfrecord-00000-of-00001: record 0: 'image' is an image of shape \[4,6,1\], "
        r"expected \(28, 28, 1\) according to features.json"
    )
    with pytest.raises(errors.InvalidArgumentError, match=message):
        list(hr.tfds(tmp_path, decode=("image",)))


@pytest.mark.parametrize(
    ("split", "expected"),
    [
        ("train", [*range(11)]),
        ("test", [20, 21, 22]),
        ("train+test", [*range(11), 20, 21, 22]),
        ("all", [*range(11), 20, 21, 22]),
        ("train[:3]", [0, 1, 2]),
        ("train[7:]", [7, 8, 9, 10]),
        ("train[-2:]", [9, 10]),
        ("train[4:7]", [4, 5, 6]),
        ("train[:50%]", [*range(6)]),
        ("train[50%:]", [*range(6, 11)]),
        ("train[10%:-10%]", [*range(1, 10)]),
        ("train[:1shard]", [*range(5)]),
        ("train[2shard]", [*range(5, 11)]),
        ("train[-1shard:]", [*range(5, 11)]),
        ("test[1:] + train[:2]", [21, 22, 0, 1]),
    ],
)
def test_slices_select_the_same_examples_as_tfds(toy, split, expected):
    pipe = hr.tfds(toy, split)
    assert numbers_of(pipe) == expected
    assert len(pipe) == len(expected)
    shuffled = pipe.shuffle(seed=3)
    assert sorted(numbers_of(shuffled)) == sorted(expected)
    shards = [numbers_of(pipe.shard(rank, 2)) for rank in range(2)]
    assert sorted([*shards[0], *shards[1]]) == sorted(expected)


def test_slices_can_be_split_further(toy):
    first, second = hr.tfds(toy, "train[2:9]").split(0.5, 0.5, seed=1)
    kept = [numbers_of(first.shuffle(seed=1)), numbers_of(second.shuffle(seed=1))]
    assert sorted([*kept[0], *kept[1]]) == [*range(2, 9)]
    assert [len(first), len(second)] == list(map(len, kept))


@pytest.mark.parametrize(
    ("split", "message"),
    [
        (None, r"split is None, but .*toy has several: 'train', 'test'. Choose one."),
        ("valid", r"there is no split 'valid', expected one of 'train', 'test'."),
        ("train[:99]", r"split is 'train\[:99\]', but 'train' has 11 examples."),
        ("train[5:5]", r"split is 'train\[5:5\]', which has no examples."),
        ("train[3]", r"split is 'train\[3\]', expected a name with an optional slice"),
        ("train[:101%]", r"expected a name with an optional slice"),
        ("train[:]", r"expected a name with an optional slice"),
        ("train[:2:3]", r"expected a name with an optional slice"),
        ("train[::]", r"expected a name with an optional slice"),
        ("tr ain", r"expected a name with an optional slice"),
        ("", r"expected a name with an optional slice"),
    ],
)
def test_unknown_splits_and_slices_are_rejected(toy, split, message):
    with pytest.raises(ValueError, match=message):
        list(hr.tfds(toy, split))


def test_only_split_is_the_default(tmp_path):
    tf.write_data_set(tmp_path, {"n": tf.tensor("int64")}, {"valid": [[{"n": 5}]]})
    assert [int(example["n"]) for example in hr.tfds(tmp_path)] == [5]


def test_class_names_are_read(toy, tmp_path):
    with pytest.raises(AttributeError, match=r"tfds has no classes"):  # There are two class labels.
        hr.tfds(toy, "test").classes  # noqa: B018
    path = tf.write_data_set(
        tmp_path / "one",
        {"a": tf.features_dict({"b": tf.label(2)})},
        {"train": [[{"a": {"b": 1}}]]},
    )
    with pytest.raises(AttributeError, match=r"tfds has no classes"):
        hr.tfds(path).classes  # noqa: B018
    (path / "a-b.labels.txt").write_text("cat\ndog\n")
    assert hr.tfds(path).classes == ("cat", "dog")


STEPS = {
    "episode_metadata": tf.features_dict({"path": tf.text(), "size": tf.tensor("int32", (2,))}),
    "steps": tf.dataset(
        tf.features_dict(
            {
                "observation": tf.features_dict(
                    {"image": tf.image((4, 6, 3)), "state": tf.tensor("float32", (3,))}
                ),
                "action": tf.tensor("float64", (2, 2)),
                "reward": tf.tensor("float32"),
                "is_first": tf.tensor("bool"),
                "language": tf.text(),
                "boxes": tf.sequence(tf.tensor("float32", (4,))),
                "marks": tf.sequence(tf.tensor("int32")),
                "deep": tf.sequence(tf.sequence(tf.tensor("uint8"))),
                "raw": tf.tensor("uint8", (2, 3), "zlib"),
                "open": tf.tensor("int32", (None, None), "bytes"),
            }
        )
    ),
    "id": tf.tensor("int64"),
}


def step_of(episode, step):
    return {
        "observation": {
            "image": png(pixels_of(10 * episode + step)),
            "state": [episode, step, 0.5],
        },
        "action": np.full((2, 2), step / 4),
        "reward": step,
        "is_first": step == 0,
        "language": f"{episode} {step}",
        "boxes": np.full((step % 3, 4), step),
        "marks": [step] * (episode % 3),
        "deep": [[n] * n for n in range(step % 4)],
        "raw": np.full((2, 3), step),
        "open": np.full((step % 2 + 1, episode), step),
    }


LENGTHS = [3, 1, 0, 5, 2]


def episode_of(number):
    return {
        "episode_metadata": {"path": f"/{number}", "size": [number, 7]},
        "steps": [step_of(number, step) for step in range(LENGTHS[number])],
        "id": 100 + number,
    }


@pytest.fixture
def robot(tmp_path):
    shards = [[episode_of(0), episode_of(1), episode_of(2)], [episode_of(3), episode_of(4)]]
    return tf.write_data_set(tmp_path / "robot", STEPS, {"train": shards})


def check_step(example, episode, step):
    expected = step_of(episode, step)
    np.testing.assert_array_equal(example["observation.state"], expected["observation"]["state"])
    np.testing.assert_array_equal(example["action"], expected["action"])
    assert (example["reward"], example["is_first"]) == (step, step == 0)
    assert example["language"] == expected["language"].encode()
    np.testing.assert_array_equal(example["boxes"], np.float32(expected["boxes"]))
    assert example["marks"].tolist() == expected["marks"]
    assert [one.tolist() for one in example["deep"]] == expected["deep"]
    np.testing.assert_array_equal(example["raw"], expected["raw"])
    np.testing.assert_array_equal(example["open"], expected["open"])
    assert (example["episode_id"], example["id"]) == (episode, 100 + episode)
    assert example["episode_metadata.path"] == f"/{episode}".encode()
    assert example["episode_metadata.size"].tolist() == [episode, 7]


def test_steps_are_examples_with_their_episode(robot):
    pipe = hr.tfds(robot, steps=True, decode=("image",))
    assert repr(pipe.spec["observation.image"]) == "Spec(uint8, (4, 6, 3))"
    assert repr(pipe.spec["boxes"]) == "Spec(float32, (None, 4))"
    assert repr(pipe.spec["deep"]) == "Spec(uint8, (None, None), ragged)"
    assert repr(pipe.spec["episode_id"]) == "Spec(int64, ())"
    pairs = [(episode, step) for episode, n in enumerate(LENGTHS) for step in range(n)]
    for (episode, step), example in zip(pairs, pipe, strict=True):
        check_step(example, episode, step)
        image = pixels_of(10 * episode + step)
        np.testing.assert_array_equal(example["observation.image"], image)
    encoded = next(iter(hr.tfds(robot, steps=True)))
    assert encoded["observation.image"] == png(pixels_of(0))


def test_episode_ids_in_a_slice_start_at_zero(robot):
    pipe = hr.tfds(robot, "train[1:4]", steps=True)
    assert [int(example["episode_id"]) for example in pipe] == [0, 2, 2, 2, 2, 2]
    assert [int(example["id"]) for example in pipe] == [101, 103, 103, 103, 103, 103]


def test_episodes_keep_their_steps_as_lists(robot):
    features = {name: feature for name, feature in STEPS.items() if name != "steps"}
    inner = dict(STEPS["steps"]["sequence"]["feature"]["featuresDict"]["features"])
    for name in ("boxes", "deep", "open"):
        del inner[name]
    features["steps"] = tf.dataset(tf.features_dict(inner))
    (robot / "features.json").write_text(json.dumps(tf.features_dict(features)))
    pipe = hr.tfds(robot)
    assert len(pipe) == 5
    for number, example in enumerate(pipe):
        count = LENGTHS[number]
        assert example["steps.observation.state"].shape == (count, 3)
        assert example["steps.action"].shape == (count, 2, 2)
        assert example["steps.raw"].shape == (count, 2, 3)
        assert example["steps.reward"].tolist() == list(range(count))
        assert [one.tolist() for one in example["steps.marks"]] == [
            [n] * (number % 3) for n in range(count)
        ]
        assert len(example["steps.observation.image"]) == count
    decoded = list(hr.tfds(robot, decode=("steps.observation.image",)))
    assert [one["steps.observation.image"].shape for one in decoded] == [
        (count, 4, 6, 3) for count in LENGTHS
    ]


def test_episode_features_never_replace_step_features(tmp_path):
    features = {
        "episode_id": tf.text(),
        "reward": tf.tensor("int64"),
        "steps": tf.dataset(tf.features_dict({"reward": tf.tensor("float32")})),
    }
    episode = {"episode_id": "e", "reward": 9, "steps": [{"reward": 0.5}]}
    tf.write_data_set(tmp_path, features, {"train": [[episode]]})
    (step,) = hr.tfds(tmp_path, steps=True)
    assert step == {"reward": 0.5, "episode.reward": 9, "episode.episode_id": b"e", "episode_id": 0}


def test_steps_can_be_shuffled_and_resumed(robot):
    steps = hr.tfds(robot, steps=True).select("reward", "episode_id")
    pipe = steps.shuffle(window=4, seed=5).batch(2, remainder="keep")
    whole = [batch["reward"].tolist() for batch in pipe]
    for taken in range(len(whole)):
        batches = iter(pipe)
        for _ in range(taken):
            next(batches)
        state = batches.state()
        batches.close()
        rest = [batch["reward"].tolist() for batch in pipe.resume(state)]
        assert rest == whole[taken:]
    with pytest.raises(ValueError, match=r"needs random access, but steps does not turn"):
        hr.tfds(robot, steps=True).shuffle()


def test_description_counts_only_the_files_of_the_split(toy):
    described = hr.tfds(toy, "train").shuffle(window=4, seed=1).describe()
    assert "the components are the features that features.json describes" in described
    assert "of 3 files" in described


def test_steps_need_a_dataset_feature(toy):
    with pytest.raises(ValueError, match=r"steps is True, but no feature is a Dataset of steps"):
        list(hr.tfds(toy, "train", steps=True))


def test_uneven_steps_are_rejected(tmp_path):
    features = {"steps": tf.dataset(tf.features_dict({"a": tf.tensor("int64")}))}
    tf.write_data_set(tmp_path, features, {"train": [[{"steps": [{"a": 1}, {"a": 2}]}]]})
    inner = {"a": tf.tensor("int64"), "b": tf.tensor("int64")}
    node = tf.features_dict({"steps": tf.dataset(tf.features_dict(inner))})
    (tmp_path / "features.json").write_text(json.dumps(node))
    message = r"record 0: the feature 'a' has 2 steps, but 'b' has 0, expected the same number"
    with pytest.raises(errors.InvalidArgumentError, match=message):
        list(hr.tfds(tmp_path, steps=True))


@pytest.mark.parametrize(
    ("stored", "read", "message"),
    [
        (("int64", 300), ("uint8", ()), r"feature 'x' has the value 300, expected uint8"),
        (("int64", 2), ("bool", ()), r"feature 'x' has the value 2, expected bool"),
        (
            ("int64", [1, 2, 3]),
            ("int64", (None, 2)),
            r"has 3 values, expected the shape \(None, 2\)",
        ),
    ],
)
def test_values_that_do_not_fit_their_feature_are_rejected(tmp_path, stored, read, message):
    dtype, value = stored
    shape = np.shape(value)
    tf.write_data_set(tmp_path, {"x": tf.tensor(dtype, shape)}, {"train": [[{"x": value}]]})
    node = tf.features_dict({"x": tf.tensor(*read)})
    (tmp_path / "features.json").write_text(json.dumps(node))
    with pytest.raises(errors.InvalidArgumentError, match=rf"record 0: the .*{message}"):
        list(hr.tfds(tmp_path))


@pytest.mark.parametrize(
    ("node", "message"),
    [
        (
            {"pythonClassName": "my_project.features.Mesh", "jsonFeature": {"json": "{}"}},
            r"features.json: the feature 'x' is a Mesh, which is not supported",
        ),
        (tf.tensor("complex64"), r"the feature 'x' is a tensor of complex64, which is not supp"),
        (tf.tensor("int64", (None, None)), r"'x' is an array with several unknown dimensions"),
        (
            tf.sequence(tf.tensor("int64", (None, None), "zlib")),
            r"'x' is a sequence of arrays of different shapes",
        ),
        (
            tf.sequence(tf.sequence(tf.tensor("int64", (2, 2)))),
            r"'x' is a nested list with 4 axes, more than 3",
        ),
        (
            {
                "pythonClassName": "tensorflow_datasets.core.features.text_feature.Text",
                "jsonFeature": {"json": '{"use_encoder": true}'},
            },
            r"'x' is a text encoded as integers by an old TFDS",
        ),
        (tf.image((None, None, 2)), r"'x' is an image of uint8 with shape \(None, None, 2\)"),
        ({"tensor": {}}, r"the features are not as TFDS writes them \(KeyError\('pythonClass"),
    ],
)
def test_unsupported_features_are_rejected_before_reading(tmp_path, node, message):
    tf.write_data_set(tmp_path, {"n": tf.tensor("int64")}, {"train": [[{"n": 1}]]})
    (tmp_path / "features.json").write_text(json.dumps(tf.features_dict({"x": node})))
    with pytest.raises(errors.InvalidArgumentError, match=message):
        next(iter(hr.tfds(tmp_path)))


def test_images_in_nested_sequences_can_only_be_read_as_bytes(tmp_path):
    features = {"x": tf.sequence(tf.sequence(tf.image()))}
    data = png(pixels_of(1))
    tf.write_data_set(tmp_path, features, {"train": [[{"x": [[data], [data, data]]}]]})
    (example,) = hr.tfds(tmp_path)
    assert [list(one) for one in example["x"]] == [[data], [data, data]]
    with pytest.raises(errors.InvalidArgumentError, match=r"'x' is images in a sequence of seq"):
        list(hr.tfds(tmp_path, decode=("image",)))


@pytest.mark.parametrize("file_format", ["array_record", "riegeli", "parquet"])
def test_unsupported_file_formats_are_rejected(tmp_path, file_format):
    tf.write_data_set(
        tmp_path, {"n": tf.tensor("int64")}, {"train": [[{"n": 1}]]}, fileFormat=file_format
    )
    message = rf"dataset_info.json: the files have the format '{file_format}', expected 'tfrecord'"
    with pytest.raises(errors.InvalidArgumentError, match=message):
        next(iter(hr.tfds(tmp_path)))


def test_error_for_missing_metadata_names_the_versions(toy, tmp_path):
    with pytest.raises(errors.NotFoundError, match=r"there is no dataset_info.json.*of 'toy'\."):
        list(hr.tfds(tmp_path))
    (toy / "features.json").unlink()
    with pytest.raises(errors.NotFoundError, match=r"there is no features.json"):
        list(hr.tfds(toy, "test"))
    (toy / "dataset_info.json").write_text("{")
    with pytest.raises(
        errors.InvalidArgumentError, match=r"dataset_info.json: the file is not valid JS"
    ):
        list(hr.tfds(toy))
    (toy / "dataset_info.json").write_text('{"name": "toy", "splits": [{"name": "train"}]}')
    with pytest.raises(errors.InvalidArgumentError, match=r"the split 'train' has no shardLengths"):
        list(hr.tfds(toy))


def test_missing_shards_are_rejected(toy):
    (toy / "toy-train.tfrecord-00002-of-00003").unlink()
    with pytest.raises(errors.NotFoundError, match=r"toy-train.tfrecord-00002-of-00003"):
        list(hr.tfds(toy, "train"))
    assert numbers_of(hr.tfds(toy, "train[:5]")) == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("is_shuffled", [False, True])
@pytest.mark.parametrize(("num_records", "has"), [(2, "2 records"), (4, "(more|4) records")])
def test_files_with_the_wrong_number_of_records_are_rejected(toy, is_shuffled, num_records, has):
    records = [tf.serialized(FEATURES, example_of(n)) for n in range(num_records)]
    with hr.records.TFRecordWriter(toy / "toy-test.tfrecord-00000-of-00001") as writer:
        for record in records:
            writer.write(record)
    pipe = hr.tfds(toy, "test")
    message = (
        rf"toy-test.tfrecord-00000-of-00001: the file has {has}, expected 3 records, according to "
        r".*dataset_info.json"
    )
    with pytest.raises(errors.DataLossError, match=message):
        list(pipe.shuffle(seed=1) if is_shuffled else pipe)


def test_damaged_records_are_rejected(toy):
    path = toy / "toy-test.tfrecord-00000-of-00001"
    raw = bytearray(path.read_bytes())
    raw[40] ^= 1
    path.write_bytes(raw)
    with pytest.raises(errors.DataLossError, match=r"corrupted record at 12 \(record 0\)"):
        list(hr.tfds(toy, "test"))
    assert numbers_of(hr.tfds(toy, "test").skip_errors(1)) == [21, 22]


def test_missing_features_are_rejected_unless_optional(tmp_path):
    features = {"n": tf.tensor("int32")}
    tf.write_data_set(tmp_path, features, {"train": [[{"n": 7}]]})
    content = {"n": tf.tensor("int32"), "x": tf.tensor("int32")}
    (tmp_path / "features.json").write_text(json.dumps(tf.features_dict(content)))
    with pytest.raises(errors.InvalidArgumentError, match=r"record 0.*x"):
        list(hr.tfds(tmp_path))
    content["x"] = tf.tensor("int32", optional=True)
    (tmp_path / "features.json").write_text(json.dumps(tf.features_dict(content)))
    assert list(hr.tfds(tmp_path)) == [{"n": 7, "x": np.iinfo(np.int32).min}]


def test_older_feature_descriptions_are_read(tmp_path):
    prefix = "tensorflow_datasets.core.features."
    tf.write_data_set(
        tmp_path,
        {"a": tf.tensor("float32", (None, 2)), "b": tf.sequence(tf.label(3))},
        {"train": [[{"a": [[1, 2]], "b": [2, 0]}]]},
    )
    old = {
        "type": f"{prefix}features_dict.FeaturesDict",
        "content": {
            "a": {
                "type": f"{prefix}feature.Tensor",
                "content": {"shape": [None, 2], "dtype": "float32"},
            },
            "b": {
                "type": f"{prefix}sequence_feature.Sequence",
                "content": {
                    "feature": {
                        "type": f"{prefix}class_label_feature.ClassLabel",
                        "content": {"num_classes": 3},
                    },
                    "length": None,
                },
            },
        },
    }
    (tmp_path / "features.json").write_text(json.dumps(old))
    (example,) = hr.tfds(tmp_path)
    assert (example["a"].tolist(), example["b"].tolist()) == ([[1, 2]], [2, 0])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"path": 3}, r"3 is not a path"),
        ({"split": 3}, r"split is 3, expected a string"),
    ],
)
def test_arguments_of_the_wrong_type_are_rejected(toy, arguments, message):
    with pytest.raises(TypeError, match=message):
        hr.tfds(**{"path": toy, "split": "train", **arguments})


@pytest.mark.parametrize(
    ("split", "episodes"),
    [("train[1:4]", [1, 2, 3]), ("train[:2]", [0, 1]), ("train[-40%:]", [3, 4])],
)
def test_windows_of_a_slice_never_leave_it(robot, split, episodes):
    steps = hr.tfds(robot, split, steps=True).select("reward", "episode_id", "id")
    windows = steps.windows(2, within="episode_id")
    results = [(window["id"].tolist(), window["reward"].tolist()) for window in windows]
    assert results == [
        ([100 + episode] * 2, [step, step + 1])
        for episode in episodes
        for step in range(LENGTHS[episode] - 1)
    ]
    assert_resumes(windows.shuffle(window=3, seed=1).batch(2))


def test_windows_of_records_in_a_slice(toy):
    windows = hr.tfds(toy, "train[1:9]").select("meta.id").windows(3)
    assert [window["meta.id"].tolist() for window in windows] == [
        [number, number + 1, number + 2] for number in range(1, 7)
    ]
    assert len(windows) == 6
    with pytest.raises(ValueError, match=r"windows follows the slice .*Pass a window"):
        windows.shuffle(seed=1)


def test_windows_of_several_slices_are_an_error_with_a_remedy(robot):
    with pytest.raises(ValueError, match=r"after several slices, 'train.*Read one slice, or conc"):
        hr.tfds(robot, "train[:1]+train[3:]", steps=True).windows(2, within="episode_id")


def test_windows_and_parts_consist_of_whole_episodes(robot):
    steps = hr.tfds(robot, steps=True).select("reward", "episode_id")
    rewards = {}
    for step in steps:
        rewards.setdefault(int(step["episode_id"]), []).append(float(step["reward"]))
    seen = []
    for part in steps.split(0.5, 0.5, seed=1, by="episode_id"):
        for window in part.windows(2, within="episode_id"):
            (episode,) = set(window["episode_id"].tolist())
            seen.append((episode, window["reward"].tolist()))
    expected = [
        (e, values[n : n + 2]) for e, values in rewards.items() for n in range(len(values) - 1)
    ]
    assert sorted(seen) == expected
