"""W24: steps of robot episodes in RLDS, as TensorFlow Datasets writes them."""

import json
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.dataset import bounds_of
from benchmarks.workload import Part, Workload

BATCH_SIZE = 64
SIDE = 256
NUM_STEPS = 40
"""The mean number of steps of an episode."""
NUM_VALUES = 7
NUM_FILES = 4
WINDOW = 1_000
SUMMED = slice(5, None, 31)
"""The pixels of a row that are summed."""


def make(home: Path, count: int) -> list[Part]:
    """Writes episodes with a JPEG, a state, an action and a text for each step."""
    import io

    from PIL import Image

    from benchmarks.pictures import photographs, section
    from headrace.protos import Example
    from headrace.records import TFRecordWriter

    rng = np.random.default_rng(24)
    totals = np.zeros(3, np.int64)
    lengths, num_left = [], count
    for begin, end in bounds_of(max(count // NUM_STEPS, NUM_FILES), NUM_FILES):
        lengths.append(end - begin)
    number = 0
    for file, num_episodes in enumerate(lengths):
        name = f"robot-train.tfrecord-{file:05}-of-{NUM_FILES:05}"
        with TFRecordWriter(home / name) as writer:
            for _ in range(num_episodes):
                number += 1
                length = num_left // (sum(lengths) - number + 1)
                num_left -= length
                features = Example()
                feature = features.features.feature
                for step in range(length):
                    photo = photographs()[rng.integers(len(photographs()))]
                    pixels = section(photo, rng, SIDE, SIDE, rng.uniform(1.0, 1.5))
                    file_of_image = io.BytesIO()
                    Image.fromarray(np.ascontiguousarray(pixels)).save(
                        file_of_image, "JPEG", quality=90
                    )
                    image = file_of_image.getvalue()
                    feature["steps/observation/image"].bytes_list.value.append(image)
                    state = rng.integers(-100, 100, NUM_VALUES)
                    values = feature["steps/observation/state"].float_list.value
                    values.extend((state / 4).tolist())
                    feature["steps/action"].float_list.value.extend((state / 8).tolist())
                    feature["steps/is_first"].int64_list.value.append(int(step == 0))
                    feature["steps/is_last"].int64_list.value.append(int(step == length - 1))
                    text = f"put the block {number} into the box".encode()
                    feature["steps/language_instruction"].bytes_list.value.append(text)
                    with Image.open(io.BytesIO(image)) as decoded:
                        reds = np.asarray(decoded)[::37, SUMMED, 0]
                    totals += [int(state.sum()), int(step == 0), int(reds.sum())]
                feature["episode_metadata/file_path"].bytes_list.value.append(b"%d.h5" % number)
                writer.write(features.SerializeToString())
    _describe(home, lengths)
    return [Part([], count, totals.tolist())]


def _describe(home: Path, lengths: list[int]) -> None:
    prefix = "tensorflow_datasets.core.features."

    def feature(module: str, kind: str, field: str, content: Any) -> dict[str, Any]:
        return {"pythonClassName": f"{prefix}{module}.{kind}", field: content}

    def tensor(dtype: str, *shape: int) -> dict[str, Any]:
        dimensions = {"dimensions": [str(size) for size in shape]} if shape else {}
        content = {"shape": dimensions, "dtype": dtype, "encoding": "none"}
        return feature("tensor_feature", "Tensor", "tensor", content)

    def dictionary(features: dict[str, Any]) -> dict[str, Any]:
        return feature("features_dict", "FeaturesDict", "featuresDict", {"features": features})

    shape = {"dimensions": [str(SIDE), str(SIDE), "3"]}
    content = {"shape": shape, "dtype": "uint8", "encodingFormat": "jpeg"}
    image = feature("image_feature", "Image", "image", content)
    text = feature("text_feature", "Text", "text", {})
    observation = dictionary({"image": image, "state": tensor("float32", NUM_VALUES)})
    step = dictionary(
        {
            "action": tensor("float32", NUM_VALUES),
            "is_first": tensor("bool"),
            "is_last": tensor("bool"),
            "language_instruction": text,
            "observation": observation,
        }
    )
    steps = feature("dataset_feature", "Dataset", "sequence", {"feature": step, "length": "-1"})
    metadata = dictionary({"file_path": text})
    features = dictionary({"episode_metadata": metadata, "steps": steps})
    (home / "features.json").write_text(json.dumps(features))
    split = {
        "name": "train",
        "shardLengths": [str(length) for length in lengths],
        "numBytes": "0",
        "filepathTemplate": "{DATASET}-{SPLIT}.{FILEFORMAT}-{SHARD_X_OF_Y}",
    }
    info = {"name": "robot", "version": "1.0.0", "fileFormat": "tfrecord", "splits": [split]}
    (home / "dataset_info.json").write_text(json.dumps(info))


def sums_of(batch: Any, decodes: bool = True) -> list[int]:
    """Sums states, float32, (n, 7), first steps, and images, (n, 256, 256, 3).

    Raises:
        ValueError: If they are not such steps.
    """
    images, states, actions, is_first = (np.asarray(component) for component in batch)
    if states.dtype != np.float32 or (actions * 2 != states).any():
        raise ValueError("the actions are not those of the states")
    count = [len(states), round(states.sum(dtype=np.float64) * 4), int(is_first.sum())]
    if not decodes:
        return count
    if images.shape[1:] != (SIDE, SIDE, 3) or images.dtype != np.uint8:
        raise ValueError(f"{images.dtype} images of shape {images.shape}")
    return [*count, int(images[:, ::37, SUMMED, 0].sum(dtype=np.int64))]


W24 = Workload(
    __name__,
    "W24",
    "robot-steps",
    "RLDS: steps of episodes with a 256x256 JPEG, decoded; shuffle 1,000, batches of 64",
    "steps",
    sums_of,
    count=8_000,
    make=make,
    num_epochs=2,
    tolerances=[0, 0, 0.01],
)
W24_STATES = replace(
    W24,
    task="robot-states",
    title="the same without decoding the images",
    sums_of=partial(sums_of, decodes=False),
    num_epochs=20,
    programs=[],
)


def with_headrace(home: Path, num_epochs: int, decodes: bool) -> Iterator[Any]:
    import headrace as hr

    decode = ("image",) if decodes else ()
    steps = hr.tfds(home, "train", decode, steps=True).shuffle(window=WINDOW, seed=1)
    for batch in steps.epochs(num_epochs).batch(BATCH_SIZE):
        image = batch["observation.image"]
        yield image, batch["observation.state"], batch["action"], batch["is_first"]


def with_tfdata(
    home: Path, num_epochs: int, decodes: bool, decodes_later: bool = False
) -> Iterable[Any]:
    import tensorflow as tf
    import tensorflow_datasets as tfds

    builder = tfds.builder_from_directory(home)
    skips = not decodes or decodes_later
    skipped = {"steps": {"observation": {"image": tfds.decode.SkipDecoding()}}}
    episodes = builder.as_dataset("train", decoders=skipped if skips else None).repeat(num_epochs)
    steps = episodes.flat_map(lambda episode: episode["steps"]).shuffle(WINDOW, seed=1)

    def parts(step: Any) -> Any:
        observation = step["observation"]
        image = observation["image"]
        if decodes and decodes_later:
            image = tf.io.decode_jpeg(image, channels=3)
        return image, observation["state"], step["action"], step["is_first"]

    batches = steps.map(parts, num_parallel_calls=tf.data.AUTOTUNE).batch(BATCH_SIZE)
    return batches.prefetch(tf.data.AUTOTUNE).as_numpy_iterator()


for workload, decodes in ((W24, True), (W24_STATES, False)):
    workload.program(
        "headrace",
        "headrace",
        "`hr.tfds(steps=True)`; one thread for each core",
        decodes=decodes,
    )(with_headrace)
    workload.program(
        "tfdata",
        "tf.data, TFDS",
        "`builder.as_dataset`, `flat_map`, `shuffle`, `batch`, `prefetch`",
        "tfds",
        ["tensorflow", "tensorflow_datasets"],
        decodes=decodes,
    )(with_tfdata)
W24.program(
    "tfdata-later",
    "tf.data, images decoded after the shuffle",
    "`SkipDecoding`, then `map(num_parallel_calls=AUTOTUNE)`",
    "tfds",
    ["tensorflow", "tensorflow_datasets"],
    decodes=True,
    decodes_later=True,
)(with_tfdata)
