"""`clips`: replaces videos with clips."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Final, Literal, Self, cast

import numpy as np

from headrace.core import engine
from headrace.core.processors import num_cores
from headrace.pipeline.functions.python_functions import (
    FlatMapFunction,
    MapFunction,
    PythonWorker,
)
from headrace.pipeline.functions.spec_probe import ProbeCalls
from headrace.pipeline.functions.worker_holder import WorkerHolder
from headrace.pipeline.stages.arguments import checked_int, random_seed, real_number
from headrace.pipeline.stages.chain import Chain
from headrace.pipeline.stages.clip_reader import AUDIO, PAD, ClipReader
from headrace.pipeline.stages.components import batch_depth
from headrace.pipeline.stages.function_step import FunctionStep
from headrace.pipeline.stages.stage import Effect, Planning, check_names, named
from headrace.pipeline.values.types import Spec, Specs
from headrace.pipeline.video import torchcodec_decoder
from headrace.pipeline.video.decoder import check_installed

if TYPE_CHECKING:
    from headrace.pipeline.functions.random_generators import Draws

__all__ = ["Clips", "ClipsMethod", "ManyClips"]

_MAX_RATE: Final = 1_000_000


class _ClipWorker:
    """Reads the clips of a block of examples.

    Attributes:
        indexes: The index files to read and write.
    """

    function: Callable[..., Any]
    indexes: engine.IndexFiles | None = None
    _input_specs: Specs
    _draws: "Draws | None"

    def process(self, job: engine.Job) -> None:
        """Reads the clips of a block."""
        reader = cast("ClipReader", self.function)
        reader.begin(job, self._input_specs, self._draws, self.indexes)
        try:
            super().process(job)  # type: ignore[misc]
        finally:
            reader.end()


class _OneClipWorker(_ClipWorker, MapFunction):
    """Reads one clip of each video."""


class _ManyClipsWorker(_ClipWorker, FlatMapFunction):
    """Reads several clips of each video."""


@dataclass(frozen=True)
class Clips(FunctionStep):
    """Replaces the video of each example with a clip.

    Attributes:
        component: The component that contains the video.
        frames: The number of frames in a clip.
        every: The distance between neighbouring frames of a clip.
        count: The number of clips from each video.
        at: Where clips start: "random", "uniform", or a time in seconds.
        size: The height and width of frames, or None for the video's.
        seed: The seed for random starts, or None if starts are not random.
        decoder: The library that decodes: "pyav" or "torchcodec".
        audio: The sample rate of the sound, or None for no sound.
        audio_channels: The number of channels of the sound, or None for the video's.
        is_seed_given: Whether the user passed the seed.
        num_threads: The number of threads that decode.
        num_processes: 0, because threads decode.
        holder: Unused.
    """

    component: str
    frames: int = named(16)
    every: int = named(4)
    count: int = named(1)
    at: str | float = named("random")
    size: tuple[int, int] | None = named(None)
    seed: int | None = named(None)
    decoder: str = named("pyav")
    audio: int | None = named(None)
    audio_channels: int | None = named(None)
    is_seed_given: bool = field(default=True, compare=False, repr=False)
    num_threads: int = field(default_factory=num_cores, compare=False, repr=False)
    num_processes: int = field(default=0, compare=False, repr=False)
    holder: WorkerHolder = field(default_factory=WorkerHolder, compare=False, repr=False)

    effect: ClassVar = Effect.EACH
    use: ClassVar[Literal["map", "filter", "flat_map"]] = "map"
    works_in_groups: ClassVar[bool] = True

    @property
    def name(self) -> str:
        """The stage's name in messages."""
        return "clips"

    @property
    def reads_late(self) -> bool:
        """True for one clip per video: only the clips that remain are decoded."""
        return self.effect is Effect.EACH

    @cached_property
    def function(self) -> ClipReader:  # type: ignore[override]
        """Reads clips from a video."""
        return ClipReader(
            self.component,
            self.frames,
            self.every,
            self.count,
            self.at,
            self.size,
            self.decoder,
            self.audio,
            self.audio_channels,
        )

    @property
    def _added(self) -> dict[str, Spec]:
        """The components that clips have besides the frames."""
        is_pad = {PAD: Spec(np.dtype(np.bool_), (self.frames,))}
        if self.audio is None:
            return is_pad
        return {**is_pad, AUDIO: Spec(np.dtype(np.float32), (None, self.audio_channels))}

    def specs_after(self, specs: Specs) -> Specs:
        """Returns the components with frames instead of the video."""
        check_names(self, [self.component], specs)
        spec = specs[self.component]
        if spec.dtype not in (str, bytes) or spec.shape != ():
            raise ValueError(
                f"clips: the component {self.component!r} is {spec}, expected the path of a video "
                "(str) or the contents of a video file (bytes), as from videos(...)."
            )
        for name in self._added:
            if name in specs:
                raise ValueError(
                    f"clips: there is already a component {name!r}. Rename it first, for example "
                    f"with rename({name}='previous_{name}')."
                )
        height, width = self.size or (None, None)
        frames = Spec(np.dtype(np.uint8), (self.frames, height, width, 3))
        return {**specs, self.component: frames, **self._added}

    def names_after(self, names: tuple[str, ...] | None) -> tuple[str, ...] | None:
        """Returns the component names."""
        check_names(self, [self.component], names)
        return names and (*names, *self._added)

    def keeps_component(self, name: str) -> bool:
        """Returns whether a component is neither the video nor added."""
        return name != self.component and name not in self._added

    def length_after(self, length: float) -> float:
        """Returns the number of clips."""
        return length * self.count

    def worker(
        self, first: ProbeCalls, before: Specs, after: Specs, is_batched: bool
    ) -> PythonWorker:
        """Returns the worker that reads the clips."""
        return _OneClipWorker(
            self.function, first, self.seed, before, after, False, self.num_threads, self.name
        )

    def prepare(self, worker: PythonWorker, indexes: engine.IndexFiles) -> None:
        """Passes the index files to the worker."""
        if isinstance(worker, _ClipWorker):
            worker.indexes = indexes

    def plan_into(self, planning: Planning) -> None:
        """Adds this step to a plan."""
        if self.decoder == "torchcodec":
            torchcodec_decoder.check_installed(self.name)
        else:
            check_installed(self.name)
        super().plan_into(planning)


