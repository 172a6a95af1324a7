"""W22: random clips of H.264 videos."""

import random
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.libraries import MappedDataset, torch_loader
from benchmarks.manual_loaders import cut, epochs_of
from benchmarks.workload import BY_HAND, Part, Workload

BATCH_SIZE = 8
HEIGHT, WIDTH, RATE = 240, 320, 30
NUM_FRAMES = 300
"""The number of frames of a video: ten seconds, with a keyframe every two seconds."""
CLIP, EVERY, SIDE = 16, 4, 224
BITS = 16
"""The blocks at the top of a picture show the frame's number (9 bits) and the video's (7 bits)."""
FRAME_BITS = 9
TORCHCODEC = ["torch", "torchcodec.decoders", "torchcodec.samplers", "torchcodec.transforms"]


def make(home: Path, count: int) -> list[Part]:
    """Writes videos of a moving texture. Each picture shows its number and that of its video."""
    import av

    rng = np.random.default_rng(22)
    numbers = np.arange(count) % (1 << (BITS - FRAME_BITS))
    for number in range(count):
        scene = texture(rng, 2 * HEIGHT, 2 * WIDTH)
        direction = rng.integers(-2, 3, 2)
        with av.open(str(home / f"{number:05}.mp4"), "w") as file:
            stream = file.add_stream("libx264", rate=RATE)
            stream.width, stream.height, stream.pix_fmt = WIDTH, HEIGHT, "yuv420p"
            stream.options = {"preset": "veryfast", "crf": "23", "g": str(2 * RATE)}
            for index in range(NUM_FRAMES):
                moved = np.roll(scene, tuple(index * direction), (0, 1))
                picture = np.ascontiguousarray(moved[:HEIGHT, :WIDTH])
                shown = index | int(numbers[number]) << FRAME_BITS
                bits = shown >> np.arange(BITS) & 1
                picture[: HEIGHT // 10] = np.repeat(bits * 255, WIDTH // BITS)[:, None]
                file.mux(stream.encode(av.VideoFrame.from_ndarray(picture)))
            file.mux(stream.encode(None))
    return [Part([], count, [int(numbers.sum()), int(numbers @ numbers)])]


def texture(rng: np.random.Generator, height: int, width: int) -> np.ndarray:
    """Returns coloured noise with the spectrum of photographs: uint8, (height, width, 3)."""
    rows, columns = np.fft.fftfreq(height)[:, None], np.fft.rfftfreq(width)
    falling = 1 / np.maximum(np.hypot(rows, columns), 1 / width)
    spectrum = np.fft.rfft2(rng.normal(size=(3, height, width))) * falling
    waves = np.fft.irfft2(spectrum, (height, width))
    return np.clip(128 + 50 * waves / waves.std(), 0, 255).astype(np.uint8).transpose(1, 2, 0)


def files_of(home: Path) -> list[str]:
    """Returns the videos in a data directory, sorted by name."""
    return sorted(map(str, home.glob("*.mp4")))


def sums_of(batch: Any) -> list[int]:
    """Sums the numbers that clips show: uint8, (n, 16, 224, 224, 3).

    Raises:
        ValueError: If they are not such clips, or do not have every fourth frame of a video.
    """
    clips = np.asarray(batch)
    if clips.shape[1:] != (CLIP, SIDE, SIDE, 3) or clips.dtype != np.uint8:
        raise ValueError(f"{clips.dtype} clips of shape {clips.shape}")
    columns = (np.arange(BITS) * 2 + 1) * SIDE // (2 * BITS)
    bits = clips[:, :, SIDE // 20, columns, 1] > 127
    shown = bits @ (1 << np.arange(BITS))
    frames, videos = shown & (1 << FRAME_BITS) - 1, shown >> FRAME_BITS
    if (np.diff(frames) != EVERY).any() or (np.diff(videos) != 0).any():
        raise ValueError(f"clips have the frames {frames.tolist()} of {videos.tolist()}")
    return [len(clips), int(videos[:, 0].sum()), int(videos[:, 0] @ videos[:, 0])]


W22 = Workload(
    __name__,
    "W22",
    "videos",
    "H.264 videos, 320x240: 16 of every fourth frame, resized to 224x224, batches of 8",
    "clips",
    sums_of,
    count=96,
    make=make,
    num_epochs=4,
)


@W22.program("headrace", "headrace", "`hr.videos`, `clips`; one thread for each core")
def with_headrace(home: Path, num_epochs: int) -> Iterator[Any]:
    import headrace as hr

    videos = hr.videos(files_of(home)).shuffle(seed=1).epochs(num_epochs)
    clips = videos.clips("video", CLIP, EVERY, size=(SIDE, SIDE), seed=2)
    for batch in clips.batch(BATCH_SIZE):
        yield batch["video"]


@W22.program(BY_HAND, "PyAV by hand", "seeks to the keyframe; one thread, no more", "video", ["av"])
def with_pyav(home: Path, num_epochs: int) -> Iterator[Any]:
    import av

    draws = random.Random(2)

    def clip(name: str) -> np.ndarray:
        with av.open(name) as file:
            (stream,) = file.streams.video
            stream.thread_count = 1
            first = draws.randint(0, stream.frames - (CLIP - 1) * EVERY - 1)
            # These videos have a constant frame rate.
            ticks = 1 / (stream.average_rate * stream.time_base)
            start = stream.start_time or 0
            file.seek(start + int(first * ticks), stream=stream)
            pictures = []
            for frame in file.decode(stream):
                index = round((frame.pts - start) / ticks) - first
                if index >= 0 and index % EVERY == 0:
                    scaled = frame.reformat(SIDE, SIDE, "rgb24")
                    pictures.append(scaled.to_ndarray())
                if len(pictures) == CLIP:
                    break
        return np.stack(pictures)

    for names in cut(epochs_of(files_of(home), num_epochs), BATCH_SIZE):
        yield np.stack([clip(name) for name in names])


@W22.program(
    "torch-exact",
    "torchcodec, two workers",
    "`DataLoader(num_workers=2, prefetch_factor=4)`; `clips_at_random_indices`, exact",
    "video",
    TORCHCODEC,
    mode="exact",
)
@W22.program(
    "torch-approximate",
    "torchcodec, approximate, two workers",
    "the same with `seek_mode='approximate'`, which assumes a constant frame rate",
    "video",
    TORCHCODEC,
    mode="approximate",
)
def with_torchcodec(home: Path, num_epochs: int, mode: str) -> Iterable[Any]:
    import torch
    from torchcodec.decoders import VideoDecoder
    from torchcodec.samplers import clips_at_random_indices
    from torchcodec.transforms import Resize

    def clip(name: str) -> torch.Tensor:
        decoder = VideoDecoder(
            name, dimension_order="NHWC", seek_mode=mode, transforms=[Resize((SIDE, SIDE))]
        )
        clips = clips_at_random_indices(
            decoder, num_frames_per_clip=CLIP, num_indices_between_frames=EVERY
        )
        return clips.data[0]

    data = MappedDataset(clip, files_of(home) * num_epochs)
    return iter(torch_loader(data, BATCH_SIZE, 2, shuffle=True))
