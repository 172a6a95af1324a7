"""Names of 1.13 to 1.15: formatting, printing, bits, truncating division, repeats and sound."""

from pathlib import Path
from typing import Any

import numpy as np

from tensorflow_comparison.table import case

_ARRAYS: list[Any] = [
    *(b"abc", ["a", "b\n\"'"], 1.5, [1e-7, 1e10, 1 / 3, float("nan"), float("-inf"), 1234567.0]),
    *(list(range(10)), np.arange(24).reshape(2, 3, 4).tolist(), True, [[True, False]], []),
    *(np.arange(100).reshape(10, 10).tolist(), np.arange(64).reshape(4, 4, 4).tolist()),
]


@case(*[(number, edge) for number in range(len(_ARRAYS)) for edge in (3, 1, -1)])
def written_into_text(tf: Any, number: int, edge: int) -> Any:
    """Various arrays, with all or some of their rows."""
    with tf.Session() as session:
        text = tf.strings.format("<{}>", tf.constant(_ARRAYS[number]), summarize=edge)
        return text.op.type, str(text.shape), session.run(text)


@case(("uint8",), ("int64",), ("float64",), ("float16",))
def written_of_type(tf: Any, dtype: str) -> Any:
    """Numbers of various types."""
    with tf.Session() as session:
        return session.run(
            tf.strings.format("{}|{}", (tf.cast([3, 200], dtype), tf.cast(1, dtype)))
        )


@case(("{} {}",), ("",), ("% %",))
def wrong_templates(tf: Any, template: str) -> Any:
    """Unequal numbers of placeholders and tensors."""
    return tf.strings.format(template, tf.constant([1]))


_PRINTED = ["values", "text", "word", "separated", "sparse", "nested", "variable"]


@case(*[(what,) for what in _PRINTED])
def printed(tf: Any, what: str) -> Any:
    """The text that is written to a file."""
    x, stream = tf.range(3), "file://printed"
    v = tf.Variable([1.5, 2.5])
    ops = {
        "values": lambda: tf.print("x:", x, 3.5, None, (x,), output_stream=stream),
        "text": lambda: tf.print(tf.constant("only"), output_stream=stream),
        "word": lambda: tf.print("only", output_stream=stream, end=""),
        "separated": lambda: tf.print(x, x, sep="|", end="!\n", output_stream=stream, summarize=1),
        "sparse": lambda: tf.print(
            tf.SparseTensor(tf.constant([[0]], tf.int64), [1], [3]), output_stream=stream
        ),
        "nested": lambda: tf.print({"b": x, "a": [1, "z", x]}, output_stream=stream, name="mine"),
        "variable": lambda: tf.print("v =", v, output_stream=stream),
    }
    op = ops[what]()
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(op)
        session.run(op)
    return op.name, op.type, Path("printed").read_text("utf-8")


@case(("stream",), ("argument",), ("end",))
def printed_wrongly(tf: Any, what: str) -> Any:
    """Rejected arguments."""
    arguments = {"stream": {"output_stream": "x"}, "argument": {"foo": 3}, "end": {"end": 3}}
    return tf.print(1, **arguments[what])


_INTEGERS = ["uint8", "int8", "int32", "int64", "uint16"]


@case(*[(dtype,) for dtype in _INTEGERS])
def bits(tf: Any, dtype: str) -> Any:
    """All operations, with broadcasting."""
    x, y = tf.cast([1, 7, 100, 126], dtype), tf.cast([[2], [5]], dtype)
    with tf.Session() as session:
        results = [
            getattr(tf.bitwise, name)(x, y)
            for name in ("bitwise_and", "bitwise_or", "bitwise_xor", "left_shift", "right_shift")
        ]
        results.append(tf.bitwise.invert(x))
        return [(one.op.name, session.run(one).tolist()) for one in results]


@case(*[(dtype,) for dtype in ("int32", "int64", "float32", "float64")])
def towards_zero(tf: Any, dtype: str) -> Any:
    """Quotients and remainders of all signs."""
    x, y = tf.constant([7, -7, 7, -7, 6], dtype), tf.constant([2, 2, -2, -2, 3], dtype)
    with tf.Session() as session:
        results = [tf.truncatemod(x, y)]
        if dtype.startswith("int"):
            results.append(tf.truncatediv(x, y))
        return [(one.op.name, session.run(one).tolist()) for one in results]


@case((2, None), (2, 0), (3, 1), ([1, 0], 0), ([2, 0, 1], 1), ([1, 2, 3, 0, 1, 1], None))
def repeated(tf: Any, repeats: Any, axis: int | None) -> Any:
    """Rows, columns and elements."""
    with tf.Session() as session:
        return session.run(tf.repeat([[1, 2, 3], [4, 5, 6]], repeats, axis=axis)).tolist()


