"""Images: decoding, resizing, cropping, colours, random changes and summaries."""

from typing import Any

import numpy as np

from tensorflow_comparison.calls import known, operation, unknown
from tensorflow_comparison.table import case, generated


def pixels(*shape: int, dtype: str = "uint8", seed: int = 0) -> Any:
    """Creates an image or a batch, with integers from 0 to 255 or floats from 0 to 1."""
    random = np.random.RandomState(seed)
    if dtype.startswith("float"):
        return random.rand(*shape).astype(dtype)
    return random.randint(0, 256, shape).astype(dtype)


def apart(tf: Any, image: Any) -> Any:
    """Scales floats so that they are not halfway between two numbers with a few digits."""
    return image * 0.7310585 if image.dtype == tf.float32 else image


IMAGE = pixels(4, 6, 3)
FLOATS = pixels(4, 6, 3, dtype="float32")
BATCH = pixels(3, 4, 6, 3)


@generated("jpegs")
def jpeg(tf: Any, file: bytes, options: dict[str, Any]) -> Any:
    """Various JPEGs, decoded with various options."""
    return tf.image.decode_jpeg(file, **options), tf.image.extract_jpeg_shape(file)


@generated("pngs")
def png(tf: Any, file: bytes, options: dict[str, Any]) -> Any:
    """Various PNGs, decoded with various options."""
    return tf.image.decode_png(file, **options)


@generated("jpegs")
def any_image(tf: Any, file: bytes, options: dict[str, Any]) -> Any:
    """Files whose format is detected, also by a decoder for another format."""
    channels = options.get("channels", 0)
    image = tf.image.decode_image(file, channels)
    as_floats = tf.image.decode_image(file, channels, dtype=tf.float32)
    return image, as_floats, tf.image.decode_png(file, channels)


@generated("damaged_images")
def damaged(tf: Any, file: bytes, decoder: str) -> Any:
    """Truncated or changed files."""
    return operation(tf, f"image.{decoder}")(file)


@case(
    (b"",),
    (b"nope",),
    (b"\xff\xd8\xff",),
    (b"\x89PNG\r\n\x1a\n",),
    (b"GIF89a",),
    (b"BM",),
    (["a"],),
)
def no_image(tf: Any, file: Any) -> Any:
    """Invalid images, for each decoder."""
    errors = []
    for name in ("jpeg", "png", "gif", "bmp", "image"):
        try:
            with tf.Session() as session:
                session.run(operation(tf, f"image.decode_{name}")(file))
        except (tf.errors.OpError, ValueError) as error:
            errors.append(type(error).__name__)
    return errors


@case(*[(IMAGE[..., :c], dtype) for c in (1, 3, 4) for dtype in ("uint8", "uint16")])
def encoded(tf: Any, image: Any, dtype: str) -> Any:
    """PNGs, which are lossless."""
    return tf.image.decode_png(tf.image.encode_png(image.astype(dtype)), dtype=dtype)


@generated("sizes", digits=4)
def resized(tf: Any, height: int, width: int, channels: int, dtype: str, size: Any) -> Any:
    """Images of various types and sizes, resized with all methods of TensorFlow 1."""
    image = pixels(height, width, channels, dtype=dtype)
    ways = [(method, align) for method in range(4) for align in (False, True)]
    hidden = tf.placeholder_with_default(image, [None, None, channels])
    return [
        apart(tf, tf.image.resize_images(source, size, method, align_corners=align))
        for source in (image, hidden)
        for method, align in ways
    ]


@generated("sizes", digits=3)
def resized_by_2(tf: Any, height: int, width: int, channels: int, dtype: str, size: Any) -> Any:
    """The same images, resized with all methods of TensorFlow 2."""
    image = pixels(height, width, channels, dtype=dtype)
    methods = vars(tf.compat.v2.image.ResizeMethod)
    ways = [methods[name] for name in sorted(methods) if name.isupper()]
    resize = tf.compat.v2.image.resize
    return [
        apart(tf, resize(image, size, way, antialias=antialias))
        for way in ways
        for antialias in (False, True)
    ]


