"""`clips`: the frames, padding marks, order, states and errors."""

import json
import os
import re
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
from tests.pipeline.video.written_videos import change, find_box, numbers_of, write_video

import headrace as hr
from headrace.core import engine, errors
from headrace.pipeline.video import video_file
from headrace.pipeline.video.decoder import decoder_bytes
from headrace.pipeline.video.frames import read_into
from headrace.pipeline.video.video_file import open_video

LENGTHS = (40, 5, 23, 31, 1, 57)
SEED = 7


@pytest.fixture(scope="module")
def directory(tmp_path_factory):
    """Videos of several lengths, with B-frames and open GOPs."""
    directory = tmp_path_factory.mktemp("videos")
    options = {"bf": "3", "g": "12", "x264-params": "open-gop=1:scenecut=0"}
    for index, length in enumerate(LENGTHS):
        path = directory / "ab"[index % 2] / f"{index}.mp4"
        path.parent.mkdir(exist_ok=True)
        write_video(path, length, options=options)
    return directory


@pytest.fixture(scope="module")
def paths(directory):
    return [str(directory / "ab"[index % 2] / f"{index}.mp4") for index in range(len(LENGTHS))]


def shown(examples):
    """Returns the numbers of each example's frames, and the file."""
    return [(Path(e["path"]).stem, numbers_of(e["video"]), e["is_pad"].tolist()) for e in examples]


def clip(start, frames, every, length):
    """Returns the expected numbers and marks."""
    numbers = [start + every * index for index in range(frames)]
    return [min(n, length - 1) for n in numbers], [n >= length for n in numbers]