@case((-1, -1), (1, -1), (3, 4), (2, 0), (-1, 100))
def sound(tf: Any, channels: int, samples: int) -> Any:
    """Sounds encoded and decoded again, with fewer and with more samples and channels."""
    rng = np.random.default_rng(5)
    audio = tf.constant(rng.uniform(-1.2, 1.2, [9, 2]).astype(np.float32))
    encoded = tf.audio.encode_wav(audio, 8000)
    decoded = tf.audio.decode_wav(encoded, channels, samples)
    with tf.Session() as session:
        completed, rate = session.run([decoded.audio, decoded.sample_rate])
        data = session.run(encoded)
        return data, completed.tolist(), rate, str(decoded.audio.shape), encoded.op.type


def _audio_ops(tf: Any) -> Any:
    if tf.__name__.startswith("headrace"):
        from headrace.tf1 import ops  # noqa: PLC0415

        return ops
    from tensorflow.python.ops import gen_audio_ops  # noqa: PLC0415

    return gen_audio_ops


@case((256, 100, True), (480, 160, False), (3, 2, True), (999, 7, False))
def spectra(tf: Any, window: int, stride: int, squared: bool) -> Any:
    """Two channels, compared except for the last bits, because the transforms differ."""
    rng = np.random.default_rng(6)
    sound = tf.constant(rng.uniform(-1, 1, [1000, 2]).astype(np.float32))
    result = _audio_ops(tf).audio_spectrogram(sound, window, stride, squared)
    with tf.Session() as session:
        values = session.run(result)
        return str(result.shape), values.shape, np.round(values, 3).tolist()


@case((4000.0, 20.0, 40, 13), (3000.0, 100.0, 20, 20), (7999.0, 0.0, 10, 4))
def coefficients(tf: Any, high: float, low: float, bands: int, number: int) -> Any:
    """A sound in three windows."""
    rng = np.random.default_rng(7)
    sound = tf.constant(rng.uniform(-1, 1, [1000, 1]).astype(np.float32))
    ops = _audio_ops(tf)
    spectrum = ops.audio_spectrogram(sound, 480, 240, True)
    result = ops.mfcc(spectrum, 16000, high, low, bands, number)
    with tf.Session() as session:
        return str(result.shape), np.round(session.run(result), 3).tolist()


@case((0, 0.0), (100, 0.5), (-100, 0.1))
def words_to_recognize(tf: Any, shift: int, volume: float) -> Any:
    """An idiom of speech recognition: scales, shifts, adds noise, crops and transforms."""
    rng = np.random.default_rng(8)
    with tf.Session() as session:
        word = session.run(tf.audio.encode_wav(rng.uniform(-1, 1, [900, 1]).astype("f"), 16000))
        session.run(tf.write_file("word.wav", word))
        name, loudness = tf.placeholder(tf.string, []), tf.placeholder(tf.float32, [])
        decoded = tf.audio.decode_wav(tf.read_file(name), desired_channels=1, desired_samples=1000)
        padding, offset = tf.placeholder(tf.int32, [2, 2]), tf.placeholder(tf.int32, [2])
        shifted = tf.slice(tf.pad(tf.multiply(decoded.audio, 0.9), padding), offset, [1000, -1])
        noise = tf.placeholder(tf.float32, [1000, 1])
        mixed = tf.clip_by_value(tf.add(tf.multiply(noise, loudness), shifted), -1.0, 1.0)
        ops = _audio_ops(tf)
        spectrum = ops.audio_spectrogram(mixed, 480, 160, magnitude_squared=True)
        result = ops.mfcc(spectrum, decoded.sample_rate, dct_coefficient_count=40)
        fed = {
            name: "word.wav",
            loudness: volume,
            noise: rng.uniform(-0.1, 0.1, [1000, 1]),
            padding: [[max(shift, 0), max(-shift, 0)], [0, 0]],
            offset: [max(-shift, 0), 0],
        }
        return str(result.shape), np.round(session.run(result, fed), 3).tolist()


@case(("empty",), ("header",), ("cut",))
def damaged_sound(tf: Any, what: str) -> Any:
    """Sounds that cannot be decoded."""
    with tf.Session() as session:
        data = session.run(tf.audio.encode_wav([[0.5], [0.25]], 100))
        wrong = {"empty": b"", "header": b"X" + data[1:], "cut": data[:-1]}[what]
        return session.run(tf.audio.decode_wav(wrong).audio).tolist()


@case()
def arrays_and_times(tf: Any) -> Any:
    """`numpy_function`, `parallel_stack`, `shape_n`, `timestamp`, `get_static_value`."""
    x = tf.constant([[1.0, 2.0]])
    called = tf.numpy_function(lambda a: a * 2, [x], tf.float32)
    with tf.Session() as session:
        values = session.run([called, tf.parallel_stack([x, x]), *tf.shape_n([x, called])])
        is_later = session.run(tf.timestamp()) > 1.5e9
    return [value.tolist() for value in values], bool(is_later), tf.get_static_value(x).tolist()
