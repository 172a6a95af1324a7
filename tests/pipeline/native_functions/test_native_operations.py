"""The operations of native functions listed by docs/reference/operations.md, each called once."""

import io
import re
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import headrace as hr
from headrace import ops
from headrace.protos import Example

PAGE = Path(__file__).parents[3] / "docs/reference/operations.md"
TOKENIZER = Path(__file__).parents[2] / "ops" / "strings" / "words.json"
CHAT_TOKENIZER = TOKENIZER.with_name("chat_tokenizer")


def encoded(function):
    pixels = np.arange(72, dtype=np.uint8).reshape(4, 6, 3)
    return hr.native(lambda example: {"x": function(example["x"])})({"x": pixels})["x"]


def pictured(kind):
    file = io.BytesIO()
    Image.new("RGB", (3, 2), (9, 8, 7)).save(file, kind)
    return file.getvalue()


def serialized():
    example = Example()
    example.features.feature["n"].int64_list.value.append(3)
    return example.SerializeToString()


def calls(names, call):
    return {name: partial(call, operation=getattr(ops, name)) for name in names.split()}


WAV = (
    b"RIFF,\0\0\0WAVEfmt \x10\0\0\0\1\0\1\0\x40\x1f\0\0\x80\x3e\0\0\2\0\x10\0data\x08\0\0\0abcdefgh"
)
GIVEN = {
    "f": np.array([[0.5, 2.0], [3.0, 4.0]], np.float32),
    "i": np.array([2, 1, 1], np.int32),
    "b": np.array([True, False]),
    "s": b"12",
    "line": b"1,x",
    "bmp": pictured("BMP"),
    "gif": pictured("GIF"),
    "png": encoded(ops.encode_png),
    "jpeg": encoded(ops.encode_jpeg),
    "example": serialized(),
    "wav": WAV,
    "sound": np.linspace(-1, 1, 500, dtype=np.float32),
    "image": np.arange(72, dtype=np.uint8).reshape(4, 6, 3),
    "rgb": np.linspace(0, 1, 72, dtype=np.float32).reshape(4, 6, 3),
}

OF_TWO = (
    "add atan2 div_no_nan divide equal floordiv floormod greater greater_equal less less_equal "
    "maximum minimum mod multiply not_equal pow realdiv squared_difference subtract truediv"
)
OF_ONE = (
    "abs acos asin atan ceil cos cosh exp expm1 floor identity is_finite is_inf is_nan log "
    "log1p negative ones_like rank reciprocal relu rint round rsqrt shape sigmoid sign sin sinh "
    "size sqrt square stop_gradient tan tanh transpose zeros_like"
)
OF_STRINGS = "string_length string_lower string_strip string_upper"
OVER_AXES = (
    "argmax argmin count_nonzero cumprod cumsum reduce_max reduce_mean reduce_min reduce_prod "
    "reduce_sum l2_normalize"
)
OF_COLOURS = "rgb_to_grayscale rgb_to_hsv rgb_to_yiq rgb_to_yuv hsv_to_rgb yiq_to_rgb yuv_to_rgb"
OF_IMAGES = (
    "flip_left_right flip_up_down per_image_standardization rot90 transpose_image encode_jpeg "
    "encode_png"
)
AT_RANDOM = {
    "color_jitter": lambda e: ops.color_jitter(e["image"], 0.5, 0.5, 0.5, 0.2),
    "cutmix": lambda e: ops.cutmix(e["image"][None], [1], num_classes=3).images,
    "gaussian_blur": lambda e: ops.gaussian_blur(e["image"], 3),
    "mixup": lambda e: ops.mixup(e["image"][None], [1], num_classes=3).labels,
    "mosaic": lambda e: ops.mosaic([e["image"]] * 4, 8),
    "rand_augment": lambda e: ops.rand_augment(e["image"]),
    "random_erasing": lambda e: ops.random_erasing(e["image"]),
    "random_grayscale": lambda e: ops.random_grayscale(e["image"]),
    "random_horizontal_flip": lambda e: ops.random_horizontal_flip(e["image"]),
    "random_iou_crop": lambda e: ops.random_iou_crop(e["image"], [[0, 0, 4, 3]]).image,
    "random_zoom_out": lambda e: ops.random_zoom_out(e["image"], p=1.0, side_range=(2, 2)),
    "views": lambda e: ops.views(e["image"], {"x": (ops.random_horizontal_flip, 2)})["x"],
    "random_resized_crop": lambda e: ops.random_resized_crop(e["jpeg"], 2),
    "trivial_augment": lambda e: ops.trivial_augment(e["image"]),
    "random_brightness": lambda e: ops.random_brightness(e["rgb"], 0.3),
    "random_contrast": lambda e: ops.random_contrast(e["rgb"], 0.5, 1.5),
    "random_crop": lambda e: ops.random_crop(e["image"], [2, 2, 3]),
    "random_flip_left_right": lambda e: ops.random_flip_left_right(e["image"]),
    "random_flip_up_down": lambda e: ops.random_flip_up_down(e["image"]),
    "random_hue": lambda e: ops.random_hue(e["rgb"], 0.2),
    "random_jpeg_quality": lambda e: ops.random_jpeg_quality(e["image"], 20, 60),
    "random_normal": lambda e: ops.random_normal([3]),
    "random_saturation": lambda e: ops.random_saturation(e["rgb"], 0.5, 1.5),
    "random_shuffle": lambda e: ops.random_shuffle(e["i"]),
    "random_uniform": lambda e: ops.random_uniform([3]),
    "sample_distorted_bounding_box": lambda e: (
        ops.sample_distorted_bounding_box([4, 6, 3], [[[0.2, 0.2, 0.8, 0.8]]]).bboxes
    ),
    "truncated_normal": lambda e: ops.truncated_normal([3]),
}

