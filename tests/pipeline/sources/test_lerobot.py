"""Data sets in LeRobot's format, compared with items that NumPy computes."""

import json
from itertools import chain
from pathlib import Path

import numpy as np
import pytest
from tests.pipeline.conftest import same
from tests.pipeline.video.written_videos import change, numbers_of

import headrace as hr
from headrace.core import errors
from headrace.pipeline.video import video_file
from headrace.pipeline.video.frames import read_into
from headrace.testing import assert_resumes

pytest.importorskip("pyarrow")  # Parquet is an extra.
from tests import lerobot_files as files

LENGTHS = (5, 9, 1, 12, 3, 7)
FRONT, WRIST = "observation.images.front", "observation.images.wrist"
CAMERAS = (FRONT, WRIST)
NUM = sum(LENGTHS)
WINDOW = {FRONT: [-0.2, 0.0], "action": range(4), "observation.state": [-3, 0], "index": [-1, 2]}
IN_FRAMES = {FRONT: [-2, 0], "action": range(4), "observation.state": [-3, 0], "index": [-1, 2]}


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    """A data set with two cameras. Each file has several episodes."""
    return files.write_data_set(tmp_path_factory.mktemp("robot"), LENGTHS, CAMERAS)


@pytest.fixture
def copy(tmp_path):
    """A small data set that a test may damage."""
    return files.write_data_set(tmp_path / "robot", (4, 6), (FRONT,), files=1)


def shown(item):
    """Returns an item with the numbers that its pictures show instead of the pictures."""
    numbered = {}
    for name, value in item.items():
        if name in CAMERAS:
            pixels = np.asarray(value)
            pixels = pixels if pixels.ndim == 4 else pixels[None]
            assert pixels.dtype == np.float32
            channels_last = np.round(np.moveaxis(pixels, 1, -1) * 255)
            numbers = numbers_of(channels_last)
            numbered[name] = numbers if np.asarray(value).ndim == 4 else numbers[0]
        else:
            numbered[name] = value
    return numbered


def expected_items(window=None, cameras=CAMERAS):
    for item in files.expected_items(LENGTHS, window):
        for camera in cameras:
            item.setdefault(camera, item["frame_index"] + _first(item["episode_index"]))
        yield item


def _first(episode):
    return sum(LENGTHS[:episode])


def check_equal(items, expected):
    items, expected = list(map(shown, items)), list(expected)
    assert len(items) == len(expected)
    for item, other in zip(items, expected, strict=True):
        assert item.keys() == other.keys()
        for name, value in other.items():
            np.testing.assert_array_equal(item[name], value, err_msg=name)


