"""Random maps of pictures, and of sound and videos made from each example's number."""

import struct
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from tests.ops.image.banded_tiffs import DEFLATE, banded
from tests.pipeline.generated import model as m
from tests.pipeline.generated.model import ANYTHING, Example, Items
from tests.pipeline.generated.program import At, Shape, Step, items_of

import headrace as hr

SHAPE = (6, 8, 3)
RATE = 8000
SOUNDS = [
    (np.arange(count) * step % 20_011 - 9_000).astype("<i2")
    for count, step in ((40, 911), (97, 7), (64, 4001))
]
START, LENGTH = 5, 30
BANDS = [
    (np.arange(size * 7 * 5) * step % 65_521).astype(np.uint16).reshape(size, 7, 5)
    for size, step in ((3, 911), (5, 7), (4, 40_001))
]
TIFFS = [
    banded(BANDS[0]),
    banded(BANDS[1], compression=DEFLATE, predictor=2, order=">"),
    banded(BANDS[2], is_planar=True, tile=(16, 16)),
]


def _wav(samples: Any) -> bytes:
    data = samples.tobytes()
    form = struct.pack("<4sIHHIIHH", b"fmt ", 16, 1, 1, RATE, 2 * RATE, 2, 16)
    content = b"WAVE" + form + struct.pack("<4sI", b"data", len(data)) + data
    return struct.pack("<4sI", b"RIFF", len(content)) + content


FILES = [_wav(samples) for samples in SOUNDS]
# The components that `native_sound` adds.
SUMS = [int(samples.sum() + 3 * samples[START : START + LENGTH].sum()) for samples in SOUNDS]


def _picture(example: Any) -> Any:
    positions = hr.ops.range(int(np.prod(SHAPE)), dtype="int64")
    return hr.ops.reshape(hr.ops.cast((example["n"] + positions * 7) % 251, "uint8"), SHAPE)


def _with_sum(example: Any, result: Any) -> Any:
    """Adds a checksum of all values, which are integers or are rounded to thousandths."""
    total = hr.ops.reduce_sum(hr.ops.cast(result, "float64")) * 1000
    return {**example, "draw": example["n"] * 0 + hr.ops.cast(total, "int64")}


@hr.native
def native_crop(example):
    image = hr.ops.random_resized_crop(_picture(example), 5)
    image = hr.ops.random_horizontal_flip(image)
    image = hr.ops.random_grayscale(hr.ops.color_jitter(image, 0.4, 0.4, 0.4, 0.1), 0.3)
    return _with_sum(example, image)


@hr.native
def native_crop_of_jpeg(example):
    image = hr.ops.random_resized_crop(hr.ops.encode_jpeg(_picture(example)), (4, 6))
    return _with_sum(example, hr.ops.normalize(image, (0.4, 0.5, 0.6), 0.2))


@hr.native
def native_blur(example):
    image = hr.ops.gaussian_blur(hr.ops.center_crop(_picture(example), 7), 3)
    image = hr.ops.random_erasing(image, 0.7, value=3)
    noisy = hr.ops.random_erasing(
        hr.ops.normalize(image, 0.5, 0.5), 0.7, value="random", layout="CHW"
    )
    return _with_sum(example, noisy)


@hr.native
def native_policies(example):
    image = hr.ops.trivial_augment(_picture(example))
    return _with_sum(example, hr.ops.rand_augment(image))


@hr.native
def native_targets(example):
    corner = hr.ops.cast(example["n"] % 5, "float32")
    boxes = hr.ops.reshape(hr.ops.stack([0.0, corner, 8.0, 6.0]), [1, 4])
    masks = hr.ops.cast(_picture(example)[None, :, :, 0] % 2, "bool")
    image = hr.ops.random_resized_crop(_picture(example), 5, boxes=boxes, masks=masks)
    moved = hr.ops.random_horizontal_flip(image.image, boxes=image.boxes, masks=image.masks)
    angle = hr.ops.random_uniform([], -20.0, 20.0)
    turned = hr.ops.affine(moved.image, angle, [1, 0], 1.0, 0.0, boxes=moved.boxes)
    parts = [turned.image, turned.boxes, moved.masks]
    sums = [hr.ops.reduce_sum(hr.ops.cast(part, "float64")) for part in parts]
    return _with_sum(example, hr.ops.stack(sums))


@hr.native
def native_mosaic(example):
    corner = hr.ops.cast(example["n"] % 5, "float32")
    boxes = [hr.ops.reshape(hr.ops.stack([0.0, corner, 8.0, 6.0]), [1, 4])] * 4
    pictures = [_picture({"n": example["n"] + k}) for k in range(4)]
    made = hr.ops.mosaic(pictures, (9, 14), boxes, labels=[[k] for k in range(4)], min_area=5)
    mixed = hr.ops.mixup([made.image] * 2, [made.labels] * 2, 32, boxes=[made.boxes] * 2)
    parts = [made.image, mixed.image, mixed.boxes, mixed.labels]
    sums = [hr.ops.reduce_sum(hr.ops.cast(part, "float64")) for part in parts]
    return _with_sum(example, hr.ops.stack(sums))