@generated("sizes", digits=4)
def fitted(tf: Any, height: int, width: int, channels: int, dtype: str, size: Any) -> Any:
    """Resizing with the aspect ratio preserved, with padding, and cropping."""
    image = pixels(height, width, channels, dtype=dtype)
    hidden = tf.placeholder_with_default(image, [None, None, channels])
    return (
        tf.image.resize_images(image, size, preserve_aspect_ratio=True),
        tf.image.resize_images(hidden, size, preserve_aspect_ratio=True),
        tf.image.resize_image_with_pad(image, *size),
        tf.image.resize_image_with_crop_or_pad(image, *size),
        tf.image.resize_image_with_crop_or_pad(hidden, tf.constant(size[0]), size[1]),
    )


RAW = ["bilinear", "nearest_neighbor", "bicubic", "area"]


@case(
    *[(name, {"align_corners": align}) for name in RAW for align in (False, True)],
    *[(name, {"half_pixel_centers": True}) for name in RAW[:3]],
    digits=4,
)
def resized_batch(tf: Any, name: str, options: dict[str, Any]) -> Any:
    """The operations that `resize_images` uses."""
    resize = operation(tf, f"image.resize_{name}")
    hidden = tf.placeholder_with_default(BATCH, None)
    images = resize(BATCH, [7, 3], **options), resize(hidden, tf.constant([3, 9]), **options)
    return [apart(tf, image) for image in images]


@case(
    *[((4, 6),), ((4, 6, 1),), ((0, 2),), ((-1, 2),), ("a",), ([2.5, 1],), ((2, 2), 9)],
    *[((2, 2), "area"), ((2, 2), "AREA"), ((1, 1), 0, True), ([[2, 2]],), (None,)],
    digits=4,
)
def resized_to(tf: Any, *arguments: Any) -> Any:
    """Valid and invalid sizes and methods."""
    return apart(tf, tf.image.resize_images(IMAGE, *arguments))


@generated("windows")
def window(tf: Any, y: int, x: int, height: int, width: int, is_known: bool) -> Any:
    """Windows, some of which are not inside the image."""
    call = known if is_known else unknown
    return call(tf, "image.crop_to_bounding_box", IMAGE, y, x, height, width)


@generated("windows")
def padded(tf: Any, y: int, x: int, height: int, width: int, is_known: bool) -> Any:
    """Zero padding, which is too small in some cases."""
    call = known if is_known else unknown
    return call(tf, "image.pad_to_bounding_box", IMAGE, y, x, height + 4, width + 4)


@case(
    *[(image, fraction) for image in (IMAGE, BATCH) for fraction in (0.2, 0.5, 0.75, 1.0, 0.0, 1.5)]
)
def middle(tf: Any, image: Any, fraction: float) -> Any:
    """A central crop."""
    hidden = tf.placeholder_with_default(image, [None] * image.ndim)
    return tf.image.central_crop(image, fraction), tf.image.central_crop(hidden, fraction)


SHAPES = {
    "image": IMAGE,
    "batch": BATCH,
    "square": IMAGE[:, :4],
    "matrix": IMAGE[0],
    "empty": IMAGE[:0],
}
MOVES = ["flip_left_right", "flip_up_down", "transpose_image", "rot90"]


@case(*[(name, shape) for name in MOVES for shape in SHAPES])
def moved(tf: Any, name: str, shape: str) -> Any:
    """Moved pixels."""
    move = operation(tf, f"image.{name}")
    image = SHAPES[shape]
    return move(image), move(tf.placeholder_with_default(image, [None] * image.ndim))


@case(*[(k,) for k in (-5, 0, 1, 2, 3, 6)])
def turned(tf: Any, k: int) -> Any:
    """Rotations by right angles."""
    return tf.image.rot90(IMAGE, k), tf.image.rot90(BATCH, tf.placeholder_with_default(k, []))


TYPES = ["uint8", "int16", "uint16", "int32", "float16", "float32", "float64"]


CONVERSIONS = [
    (source, target, saturate)
    for source in TYPES
    for target in [*TYPES, "string"]
    for saturate in (False, True)
    # The largest integer is outside the range of some floats, and infinity can become any integer.
    if source != "float16" or target not in ("uint16", "int32")
    if source != "float32" or target != "int32" or saturate
]


@case(*CONVERSIONS, digits=4)
def converted(tf: Any, source: str, target: str, saturate: bool) -> Any:
    """Conversions from every type to every other one."""
    return tf.image.convert_image_dtype(pixels(2, 3, 3, dtype=source), target, saturate)