class TestItems:
    def test_items_combine_table_values_and_video_frames(self, root):
        pipe = hr.lerobot(root)
        check_equal(pipe, expected_items())
        assert len(pipe) == pipe.count() == NUM

    def test_windows_repeat_and_mask_border_frames_of_episodes(self, root):
        pipe = hr.lerobot(root, WINDOW)
        check_equal(pipe, expected_items(IN_FRAMES))
        assert len(pipe) == NUM

    def test_components_have_lerobot_types_and_shapes(self, root):
        spec = hr.lerobot(root, WINDOW).spec
        height, width = files.HEIGHT, files.WIDTH
        assert {name: repr(one) for name, one in spec.items()} == {
            "observation.state": "Spec(float32, (2, 3))",
            "action": "Spec(float32, (4, 2))",
            "grid": "Spec(float32, (2, 2))",
            "next.reward": "Spec(float32, ())",
            "next.done": "Spec(bool, ())",
            "step": "Spec(int64, ())",
            "note": "Spec(str, ())",
            "timestamp": "Spec(float32, ())",
            "frame_index": "Spec(int64, ())",
            "episode_index": "Spec(int64, ())",
            "index": "Spec(int64, (2,))",
            "task_index": "Spec(int64, ())",
            FRONT: f"Spec(float32, (2, 3, {height}, {width}))",
            WRIST: f"Spec(float32, (3, {height}, {width}))",
            f"{FRONT}_is_pad": "Spec(bool, (2,))",
            "action_is_pad": "Spec(bool, (4,))",
            "observation.state_is_pad": "Spec(bool, (2,))",
            "index_is_pad": "Spec(bool, (2,))",
            "task": "Spec(str, ())",
        }

    def test_raw_frames_are_uint8_with_channels_last(self, root):
        window = {FRONT: [0, 1], WRIST: [0]}
        for item, whole in zip(
            hr.lerobot(root, window, raw=True), hr.lerobot(root, window), strict=True
        ):
            assert item[FRONT].dtype == np.uint8
            assert item[FRONT].shape == (2, files.HEIGHT, files.WIDTH, 3)
            assert item[WRIST].shape == (files.HEIGHT, files.WIDTH, 3)
            for name in CAMERAS:
                expected = np.moveaxis(item[name], -1, -3) / np.float32(255)
                np.testing.assert_array_equal(whole[name], expected)

    def test_images_in_tables_are_decoded(self, tmp_path):
        encode = hr.native(lambda e: {"data": hr.ops.encode_png(e["image"])})
        pictures = [np.full((4, 6, 3), index, np.uint8) for index in range(9)]
        features = {"view": {"dtype": "image", "shape": [3, 4, 6], "names": ["channels", "h", "w"]}}
        rows = files.rows_of((4, 5))
        for row, picture in zip(rows, pictures, strict=True):
            row["view"] = encode({"image": picture})["data"]
        root = files.write_data_set(tmp_path, (4, 5), (), features, rows)
        for index, item in enumerate(hr.lerobot(root)):
            expected = np.moveaxis(pictures[index], -1, 0) / np.float32(255)
            np.testing.assert_array_equal(item["view"], expected)
        items = list(hr.lerobot(root, {"view": [-1, 0]}, raw=True).shuffle(seed=3))
        for item in items:
            index = int(item["index"])
            before = index if index in (0, 4) else index - 1
            assert item["view"].shape == (2, 4, 6, 3)
            assert item["view"][:, 0, 0, 0].tolist() == [before, index]

    def test_only_chosen_features_are_read(self, root):
        pipe = hr.lerobot(root, {"action": [0, 1]}, features=["action", WRIST])
        assert set(pipe.spec) == {"action", "action_is_pad", WRIST, "task"}
        numbers = [shown(item)[WRIST] for item in pipe]
        assert numbers == list(range(NUM))

    def test_only_chosen_episodes_are_read(self, root):
        pipe = hr.lerobot(root, WINDOW, episodes=[4, 1, 3])
        expected = [e for e in expected_items(IN_FRAMES) if e["episode_index"] in (1, 3, 4)]
        check_equal(pipe, expected)
        assert len(pipe) == len(expected)
        shuffled = sorted(int(item["frame_index"]) for item in pipe.shuffle(seed=1))
        assert shuffled == sorted(e["frame_index"] for e in expected)
        for part in pipe.split(0.5, 0.5, by="episode_index"):
            assert len(part) == len(list(part))

    def test_stored_statistics_are_arrays(self, root):
        stats = hr.lerobot(root).batch(4).stored_stats
        np.testing.assert_array_equal(stats["action"]["mean"], [1.0, 2.0])
        assert stats["action"]["count"].tolist() == [NUM]
        with pytest.raises(AttributeError, match="stored_stats: arrays has no statistics"):
            hr.arrays({"x": [1]}).stored_stats  # noqa: B018


@pytest.fixture
def items(root):
    return hr.lerobot(root, WINDOW, features=[*WINDOW, "episode_index"])


class TestOrder:
    def test_full_shuffle_yields_the_same_items_in_seeded_order(self, root, items):
        listed = list(items)
        order = [int(row["i"]) for row in hr.arrays({"i": range(NUM)}).shuffle(seed=5)]
        shuffled = list(items.shuffle(seed=5))
        assert same(shuffled, [listed[number] for number in order])
        assert len(items.shuffle(seed=5)) == NUM

    def test_window_shuffle_and_shards_keep_all_items(self, items):
        def numbers(part):
            return sorted((int(item["episode_index"]), item["index"].tolist()) for item in part)

        expected = numbers(items)
        assert numbers(items.shuffle(window=5, seed=1)) == expected
        shuffled = items.shuffle(seed=1)
        ranks = [numbers(shuffled.shard(rank, 3)) for rank in range(3)]
        assert sorted(chain.from_iterable(ranks)) == expected

    def test_iteration_resumes_at_any_batch(self, items):
        assert_resumes(items.shuffle(seed=2).epochs(2).batch(8))
        assert_resumes(items.batch(5))

    def test_episodes_stay_in_one_part_of_a_split(self, root, items):
        train, held_out = items.split(0.6, 0.4, seed=3, by="episode_index")
        episodes = [{int(item["episode_index"]) for item in part} for part in (train, held_out)]
        assert episodes[0] | episodes[1] == set(range(len(LENGTHS)))
        assert not episodes[0] & episodes[1]
        assert len(train) == sum(LENGTHS[episode] for episode in episodes[0])
        shuffled = train.shuffle(seed=1)
        assert len(shuffled) == len(train)
        assert {int(item["episode_index"]) for item in shuffled} == episodes[0]
        assert_resumes(shuffled.batch(4))

    def test_frames_of_dropped_items_are_not_decoded(self, copy):
        Path(copy, "videos", FRONT, "chunk-000", "file-000.mp4").write_bytes(b"")
        pipe = hr.lerobot(copy)
        parts = pipe.split(0.5, 0.5, by="episode_index", seed=2)
        assert [part.count() for part in parts] in ([4, 6], [6, 4], [10, 0], [0, 10])
        assert pipe.take(0).count() == 0
        assert list(pipe.shuffle(seed=1).take(0)) == []

    def test_data_sets_can_be_mixed(self, root):
        parts = [hr.lerobot(root, episodes=[n], features=["index", FRONT]) for n in (0, 1)]
        items = list(hr.mix(parts, seed=1, stop="all"))
        assert {int(item["index"]) for item in items} == set(range(14))
        assert all(shown(item)[FRONT] == item["index"] for item in items)