@hr.native
def native_bands(example):
    """Changes of an image with five channels of 16 bits or of floats."""
    positions = hr.ops.range(6 * 8 * 5, dtype="int64")
    numbers = (example["n"] * 257 + positions * 1009) % 65_521
    image = hr.ops.reshape(hr.ops.cast(numbers, "uint16"), [6, 8, 5])
    image = hr.ops.random_resized_crop(hr.ops.random_horizontal_flip(image), (5, 7))
    image = hr.ops.affine(image, hr.ops.random_uniform([], -20.0, 20.0), [1, 0], 1.0, 0.0)
    floats = hr.ops.letterbox(hr.ops.cast(image, "float32"), 6, fill=0.0)
    return _with_sum(example, hr.ops.normalize(hr.ops.cast(floats, "uint16"), 0.5, 0.25))


@hr.native
def native_tiff(example):
    file = hr.ops.gather(hr.ops.constant(TIFFS), example["n"] % len(TIFFS))
    image = hr.ops.decode_image(file, 5, "uint16", expand_animations=False)
    size = hr.ops.reduce_sum(hr.ops.cast(hr.ops.image_size(file), "int64"))
    total = hr.ops.reduce_sum(hr.ops.cast(image, "int64"))
    return {**example, "n": example["n"] + total + size}


def tiff_in_model(example: Example) -> Example:
    image = BANDS[example["n"] % len(BANDS)]
    return {**example, "n": example["n"] + int(image.sum()) + sum(image.shape[:2])}


@hr.native
def native_shapes(example):
    """Images of different sizes in a list, as their values and shapes."""
    sizes = hr.ops.stack([example["n"] % 3 + 1, example["n"] % 2 + 2])

    def one(size):
        image = hr.ops.fill(hr.ops.stack([size, 2, 1]), size)
        return {"values": hr.ops.reshape(image, [-1]), "shape": hr.ops.shape(image)}

    images = hr.ops.each(one, sizes, join="values")
    total = hr.ops.reduce_sum(hr.ops.cast(images["values"], "int64"))
    rows = hr.ops.reduce_sum(hr.ops.cast(images["shape"], "int64"))
    return {**example, "n": example["n"] + total + rows}


def shapes_in_model(example: Example) -> Example:
    sizes = (example["n"] % 3 + 1, example["n"] % 2 + 2)
    return {**example, "n": example["n"] + sum(2 * size**2 + size + 3 for size in sizes)}


def _mixed(example: Any, mixing: Callable[..., Any]) -> Any:
    """Mixes the images of a batch. The sums are those of each image and its label."""
    numbers = hr.ops.reshape(example["n"], [-1, 1])
    positions = hr.ops.range(int(np.prod(SHAPE)), dtype="int64")
    pixels = hr.ops.cast((numbers + positions * 7) % 251, "uint8")
    images = hr.ops.reshape(pixels, [-1, *SHAPE])
    images, labels = mixing(images, example["n"] % 10, 0.8, num_classes=10)
    sums = hr.ops.reduce_sum(hr.ops.cast(images, "int64"), [1, 2, 3])
    classes = hr.ops.cast(hr.ops.range(10), "float32")
    shares = hr.ops.reduce_sum(labels * classes, 1) * 1000
    return {**example, "draw": sums + hr.ops.cast(shares, "int64")}


@hr.native
def native_mixup(example):
    return _mixed(example, hr.ops.mixup)


@hr.native
def native_cutmix(example):
    return _mixed(example, hr.ops.cutmix)


@hr.native
def native_sound(example):
    file = hr.ops.gather(hr.ops.constant(FILES), example["n"] % len(FILES))
    part = hr.ops.audio_slice(file, START, LENGTH)
    total = hr.ops.reduce_sum(hr.ops.decode_audio(file)) + 3 * hr.ops.reduce_sum(part)
    return {**example, "n": example["n"] + hr.ops.cast(total * 32_768, "int64")}


def sound_in_model(example: Example) -> Example:
    return {**example, "n": example["n"] + SUMS[example["n"] % len(SUMS)]}


@hr.native
def native_spectrum(example):
    file = hr.ops.gather(hr.ops.constant(FILES), example["n"] % len(FILES))
    samples = hr.ops.resample(hr.ops.decode_audio(file), RATE, 6000)
    bands = hr.ops.log_mel_spectrogram(samples, 6000, n_fft=16, hop_length=8, n_mels=4)
    return _with_sum(example, bands)


def _with_draw(items: Items, at: At) -> Items:
    return ({**item, "draw": m.deep(lambda _: ANYTHING, item["n"])} for item in items)


