"""Writes data sets in LeRobot's format, with PyArrow and PyAV alone."""

import json
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

FPS = 10
HEIGHT, WIDTH = 48, 64
TASKS = ("pick the cube", "öffne die Tür")
CAMERA = {
    "dtype": "video",
    "shape": [HEIGHT, WIDTH, 3],
    "names": ["height", "width", "channels"],
    "info": {"video.fps": FPS, "video.codec": "h264"},
}
FEATURES = {
    "observation.state": {"dtype": "float32", "shape": [3], "names": ["a", "b", "c"]},
    "action": {"dtype": "float32", "shape": [2], "names": None},
    "grid": {"dtype": "float64", "shape": [2, 2], "names": None},
    "next.reward": {"dtype": "float32", "shape": [1], "names": None},
    "next.done": {"dtype": "bool", "shape": [1], "names": None},
    "step": {"dtype": "int32", "shape": [1], "names": None},
    "note": {"dtype": "string", "shape": [1], "names": None},
    "timestamp": {"dtype": "float32", "shape": [1], "names": None},
    "frame_index": {"dtype": "int64", "shape": [1], "names": None},
    "episode_index": {"dtype": "int64", "shape": [1], "names": None},
    "index": {"dtype": "int64", "shape": [1], "names": None},
    "task_index": {"dtype": "int64", "shape": [1], "names": None},
}
DATA_PATH = "data/chunk-{chunk_index:03d}/file-{file_index:03d}.parquet"
VIDEO_PATH = "videos/{video_key}/chunk-{chunk_index:03d}/file-{file_index:03d}.mp4"
# H.264 with B-frames and open GOPs.
X264 = {"bf": "3", "g": "12", "x264-params": "open-gop=1:scenecut=0"}


def row_of(index, frame, episode):
    """The values of a frame in the tables."""
    return {
        "observation.state": np.float32([index, frame / 3, episode]),
        "action": np.float32([index * 0.5, -frame]),
        "grid": np.array([[index / 3, 1], [2, episode]]),
        "next.reward": np.float32(frame / 7),
        "next.done": frame == 2,
        "step": index % 5,
        "note": f"note {index}",
        "timestamp": np.float32(frame / FPS),
        "frame_index": frame,
        "episode_index": episode,
        "index": index,
        "task_index": episode % len(TASKS),
    }


def rows_of(lengths):
    """The values of all frames."""
    ends = np.cumsum([0, *lengths]).tolist()
    return [
        row_of(index, index - first, episode)
        for episode, (first, end) in enumerate(pairwise(ends))
        for index in range(first, end)
    ]


def _list_of(dtype, shape):
    return dtype if not shape else pa.list_(_list_of(dtype, shape[1:]))


_TYPES = {"bool": pa.bool_(), "string": pa.string()}


def table_of(rows, features):
    """A table as Hugging Face Datasets writes it."""
    columns = {}
    for name, feature in features.items():
        shape = [] if feature["shape"] == [1] else feature["shape"]
        if feature["dtype"] == "video":
            continue
        values = [row[name] for row in rows]
        if feature["dtype"] == "image":
            struct = pa.struct({"bytes": pa.binary(), "path": pa.string()})
            columns[name] = pa.array([{"bytes": one, "path": None} for one in values], struct)
            continue
        kind = _TYPES.get(feature["dtype"]) or pa.from_numpy_dtype(np.dtype(feature["dtype"]))
        plain = [one.tolist() if isinstance(one, np.ndarray) else one for one in values]
        columns[name] = pa.array(plain, _list_of(kind, shape))
    return pa.table(columns)


def write_data_set(
    root,
    lengths,
    cameras=("observation.images.front",),
    features=(),
    rows=None,
    files=2,
    row_group_size=7,
    **info,
):
    """Writes a data set whose pictures show the indexes of their frames.

    Args:
        root: The directory.
        lengths: The number of frames of each episode.
        cameras: The names of the cameras.
        features: Further features.
        rows: The values of all frames; None for those of `rows_of`.
        files: The number of tables, and of videos of each camera.
        row_group_size: The number of rows of each row group.
        info: Further entries of `info.json`.
    """
    root, rows = Path(root), rows_of(lengths) if rows is None else rows
    described = {**FEATURES, **dict(features), **dict.fromkeys(cameras, CAMERA)}
    ends = np.cumsum([0, *lengths]).tolist()
    cuts = [len(lengths) * n // files for n in range(files + 1)]
    episodes = [
        {
            "episode_index": episode,
            "tasks": [TASKS[episode % len(TASKS)]],
            "length": length,
            "dataset_from_index": ends[episode],
            "dataset_to_index": ends[episode + 1],
        }
        for episode, length in enumerate(lengths)
    ]
    for number, (first, end) in enumerate(pairwise(cuts)):
        path = root / DATA_PATH.format(chunk_index=0, file_index=number)
        path.parent.mkdir(parents=True, exist_ok=True)
        table = table_of(rows[ends[first] : ends[end]], described)
        pq.write_table(table, path, row_group_size=row_group_size)
        for episode in episodes[first:end]:
            episode |= {"data/chunk_index": 0, "data/file_index": number}
        for camera in cameras:
            path = root / VIDEO_PATH.format(video_key=camera, chunk_index=0, file_index=number)
            path.parent.mkdir(parents=True, exist_ok=True)
            _write_video(path, ends[first], ends[end])
            for episode in episodes[first:end]:
                start = (episode["dataset_from_index"] - ends[first]) / FPS
                episode |= {
                    f"videos/{camera}/chunk_index": 0,
                    f"videos/{camera}/file_index": number,
                    f"videos/{camera}/from_timestamp": start,
                    f"videos/{camera}/to_timestamp": start + episode["length"] / FPS,
                }
    path = root / "meta" / "episodes" / "chunk-000" / "file-000.parquet"
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.Table.from_pylist(episodes), path)
    tasks = pa.table({"task_index": range(len(TASKS)), "__index_level_0__": list(TASKS)})
    pq.write_table(tasks, root / "meta" / "tasks.parquet")
    stats = {"action": {"mean": [1.0, 2.0], "std": [0.5, 0.25], "count": [ends[-1]]}}
    (root / "meta" / "stats.json").write_text(json.dumps(stats))
    content = {
        "codebase_version": "v3.0",
        "fps": FPS,
        "features": described,
        "data_path": DATA_PATH,
        "video_path": VIDEO_PATH,
        **info,
    }
    (root / "meta" / "info.json").write_text(json.dumps(content))
    return root


def _write_video(path, first, end):
    """Writes a video whose pictures show the numbers from `first` to `end`."""
    from tests.pipeline.video.written_videos import write_video  # noqa: PLC0415 (an extra)

    write_video(path, end - first, options=X264, rate=FPS, first=first, size=(HEIGHT, WIDTH))


def expected_items(lengths, window=None):
    """The items of a data set without its images, computed with NumPy.

    The windows contain numbers of frames. Those of cameras become the indexes of their frames.
    """
    rows = rows_of(lengths)
    ends = np.cumsum([0, *lengths]).tolist()
    for index, row in enumerate(rows):
        first, end = ends[row["episode_index"]], ends[row["episode_index"] + 1]
        item = {**row, "task": TASKS[row["task_index"]], "grid": np.float32(row["grid"])}
        for name, offsets in (window or {}).items():
            places = [index + offset for offset in offsets]
            inside = [min(max(place, first), end - 1) for place in places]
            item[f"{name}_is_pad"] = [not first <= place < end for place in places]
            if name in row:
                item[name] = np.stack([np.asarray(rows[place][name]) for place in inside])
            else:
                item[name] = inside
        yield item
