"""Resamples and mixes sound with FFmpeg."""

from fractions import Fraction
from math import ceil, gcd
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt

from headrace.pipeline.video.audio_span import AudioSpan

__all__ = ["LAYOUTS", "Resampler", "Sound"]

Sound: TypeAlias = npt.NDArray[np.float32]
"""Samples: float32, (samples, channels)."""

LAYOUTS: Final = {1: "mono", 2: "stereo"}
"""FFmpeg's names for channels, by their number."""

# FFmpeg's filter has 32 samples at the lower of the two rates.
_MARGIN: Final = 64


class Resampler:
    """Resamples parts of a track exactly as if the whole track were resampled from time 0.

    A part is resampled with some samples before and after it. The first of these lies at a time
    that is a whole number of samples at both rates, so the filters have the same phases.

    Args:
        source_rate: The track's sample rate.
        rate: The sample rate of the result.
        layout: FFmpeg's name for the track's channels.
        num_channels: The number of channels of the result, or None to keep the track's.
    """

    def __init__(self, source_rate: int, rate: int, layout: str, num_channels: int | None) -> None:
        self._source_rate = source_rate
        self._rate = rate
        self._layout = layout
        self._new_layout = LAYOUTS[num_channels] if num_channels else layout
        self._is_identity = source_rate == rate and self._new_layout == layout
        divisor = gcd(source_rate, rate)
        self._source_step, self._step = source_rate // divisor, rate // divisor
        self._margin = ceil(_MARGIN * max(1, source_rate / rate))

    def needed(self, span: AudioSpan) -> range:
        """Returns the samples of the track that a part depends on."""
        end = span.start + span.length
        if self._is_identity:
            return range(span.start, end)
        stop = -(-end * self._source_rate // self._rate) + self._margin
        return range(self._steps_before(span) * self._source_step, stop)

    def _steps_before(self, span: AudioSpan) -> int:
        first = span.start * self._source_rate // self._rate - self._margin
        return first // self._source_step

    def resampled(self, sound: Sound, span: AudioSpan) -> Sound:
        """Resamples and mixes a part.

        Args:
            sound: The samples of the track that `needed` returns.
            span: The part.
        """
        if self._is_identity:
            return sound
        first = span.start - self._steps_before(span) * self._step
        result = self._run(sound)[first : first + span.length]
        assert len(result) == span.length
        return np.ascontiguousarray(result)

    def _run(self, sound: Sound) -> Sound:
        import av  # noqa: PLC0415 (an optional dependency)

        graph = av.filter.Graph()
        time_base = Fraction(1, self._source_rate)
        source = graph.add_abuffer(
            sample_rate=self._source_rate, format="flt", layout=self._layout, time_base=time_base
        )
        # Without the limit of 1, channels of floats are mixed louder than those of integers.
        options = f"out_sample_rate={self._rate}:out_sample_fmt=flt:rematrix_maxval=1"
        resample = graph.add("aresample", f"{options}:out_chlayout={self._new_layout}")
        sink = graph.add("abuffersink")
        source.link_to(resample)
        resample.link_to(sink)
        graph.configure()
        frame = av.AudioFrame.from_ndarray(sound.reshape(1, -1), "flt", self._layout)
        frame.sample_rate, frame.time_base, frame.pts = self._source_rate, time_base, 0
        graph.push(frame)
        graph.push(None)
        outputs: list[Sound] = []
        while True:
            try:
                output: Any = graph.pull()
            except EOFError:
                break
            outputs.append(output.to_ndarray().reshape(-1, output.layout.nb_channels))
        return np.concatenate(outputs)