def _step(kind: str, function: Callable[..., Any], seed: int | None = None) -> Step:
    text = "" if seed is None else f", seed={seed}"
    return Step(
        kind,
        f"map({function.__name__}{text})",
        lambda p, _: p.map(function, seed=seed),
        items_of(_with_draw),
        lambda before: replace(before, names=before.names | {"draw"}),
        order="any",
    )


def _exact_step(
    kind: str, function: Callable[..., Any], in_model: Callable[[Example], Example]
) -> Step:
    return Step(
        kind,
        f"map({function.__name__})",
        lambda p, _: p.map(function),
        items_of(lambda i, _: map(in_model, i)),
        order="any",
    )


def picture(random: Random, shape: Shape) -> Step | None:
    """A random change of a picture, under torchvision's names."""
    if shape.depth > 1:
        return None
    if shape.depth:
        mixing = random.choice([native_mixup, native_cutmix])
        return _step("mix pictures", mixing, random.randrange(2**20))
    changed = random.random()
    if changed < 0.1:
        return _exact_step("decode a TIFF", native_tiff, tiff_in_model)
    if changed < 0.2:
        return _exact_step("each of different shapes", native_shapes, shapes_in_model)
    if changed < 0.35:
        return _step("mosaic", native_mosaic, random.randrange(2**20))
    functions = [native_crop, native_crop_of_jpeg, native_blur, native_policies, native_targets]
    functions.append(native_bands)
    return _step("augment", random.choice(functions), random.randrange(2**20))


def sound(random: Random, shape: Shape) -> Step | None:
    """Sound that is decoded, or its spectrogram."""
    if shape.depth:
        return None
    if random.random() < 0.5:
        return _step("spectrogram", native_spectrum)
    return _exact_step("decode_audio", native_sound, sound_in_model)


@cache
def _video_directory() -> TemporaryDirectory[str]:
    return TemporaryDirectory()


@cache
def _video_path() -> str:
    """A video of 12 pictures, which show their numbers. The sound has the same numbers."""
    from tests.pipeline.video.written_sound import write_sound  # noqa: PLC0415 (needs PyAV)

    samples = np.repeat(np.arange(12), 100)[:, None].astype(np.float32) / 32768
    options = {"bf": "2", "g": "5", "x264-params": "open-gop=1:scenecut=0"}
    path = f"{_video_directory().name}/a.mov"
    return write_sound(path, samples, 3000, "pcm_s16le", num_frames=12, video_options=options)


def with_video(example: Example) -> Example:
    return {**example, "video": Path(_video_path()).read_bytes()}


def with_video_path(example: Example) -> Example:
    return {**example, "video": _video_path()}


def with_frames_added(example: Example) -> Example:
    """Adds the numbers that the frames of a clip show, and those of its sound."""
    from tests.pipeline.video.written_videos import numbers_of  # noqa: PLC0415 (needs PyAV)

    of_clip = ("video", "is_pad", "audio")
    kept = {name: value for name, value in example.items() if name not in of_clip}
    number = example["n"] + sum(numbers_of(example["video"]))
    if "audio" in example:
        number += round(float(example["audio"].sum(dtype=np.float64)) * 32768 / 100)
    return {**kept, "n": number}


def clips(random: Random, shape: Shape) -> Step | None:
    """Clips of a video."""
    if shape.depth or not find_spec("av"):
        return None
    count = random.choice([1, 2])
    # The clips of neighbouring examples are decoded together if they have the path of a file.
    add = random.choice([with_video, with_video_path])
    frames, every, at, seed = 3, 2, random.choice(["uniform", "random", 0.2]), None
    if at == 0.2 and count == 2:
        at = "uniform"
    if at == "random":
        # Clips of the whole video, which have only one start.
        frames, every, seed = 12, 1, random.randrange(2**20)
        sums, of_sound = [66] * count, [66] * count
    else:
        sums = [6, 27] if count == 2 else [6 if at == "uniform" else 24]
        # The last clip covers 6 frames from 7 on, but there are only 5.
        of_sound = [15, 45] if count == 2 else [15 if at == "uniform" else 51]
    audio = random.choice([None, 3000])
    if audio:
        sums = [sum(pair) for pair in zip(sums, of_sound, strict=True)]
    size = random.choice([None, (24, 32)])
    arguments = f"'video', {frames}, {every}, {count}, {at!r}, {size}, {seed}, audio={audio}"
    return Step(
        "clips",
        f"map({add.__name__}).clips({arguments}).map(with_frames_added)",
        lambda p, _: (
            p.map(add)
            .clips("video", frames, every, count, at, size, seed, audio=audio)
            .map(with_frames_added)
        ),
        items_of(lambda i, _: ({**e, "n": e["n"] + more} for e in i for more in sums)),
        order="any",
    )