ADJUSTED = [
    *[("adjust_brightness", delta) for delta in (-0.7, 0.1)],
    *[("adjust_contrast", factor) for factor in (0.0, 0.5, 3.0)],
    *[("adjust_hue", delta) for delta in (-0.9, 0.1, 0.5)],
    *[("adjust_saturation", factor) for factor in (0.0, 0.5, 4.0)],
    *[("adjust_gamma", gamma) for gamma in (0.0, 0.7, 2.2, -1)],
]


@case(*[(*way, dtype) for way in ADJUSTED for dtype in ("uint8", "float32", "int16")], digits=3)
def adjusted(tf: Any, name: str, amount: float, dtype: str) -> Any:
    """Brightness, contrast, hue, saturation and gamma."""
    return operation(tf, f"image.{name}")(pixels(4, 5, 3, dtype=dtype), amount)


SPACES = ["rgb_to_hsv", "hsv_to_rgb", "rgb_to_yiq", "yiq_to_rgb", "rgb_to_yuv", "yuv_to_rgb"]


@case(
    *[(name, shape) for name in SPACES for shape in ((2, 3, 3), (3,), (2, 2, 2, 3), (2, 4))],
    digits=4,
)
def colours(tf: Any, name: str, shape: Any) -> Any:
    """Colour spaces."""
    return operation(tf, f"image.{name}")(pixels(*shape, dtype="float32"))


@case(
    *[(name, dtype) for name in ("rgb_to_grayscale", "grayscale_to_rgb") for dtype in TYPES],
    digits=3,
)
def greys(tf: Any, name: str, dtype: str) -> Any:
    """Conversions to grey and back."""
    image = pixels(4, 5, 3 if name.startswith("rgb") else 1, dtype=dtype)
    return operation(tf, f"image.{name}")(tf.constant(image))


@case(
    (IMAGE[..., :2], "rgb_to_grayscale"),
    (IMAGE, "grayscale_to_rgb"),
    (IMAGE[0, 0], "grayscale_to_rgb"),
)
def no_colours(tf: Any, image: Any, name: str) -> Any:
    """Invalid numbers of channels."""
    return operation(tf, f"image.{name}")(tf.constant(image))


@case((IMAGE,), (FLOATS,), (BATCH,), (np.full_like(IMAGE, 7),), (IMAGE[0],), (IMAGE[:0],), digits=3)
def standardized(tf: Any, image: Any) -> Any:
    """Standardization to a mean of 0 and a variance of 1."""
    return tf.image.per_image_standardization(image)


RANDOM = [
    ("random_flip_left_right", ()),
    ("random_flip_up_down", ()),
    ("random_brightness", (0.4,)),
    ("random_contrast", (0.3, 1.7)),
    ("random_hue", (0.3,)),
    ("random_saturation", (0.3, 1.7)),
]


@case(
    *[(*way, image, seed) for way in RANDOM for image in (IMAGE, FLOATS, BATCH) for seed in (0, 5)],
    digits=3,
)
def changed_at_random(tf: Any, name: str, limits: Any, image: Any, seed: int) -> Any:
    """Random changes are equal for equal seeds."""
    hidden = tf.placeholder_with_default(image, image.shape)  # or TensorFlow computes it before
    changed = operation(tf, f"image.{name}")(hidden, *limits, seed=seed)
    with tf.Session() as session:
        return [session.run(changed) for _ in range(4)]


@case(
    *[("random_brightness", -1), ("random_hue", 0.6), ("random_hue", -0.1)],
    *[("random_contrast", *limits) for limits in ((2, 1), (-1, 1))],
    *[("random_saturation", *limits) for limits in ((1, 1), (-2, 1))],
)
def no_range(tf: Any, name: str, *limits: float) -> Any:
    """Invalid ranges to draw from."""
    return operation(tf, f"image.{name}")(IMAGE, *limits)


@case(
    *[(IMAGE, [2, 3, 3], seed) for seed in range(4)],
    *[(IMAGE, size, 1) for size in ([4, 6, 3], [5, 1, 1], [2, 2], [0, 2, 3], np.int64([1, 1, 3]))],
    *[(BATCH, [1, 4, 2, 1], 3), (np.arange(9), [4], 1), (np.array([b"a", b"b", b"c"]), [2], 1)],
    *[(7, [], 1), (np.int32(7), np.zeros(0, np.int32), 1)],
)
def cropped_at_random(tf: Any, value: Any, size: Any, seed: int) -> Any:
    """Random windows are equal for equal seeds."""
    crops = [
        tf.random_crop(value, size, seed=seed),
        unknown(tf, "random_crop", value, size, seed=seed),
    ]
    shapes = [str(crop.shape) for crop in crops]
    with tf.Session() as session:
        return shapes, [session.run(crops) for _ in range(3)]