class TestBlocks:
    """Neighbouring items whose windows overlap."""

    @pytest.fixture
    def calls(self, monkeypatch):
        """The groups of frames of each call that decodes."""
        calls = []

        def read(video, groups, size):
            calls.append(groups)
            return read_into(video, groups, size)

        monkeypatch.setattr("headrace.pipeline.sources.lerobot_items.read_into", read)
        return calls

    def test_frames_that_several_items_need_are_decoded_once(self, root, calls):
        window = {FRONT: [-3, -2, -1, 0]}
        items = hr.lerobot(root, window).epochs(4)
        check_equal(items, chain(*(expected_items(window) for _ in range(4))))
        # Only a few blocks at the start are small.
        assert len(calls) < 4 * NUM
        assert sum(map(len, calls)) == 2 * 4 * NUM
        num_wanted = sum(len(group) for groups in calls for group in groups)
        assert num_wanted == 5 * 4 * NUM
        assert sum(len(np.unique(np.concatenate(groups))) for groups in calls) < num_wanted / 2

    def test_shuffled_items_have_the_same_frames(self, root, calls):
        items = hr.lerobot(root, WINDOW).shuffle(seed=3)
        expected = list(expected_items(IN_FRAMES))
        order = [int(row["i"]) for row in hr.arrays({"i": range(NUM)}).shuffle(seed=3)]
        check_equal(items, [expected[index] for index in order])
        assert sum(map(len, calls)) == 2 * NUM

    def test_items_of_each_epoch_are_equal(self, root):
        items = list(hr.lerobot(root, WINDOW))
        assert same(list(hr.lerobot(root, WINDOW).epochs(3)), items * 3)

    def test_tables_of_videos_are_kept_for_other_programs(self, copy):
        def read():
            video_file._OPEN._videos.clear()
            with iter(hr.lerobot(copy)) as batches:
                return [shown(item)[FRONT] for item in batches], batches.statistics().index

        numbers, index = read()
        # Two threads may open the video at the same time.
        assert index.scanned
        (video,) = copy.glob("videos/**/*.mp4")
        assert Path(f"{video}.hrindex").exists()
        again, index = read()
        assert index.opened
        assert not index.scanned
        assert again == numbers == list(range(10))