@dataclass(frozen=True)
class ManyClips(Clips):
    """Replaces the video of each example with several clips. Each clip becomes an example."""

    effect: ClassVar = Effect.EXPANDS
    use: ClassVar[Literal["map", "filter", "flat_map"]] = "flat_map"

    def worker(
        self, first: ProbeCalls, before: Specs, after: Specs, is_batched: bool
    ) -> PythonWorker:
        """Returns the worker that reads the clips."""
        return _ManyClipsWorker(
            self.function, first, self.seed, before, after, self.num_threads, self.name
        )


class ClipsMethod(Chain):
    """The method `clips`."""

    __slots__ = ()

    def clips(
        self,
        component: str,
        frames: int = 16,
        every: int = 4,
        count: int = 1,
        at: Literal["random", "uniform"] | float = "random",
        size: tuple[int, int] | None = None,
        seed: int | None = None,
        decoder: Literal["pyav", "torchcodec"] = "pyav",
        audio: int | None = None,
        audio_channels: Literal[1, 2] | None = None,
    ) -> Self:
        """Replaces a video with clips: uint8, (frames, height, width, 3), RGB. Requires PyAV.

        Frames are counted in the order in which a player shows them. A clip contains exactly the
        requested frames, even in videos with B-frames, open GOPs, a variable frame rate or an edit
        list. If a player rotates the video, so does `clips`. Only the frames in the clips, and the
        frames that these depend on, are decoded. Clips from the same video are decoded together,
        including those of neighbouring examples.

        Each clip becomes an example, and the other components are repeated. The new component
        `is_pad` (bool, (frames,)) marks frames past the end of the video. They repeat its last
        frame. With `skip_errors`, damaged videos are skipped.

        If `audio` is set, the new component `audio` (float32, (samples, channels), full scale is -1
        to 1) contains the sound of the clip. It starts with the clip's first frame and covers
        `frames * every` frames: with 16 and 4, it ends when frame 64 after the first one starts.
        There is silence before the audio track starts and after it ends. Delays, edit lists and
        the padding of encoders are taken into account. The samples are those of the whole track,
        decoded and resampled by FFmpeg and then cut. The only exception is noise in AAC after the
        first minute, which depends on where decoding starts. It is the same each time that a clip
        is read. If the frame rate of videos is constant and equal, all their clips have the same
        number of samples. Otherwise, batch them with `padded_batch`.

        Videos are MP4 and MOV files (including fragmented ones), Matroska and WebM files with
        H.264, HEVC, AV1, VP8, VP9, MPEG-1, MPEG-2, MPEG-4 or JPEG. Other files raise an error.

        The frames of a file are listed in an index file, `NAME.hrindex`, so that later programs
        start faster (see `options`). A decoder keeps up to 20 pictures of 3 bytes per pixel, which
        count towards `memory_bytes`. If a clip needs more than `memory_bytes`, the iteration raises
        ResourceExhaustedError, which names the file.

        Args:
            component: The component with the path of a video (str), as from `videos` and
                `video_folder`, or with the contents of a video file (bytes).
            frames: The number of frames in a clip.
            every: The distance between neighbouring frames: with 4, a clip contains every fourth
                frame.
            count: The number of clips from each video.
            at: Where clips start. "random" draws from all starts at which the clip fits into the
                video. "uniform" spaces the starts evenly: the first clip begins with the first
                frame, and the last clip ends with the last frame. A number is the time in seconds
                of the first frame. A number requires `count=1`.
            size: The height and width to scale frames to, with bilinear interpolation. If None, all
                videos in a batch must have the same size.
            seed: The seed for `at="random"`. Starts depend only on the seed, the epoch and the
                example's position in its source. Must be between 0 and 2^63 - 1. If None, this call
                picks a random seed.
            decoder: The library that decodes. "torchcodec" uses the FFmpeg on your system. Frames
                have the same numbers, and their times are compared with the file. Pixel values
                differ slightly between libraries and between versions of FFmpeg. torchcodec doesn't
                report damaged frames, and cannot read remote files.
            audio: The sample rate of the sound in Hz, such as 16000. By default, no sound is read.
                Videos without an audio track then raise an error. Requires `decoder="pyav"`.
            audio_channels: The number of channels that the sound is mixed to. By default, it keeps
                the channels of the file. FFmpeg's rules apply: both channels of mono sound mixed to
                stereo have 0.707 times its amplitude (-3 dB).

        Raises:
            ModuleNotFoundError: If PyAV (or torchcodec, with `decoder="torchcodec"`) is not
                installed. `pip install headrace[video]` installs PyAV. This is raised when an
                iteration starts.
            TypeError: If an argument has the wrong type.
            ValueError: If a number is out of range, the component does not exist or contains no
                video, or this stage follows `batch`.

        Examples:
            >>> pipe = hr.videos("clips/*.mp4").clips("video", frames=8, size=(224, 224), seed=7)
            >>> pipe.spec["video"]
            Spec(uint8, (8, 224, 224, 3))
            >>> pipe = hr.videos("clips/*.mp4").clips("video", audio=16_000, audio_channels=1)
            >>> pipe.spec["audio"]
            Spec(float32, (None, 1))
        """
        if not isinstance(component, str):
            raise TypeError(f"clips: the component is {component!r}, expected its name.")
        if batch_depth(self._stages):
            raise ValueError(
                "clips: cannot come after batch, because it needs single examples. Move clips "
                "before batch."
            )
        num_frames = checked_int("clips", "frames", frames, 1)
        distance = checked_int("clips", "every", every, 1)
        num_clips = checked_int("clips", "count", count, 1)
        start = _checked_start(at, num_clips)
        if seed is not None and start != "random":
            raise ValueError(f"clips: seed is {seed}, but at={at!r} draws nothing. Omit the seed.")
        if decoder not in ("pyav", "torchcodec"):
            raise ValueError(f"clips: decoder is {decoder!r}, expected 'pyav' or 'torchcodec'.")
        rate, channels = _checked_audio(audio, audio_channels, decoder)
        given = seed is not None
        if start == "random":
            seed = random_seed() if seed is None else checked_int("clips", "seed", seed, 0)
        stage = Clips if num_clips == 1 else ManyClips
        return self._then(
            stage(
                component,
                num_frames,
                distance,
                num_clips,
                start,
                _checked_size(size),
                seed,
                decoder,
                rate,
                channels,
                is_seed_given=given or start != "random",
            )
        )


