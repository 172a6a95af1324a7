"""`clips`: replaces videos with clips."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from itertools import repeat
from typing import TYPE_CHECKING, Any, ClassVar, Final, Literal, Self, cast

import numpy as np
import numpy.typing as npt

from headrace.core import engine
from headrace.core.errors import OpError, ResourceExhaustedError
from headrace.core.processors import num_cores
from headrace.pipeline.functions.python_functions import (
    FlatMapFunction,
    MapFunction,
    PythonWorker,
)
from headrace.pipeline.functions.spec_probe import ProbeCalls
from headrace.pipeline.functions.worker_holder import WorkerHolder
from headrace.pipeline.stages.arguments import checked_int, random_seed
from headrace.pipeline.stages.chain import Chain
from headrace.pipeline.stages.components import batch_depth
from headrace.pipeline.stages.function_step import FunctionStep
from headrace.pipeline.stages.stage import Effect, Planning, check_names, named
from headrace.pipeline.values.column_conversion import values_of
from headrace.pipeline.values.types import Spec, Specs
from headrace.pipeline.video import torchcodec_decoder
from headrace.pipeline.video.decoder import Picture, check_installed
from headrace.pipeline.video.frames import read_into
from headrace.pipeline.video.video_block import CurrentBlock, Groups, VideoBlock
from headrace.pipeline.video.video_file import VideoFile

if TYPE_CHECKING:
    from numpy.random import Generator

    from headrace.pipeline.functions.random_generators import Draws

__all__ = ["Clips", "ClipsMethod", "ManyClips"]

# The component that marks repeated frames.
_PAD: Final = "is_pad"


class ClipReader:
    """Reads clips from a video.

    Attributes:
        component: The component that contains the video.
        num_frames: The number of frames in a clip.
        every: The distance between neighbouring frames of a clip.
        count: The number of clips.
        at: Where clips start.
        size: The height and width of frames, or None.
        decoder: The library that decodes: "pyav" or "torchcodec".
    """

    def __init__(
        self,
        component: str,
        num_frames: int,
        every: int,
        count: int,
        at: "str | float",
        size: tuple[int, int] | None,
        decoder: str,
    ) -> None:
        self.component = component
        self.num_frames = num_frames
        self.every = every
        self.count = count
        self.at = at
        self.size = size
        self.decoder = decoder
        self.__qualname__ = repr(component)
        self._current: Final = CurrentBlock()

    def begin(
        self,
        job: engine.Job,
        specs: Specs,
        draws: "Draws | None",
        indexes: engine.IndexFiles | None,
    ) -> None:
        """Begins a block of examples, which this thread then reads one by one.

        Args:
            job: The block.
            specs: The components of the examples.
            draws: The random numbers for starts, or None.
            indexes: The index files to read and write.
        """
        self._current.block = block = VideoBlock(self.read, job, indexes)
        if job.num_rows > 1 and specs[self.component].dtype is str:
            try:
                self._expect(block, job, specs, draws)
            except Exception:
                # The calls for the examples raise this error again.
                return

    def _expect(
        self, block: VideoBlock, job: engine.Job, specs: Specs, draws: "Draws | None"
    ) -> None:
        column = job.column(list(specs).index(self.component))
        paths = list(values_of(column, specs[self.component]))
        counts = Counter(paths)
        if len(counts) == len(paths):
            return
        generators: Iterable[Generator | None] = repeat(None)
        if draws is not None:
            generators = draws.of(job.row_ids())
        for path, rng in zip(paths, generators, strict=False):
            if counts[path] > 1:
                # The call for this example raises the error.
                with suppress(OpError):
                    video = block.opened(path)
                    block.expect(video, self._shown(video, rng)[0])

    def end(self) -> None:
        """Ends a block of examples."""
        self._current.block = None

    def read(self, video: VideoFile, clips: list[npt.NDArray[np.int64]]) -> list[Picture]:
        """Reads clips from a video.

        Args:
            video: The video.
            clips: The numbers of the frames of each clip.

        Returns:
            The clips: uint8, (frames, height, width, 3).
        """
        if self.decoder == "torchcodec":
            return read_into(video, clips, self.size, torchcodec_decoder.decode)
        return read_into(video, clips, self.size)

    def __call__(self, example: Mapping[str, Any], rng: "Generator | None" = None) -> Any:
        """Returns the example with its clip instead of the video, or yields it with each clip."""
        clips = self._clips(example, rng)
        return next(clips) if self.count == 1 else clips

    def _clips(
        self, example: Mapping[str, Any], rng: "Generator | None"
    ) -> Iterator[dict[str, Any]]:
        block = self._current.block or VideoBlock(self.read)
        video = block.opened(example[self.component])
        frames, is_pad = self._shown(video, rng)
        self._check_memory(video, block.limit_bytes)
        clips = block.read(video, frames)
        for clip, is_pad_of_clip in zip(clips, is_pad, strict=True):
            yield {**example, self.component: clip, _PAD: is_pad_of_clip}

    def _check_memory(self, video: VideoFile, limit_bytes: int | None) -> None:
        """Checks that a clip fits into the memory that the pipeline may use.

        Raises:
            ResourceExhaustedError: If it doesn't.
        """
        height, width = self.size or video.frame_size
        num_bytes = self.num_frames * height * width * 3
        if limit_bytes is not None and num_bytes > limit_bytes:
            raise ResourceExhaustedError(
                None,
                None,
                f"{video.name}: a clip of {self.num_frames} frames of {height} x {width} pixels "
                f"needs {num_bytes} bytes, expected at most the {limit_bytes} of memory_bytes. "
                "Pass size=(height, width) or fewer frames to clips, or raise "
                "options(memory_bytes=...).",
            )

    def _shown(
        self, video: VideoFile, rng: "Generator | None"
    ) -> tuple[Groups, npt.NDArray[np.bool_]]:
        """Returns the frames of the clips, and which of them repeat the video's last frame."""
        frames = self._starts(video, rng)[:, None] + np.arange(self.num_frames) * self.every
        last = len(video) - 1
        return np.minimum(frames, last), frames > last

    def _starts(self, video: VideoFile, rng: "Generator | None") -> npt.NDArray[np.int64]:
        last = max(len(video) - ((self.num_frames - 1) * self.every + 1), 0)
        if rng is not None:
            return rng.integers(0, last, self.count, endpoint=True)
        if isinstance(self.at, str):
            return np.arange(self.count) * last // max(self.count - 1, 1)
        return np.array([video.shown_at(self.at)])


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
            self.component, self.frames, self.every, self.count, self.at, self.size, self.decoder
        )

    def specs_after(self, specs: Specs) -> Specs:
        """Returns the components with frames instead of the video."""
        check_names(self, [self.component], specs)
        spec = specs[self.component]
        if spec.dtype not in (str, bytes) or spec.shape != ():
            raise ValueError(
                f"clips: the component {self.component!r} is {spec}, expected the path of a video "
                "(str) or the contents of a video file (bytes), as from videos(...)."
            )
        if _PAD in specs:
            raise ValueError(
                f"clips: there is already a component {_PAD!r}. Rename it first, for example with "
                f"rename({{{_PAD!r}: 'was_pad'}})."
            )
        height, width = self.size or (None, None)
        frames = Spec(np.dtype(np.uint8), (self.frames, height, width, 3))
        is_pad = Spec(np.dtype(np.bool_), (self.frames,))
        return {**specs, self.component: frames, _PAD: is_pad}

    def names_after(self, names: tuple[str, ...] | None) -> tuple[str, ...] | None:
        """Returns the component names."""
        check_names(self, [self.component], names)
        return names and (*names, _PAD)

    def keeps_component(self, name: str) -> bool:
        """Returns whether a component is neither the video nor the marker for repeated frames."""
        return name not in (self.component, _PAD)

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
                is_seed_given=given or start != "random",
            )
        )


def _checked_start(at: object, count: int) -> str | float:
    if at in ("random", "uniform"):
        return str(at)
    if isinstance(at, bool) or not isinstance(at, (int, float, np.integer, np.floating)):
        raise TypeError(f"clips: at is {at!r}, expected 'random', 'uniform' or a time in seconds.")
    if not 0 <= at < float("inf"):
        raise ValueError(f"clips: at is {at!r}, expected a time of at least 0 seconds.")
    if count > 1:
        raise ValueError(
            f"clips: at is {at!r} and count is {count}, but only one clip can start there. Pass "
            "count=1, or at='uniform'."
        )
    return float(at)


def _checked_size(size: object) -> tuple[int, int] | None:
    if size is None:
        return None
    if isinstance(size, (str, bytes)) or not isinstance(size, (tuple, list)) or len(size) != 2:
        raise TypeError(f"clips: size is {size!r}, expected (height, width) or None.")
    height, width = (checked_int("clips", "size", number, 1) for number in size)
    return height, width