GREYS = pixels(2, 3, 2, 1, dtype="float32")


@case(
    *[(BATCH[..., :channels], count) for channels in (1, 2, 3) for count in (0, 1, 2, 9)],
    *[(pixels(2, 3, 2, 3, dtype=dtype) * 3 - 1, 3) for dtype in ("float16", "float32", "float64")],
    *[(np.where(GREYS < 0.5, odd, GREYS), 2) for odd in (np.nan, np.inf, -np.inf)],
    *[(images, 3) for images in (IMAGE, BATCH[:0], BATCH[:, :0], BATCH.astype("int32"), ["a"])],
)
def summarized(tf: Any, images: Any, count: int) -> Any:
    """Tags and pixels of summaries."""
    summary = tf.summary.image("a b", images, count, family="f")
    with tf.Session() as session:
        values = tf.Summary.FromString(session.run(summary)).value
        shown = [tf.image.decode_png(value.image.encoded_image_string) for value in values]
        sizes = [(v.tag, v.image.height, v.image.width, v.image.colorspace) for v in values]
        return summary.name, sizes, session.run(shown)


BOXES = [[[0.1, 0.2, 0.8, 0.9], [0.4, 0.4, 0.5, 0.7]]]
WINDOWS: list[dict[str, Any]] = [
    {},
    {"min_object_covered": 0.9},
    {"aspect_ratio_range": [0.3, 3.0], "area_range": [0.02, 0.4]},
    {"area_range": [0.9, 1.0], "aspect_ratio_range": [1.9, 2.1], "max_attempts": 3},
    {"max_attempts": 1, "min_object_covered": 1.0},
    {"area_range": (0.5, 2.0)},
    {"area_range": (0.5,)},
    {"aspect_ratio_range": (-1.0, 2.0)},
    {"max_attempts": 0},
    {"min_object_covered": -1.0},
    {"use_image_if_no_bounding_boxes": True},
]


@case(
    *[([40, 60, 3], BOXES, {"seed": 5, "seed2": 6, **options}) for options in WINDOWS],
    *[(size, BOXES, {"seed": seed, "seed2": 1}) for seed in (0, 7)
      for size in ([480, 640, 3], [640, 480, 1], [1, 1, 1], [3, 2000, 3])],
    ([40, 60, 3], np.zeros([1, 0, 4], np.float32), {"seed": 5}),
    ([40, 60, 3], np.zeros([1, 0, 4], np.float32),
     {"seed": 5, "use_image_if_no_bounding_boxes": True}),
    ([40, 60, 3], [[[0, 0, 1, 1.5]]], {"seed": 5}),
    ([40, 60, 3], [[0, 0, 1, 1]], {"seed": 5}),
    ([40, 60, 3], [[[0, 0, 1]]], {"seed": 5}),
    ([40, 60], BOXES, {"seed": 5}),
    ([0, 60, 3], BOXES, {"seed": 5}),
    (np.array([100, 90, 3], np.uint8), BOXES, {"seed": 5}),
    (np.array([100, 90, 3], np.int64), BOXES, {"seed": 5}),
    (np.array([100, 90, 3], np.float32), BOXES, {"seed": 5}),
)  # fmt: skip
def windows_at_random(tf: Any, size: Any, boxes: Any, options: dict[str, Any]) -> Any:
    """Random windows that cover enough of an object are equal for equal seeds."""
    tf.set_random_seed(9)  # which has no part in it
    window = tf.image.sample_distorted_bounding_box(size, boxes, **options)
    with tf.Session() as session:
        drawn = [session.run(list(window)) for _ in range(20)]
    return window.begin.name, *[str(part.shape) for part in window], drawn


@case()
def windows_of_unknown_images(tf: Any) -> Any:
    """Random windows in a training program, where each image has its own size."""
    image = tf.placeholder_with_default(IMAGE, [None, None, 3])
    begin, size, box = tf.image.sample_distorted_bounding_box(
        tf.shape(image),
        tf.zeros([0, 0, 4]),
        seed=3,
        use_image_if_no_bounding_boxes=True,
        name="window",
    )
    drawn = tf.image.draw_bounding_boxes(tf.image.convert_image_dtype([image], tf.float32), box)
    return begin.name, tf.slice(image, begin, size), drawn


