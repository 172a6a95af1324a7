"""Image files that hypothesis makes up, and the options of their decoders."""

import io
from typing import Any

import numpy as np
from hypothesis import strategies as st
from PIL import Image

SIDES = st.integers(1, 20)


def _picture(height: int, width: int, mode: str, seed: int) -> Image.Image:
    """Draws smooth colours with some noise."""
    random = np.random.RandomState(seed)
    y, x = np.mgrid[:height, :width]
    waves = np.stack([np.sin(x / 3 + c) + np.cos(y / 4 - c) for c in range(4)], -1)
    pixels = np.clip(128 + 50 * waves + random.normal(0, 5, waves.shape), 0, 255).astype(np.uint8)
    if mode == "I;16":
        return Image.fromarray(pixels[..., 0].astype(np.uint16) * 256 + 7)
    return Image.fromarray(pixels, "RGBA").convert(mode)


@st.composite
def _file(draw: st.DrawFn, format: str, modes: list[str], **options: Any) -> bytes:
    drawn = {name: draw(values) for name, values in options.items()}
    size = draw(SIDES), draw(SIDES)
    image = _picture(*size, draw(st.sampled_from(modes)), draw(st.integers(0, 9)))
    file = io.BytesIO()
    image.save(file, format, **drawn)
    return file.getvalue()


def _jpeg() -> st.SearchStrategy[bytes]:
    return _file(
        "JPEG",
        ["RGB", "RGB", "L", "CMYK"],
        quality=st.integers(1, 100),
        subsampling=st.sampled_from(["4:4:4", "4:2:2", "4:2:0"]),
        progressive=st.booleans(),
    )


def _png() -> st.SearchStrategy[bytes]:
    return _file("PNG", ["1", "L", "LA", "P", "RGB", "RGBA", "I;16"], optimize=st.booleans())


def _options(**values: Any) -> st.SearchStrategy[dict[str, Any]]:
    arguments = {name: st.sampled_from(choices) for name, choices in values.items()}
    return st.fixed_dictionaries({}, optional=arguments)


def jpegs() -> st.SearchStrategy[Any]:
    """JPEG files, and options of `decode_jpeg`."""
    options = _options(
        channels=[0, 1, 3, 4],
        ratio=[1, 2, 4, 8, 3],
        fancy_upscaling=[True, False],
        dct_method=["", "INTEGER_FAST", "INTEGER_ACCURATE"],
    )
    return st.tuples(_jpeg(), options)


def pngs() -> st.SearchStrategy[Any]:
    """PNG files, and options of `decode_png`."""
    return st.tuples(_png(), _options(channels=[0, 1, 3, 4, 2], dtype=["uint8", "uint16"]))


def damaged_images() -> st.SearchStrategy[Any]:
    """Files of each format with a few bytes changed or cut off; the name of a decoder."""

    @st.composite
    def damaged(draw: st.DrawFn) -> Any:
        format = draw(st.sampled_from(["jpeg", "png"]))
        file = bytearray(draw(_jpeg() if format == "jpeg" else _png()))
        if draw(st.booleans()):
            file = file[: draw(st.integers(0, len(file)))]
        elif file:
            for _ in range(draw(st.integers(1, 3))):
                file[draw(st.integers(0, len(file) - 1))] ^= 1 << draw(st.integers(0, 7))
        return bytes(file), draw(st.sampled_from([f"decode_{format}", "decode_image"]))

    return damaged()


def sizes() -> st.SearchStrategy[Any]:
    """Sizes of an image, how many channels it has, its type, and a size to make of it."""
    types = st.sampled_from(["uint8", "uint16", "int32", "float16", "float32", "float64"])
    side = st.integers(1, 9)
    return st.tuples(side, side, st.integers(1, 5), types, st.tuples(side, side))


def windows() -> st.SearchStrategy[Any]:
    """Beginnings and sizes of windows, some of which do not fit an image of 4x6."""
    return st.tuples(
        st.integers(-1, 3), st.integers(-1, 4), st.integers(0, 5), st.integers(0, 7), st.booleans()
    )
