"""W21: windows of robot episodes with four cameras."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.libraries import torch_loader
from benchmarks.workload import Part, Workload

BATCH_SIZE = 8
CAMERAS = [f"observation.images.{name}" for name in ("front", "left", "right", "wrist")]
FPS = 30
HEIGHT, WIDTH = 240, 320
BACK = 3
"""The distance between the two frames of a camera's window."""
NUM_ACTIONS = 50
EPISODE = 60
"""The number of frames of an episode."""
CODEC = {"g": "2", "crf": "30", "preset": "12"}
"""LeRobot's options for AV1."""


def make(home: Path, count: int) -> list[Part]:
    """Writes a data set of LeRobot: a video of each camera, which moves over a photograph."""
    import headrace as hr

    index = np.arange(count)
    frame, episode = index % EPISODE, index // EPISODE
    firsts = np.arange(0, count, EPISODE)
    zeros = np.zeros(len(firsts), np.int64)
    actions = np.stack([index * 0.5 + axis for axis in range(14)], 1).astype(np.float32)
    frames = {
        "action": actions,
        "observation.state": actions / 2,
        "timestamp": (frame / FPS).astype(np.float32),
        "frame_index": frame,
        "episode_index": episode,
        "index": index,
        "task_index": np.zeros(count, np.int64),
    }
    places = ["data", *(f"videos/{camera}" for camera in CAMERAS)]
    episodes = {
        "episode_index": np.arange(len(firsts)),
        "dataset_from_index": firsts,
        "dataset_to_index": np.append(firsts[1:], count),
        "length": np.diff(np.append(firsts, count)),
        **{f"{place}/{kind}_index": zeros for place in places for kind in ("chunk", "file")},
        **{f"videos/{camera}/from_timestamp": firsts / FPS for camera in CAMERAS},
    }
    for name, columns in {
        "data/chunk-000/file-000": frames,
        "meta/episodes/chunk-000/file-000": episodes,
        "meta/tasks": {"task_index": [0], "task": ["sort the blocks"]},
    }.items():
        hr.arrays(columns).write(home / f"{name}.parquet")
    video = {
        "dtype": "video",
        "shape": [HEIGHT, WIDTH, 3],
        "names": ["height", "width", "channels"],
    }
    features = {
        name: {"dtype": str(column.dtype), "shape": list(column.shape[1:]) or [1], "names": None}
        for name, column in frames.items()
    }
    info = {
        "codebase_version": "v3.0",
        "fps": FPS,
        "features": {**features, **dict.fromkeys(CAMERAS, video)},
        "total_episodes": len(firsts),
        "total_frames": count,
        "total_tasks": 1,
        "chunks_size": 1000,
        "data_path": "data/chunk-{chunk_index:03d}/file-{file_index:03d}.parquet",
        "video_path": "videos/{video_key}/chunk-{chunk_index:03d}/file-{file_index:03d}.mp4",
        "robot_type": None,
        "splits": {"train": f"0:{len(firsts)}"},
    }
    (home / "meta" / "info.json").write_text(json.dumps(info))
    (home / "meta" / "stats.json").write_text("{}")
    reds = np.stack([_write_video(home, camera, count) for camera in CAMERAS])
    before = np.maximum(index - BACK, episode * EPISODE)
    last = np.minimum(episode * EPISODE + EPISODE, count) - 1
    steps = np.minimum(index[:, None] + np.arange(NUM_ACTIONS), last[:, None])
    sums = [index.sum(), 2 * actions[steps, 0].sum(dtype=np.float64)]
    return [Part([], count, [int(n) for n in (*sums, (reds + reds[:, before]).sum() * 100)])]


def _write_video(home: Path, camera: str, count: int) -> np.ndarray:
    """Writes a video, and returns the mean of each frame's red values between 0 and 1."""
    import av

    from benchmarks.pictures import photographs, section

    rng = np.random.default_rng([21, CAMERAS.index(camera)])
    photo = photographs()[CAMERAS.index(camera) % len(photographs())]
    pixels = section(photo, rng, 2 * WIDTH, 2 * HEIGHT, 1.2)
    path = home / "videos" / camera / "chunk-000" / "file-000.mp4"
    path.parent.mkdir(parents=True)
    reds = []
    with av.open(str(path), "w") as file:
        stream = file.add_stream("libsvtav1", rate=FPS, options=CODEC)
        stream.width, stream.height, stream.pix_fmt = WIDTH, HEIGHT, "yuv420p"
        for number in range(count):
            angle = number / 40
            x = round(WIDTH / 2 * (1 + np.sin(angle)))
            y = round(HEIGHT / 2 * (1 + np.cos(1.3 * angle)))
            picture = np.ascontiguousarray(pixels[y : y + HEIGHT, x : x + WIDTH])
            reds.append(picture[..., 0].mean() / 255)
            file.mux(stream.encode(av.VideoFrame.from_ndarray(picture)))
        file.mux(stream.encode(None))
    return np.array(reds)


def sums_of(batch: Any) -> list[int]:
    """Sums the indexes, the first actions, and the mean red values of the frames.

    Red values are compared approximately, because videos are compressed with losses.

    Raises:
        ValueError: If the frames do not have the types and shapes of LeRobot's items.
    """
    count, red = len(batch["index"]), 0.0
    for camera in CAMERAS:
        frames = np.asarray(batch[camera])
        if frames.shape != (count, 2, 3, HEIGHT, WIDTH) or frames.dtype != np.float32:
            raise ValueError(f"{frames.dtype} frames of shape {frames.shape}")
        red += frames[:, :, 0].mean((2, 3), dtype=np.float64).sum()
    index, actions = np.asarray(batch["index"]), np.asarray(batch["action"])
    first_actions = actions[:, :, 0].sum(dtype=np.float64)
    return [count, int(index.sum()), round(2 * first_actions), round(red * 100)]


W21 = Workload(
    __name__,
    "W21",
    "robots",
    "Robot episodes: two frames of each of 4 cameras and 50 actions, batches of 8",
    "items",
    sums_of,
    count=480,
    make=make,
    num_epochs=2,
    tolerances=[0, 0, 0.03],
)


@W21.program("headrace", "headrace", "`hr.lerobot`; a thread per core")
def with_headrace(home: Path, num_epochs: int) -> Iterator[Any]:
    import headrace as hr

    window = {"action": range(NUM_ACTIONS), **{name: [-BACK / FPS, 0.0] for name in CAMERAS}}
    yield from hr.lerobot(home, window).shuffle(seed=1).epochs(num_epochs).batch(BATCH_SIZE)


@W21.program(
    "lerobot",
    "LeRobot, two workers",
    "`LeRobotDataset`, `DataLoader(num_workers=2, prefetch_factor=4)`",
    "robots",
    ["torch", "lerobot"],
)
def with_lerobot(home: Path, num_epochs: int) -> Iterator[Any]:
    from lerobot.datasets.lerobot_dataset import LeRobotDataset

    window = {name: [-BACK / FPS, 0.0] for name in CAMERAS}
    window |= {"action": [step / FPS for step in range(NUM_ACTIONS)]}
    data = LeRobotDataset("headrace/robots", root=home, delta_timestamps=window)
    loader = torch_loader(data, BATCH_SIZE, 2, shuffle=True)
    for _ in range(num_epochs):
        yield from loader