CALLS = {
    **calls(OF_TWO, lambda e, operation: operation(e["f"], 2.0)),
    **calls(OF_ONE, lambda e, operation: operation(e["f"])),
    **calls(OVER_AXES, lambda e, operation: operation(e["f"], 1)),
    **calls(OF_STRINGS, lambda e, operation: operation(e["s"])),
    **calls(OF_COLOURS, lambda e, operation: operation(e["rgb"])),
    **calls(OF_IMAGES, lambda e, operation: operation(e["image"])),
    **AT_RANDOM,
    "add_n": lambda e: ops.add_n([e["f"], e["f"]]),
    "adjust_brightness": lambda e: ops.adjust_brightness(e["rgb"], 0.1),
    "adjust_contrast": lambda e: ops.adjust_contrast(e["rgb"], 1.5),
    "adjust_gamma": lambda e: ops.adjust_gamma(e["rgb"], 1.5),
    "adjust_hue": lambda e: ops.adjust_hue(e["rgb"], 0.1),
    "adjust_jpeg_quality": lambda e: ops.adjust_jpeg_quality(e["rgb"], 30),
    "adjust_saturation": lambda e: ops.adjust_saturation(e["rgb"], 1.5),
    "boolean_mask": lambda e: ops.boolean_mask(e["i"], e["i"] > 0),
    "broadcast_to": lambda e: ops.broadcast_to(e["i"], [2, 3]),
    "cast": lambda e: ops.cast(e["f"], "int64"),
    "affine": lambda e: ops.affine(e["image"], 30, [1, 0], 1.5, 0),
    "center_crop": lambda e: ops.center_crop(e["image"], 2),
    "letterbox": lambda e: ops.letterbox(e["image"], 9),
    "normalize": lambda e: ops.normalize(e["image"], 0.5, 0.25),
    "central_crop": lambda e: ops.central_crop(e["image"], 0.5),
    "chat": lambda e: (
        ops.chat(
            CHAT_TOKENIZER, ops.string_join(['[{"role": "assistant", "content": "', e["s"], '"}]'])
        ).tokens
    ),
    "clip_by_value": lambda e: ops.clip_by_value(e["f"], 1.0, 3.0),
    "concat": lambda e: ops.concat([e["f"], e["f"]], 0),
    "convert_image_dtype": lambda e: ops.convert_image_dtype(e["image"], "float32"),
    "crop_and_resize": lambda e: ops.crop_and_resize(e["image"][None], [[0, 0, 1, 1]], [0], [2, 2]),
    "crop_to_bounding_box": lambda e: ops.crop_to_bounding_box(e["image"], 1, 1, 2, 3),
    "decode_and_crop_jpeg": lambda e: ops.decode_and_crop_jpeg(e["jpeg"], [0, 0, 2, 2]),
    "decode_base64": lambda e: ops.decode_base64(e["s"]),
    "decode_compressed": lambda e: ops.decode_compressed(e["s"]),
    "decode_csv": lambda e: ops.decode_csv(e["line"], [[0], [""]])[1],
    "decode_image": lambda e: ops.decode_image(e["png"]),
    "decode_jpeg": lambda e: ops.decode_jpeg(e["jpeg"], channels=3),
    "decode_png": lambda e: ops.decode_png(e["png"]),
    "decode_raw": lambda e: ops.decode_raw(e["s"], "uint8"),
    "angles_to_projective_transforms": lambda e: ops.angles_to_projective_transforms(
        e["f"][0], 4.0, 6.0
    ),
    "clip_by_average_norm": lambda e: ops.clip_by_average_norm(e["f"], 1.0),
    "clip_by_norm": lambda e: ops.clip_by_norm(e["f"], 1.0),
    "decode_bmp": lambda e: ops.decode_bmp(e["bmp"]),
    "decode_gif": lambda e: ops.decode_gif(e["gif"]),
    "histogram_fixed_width_bins": lambda e: ops.histogram_fixed_width_bins(e["f"], [0.0, 3.0]),
    "image_gradients": lambda e: ops.image_gradients(e["rgb"][None])[0],
    "is_non_decreasing": lambda e: ops.is_non_decreasing(e["i"]),
    "is_strictly_increasing": lambda e: ops.is_strictly_increasing(e["i"]),
    "log_poisson_loss": lambda e: ops.log_poisson_loss(e["f"], e["f"]),
    "moments": lambda e: ops.moments(e["f"], [0])[1],
    "norm": lambda e: ops.norm(e["f"]),
    "string_split": lambda e: ops.string_split([e["line"]], ",").values,
    "psnr": lambda e: ops.psnr(e["image"], e["image"][::-1], 255),
    "reduce_euclidean_norm": lambda e: ops.reduce_euclidean_norm(e["f"], 0),
    "reduce_logsumexp": lambda e: ops.reduce_logsumexp(e["f"], 0),
    "reduce_std": lambda e: ops.reduce_std(e["f"], 0),
    "reduce_variance": lambda e: ops.reduce_variance(e["f"], 0),
    "repeat": lambda e: ops.repeat(e["i"], 2),
    "resize_area": lambda e: ops.resize_area(e["rgb"][None], [2, 2]),
    "resize_bicubic": lambda e: ops.resize_bicubic(e["rgb"][None], [2, 2]),
    "resize_bilinear": lambda e: ops.resize_bilinear(e["rgb"][None], [2, 2]),
    "resize_images": lambda e: ops.resize_images(e["image"], [2, 2]),
    "resize_nearest_neighbor": lambda e: ops.resize_nearest_neighbor(e["image"][None], [2, 2]),
    "serialize_tensor": lambda e: ops.serialize_tensor(e["f"]),
    "sigmoid_cross_entropy_with_logits": lambda e: ops.sigmoid_cross_entropy_with_logits(
        labels=e["f"], logits=e["f"]
    ),
    "strided_slice": lambda e: ops.strided_slice(e["f"], [0, 0], [2, 2], [1, 2]),
    "total_variation": lambda e: ops.total_variation(e["rgb"]),
    "translations_to_projective_transforms": lambda e: ops.translations_to_projective_transforms(
        e["f"]
    ),
    "weighted_cross_entropy_with_logits": lambda e: ops.weighted_cross_entropy_with_logits(
        e["f"], e["f"], 2.0
    ),
    "zero_fraction": lambda e: ops.zero_fraction(e["i"]),
    "constant": lambda e: ops.constant([1, 2]) + e["i"][:2],
    "convert_to_tensor": lambda e: ops.convert_to_tensor([1, 2]) + e["i"][:2],
    "newaxis": lambda e: e["i"][ops.newaxis],
    "ResizeMethod": lambda e: ops.resize(e["image"], (2, 2), ops.ResizeMethod.AREA),
    "FixedLenFeature": lambda e: ops.parse_single_example(
        e["example"], {"n": ops.FixedLenFeature((), "int64")}
    )["n"],
    "FixedLenSequenceFeature": lambda e: ops.parse_single_example(
        e["example"], {"n": ops.FixedLenSequenceFeature((), "int64", allow_missing=True)}
    )["n"],
    "VarLenFeature": lambda e: (
        ops.parse_single_example(e["example"], {"n": ops.VarLenFeature("int64")})["n"].values
    ),
    "SparseFeature": lambda e: (
        ops.parse_single_example(e["example"], {"n": ops.SparseFeature("n", "n", "int64", 9)})[
            "n"
        ].values
    ),
    "audio_num_samples": lambda e: ops.audio_num_samples(e["wav"]),
    "audio_sample_rate": lambda e: ops.audio_sample_rate(e["wav"]),
    "audio_slice": lambda e: ops.audio_slice(e["wav"], 1, 2),
    "decode_audio": lambda e: ops.decode_audio(e["wav"]),
    "log_mel_spectrogram": lambda e: ops.log_mel_spectrogram(e["sound"], 16_000),
    "resample": lambda e: ops.resample(e["sound"], 3, 2),
    "each": lambda e: ops.each(lambda row: row[::-1], e["f"]),
    "image_size": lambda e: ops.image_size(e["jpeg"]),
    "patch_grid": lambda e: ops.patch_grid(e["jpeg"], 2, 2, 4, 100),
    "patches": lambda e: ops.patches(e["image"], 2, 2, 4, 100).pixel_values,
    "ensure_shape": lambda e: ops.ensure_shape(e["f"], [None, 2]),
    "expand_dims": lambda e: ops.expand_dims(e["f"], 0),
    "encode_jpeg_variable_quality": lambda e: ops.encode_jpeg_variable_quality(e["image"], 30),
    "extract_jpeg_shape": lambda e: ops.extract_jpeg_shape(e["jpeg"]),
    "eye": lambda e: ops.eye(e["i"][0]),
    "fill": lambda e: ops.fill(e["i"][:2], 7),
    "gather": lambda e: ops.gather(e["f"], [1]),
    "grayscale_to_rgb": lambda e: ops.grayscale_to_rgb(e["image"][:, :, :1]),
    "logical_and": lambda e: ops.logical_and(e["b"], True),
    "logical_not": lambda e: ops.logical_not(e["b"]),
    "logical_or": lambda e: ops.logical_or(e["b"], True),
    "one_hot": lambda e: ops.one_hot(e["i"], 3),
    "logical_xor": lambda e: ops.logical_xor(e["b"], True),
    "pad": lambda e: ops.pad(e["f"], [[1, 0], [0, 2]], "SYMMETRIC"),
    "meshgrid": lambda e: ops.meshgrid(e["i"], e["i"])[1],
    "ones": lambda e: ops.ones(e["i"]),
    "pad_to_bounding_box": lambda e: ops.pad_to_bounding_box(e["image"], 1, 1, 9, 9),
    "perspective": lambda e: ops.perspective(
        e["image"], [[0, 0], [6, 0], [6, 4], [0, 4]], [[1, 0], [6, 1], [5, 4], [0, 3]]
    ),
    "parse_single_example": lambda e: ops.parse_single_example(
        e["example"], {"n": ops.FixedLenFeature((), "int64")}
    )["n"],
    "range": lambda e: ops.range(e["i"][0]),
    "reduce_all": lambda e: ops.reduce_all(e["b"]),
    "reduce_any": lambda e: ops.reduce_any(e["b"]),
    "regex_full_match": lambda e: ops.regex_full_match(e["s"], "[0-9]+"),
    "regex_replace": lambda e: ops.regex_replace(e["s"], "1", "x"),
    "reshape": lambda e: ops.reshape(e["f"], [-1]),
    "resize": lambda e: ops.resize(e["image"], (2, 2)),
    "resize_image_with_crop_or_pad": lambda e: ops.resize_image_with_crop_or_pad(e["image"], 2, 8),
    "resize_image_with_pad": lambda e: ops.resize_image_with_pad(e["image"], 4, 4),
    "resize_with_pad": lambda e: ops.resize_with_pad(e["image"], 4, 4, antialias=True),
    "reverse": lambda e: ops.reverse(e["f"], [1]),
    "roll": lambda e: ops.roll(e["f"], 1, 0),
    "saturate_cast": lambda e: ops.saturate_cast(e["f"], "uint8"),
    "sequence_mask": lambda e: ops.sequence_mask(e["i"], 3),
    "scalar_mul": lambda e: ops.scalar_mul(2.0, e["f"]),
    "slice": lambda e: ops.slice(e["f"], [0, 1], [2, 1]),
    "split": lambda e: ops.split(e["f"], 2, 1)[1],
    "squeeze": lambda e: ops.squeeze(e["f"][:1]),
    "stack": lambda e: ops.stack([e["f"], e["f"]], 1),
    "string_join": lambda e: ops.string_join([e["s"], "x"]),
    "draw_bounding_boxes": lambda e: ops.draw_bounding_boxes(e["rgb"][None], [[[0, 0, 1, 1]]]),
    "encode_base64": lambda e: ops.encode_base64(e["s"]),
    "string_to_hash_bucket": lambda e: ops.string_to_hash_bucket(e["s"], 10),
    "string_to_hash_bucket_strong": lambda e: ops.string_to_hash_bucket_strong(e["s"], 10, [1, 2]),
    "string_to_hash_bucket_fast": lambda e: ops.string_to_hash_bucket_fast(e["s"], 10),
    "string_to_number": lambda e: ops.string_to_number(e["s"], "int64"),
    "substr": lambda e: ops.substr(e["s"], 1, 1),
    "tile": lambda e: ops.tile(e["f"], [2, 1]),
    "tokenize": lambda e: ops.tokenize(TOKENIZER, e["s"]),
    "unstack": lambda e: ops.unstack(e["f"])[1],
    "zeros": lambda e: ops.zeros(e["i"]),
    "where": lambda e: ops.where(e["f"] > 1.0, e["f"], -e["f"]),
}


