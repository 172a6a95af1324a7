"""A resumed iteration continues exactly like the first one."""

import json
import pickle
import subprocess
import sys
import tarfile
from itertools import islice
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.archives import add_members
from tests.pipeline.conftest import same
from tests.tiers import nightly_after

import headrace as hr
from headrace.core import errors
from headrace.io.records import TFRecordWriter
from headrace.pipeline.run import state as states_of


def copied(state):
    """A state as another process gets it."""
    return json.loads(json.dumps(state))


def run(batches):
    """All batches, and the state before each and after the last."""
    states, inputs = [batches.state()], []
    for batch in batches:
        inputs.append(batch)
        states.append(batches.state())
    return inputs, states


def numbers_of(batches):
    return [int(number) for batch in batches for number in np.ravel(batch["number"])]


class TestEnds:
    def test_state_after_close_keeps_the_prefetched_examples(self):
        pipe = hr.arrays({"number": np.arange(3000)})
        batches = iter(pipe)
        first = [next(batches) for _ in range(37)]
        before = batches.state()
        batches.close()
        assert batches.state() == before
        assert numbers_of([*first, *pipe.resume(before)]) == list(range(3000))

    def test_counts_after_close_cover_only_the_consumed_examples(self):
        parts = [hr.arrays({"number": np.arange(300)}), hr.arrays({"number": np.arange(300)})]
        batches = iter(hr.mix(parts, seed=1))
        for _ in range(41):
            next(batches)
        counts, digest = batches.counts, batches.digest()
        batches.close()
        assert sum(counts.values()) == 41
        assert (batches.counts, batches.digest()) == (counts, digest)

    @pytest.mark.parametrize("num_taken", [0, 1, 20, None])
    @pytest.mark.parametrize("is_cached", [False, True])
    def test_mix_inside_a_window_or_cache_has_a_state(self, is_cached, num_taken):
        parts = [hr.arrays({"number": np.arange(n, n + 300)}) for n in (0, 1000)]
        mixed = hr.mix(parts, seed=1, stop="all")
        pipe = (mixed.cache() if is_cached else mixed.shuffle(window=50, seed=2)).shard(0, 3)
        full = numbers_of(pipe)
        with iter(pipe) as batches:
            taken = numbers_of(islice(batches, num_taken))
        assert taken + numbers_of(pipe.resume(batches.state())) == full

    def test_state_after_an_error_resumes_with_the_same_error(self):
        def inverse(example):
            return {"number": 100 // (40 - int(example["number"]))}

        pipe = hr.arrays({"number": np.arange(60)}).map(inverse)
        batches = iter(pipe)
        with pytest.raises(ZeroDivisionError):
            list(batches)
        with pytest.raises(ZeroDivisionError):
            next(pipe.resume(batches.state()))


@pytest.mark.parametrize("window", [None, 100])
def test_epoch_resumes_after_each_batch(records, window):
    pipeline = hr.tfrecords(records).parse({"number": int}).shuffle(window, seed=3).batch(64)
    uninterrupted, states = run(iter(pipeline.epochs(2)))
    for place, state in enumerate(states):
        assert numbers_of(pipeline.epochs(2).resume(state)) == numbers_of(uninterrupted[place:])


def test_unbatched_examples_resume_one_by_one(records):
    pipeline = hr.tfrecords(records).parse({"number": int}).filter(lambda e: e["number"] % 3)
    uninterrupted, states = run(iter(pipeline))
    for place in (0, 1, 17, 400, len(uninterrupted) - 1, len(uninterrupted)):
        assert numbers_of(pipeline.resume(states[place])) == numbers_of(uninterrupted[place:])


def test_iterable_is_replayed_up_to_the_position():
    def examples():
        return ({"number": number} for number in range(1000))

    pipeline = hr.iterable(examples).batch(7).epochs(2)
    uninterrupted, states = run(iter(pipeline))
    assert numbers_of(pipeline.resume(states[190])) == numbers_of(uninterrupted[190:])


def test_resume_with_none_starts_at_the_beginning(records):
    pipeline = hr.tfrecords(records).parse({"number": int}).batch(100)
    assert same(list(pipeline.resume(None)), list(pipeline))


def test_numbered_epoch_resumes(records):
    pipeline = hr.tfrecords(records).parse({"number": int}).shuffle(100, seed=3).batch(100)
    uninterrupted, states = run(pipeline.epoch(5))
    assert same(list(pipeline.resume(states[4])), uninterrupted[4:])


def test_drawn_seed_is_part_of_the_state(records):
    def pipeline():
        return hr.tfrecords(records).parse({"number": int}).shuffle(window=100).batch(100)

    uninterrupted, states = run(iter(pipeline()))
    again, later = run(pipeline().resume(states[4]))
    assert same(again, uninterrupted[4:])
    # The rest of the state depends on how the run divided its blocks.
    assert all(state["seeds"] == states[0]["seeds"] for state in states + later)


def test_files_can_move_to_another_directory(records, tmp_path):
    for path in records.iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())

    def pipeline(directory):
        return hr.tfrecords(directory).parse({"number": int}).shuffle(50, seed=3).batch(100)

    uninterrupted, states = run(iter(pipeline(records)))
    assert same(list(pipeline(tmp_path).resume(states[6])), uninterrupted[6:])