class TestFrames:
    def test_uniform_clips_cover_the_video(self, paths):
        examples = shown(hr.videos(paths).clips("video", 4, 3, count=3, at="uniform"))
        expected = []
        for index, length in enumerate(LENGTHS):
            last = max(length - 10, 0)
            for start in (0, last // 2, last):
                expected.append((str(index), *clip(start, 4, 3, length)))
        assert examples == expected

    def test_clip_at_a_time_starts_with_the_frame_shown_at_that_time(self, paths):
        examples = shown(hr.videos(paths[0]).clips("video", 5, 2, at=0.55))
        assert examples == [("0", *clip(16, 5, 2, 40))]

    def test_random_clips_fit_into_the_video(self, paths):
        starts = set()
        pipe = hr.videos(paths).clips("video", 4, 3, count=20, at="random", seed=SEED)
        for name, numbers, is_pad in shown(pipe):
            length = LENGTHS[int(name)]
            assert (numbers, is_pad) == clip(numbers[0], 4, 3, length)
            assert any(is_pad) == (length < 10)
            if name == "5":
                starts.add(numbers[0])
        assert len(starts) > 10
        assert max(starts) > 35

    def test_random_clips_depend_on_the_epoch_and_the_seed(self, paths):
        def starts(epoch, seed):
            pipe = hr.videos(paths).clips("video", 2, 1, seed=seed)
            return [numbers_of(e["video"])[0] for e in pipe.epoch(epoch)]

        assert starts(0, 1) == starts(0, 1)
        assert starts(0, 1) != starts(1, 1)
        assert starts(0, 1) != starts(0, 2)

    def test_short_videos_repeat_their_last_frame(self, paths):
        [example] = hr.videos(paths[1]).clips("video", 4, 2, at="uniform")
        assert numbers_of(example["video"]) == [0, 2, 4, 4]
        assert example["is_pad"].tolist() == [False, False, False, True]
        np.testing.assert_array_equal(example["video"][2], example["video"][3])

    def test_size_scales_the_frames(self, paths):
        pipe = hr.videos(paths).clips("video", 3, 2, at="uniform", size=(24, 32)).batch(6)
        assert pipe.spec["video"] == hr.Spec(np.dtype(np.uint8), (None, 3, 24, 32, 3))
        [batch] = pipe
        assert batch["video"].shape == (6, 3, 24, 32, 3)
        assert [numbers_of(clip)[0] for clip in batch["video"]] == [0] * 6

    def test_file_contents_are_accepted_as_videos(self, paths):
        pipe = hr.files(paths[0]).clips("data", 2, 5, at="uniform")
        [example] = pipe
        assert numbers_of(example["data"]) == [0, 5]

    def test_other_components_are_kept(self, directory):
        pipe = hr.video_folder(directory).clips("video", 2, 1, count=2, at="uniform")
        assert [(e["label"], Path(e["path"]).stem) for e in pipe] == [
            *[(0, "0")] * 2, *[(0, "2")] * 2, *[(0, "4")] * 2,
            *[(1, "1")] * 2, *[(1, "3")] * 2, *[(1, "5")] * 2,
        ]  # fmt: skip


PIPES = {
    "in order": lambda p: hr.videos(p).clips("video", 3, 2, at="random", seed=SEED),
    "several": lambda p: hr.videos(p).clips("video", 3, 2, count=3, at="random", seed=SEED),
    "shuffled": lambda p: hr.videos(p).shuffle(seed=1).clips("video", 3, 2, seed=SEED),
    "shuffled after": lambda p: hr.videos(p).clips("video", 3, 2, seed=SEED).shuffle(seed=1),
    "window": lambda p: (
        hr.videos(p).clips("video", 3, 2, count=2, seed=SEED).shuffle(window=4, seed=1)
    ),
    "epochs of one clip": lambda p: hr.videos(p).clips("video", 3, 2, seed=SEED).epochs(2),
    "epochs": lambda p: (
        hr.videos(p).shuffle(seed=1).clips("video", 3, 2, count=2, seed=SEED).epochs(2)
    ),
}


@pytest.mark.parametrize("kind", PIPES)
def test_clips_resume_after_any_batch(paths, kind):
    pipe = PIPES[kind](paths).batch(2)
    with iter(pipe) as batches:
        states = [json.dumps(batches.state())]
        everything = []
        for batch in batches:
            everything.append(batch)
            states.append(json.dumps(batches.state()))
    assert len(pipe) == len(everything)
    for step, state in enumerate(states):
        with pipe.resume(json.loads(state)) as rest:
            for batch, expected in zip(rest, everything[step:], strict=True):
                for name in expected:
                    np.testing.assert_array_equal(batch[name], expected[name])


@pytest.mark.parametrize("kind", PIPES)
def test_ranks_divide_the_clips_and_resume_with_a_different_number_of_ranks(paths, kind):
    pipe = PIPES[kind](paths)
    whole = shown(pipe)
    world = 3
    shares = [shown(pipe.shard(rank, world)) for rank in range(world)]
    mixed = [share[i] for i in range(len(shares[0])) for share in shares if i < len(share)]
    assert mixed == whole


@pytest.mark.parametrize(
    "options", [{"num_threads": 1}, {"num_threads": 4, "memory_bytes": 50_000}]
)
def test_clips_do_not_depend_on_threads_or_memory(paths, options):
    pipe = PIPES["several"](paths).batch(3)
    for batch, other in zip(pipe, pipe.options(**options), strict=True):
        np.testing.assert_array_equal(batch["video"], other["video"])


class TestErrors:
    @pytest.fixture
    def damaged(self, tmp_path):
        """Three videos. Frame 10 of the second one is damaged."""
        files = [write_video(tmp_path / f"{n}.mp4", 20, options={"bf": "0"}) for n in range(3)]
        sample = open_video(files[1]).native.read_samples(10, 11)[0]
        offset = Path(files[1]).read_bytes().index(sample)
        change(files[1], offset + 4, bytes(len(sample) - 4))
        return files

    def test_error_for_a_damaged_video_names_the_file_and_the_frame(self, damaged):
        pipe = hr.videos(damaged).clips("video", 12, 1, at="uniform")
        text = r"1\.mp4: frame 10 \(at 0\.33\d* s\) cannot be decoded: .*\. Copy the file again"
        with pytest.raises(errors.DataLossError, match=text):
            list(pipe)

    def test_damaged_video_is_skipped(self, damaged):
        pipe = hr.videos(damaged).clips("video", 12, 1, at="uniform").skip_errors(1)
        batches = iter(pipe)
        assert [Path(example["path"]).stem for example in batches] == ["0", "2"]
        [skipped] = batches.skipped
        assert "1.mp4: frame 10" in skipped.reason

    def test_frames_before_the_damage_are_read(self, damaged):
        pipe = hr.videos(damaged).clips("video", 10, 1, at=0.0)
        assert [numbers_of(example["video"]) for example in pipe] == [list(range(10))] * 3

    def test_time_after_the_end_is_an_error(self, paths):
        with pytest.raises(errors.OutOfRangeError, match=r"1\.mp4: the frame at 1 s was requested"):
            list(hr.videos(paths).clips("video", 2, at=1.0))

    def test_error_for_a_missing_library_names_the_extra(self, paths, monkeypatch):
        pipe = hr.videos(paths).clips("video")
        monkeypatch.setitem(sys.modules, "av", None)
        monkeypatch.setattr("headrace.core.optional_dependencies.find_spec", lambda name: None)
        text = r"clips: av is required to decode videos.* pip install 'headrace\[video\]'"
        with pytest.raises(ModuleNotFoundError, match=text):
            iter(pipe)

    @pytest.mark.parametrize(
        ("arguments", "error", "text"),
        [
            ({"frames": 0}, ValueError, "frames is 0"),
            ({"every": 0}, ValueError, "every is 0"),
            ({"count": 0}, ValueError, "count is 0"),
            ({"at": "middle"}, TypeError, "at is 'middle', expected 'random', 'uniform' or a time"),
            ({"at": -1.0}, ValueError, "at is -1.0"),
            ({"at": 1.0, "count": 2}, ValueError, "only one clip can start there"),
            ({"at": "uniform", "seed": 1}, ValueError, "draws nothing"),
            ({"seed": -1}, ValueError, "seed is -1"),
            ({"size": 224}, TypeError, "size is 224"),
            ({"decoder": "decord"}, ValueError, "decoder is 'decord', expected 'pyav'"),
            ({"size": (0, 1)}, ValueError, "size is 0"),
        ],
    )
    def test_arguments_are_checked(self, arguments, error, text):
        with pytest.raises(error, match=rf"clips: .*{text}"):
            hr.videos("*.mp4").clips("video", **arguments)

    def test_component_must_be_a_video(self):
        pipe = hr.videos("*.mp4")
        with pytest.raises(ValueError, match="clips: there is no component 'vidoe'"):
            pipe.clips("vidoe")
        numbers = hr.arrays({"video": [1, 2]})
        with pytest.raises(
            ValueError, match=r"clips: the component 'video' is .*, expected the path"
        ):
            numbers.clips("video")
        with pytest.raises(ValueError, match="clips: cannot come after batch"):
            pipe.batch(2).clips("video")
        with pytest.raises(ValueError, match="there is already a component 'is_pad'"):
            pipe.rename(path="is_pad").clips("video")


class TestBlocks:
    """Examples with the same video."""

    @pytest.fixture
    def repeated(self, paths):
        """Rows of a few videos, in an order that changes often."""
        chosen = np.random.default_rng(1).choice([0, 2, 3, 5], 120)
        return [paths[index] for index in chosen]

    @pytest.fixture
    def calls(self, monkeypatch):
        """The video and the number of clips of each call that decodes."""
        calls = []

        def read(video, groups, size):
            calls.append((Path(video.name).stem, len(groups)))
            return read_into(video, groups, size)

        monkeypatch.setattr("headrace.pipeline.stages.clip_reader.read_into", read)
        return calls

    @staticmethod
    def rows(paths):
        return hr.arrays({"video": paths, "path": paths})

    @pytest.mark.parametrize("count", [1, 2])
    def test_clips_of_one_video_are_decoded_together(self, repeated, calls, count):
        pipe = self.rows(repeated).clips("video", 3, 2, count=count, seed=SEED)
        examples = shown(pipe)
        assert sum(num_clips for _, num_clips in calls) == 120 * count
        # Only a few blocks at the start are small.
        assert len(calls) < 60
        alone = [
            example
            for row, path in enumerate(repeated)
            for example in shown(
                self.rows(repeated).skip(row).take(1).clips("video", 3, 2, count=count, seed=SEED)
            )
        ]
        assert examples == alone
        assert [name for name, _, _ in examples[::count]] == [Path(path).stem for path in repeated]

    def test_repeated_clips_of_one_video_are_identical(self, paths):
        pipe = self.rows([paths[0]] * 40).clips("video", 3, 2, at="uniform")
        assert shown(pipe) == [("0", [0, 2, 4], [False] * 3)] * 40

    def test_blocks_resume_after_any_batch(self, repeated):
        pipe = self.rows(repeated[:30]).shuffle(seed=1).clips("video", 2, 3, seed=SEED).batch(4)
        with iter(pipe) as batches:
            states = [batches.state()]
            expected = []
            for batch in batches:
                expected.append(batch["video"])
                states.append(batches.state())
        for step, state in enumerate(states):
            with pipe.resume(state) as rest:
                for batch, frames in zip(rest, expected[step:], strict=True):
                    np.testing.assert_array_equal(batch["video"], frames)

    def test_failing_clips_of_a_block_fail_alone(self, tmp_path, paths):
        damaged = write_video(tmp_path / "damaged.mp4", 20, options={"bf": "0"})
        sample = open_video(damaged).native.read_samples(10, 11)[0]
        offset = Path(damaged).read_bytes().index(sample)
        change(damaged, offset + 4, bytes(len(sample) - 4))
        missing = str(tmp_path / "missing.mp4")
        files = [paths[0], damaged, missing, damaged, missing, paths[0], damaged] * 8
        pipe = self.rows(files).clips("video", 4, 1, seed=SEED).skip_errors(60)
        batches = iter(pipe)
        examples = shown(batches)
        assert [name for name, _, _ in examples if name == "0"] == ["0"] * 16
        # Clips that end before the damage are read.
        good = [numbers for name, numbers, _ in examples if name == "damaged"]
        assert all(numbers[-1] < 10 for numbers in good)
        assert len(good) + len(batches.skipped) == 40
        text = r"damaged\.mp4: frame 1\d .* cannot be decoded|missing\.mp4"
        assert all(re.search(text, skipped.reason) for skipped in batches.skipped)


class TestMemory:
    def test_decoder_counts_towards_memory_bytes(self, tmp_path, monkeypatch):
        path = write_video(tmp_path / "a.mp4", 4, codec="mpeg4", size=(480, 640))
        video = open_video(path)
        # Two pictures for reference, and four others.
        assert decoder_bytes(video) == 6 * 480 * 640 * 3
        used, has_begun = [], threading.Event()
        pipe = hr.videos([path] * 2).clips("video", 2, 1, at=0.0, size=(24, 32))

        def read(*arguments):
            assert has_begun.wait(60)
            used.append(batches.metrics()["headrace_memory_bytes"])
            return read_into(*arguments)

        monkeypatch.setattr("headrace.pipeline.stages.clip_reader.read_into", read)
        with iter(pipe) as batches:
            has_begun.set()
            list(batches)
        assert min(used) >= decoder_bytes(video)

    def test_high_resolution_h264_has_few_reference_pictures(self, tmp_path):
        path = write_video(tmp_path / "a.mp4", 2, size=(1088, 1920))
        level = open_video(path).native.config[3]
        assert level == 40
        assert decoder_bytes(open_video(path)) == (4 + 4) * 1088 * 1920 * 3

    def test_error_for_a_clip_larger_than_memory_bytes_names_the_file(self, paths):
        pipe = hr.videos(paths[5]).clips("video", 16, 1, at=0.0).options(memory_bytes=100_000)
        text = (
            r"5\.mp4: a clip of 16 frames of 48 x 64 pixels needs 147456 bytes, expected at most "
            r"the 100000 of memory_bytes\. Pass size="
        )
        with pytest.raises(errors.ResourceExhaustedError, match=text):
            list(pipe)
        smaller = hr.videos(paths[5]).clips("video", 16, 1, at=0.0, size=(24, 32))
        assert len(list(smaller.options(memory_bytes=100_000))) == 1


class TestIndexFiles:
    @pytest.fixture
    def path(self, tmp_path):
        return write_video(tmp_path / "a.mp4", 20, options={"bf": "2", "g": "5"})

    @staticmethod
    def read(path, **options):
        """Reads a clip as another process would. Returns its numbers, and the statistics."""
        video_file._OPEN._videos.clear()
        pipe = hr.videos(path).clips("video", 4, 3, at="uniform").options(**options)
        with iter(pipe) as batches:
            numbers = [numbers_of(example["video"]) for example in batches]
            return numbers, batches.statistics().index

    def test_frame_tables_are_saved_for_later_runs(self, path, tmp_path):
        numbers, index = self.read(path)
        assert (index.scanned, index.written, index.opened) == (1, 1, 0)
        assert index.directories == (str(tmp_path),)
        assert Path(f"{path}.hrindex").exists()
        again, index = self.read(path)
        assert (index.scanned, index.written, index.opened) == (0, 0, 1)
        assert again == numbers == [[0, 3, 6, 9]]

    def test_index_of_a_changed_video_is_replaced(self, path):
        self.read(path)
        write_video(path, 7)
        numbers, index = self.read(path)
        assert (index.scanned, index.written) == (1, 1)
        assert numbers == [[0, 3, 6, 6]]
        assert self.read(path)[1].opened == 1

    def test_index_of_a_video_with_a_different_start_is_replaced(self, path):
        self.read(path)
        status = os.stat(path)
        content = bytearray(Path(path).read_bytes())
        start, end = find_box(content, b"free")
        content[start - 4 : start] = b"skip"
        Path(path).write_bytes(content)
        os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
        assert start == end
        assert self.read(path)[1].scanned == 1
        assert self.read(path)[1].opened == 1

    @pytest.mark.parametrize("where", [8, 100, 200, -1])
    def test_damaged_index_is_replaced(self, path, where):
        self.read(path)
        index = Path(f"{path}.hrindex")
        undamaged = index.read_bytes()
        damaged = bytearray(undamaged)
        damaged[where] ^= 255
        index.write_bytes(damaged)
        numbers, statistics = self.read(path)
        assert numbers == [[0, 3, 6, 9]]
        assert (statistics.scanned, statistics.written) == (1, 1)
        assert index.read_bytes() == undamaged

    def test_truncated_index_is_replaced(self, path):
        self.read(path)
        index = Path(f"{path}.hrindex")
        undamaged = index.read_bytes()
        for length in (0, 50, len(undamaged) - 1):
            index.write_bytes(undamaged[:length])
            assert self.read(path)[0] == [[0, 3, 6, 9]]
            assert index.read_bytes() == undamaged

    def test_indexes_without_a_writable_directory_are_in_memory(self, path, tmp_path, monkeypatch):
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file" / "cache"))
        (tmp_path / "file").touch()
        os.mkdir(f"{path}.hrindex")
        numbers, index = self.read(path)
        assert numbers == [[0, 3, 6, 9]]
        assert (index.scanned, index.written) == (1, 0)
        assert index.failure is not None

    @pytest.mark.parametrize("mode", ["memory", "off"])
    def test_index_files_can_be_turned_off(self, path, mode):
        assert self.read(path, index=mode)[0] == [[0, 3, 6, 9]]
        assert not Path(f"{path}.hrindex").exists()

    def test_index_file_is_not_read_as_a_video(self, path, tmp_path):
        self.read(path)
        assert len(hr.videos(tmp_path)) == len(hr.videos(f"{tmp_path}/*")) == 1

    def test_inspect_reports_the_number_of_frames(self, path):
        self.read(path)
        index, fault = engine.read_index(f"{path}.hrindex")
        assert fault is None
        assert (index.kind, index.num_records, index.is_whole) == ("video 1", 20, True)
        assert index.file_bytes == os.path.getsize(path)


def test_only_the_clips_of_a_rank_are_decoded(paths, monkeypatch):
    decoded = []

    def read(video, groups, size):
        decoded.append(Path(video.name).stem)
        return read_into(video, groups, size)

    monkeypatch.setattr("headrace.pipeline.stages.clip_reader.read_into", read)
    pipe = hr.videos(paths).clips("video", 2, at="uniform").shuffle(seed=1)
    order = [Path(example["path"]).stem for example in pipe]
    decoded.clear()
    assert [Path(example["path"]).stem for example in pipe.shard(1, 3)] == order[1::3]
    assert sorted(decoded) == sorted(order[1::3])