def test_operations_page_lists_exactly_the_tested_operations():
    rows = re.findall(r"^\| [^|`]+ \| (`.*) \|$", PAGE.read_text("utf-8"), re.MULTILINE)
    assert {name for row in rows for name in re.findall(r"`(\w+)`", row)} == set(CALLS)


@pytest.mark.parametrize("name", sorted(CALLS))
def test_operation_runs_in_the_engine(name):
    rows = {component: np.array([value, value]) for component, value in GIVEN.items()}
    strings = {
        component: np.array([value, value], object)
        for component, value in GIVEN.items()
        if isinstance(value, bytes)
    }
    function = hr.native(lambda example: {"y": CALLS[name](example)})
    seed = 7 if name in AT_RANDOM else None
    one, other = hr.arrays(rows | strings).map(function, seed=seed)
    pair = np.asarray(one["y"]), np.asarray(other["y"])
    assert name in AT_RANDOM or np.array_equal(*pair, equal_nan=pair[0].dtype.kind == "f")
    assert name not in ("random_uniform", "random_normal") or not np.array_equal(*pair)


@pytest.mark.parametrize(
    "make",
    [
        lambda n: ops.tile(ops.zeros([8, 8]), [n, n]),
        lambda n: ops.pad(ops.zeros([1, 1]), [[0, n], [n, 0]]),
        lambda n: ops.one_hot(ops.zeros([2**20], "int32"), n * 32),
        lambda n: ops.substr(
            ops.tile(ops.reshape("a", [1, 1]), [n // 128, 1]),
            *[ops.tile([[0]], [1, n // 128])] * 2,
        ),
    ],
    ids=["tiled", "padded", "one hot", "parts of strings"],
)
def test_result_too_large_for_memory_fails_only_its_example(make):
    rows = hr.arrays({"n": np.array([0, 2**25], np.int32)})
    sizes = rows.map(hr.native(lambda example: {"size": ops.size(make(example["n"]))}))
    result = iter(sizes)
    next(result)
    with pytest.raises(hr.errors.ResourceExhaustedError, match="OOM when allocating tensor with"):
        next(result)