def _checked_start(at: object, count: int) -> str | float:
    if at in ("random", "uniform"):
        return str(at)
    seconds = real_number(at)
    if seconds is None:
        raise TypeError(f"clips: at is {at!r}, expected 'random', 'uniform' or a time in seconds.")
    if not 0 <= seconds < float("inf"):
        raise ValueError(f"clips: at is {at!r}, expected a time of at least 0 seconds.")
    if count > 1:
        raise ValueError(
            f"clips: at is {at!r} and count is {count}, but only one clip can start there. Pass "
            "count=1, or at='uniform'."
        )
    return seconds


def _checked_audio(
    audio: int | None, audio_channels: int | None, decoder: str
) -> tuple[int | None, int | None]:
    if audio is None:
        if audio_channels is not None:
            raise ValueError(
                f"clips: audio_channels is {audio_channels!r}, but no sound is read. Pass a sample "
                "rate, such as audio=16000."
            )
        return None, None
    rate = checked_int("clips", "audio", audio, 1)
    if rate > _MAX_RATE:
        raise ValueError(f"clips: audio is {rate}, expected a sample rate of at most {_MAX_RATE}.")
    if audio_channels is not None and audio_channels not in (1, 2):
        raise ValueError(f"clips: audio_channels is {audio_channels!r}, expected 1 or 2.")
    if decoder != "pyav":
        raise ValueError(
            f"clips: audio is {audio!r}, but decoder={decoder!r} cannot read sound. Use "
            "decoder='pyav'."
        )
    return rate, audio_channels and int(audio_channels)


def _checked_size(size: object) -> tuple[int, int] | None:
    if size is None:
        return None
    if isinstance(size, (str, bytes)) or not isinstance(size, (tuple, list)) or len(size) != 2:
        raise TypeError(f"clips: size is {size!r}, expected (height, width) or None.")
    height, width = (checked_int("clips", "size", number, 1) for number in size)
    return height, width
