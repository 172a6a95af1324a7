"""Calls operations with little memory.

Run as `python -m tests.pipeline.native_functions.short_memory [NAME...]`.

Each call runs in child processes that may allocate a limited number of MiB more, one for each
limit. Prints the calls that end a child by anything but a result or an error about memory.
"""

import inspect
import io
import os
import resource
import sys
import traceback
import wave
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
from PIL import Image
from tests.pipeline.native_functions.test_native_operations import AT_RANDOM, CALLS

import headrace as hr
from headrace import ops
from headrace.protos import Example

MIB = 1 << 20
# Limits in MiB, from less than an input to more than any result needs.
MORE_BYTES = [MIB * more for more in (2, 8, 12, 20, 34, 48, 80, 160)]
_NUM_BYTES = 8 * MIB


def _encoded(function: Callable[..., Any], pixels: np.ndarray) -> bytes:
    return hr.native(lambda example: {"x": function(example["x"])})({"x": pixels})["x"]


def _picture(image: np.ndarray, kind: str) -> bytes:
    file = io.BytesIO()
    Image.fromarray(image).save(file, kind)
    return file.getvalue()


def _sound() -> bytes:
    file = io.BytesIO()
    with wave.open(file, "wb") as sound:
        sound.setparams((1, 2, 8000, 0, "NONE", ""))
        sound.writeframes(bytes(_NUM_BYTES))
    return file.getvalue()


def _serialized() -> bytes:
    example = Example()
    example.features.feature["n"].int64_list.value.extend(range(1_000_000))
    return example.SerializeToString()