class TestErrors:
    def test_error_for_an_old_format_names_the_converter(self, tmp_path):
        root = files.write_data_set(tmp_path, (2,), (), files=1, codebase_version="v2.1")
        with pytest.raises(
            errors.InvalidArgumentError,
            match=r"info\.json: the format of .* is 'v2\.1', .*convert_dataset_v21_to_v30",
        ):
            hr.lerobot(root).spec  # noqa: B018

    def test_error_for_an_unknown_dtype_names_the_feature(self, tmp_path):
        features = {"sound": {"dtype": "audio", "shape": [1]}}
        rows = [{**row, "sound": 0} for row in files.rows_of((2,))]
        files.write_data_set(tmp_path, (2,), (), (), rows, files=1)
        path = tmp_path / "meta" / "info.json"
        info = json.loads(path.read_text())
        info["features"] |= features
        path.write_text(json.dumps(info))
        with pytest.raises(
            errors.InvalidArgumentError, match=r"info\.json: the feature 'sound' has the dtype 'aud"
        ):
            next(iter(hr.lerobot(tmp_path)))
        assert hr.lerobot(tmp_path, features=["action"]).count() == 2

    def test_missing_files_are_named_before_the_first_batch(self, copy):
        video = copy / "videos" / FRONT / "chunk-000" / "file-000.mp4"
        video.unlink()
        with pytest.raises(
            errors.NotFoundError, match=rf"{video}: no such file, .*'{FRONT}' of ep"
        ):
            iter(hr.lerobot(copy))
        (copy / "meta" / "tasks.parquet").unlink()
        with pytest.raises(errors.NotFoundError, match=r"tasks\.parquet"):
            iter(hr.lerobot(copy))
        with pytest.raises(errors.NotFoundError, match=r"nowhere/meta/info\.json: no such file"):
            iter(hr.lerobot("nowhere"))
        table = copy / "data" / "chunk-000" / "file-000.parquet"
        table.unlink()
        with pytest.raises(errors.NotFoundError):
            iter(hr.lerobot(copy))

    def test_error_for_a_damaged_frame_names_file_episode_and_frame(self, copy):
        video = copy / "videos" / FRONT / "chunk-000" / "file-000.mp4"
        data = video.read_bytes()
        change(video, data.index(b"mdat") + 500, bytes(400))
        pattern = rf"{video}: frame \d+ .*This is '{FRONT}' of .*: frame \d+ of episode \d"
        with pytest.raises(errors.DataLossError, match=pattern):
            list(hr.lerobot(copy))
        kept = hr.lerobot(copy).skip_errors(10)
        batches = iter(kept)
        numbers = [int(item["index"]) for item in batches]
        assert len(numbers) + len(batches.skipped) == 10
        assert batches.skipped

    def test_error_for_a_time_without_a_frame_names_the_tolerance(self, tmp_path):
        rows = files.rows_of((4,))
        rows[2]["timestamp"] = np.float32(0.23)
        root = files.write_data_set(tmp_path, (4,), (FRONT,), rows=rows, files=1)
        with pytest.raises(
            errors.InvalidArgumentError,
            match=r"file-000\.mp4: the frame at 0\.23\d* s .*frame 2 of episode 0 .*tolerance_s",
        ):
            list(hr.lerobot(root))
        numbers = [shown(item)[FRONT] for item in hr.lerobot(root, tolerance_s=0.04)]
        assert numbers == [0, 1, 2, 3]

    def test_table_that_contradicts_the_metadata_is_rejected(self, tmp_path):
        rows = files.rows_of((4, 6))
        root = files.write_data_set(tmp_path / "short", (4, 5), (), rows=rows, files=1)
        table = root / "data" / "chunk-000" / "file-000.parquet"
        files.pq.write_table(files.table_of(rows, files.FEATURES), table)
        with pytest.raises(errors.DataLossError, match=rf"{table}: the file has 10 rows, but .* 9"):
            iter(hr.lerobot(root))
        rows[7]["episode_index"] = 0
        root = files.write_data_set(tmp_path / "other", (4, 6), (), rows=rows, files=1)
        with pytest.raises(errors.DataLossError, match=r"episode 0 \(index 7\), but meta/episodes"):
            list(hr.lerobot(root))

    @pytest.mark.parametrize(
        ("window", "kind", "pattern"),
        [
            ({"actoin": [0]}, ValueError, r"window contains 'actoin', .*Did you mean 'action'\?"),
            ({"action": [0.13]}, ValueError, r"contains 0\.13 s, but at 10 frames per second"),
            ({"action": []}, ValueError, r"the window of 'action' is empty"),
            ({"action": 3}, TypeError, r"the window of 'action' is 3, expected a list of offsets"),
            ({"action": ["a"]}, TypeError, r"the window of 'action' contains 'a', expected ints"),
            ({}, ValueError, r"window is empty"),
            ([0], TypeError, r"window is \[0\], expected a dict"),
        ],
    )
    def test_wrong_windows_are_rejected(self, root, window, kind, pattern):
        with pytest.raises(kind, match=pattern):
            hr.lerobot(root, window).spec  # noqa: B018

    def test_wrong_arguments_are_rejected(self, root):
        with pytest.raises(ValueError, match=r"episodes contains 9, but .* has 6 episodes, .* 5"):
            len(hr.lerobot(root, episodes=[2, 9]))
        with pytest.raises(TypeError, match="episodes is 3, expected a list of ints"):
            hr.lerobot(root, episodes=3)
        with pytest.raises(ValueError, match="features contains 'x', expected one of the features"):
            hr.lerobot(root, features=["x"]).spec  # noqa: B018
        with pytest.raises(TypeError, match="features is 'action', expected a list of names"):
            hr.lerobot(root, features="action")
        with pytest.raises(TypeError, match="tolerance_s is None, expected a number of seconds"):
            hr.lerobot(root, tolerance_s=None)

    def test_offsets_within_the_tolerance_are_frames(self, root):
        pipe = hr.lerobot(root, {"index": [0.10005, -0.2]}, features=["index"])
        assert next(iter(pipe))["index"].tolist() == [1, 0]
