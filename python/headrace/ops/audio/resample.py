"""Changes the sample rate of audio.

Source: `torchaudio.functional.resample`.
"""

from __future__ import annotations

from headrace.core import dtypes
from headrace.core.shapes import TensorShape
from headrace.graph import Tensor, TensorLike, define
from headrace.ops.audio.rates import check_rate
from headrace.ops.framework.arguments import Input, Outputs, apply_op
from headrace.ops.framework.inference import ShapeConflict, check_rank

__all__ = ["resample"]


def resample(
    samples: TensorLike, orig_freq: TensorLike, new_freq: int, name: str | None = None
) -> Tensor:
    """Changes the sample rate with a windowed sinc filter.

    The result is the same as from `torchaudio.functional.resample` with its defaults (a Hann
    window, width 6, roll-off 0.99). It can differ by up to 2e-5 of full scale, because torchaudio
    rounds times to float32. Samples beyond both ends count as silence.

    Args:
        samples: float32, (samples,) or (samples, channels).
        orig_freq: The current sample rate, from 1 to 1,000,000: a scalar int32, for example from
            `audio_sample_rate`.
        new_freq: The new sample rate, from 1 to 1,000,000.
        name: Name of the operation.

    Returns:
        float32, of the same rank. The length is multiplied by `new_freq / orig_freq` and rounded
        up.

    Raises:
        InvalidArgumentError: At run time, if `orig_freq` is out of range.
        TypeError: If `new_freq` is not an integer.
        ValueError: If `new_freq` is out of range, or `samples` has the wrong rank.
    """
    rate = check_rate("resample: new_freq", new_freq)
    if isinstance(orig_freq, int):
        check_rate("resample: orig_freq", orig_freq)

    def infer(samples: Tensor, orig_freq: Tensor) -> Outputs:
        check_rank(orig_freq.shape, 0)
        if samples.shape.rank not in (None, 1, 2):
            raise ShapeConflict(
                f"samples has shape {samples.shape}, expected (samples,) or (samples, channels)"
            )
        rest = samples.shape.as_list()[1:] if samples.shape.rank else []
        shape = None if samples.shape.rank is None else [None, *rest]
        return [(dtypes.float32, TensorShape(shape))]

    inputs = [
        Input("samples", samples, dtypes.float32),
        Input("orig_freq", orig_freq, dtypes.int32),
    ]
    return apply_op("Resample", inputs, infer, name=name, attrs={"new_freq": rate}).outputs[0]


define("Resample", is_own=True)