@case(
    *[(pixels(2, 5, 7, depth, dtype=dtype), [BOXES[0], BOXES[0]], colours)
      for depth in (1, 3, 4) for dtype in ("float32", "float16")
      for colours in (None, [[0.1, 0.2, 0.3, 0.4], [0.5, 0.6, 0.7, 0.8], [1, 1, 1, 1]])],
    (pixels(1, 5, 7, 3, dtype="float32"),
     [[[-0.5, 0.2, 0.7, 1.5], [0.7, 0.2, 0.1, 0.9], [2, 2, 3, 3], [0, 0, 1, 1]]], None),
    (pixels(1, 5, 7, 3, dtype="float32"), np.zeros([1, 0, 4]), None),
    (pixels(1, 5, 7, 2, dtype="float32"), BOXES, None),
    (pixels(2, 5, 7, 3, dtype="float32"), BOXES, None),
    (pixels(5, 7, 3, dtype="float32"), BOXES, None),
    (pixels(5, 7, dtype="float32"), BOXES, None),
    (pixels(1, 5, 7, 3, dtype="float32"), BOXES, [0.5]),
    (pixels(1, 5, 7, 3, dtype="float32"), BOXES, [[0.5]]),
    (pixels(1, 5, 7, 3), BOXES, None),
)  # fmt: skip
def boxes_drawn(tf: Any, images: Any, boxes: Any, colours: Any) -> Any:
    """Boxes inside, outside and across the border of images."""
    return tf.image.draw_bounding_boxes(images, boxes, colors=colours)


SIDES = [[0.1, 0.2, 0.8, 0.9], [0, 0, 1, 1], [1, 0.7, 0, 0.1], [-0.5, 0.2, 1.5, 0.4]]


@case(
    *[(pixels(2, 5, 7, 3, dtype=dtype), SIDES, [0, 1, 1, 0], size, {"method": method})
      for dtype in ("uint8", "int64", "float16", "float32", "float64")
      for size in ([4, 3], [1, 1], [9, 1]) for method in ("bilinear", "nearest")],
    (BATCH, SIDES, [0, 1, 1, 0], [3, 3], {"extrapolation_value": 0.5}),
    (BATCH, SIDES, [0, 1, 1, 3], [3, 3], {}),
    (BATCH, SIDES, [0, 1, 1, -1], [3, 3], {}),
    (BATCH, SIDES, [0, 1], [3, 3], {}),
    (BATCH, SIDES, [0, 1, 1, 0], [3, 0], {}),
    (BATCH, SIDES, [0, 1, 1, 0], [3], {}),
    (BATCH, SIDES, [0, 1, 1, 0], [3, 3], {"method": "area"}),
    (BATCH, [[0, 0, 1]], [0], [3, 3], {}),
    (IMAGE, SIDES, [0, 1, 1, 0], [3, 3], {}),
    (BATCH, np.zeros([0, 4]), np.zeros([0], np.int32), [3, 3], {}),
    (BATCH, SIDES, [0, 1, 1, 0], [3, 3], {"box_indices": [0, 1, 1, 0]}),
    (BATCH, SIDES, None, [3, 3], {"box_indices": [0, 1, 1, 0]}),
    (BATCH, SIDES, None, [3, 3], {}),
    digits=4,
)  # fmt: skip
def cropped_and_resized(
    tf: Any, images: Any, boxes: Any, numbers: Any, size: Any, options: dict[str, Any]
) -> Any:
    """Windows of a batch, resized and padded."""
    return tf.image.crop_and_resize(images, boxes, numbers, size, **options)


@case(
    (pixels(1, 5, 7, 3, dtype="float32"), BOXES[0], None),
    (pixels(1, 5, 7, 3, dtype="float32"), [[[0.1, 0.2, 0.8]]], None),
    (pixels(1, 5, 7, 2, dtype="float32"), BOXES, [[0.5, 0.5, 0.5, 0.5]]),
    (pixels(5, 7, 3, dtype="float32"), BOXES, [[0.5, 0.5, 0.5, 0.5]]),
)
def boxes_that_do_not_fit(tf: Any, images: Any, boxes: Any, colours: Any) -> Any:
    """Wrong ranks and numbers of channels, detected while the graph is built or at run time."""
    return tf.image.draw_bounding_boxes(images, boxes, colors=colours)