SCRIPT = """
import json, sys
import headrace as hr
from tests.pipeline.run.test_state import everything, numbers_of
state = json.load(sys.stdin)
print(json.dumps(numbers_of(everything(sys.argv[1]).options(num_threads=3).resume(state))))
"""


def everything(records):
    """A pipeline of many stages."""
    examples = hr.tfrecords(records).parse({"number": int, "list": hr.Ragged(int)})
    odd = examples.filter(lambda example: example["number"] % 2).shuffle(window=50, seed=1)
    mixed = hr.mix([odd, examples.cache().shuffle(seed=2)], [1, 2], seed=3, stop="all")
    buckets = mixed.map(drawn, seed=4).bucket_by_length("list", [1, 2], 8).unbatch()
    return buckets.select("number").shuffle(window=20, seed=5).epochs(2).batch(9)


def drawn(example, rng):
    return {
        "number": example["number"] * 10 + rng.integers(10),
        "list": np.zeros(int(example["number"]) % 4),
    }


def test_state_resumes_in_another_process(records):
    uninterrupted, states = run(iter(everything(records)))
    for place in (3, len(uninterrupted) // 2, len(uninterrupted) - 5):
        script = subprocess.run(
            [sys.executable, "-c", SCRIPT, records],
            input=json.dumps(states[place]),
            capture_output=True,
            text=True,
            check=True,
            cwd=Path(__file__).parents[3],
        )
        assert json.loads(script.stdout) == numbers_of(uninterrupted[place:])


@pytest.mark.timeout(300)
def test_repeatedly_killed_training_sees_each_example_once_per_epoch(records, tmp_path, is_nightly):
    script = Path(__file__).with_name("killed_training.py")
    finished = subprocess.run(
        [sys.executable, script, records, tmp_path, "100" if is_nightly else "15"],
        capture_output=True,
        text=True,
        check=True,
    )
    epochs = json.loads(finished.stdout)
    assert len(epochs) >= 3
    assert all(epochs), "an epoch lacked examples, or had some twice"


class TestSizes:
    """A state is small: it has positions of examples, not examples."""

    @pytest.fixture
    def many(self, tmp_path):
        for index in range(40):
            with TFRecordWriter(
                tmp_path / f"some-longer-name-{index:05}-of-00040.tfrecord"
            ) as file:
                for number in range(500):
                    file.write(b"%d" % (500 * index + number))
        return hr.tfrecords(tmp_path).map(number_of)

    def test_state_is_about_a_kilobyte_if_each_record_is_one_example_before_the_shuffle(self, many):
        shuffled = many.shuffle(window=5000, seed=1).map(number_of).epochs(3).shard(1, 4).batch(16)
        _, states = run(iter(shuffled))
        assert len(states) == 939
        # Some 30 for each of 16 open files.
        assert max(len(json.dumps(state)) for state in states) < 1000 + 30 * 16

    def test_other_states_need_up_to_16_bytes_per_pending_example(self, many):
        filtered = many.filter(lambda example: example["number"] % 3)
        _, states = run(iter(filtered.shuffle(window=5000).batch(16)))
        assert max(len(json.dumps(state)) for state in states) < 1000 + 30 * 16
        lists = filtered.map(lambda e: {"number": e["number"], "x": np.zeros(e["number"] % 1000)})
        buckets = lists.bucket_by_length("x", list(range(1, 1000, 2)), 8)
        _, states = run(iter(buckets))
        # Nearly seven for each of 501 buckets at most.
        assert 3000 < max(len(json.dumps(state)) for state in states) < 1000 + 16 * 7 * 501


def number_of(example):
    return {"number": int(example.get("record", example.get("number")))}


class TestShards:
    """Other numbers of shards continue with the same global order."""

    @pytest.fixture
    def pipeline(self, records):
        def build(index, count, size=6):
            examples = hr.tfrecords(records).parse({"number": int})
            mixed = hr.mix([examples.shuffle(seed=1), examples.shuffle(window=9, seed=2)], seed=3)
            return mixed.epochs(2).shard(index, count).batch(size)

        return build

    @pytest.mark.parametrize(("count", "size"), [(1, 6), (2, 12), (3, 5), (8, 3)])
    def test_four_shards_resume_as_a_different_number(self, pipeline, count, size):
        full = numbers_of(pipeline(0, 1))
        batches = iter(pipeline(2, 4))
        for _ in range(20):
            next(batches)
        state = batches.state()
        rest = [iter(numbers_of(pipeline(i, count, size).resume(state))) for i in range(count)]
        resumed = [number for step in zip(*rest, strict=False) for number in step]
        assert resumed == full[480 : 480 + len(resumed)]
        assert len(full) - 480 - len(resumed) < count

    def test_four_shards_resume_as_a_thousand(self):
        """No example is lost or repeated, and ranks differ by at most one example."""

        def pipeline(index, count, size):
            numbers = hr.arrays({"number": np.arange(5500)})
            shuffled = numbers.shuffle(window=300, seed=1).epochs(2)
            return shuffled.shard(index, count).batch(size).options(num_threads=1)

        full = numbers_of(pipeline(0, 1, 100))
        batches = iter(pipeline(3, 4, 50))
        for _ in range(5):
            next(batches)
        state = batches.state()
        ranks = [numbers_of(pipeline(rank, 1000, 3).resume(state)) for rank in range(1000)]
        assert {len(rank) for rank in ranks} == {10}
        assert [number for step in zip(*ranks, strict=True) for number in step] == full[1000:]

    @pytest.mark.parametrize("world", [4, 1000])
    def test_rank_reads_its_share_of_a_full_shuffle(self, tmp_path, world):
        for index in range(4):
            with TFRecordWriter(tmp_path / f"{index}.tfrecord") as writer:
                for number in range(index * 10_000, (index + 1) * 10_000):
                    writer.write(b"%06d" % number + b"." * (number % 7))

        def of_record(example):
            return {"number": int(example["record"][:6])}

        shuffled = hr.tfrecords(tmp_path).shuffle(seed=3).skip(5).epochs(2)
        uninterrupted, everything = self.read(shuffled.map(of_record))
        assert len(uninterrupted) == 2 * 39_995
        for rank in (0, 1, world - 1):
            mine, num_bytes = self.read(shuffled.shard(rank, world).map(of_record))
            assert mine == uninterrupted[rank::world]
            assert num_bytes == pytest.approx(everything / world, rel=0.1)
        # Examples before a filter are read: the order counts only the examples it keeps.
        even = shuffled.map(of_record).filter(lambda example: example["number"] % 2 == 0)
        assert self.read(even.shard(1, world))[1] == everything

    def read(self, pipeline):
        """All numbers, and how many bytes the source has read."""
        with iter(pipeline.options(num_threads=1)) as batches:
            numbers = numbers_of(batches)
            return numbers, batches.statistics().stages[0].bytes

    def test_shard_count_that_does_not_divide_the_position_is_rejected(self, pipeline):
        batches = iter(pipeline(2, 4))
        next(batches)
        message = "saved with 4 shards after 24 examples in all, which is not a multiple of the 5"
        with pytest.raises(ValueError, match=message):
            pipeline(0, 5).resume(batches.state())

    def test_shard_before_a_shuffle_must_keep_its_count(self, records):
        def build(index, count):
            return hr.tfrecords(records).shard(index, count).shuffle(window=10, seed=1).batch(10)

        message = r"stage 1 is shard\(0, 2\), but it was shard\(0, 4\)"
        with pytest.raises(ValueError, match=message):
            build(0, 2).resume(iter(build(0, 4)).state())


class TestRefusals:
    """The error for a state that does not fit names the difference."""

    @pytest.fixture
    def pipeline(self, records):
        return self.build(records)

    def build(self, records, size=100, seed=3, epochs=2, weights=(1, 2)):
        one = hr.tfrecords(records).parse({"number": int})
        mixed = hr.mix([one.map(even), one.shuffle(window=50, seed=seed)], weights, seed=4)
        return mixed.epochs(epochs).batch(size)

    @pytest.fixture
    def state(self, pipeline):
        batches = iter(pipeline)
        next(batches)
        return copied(batches.state())

    def test_different_description_is_rejected(self, records, state):
        with pytest.raises(
            ValueError, match=r"stage 2 is batch\(99, 'keep'\), but it was batch\(100, 'ke"
        ):
            self.build(records, size=99).resume(state)
        with pytest.raises(ValueError, match=r"this pipeline has unbatch\(\) after stage 2"):
            self.build(records).unbatch().resume(state)
        with pytest.raises(
            ValueError, match=r"the saved pipeline has batch\(100, 'keep'\) after st"
        ):
            hr.Pipeline(self.build(records)._stages[:-1]).resume(state)

    def test_different_function_in_a_part_is_rejected(self, records, state, monkeypatch):
        monkeypatch.setattr(even, "__qualname__", "odd")
        with pytest.raises(
            ValueError, match=r"stage 2 of part 0 of stage 0 is map\(odd\), but it was map"
        ):
            self.build(records).resume(state)

    def test_different_seed_is_rejected(self, records, state):
        with pytest.raises(
            ValueError, match="the seed of shuffle is 5, but it was 3 when the state"
        ):
            self.build(records, seed=5).resume(state)

    def test_allow_permits_different_weights_and_epochs(self, records, state):
        other = self.build(records, epochs=5, weights=(2, 1))
        message = (
            r"the weights of mix changed from \[1.0, 2.0\] to \[2.0, 1.0\] .* allow=\{'weights'\}"
        )
        with pytest.raises(ValueError, match=message):
            other.resume(state, allow={"epochs"})
        with pytest.raises(ValueError, match=r"the number of epochs changed from 2 to 5"):
            other.resume(state, allow={"weights"})
        assert len(list(other.resume(state, allow={"epochs", "weights"}))) > 40
        with pytest.raises(
            ValueError, match="allow contains 'size', expected only 'epochs', 'weights' and 'parts'"
        ):
            other.resume(state, allow={"size"})

    def test_different_files_are_rejected(self, records, state, tmp_path):
        paths = sorted(records.glob("*.tfrecord"))
        for path in paths:
            (tmp_path / path.name).write_bytes(path.read_bytes())
        self.build(tmp_path).resume(state).close()
        (tmp_path / paths[1].name).write_bytes(b"more")
        with pytest.raises(
            ValueError, match=r"1\.tfrecord: the name, size or order of the files has changed"
        ):
            self.build(tmp_path).resume(state)
        (tmp_path / paths[1].name).unlink()
        with pytest.raises(ValueError, match=r"the pipeline reads 2 files .*, but it read 3"):
            self.build(tmp_path).resume(state)

    def test_state_of_a_newer_version_is_rejected(self, pipeline, state):
        newer = states_of._VERSION + 1
        with pytest.raises(
            ValueError, match=rf"version {newer}, .* up to version {newer - 1}\. Up"
        ):
            pipeline.resume({**state, "version": newer})

    def test_state_of_an_older_version_is_rejected(self, pipeline, state):
        with pytest.raises(
            ValueError, match=r"version 1, .* only states of version \d\. Resume with"
        ):
            pipeline.resume({**state, "version": 1})

    def test_edited_or_truncated_state_is_rejected(self, pipeline, state):
        for damaged in (
            {**state, "epoch": 1},
            {**state, "place": []},
            {**state, "more": 1},
            {key: state[key] for key in state if key != "seeds"},
            {**state, "version": 0},
            {**state, "seeds": [True]},
        ):
            with pytest.raises(ValueError, match="the state is damaged: it was cut short or edi"):
                pipeline.resume(damaged)
        with pytest.raises(TypeError, match="got 'text', expected a state"):
            pipeline.resume("text")

    def test_error_for_a_wrong_dict_lists_its_keys(self, pipeline, state):
        words = (
            r"resume: got a dict with the keys 'model', 'data', expected a state from "
            r"Batches\.state\(\)\. Its entry 'data' is such a state: resume\(checkpoint\['data'\]\)"
        )
        with pytest.raises(ValueError, match=words):
            pipeline.resume({"model": 1, "data": state})
        with pytest.raises(ValueError, match=r"got an empty dict, .* pass the entry"):
            pipeline.resume({})
        with pytest.raises(ValueError, match="'k9', …, expected a state"):
            pipeline.resume({f"k{number}": number for number in range(20)})

    @given(data=st.data())
    def test_hostile_state_raises_an_error_or_yields_examples(self, pipeline, state, data):
        """The checksum is right, and any values replace the old ones."""
        content = {key: value for key, value in state.items() if key != "checksum"}
        anything = st.recursive(
            st.none() | st.booleans() | st.integers() | st.integers(0, 3) | st.text(max_size=3),
            lambda inner: st.lists(inner, max_size=4),
            max_leaves=8,
        )
        key = data.draw(st.sampled_from(sorted(content)))
        edited = {**content, key: self.edited(content[key], data, anything)}
        edited["checksum"] = states_of._checksum(edited)
        try:
            batches = pipeline.resume(edited)
        except (ValueError, TypeError, errors.OpError):
            return
        with batches:
            for _, _ in zip(range(3), self.until_error(batches), strict=False):
                pass

    def edited(self, value, data, anything):
        if not isinstance(value, list) or not value or data.draw(st.integers(0, 9)) == 0:
            return data.draw(anything)
        place = data.draw(st.integers(0, len(value) - 1))
        return [*value[:place], self.edited(value[place], data, anything), *value[place + 1 :]]

    def until_error(self, batches):
        try:
            yield from batches
        except (ValueError, errors.OpError):
            return

    def test_nondeterministic_pipeline_has_no_state(self, pipeline):
        batches = iter(pipeline.options(deterministic=False))
        with batches, pytest.raises(errors.FailedPreconditionError, match="deterministic=False"):
            batches.state()


def even(example):
    return {"number": 2 * example["number"]}


class Counting:
    """Numbers its calls, and keeps the number."""

    def __init__(self):
        self.calls = 0

    def __call__(self, example):
        self.calls += 1
        return {"number": example["number"], "call": self.calls}

    def state(self):
        return {"calls": self.calls}

    def restore(self, state):
        self.calls = state["calls"]


class Doubling:
    """An iterator whose numbers follow from the last one."""

    def __init__(self):
        self.last = 1

    def __iter__(self):
        return self

    def __next__(self):
        self.last = self.last * 2 % 1_000_003
        if self.last == 1:
            raise StopIteration
        return {"number": self.last}

    def state(self):
        return self.last

    def restore(self, state):
        self.last = state


class TestFunctionsWithState:
    """A function or an iterator with `state()` and `restore(state)` continues with its state."""

    def test_functions_resume_with_their_state(self):
        def pipeline():
            numbers = hr.arrays({"number": np.arange(1000)})
            counted = numbers.filter(Alternating()).map(Counting()).flat_map(Repeating())
            return counted.shuffle(window=20, seed=1).batch(7)

        uninterrupted, states = run(iter(pipeline()))
        for place in (0, 1, 70, len(uninterrupted) - 1):
            assert same(list(pipeline().resume(copied(states[place]))), uninterrupted[place:])
        again = pipeline()
        assert same(list(again.resume(states[70])), uninterrupted[70:])
        assert same(list(again.resume(states[70])), uninterrupted[70:])

    def test_iterators_resume_with_their_state(self):
        def pipeline(output):
            return hr.iterable(lambda: output.append(Doubling()) or output[-1]).take(2000).batch(9)

        uninterrupted, states = run(iter(pipeline([])))
        for place in (0, 1, 150, len(uninterrupted) - 1):
            outputs = []
            again, later = run(pipeline(outputs).resume(copied(states[place])))
            assert same(again, uninterrupted[place:])
            middle = len(again) // 2
            twice = pipeline([]).resume(copied(later[middle]))
            assert same(list(twice), uninterrupted[place + middle :])

    def test_function_that_is_no_longer_stateful_is_rejected(self):
        def pipeline(function):
            return hr.arrays({"number": np.arange(10)}).map(function).batch(2)

        with iter(pipeline(Counting())) as batches:
            next(batches)
        forgetful = type("Counting", (), {"__call__": Counting.__call__, "calls": 0})()
        message = r"stage 1 is map\(Counting\), but it was map\(Counting\) with a state when"
        with pytest.raises(ValueError, match=message):
            pipeline(forgetful).resume(batches.state())
        others = hr.arrays({"number": np.arange(10)})
        with iter(others.filter(Counting()).batch(2)) as batches:
            next(batches)
        with pytest.raises(TypeError, match="this function has no methods state"):
            next(others.filter(forgetful).batch(2).resume(batches.state()))


class Alternating(Counting):
    """Is true for every other call."""

    def __call__(self, example):
        return super().__call__(example)["call"] % 2


class Repeating(Counting):
    """Gives an example as often as it was called, modulo 3."""

    def __call__(self, example):
        return [example] * (super().__call__(example)["call"] % 3)


def lines(directory):
    texts = [b"line %06d of a file that has several blocks" % number for number in range(20_000)]
    (directory / "a").write_bytes(b"\n".join(texts))
    return hr.text_lines(directory / "a")


def table(directory):
    rows = [f'{number},"two\nlines of {number}"\n\n' for number in range(20_000)]
    (directory / "a.csv").write_text("text,number\n" + "".join(rows))
    return hr.csv(directory / "a.csv", {"number": str, "text": int})


def objects(directory):
    rows = [
        f'{{"number": {number}, "list": [{number}, 1, 2, 3, 4, 5, 6]}}\n\n'
        for number in range(20_000)
    ]
    (directory / "a.jsonl").write_text("".join(rows))
    return hr.json_lines(directory / "a.jsonl", {"number": int, "list": hr.Ragged(int)})


def fixed(directory):
    records = b"".join(b"%040d" % number for number in range(20_000))
    (directory / "a").write_bytes(b"header" + records + b"end")
    return hr.fixed_length_records(directory / "a", 40, 6, 3)


def archive(directory):
    members = [(f"{number:06}.txt", b"%d" % number * 40) for number in range(3000)]
    with tarfile.open(directory / "a.tar", "w") as file:
        add_members(file, members)
    return hr.webdataset(directory / "a.tar")


def compressed(compression):
    def build(directory):
        options = hr.TFRecordOptions(compression)
        with TFRecordWriter(directory / "a", options) as writer:
            for number in range(20_000):
                writer.write(b"record %06d" % number * 5)
        return hr.tfrecords(directory / "a", compression.lower())

    return build


SEVERAL_BLOCKS = {
    "lines": lines,
    "table": table,
    "objects": objects,
    "fixed": fixed,
    "archive": archive,
    "gzip": compressed("GZIP"),
    "zlib": compressed("ZLIB"),
}


@pytest.mark.parametrize("source", SEVERAL_BLOCKS)
def test_each_format_resumes_within_a_file(source, tmp_path):
    pipeline = SEVERAL_BLOCKS[source](tmp_path).with_origin().padded_batch(100)
    uninterrupted, states = run(iter(pipeline))
    places = sorted({state["place"][-3][1][1] for state in states[1:]})
    assert len(places) > 1, "all in one block"
    for place in (1, len(uninterrupted) // 3, len(uninterrupted) - 3):
        again = list(pipeline.resume(copied(states[place])))
        assert same(again, uninterrupted[place:]), place


@pytest.mark.timeout(240)  # 490 functions have 490 threads.
@pytest.mark.parametrize("num_stages", nightly_after(1, [100, 490]))
@pytest.mark.parametrize("kind", ["take", "filter", "skip"])
def test_pipeline_of_many_stages_resumes(kind, num_stages, tmp_path):
    def build():
        pipeline = hr.arrays({"n": np.arange(3 * num_stages)})
        for _ in range(num_stages):
            match kind:
                case "take":
                    pipeline = pipeline.take(10**6)
                case "filter":
                    pipeline = pipeline.filter(lambda e: e["n"] >= 0)
                case "skip":
                    pipeline = pipeline.skip(1)
        return pipeline.batch(num_stages // 2)

    uninterrupted, states = run(iter(build()))
    for place in (1, len(uninterrupted) - 1):
        for state in (copied(states[place]), pickle.loads(pickle.dumps(states[place]))):
            assert same(list(build().resume(state)), uninterrupted[place:])


def test_pipeline_of_too_many_stages_is_rejected():
    pipeline = hr.arrays({"n": np.arange(3)})
    for _ in range(500):
        pipeline = pipeline.take(3)
    with pytest.raises(ValueError, match=r"has 501 stages, but the maximum is 500\."):
        iter(pipeline)