def _given() -> dict[str, Any]:
    """Returns inputs for the operations, of some MiB each."""
    draws = np.random.default_rng(1)
    image = draws.integers(0, 256, (1800, 1600, 3), np.uint8)
    return {
        "f": draws.random((2, _NUM_BYTES // 8), np.float32),
        "i": draws.integers(0, 3, _NUM_BYTES // 4, np.int32),
        "b": draws.random(_NUM_BYTES) < 0.5,
        "s": b"12" * (_NUM_BYTES // 2),
        "line": b"1," + b"x" * _NUM_BYTES,
        "bmp": _picture(image, "BMP"),
        "gif": _picture(image[:900, :800], "GIF"),
        "png": _encoded(ops.encode_png, image),
        "jpeg": _encoded(ops.encode_jpeg, image),
        "example": _serialized(),
        "wav": _sound(),
        "sound": draws.random(_NUM_BYTES // 4, np.float32) - 0.5,
        "image": image,
        "rgb": draws.random((1000, 800, 3), np.float32),
        "texts": np.array([b"%d" % number for number in range(100_000)], object),
        "short": b"12",
        "few": np.array([2, 1, 1], np.int32),
        "n": np.array(3 * MIB, np.int32),
    }


# Operations that are also called with floats computed from small integers.
_OF_FLOATS = ("argmax", "reduce_max", "cumsum", "add", "negative", "sqrt", "greater", "round")


def _of_a_cast(call: Callable[[Any], Any], value: Any) -> Any:
    return call({**value, "f": ops.cast(value["image"], "float32")})


def _parsed(example: Any) -> Any:
    features = {"n": ops.FixedLenFeature((1_000_000,), "int64")}
    return ops.parse_single_example(example, features)["n"]


# Calls that return large results for the inputs above.
_LARGER: dict[str, Callable[[Any], Any]] = {
    "broadcast_to": lambda e: ops.broadcast_to(e["f"][:, :, None], [2, _NUM_BYTES // 8, 3]),
    "eye": lambda e: ops.eye(2000),
    "tokenize": lambda e: CALLS["tokenize"]({"s": ops.substr(e["s"], 0, 200_000)}),
    "chat": lambda e: CALLS["chat"]({"s": ops.substr(e["s"], 0, 200_000)}),
    "fill": lambda e: ops.fill([e["n"], 4], 7),
    "gather": lambda e: ops.gather(e["f"][0], e["i"]),
    "meshgrid": lambda e: ops.meshgrid(e["i"][:2000], e["i"][:2000])[1],
    "ones": lambda e: ops.ones([e["n"]]),
    "one_hot": lambda e: ops.one_hot(e["i"], 3),
    "pad_to_bounding_box": lambda e: ops.pad_to_bounding_box(e["image"], 1, 1, 2000, 2000),
    "random_normal": lambda e: ops.random_normal([e["n"]]),
    "random_uniform": lambda e: ops.random_uniform([e["n"]]),
    "truncated_normal": lambda e: ops.truncated_normal([e["n"]]),
    "random_crop": lambda e: ops.random_crop(e["image"], [1700, 1500, 3]),
    "range": lambda e: ops.range(e["n"]),
    "resize": lambda e: ops.resize(e["image"], (1500, 1500)),
    "resize_image_with_crop_or_pad": lambda e: ops.resize_image_with_crop_or_pad(
        e["image"], 2000, 1000
    ),
    "resize_image_with_pad": lambda e: ops.resize_image_with_pad(e["image"], 2000, 2000),
    "resize_with_pad": lambda e: ops.resize_with_pad(e["image"], 2000, 2000),
    "crop_and_resize": lambda e: ops.crop_and_resize(
        e["image"][None], [[0, 0, 1, 1]], [0], [1000, 1000]
    ),
    "crop_to_bounding_box": lambda e: ops.crop_to_bounding_box(e["image"], 1, 1, 1700, 1500),
    "decode_and_crop_jpeg": lambda e: ops.decode_and_crop_jpeg(e["jpeg"], [0, 0, 1700, 1500]),
    "zeros": lambda e: ops.zeros([e["n"]]),
    "decode_compressed": lambda e: ops.decode_compressed(e["s"]),
    "squeeze": lambda e: ops.squeeze(e["f"][:1]),
    "unstack": lambda e: ops.unstack(ops.ensure_shape(e["f"], [2, None]))[1],
    "sample_distorted_bounding_box": lambda e: (
        ops.sample_distorted_bounding_box(
            [4, 6, 3], [[[0.2, 0.2, 0.8, 0.8]]] + 0 * ops.cast(e["few"][0], "float32")
        ).bboxes
    ),
    "string_to_number": lambda e: ops.string_to_number(e["short"], "int64"),
    "sequence_mask": lambda e: ops.sequence_mask(e["i"], 3),
    "regex_replace": lambda e: ops.regex_replace(e["s"], "1", "xyz"),
    "decode_csv of many": lambda e: ops.decode_csv(e["texts"], [[0]])[0],
    "string_split of many": lambda e: ops.string_split(e["texts"], "1").values,
    "string_join of many": lambda e: ops.string_join([e["texts"], "x"]),
    "string_upper of many": lambda e: ops.string_upper(e["texts"]),
    "substr of many": lambda e: ops.substr(e["texts"], 0, 1),
    "string_to_number of many": lambda e: ops.string_to_number(e["texts"], "int64"),
    "tile of strings": lambda e: ops.tile(e["texts"], [20]),
    "encode_base64 of many": lambda e: ops.encode_base64(e["texts"]),
    "substr": lambda e: ops.substr(e["s"], 1, _NUM_BYTES - 10),
    "ensure_shape": lambda e: ops.ensure_shape(e["f"], [2, None]),
    "parse_single_example": lambda e: _parsed(e["example"]),
    "FixedLenFeature": lambda e: _parsed(e["example"]),
    # These two take inputs of a known shape.
    "psnr": lambda e: ops.psnr(
        ops.ensure_shape(e["rgb"], [1000, 800, 3])[:500, :400], ops.zeros([500, 400, 3]), 1
    ),
    "repeat": lambda e: ops.repeat(ops.ensure_shape(e["few"], [3]), _NUM_BYTES // 8),
    # Casts of small integers are lazy.
    **{f"{name} of a cast": partial(_of_a_cast, CALLS[name]) for name in _OF_FLOATS},
    "concat of casts": lambda e: ops.concat([ops.cast(e["image"], "float32")] * 2, 0),
    "tile of a cast": lambda e: ops.tile(ops.cast(e["image"], "float32"), [2, 1, 1]),
    "pad of a cast": lambda e: ops.pad(ops.cast(e["image"], "float32"), [[1, 0], [0, 2], [0, 0]]),
    "transpose of a cast": lambda e: ops.transpose(ops.cast(e["image"], "float32"), [1, 0, 2]),
    "reverse of a cast": lambda e: ops.reverse(ops.cast(e["image"], "float32"), [1]),
    "gather of a cast": lambda e: ops.gather(ops.cast(e["image"], "float32"), [1, 5]),
    "one_hot of a cast": lambda e: ops.one_hot(ops.cast(e["image"][:, :, 0], "int32"), 3),
    "reduce_sum of a cast": lambda e: ops.reduce_sum(ops.cast(e["image"], "float32"), 1),
    "decode_raw to int16": lambda e: ops.decode_raw(e["s"], "int16"),
}


def programs() -> dict[str, Callable[[dict[str, Any]], Any]]:
    """Returns the functions to call, by name."""
    return {**CALLS, **_LARGER}


def _used_bytes() -> int:
    with open("/proc/self/statm") as file:
        return int(file.read().split()[0]) * resource.getpagesize()


def in_child(
    call: Callable[[], Any], more_bytes: int, prepare: Callable[[], Any] = lambda: None
) -> int:
    """Calls a function in a child process with limited memory, and returns its exit status.

    Args:
        call: The function.
        more_bytes: The memory beyond that in use.
        prepare: Called in the child before, without a limit.
    """
    child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    status = 3
    try:
        prepare()
        limit = _used_bytes() + more_bytes
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
        try:
            call()
            status = 0
        except (hr.errors.ResourceExhaustedError, MemoryError):
            status = 1
        except BaseException:
            traceback.print_exc()
    finally:
        os._exit(status)


def _called(
    function: Callable[[Any], Any], argument: dict[str, Any], is_random: bool
) -> Callable[[], Any]:
    used = {name for name in argument if f'"{name}"' in _source_of(function)}
    few = {name: value for name, value in argument.items() if name in used}
    traced = hr.native(lambda example: {"y": function(example)})
    if not is_random:
        return lambda: traced(few)
    rows = {name: np.asarray(value)[None] for name, value in few.items()}
    return lambda: next(iter(hr.arrays(rows).map(traced, seed=3).options(num_threads=1)))


def _source_of(function: Any) -> str:
    """Returns the source of a function, which contains the components that it uses."""
    while isinstance(function, partial):
        function = function.func
    return inspect.getsource(function)


def _load_modules() -> None:
    """Loads the modules of a pipeline's first use, for which children may lack memory."""
    traced = hr.native(lambda example: {"y": example["x"]})
    with iter(hr.arrays({"x": [0]}).map(traced, seed=3).options(num_threads=1)) as batches:
        next(batches)


def failures(names: list[str]) -> Iterator[str]:
    """Yields the operations that end a process, or never succeed: name and exit statuses."""
    items, expected = _given(), programs()
    _load_modules()
    for name in names or sorted(expected):
        call = _called(expected[name], items, name in AT_RANDOM)
        statuses = [in_child(call, more) for more in MORE_BYTES]
        if any(status not in (0, 1) for status in statuses) or 0 not in statuses:
            yield f"{name}: {statuses}"


if __name__ == "__main__":
    results = list(failures(sys.argv[1:]))
    print(*results, sep="\n")
    sys.exit(bool(results))
