"""The examples that `skip_errors` skips, its reports, and its limits."""

import gzip
import io
import json
import tarfile
from pathlib import Path

import numpy as np
import pytest
from tests.archives import add_members
from tests.pipeline.conftest import WAYS, example, write_damaged

import headrace as hr
from headrace.core import errors
from headrace.io.records import TFRecordWriter
from headrace.pipeline.run import state as states_of


def run(pipeline):
    """Returns all numbers and the skipped examples, which are equal for all ways to run it."""
    first, *others = (once(pipeline.options(**way)) for way in WAYS)
    assert all(other == first for other in others)
    return first


def once(pipeline):
    with iter(pipeline) as batches:
        numbers = [int(number) for batch in batches for number in np.ravel(batch["number"])]
        return numbers, batches.skipped


def positions(skipped):
    return [(Path(one.file).name, one.record_number, one.offset_bytes) for one in skipped]


def numbered(path, numbers):
    """Writes a TFRecord file of numbers as text, and returns the start of each record."""
    with TFRecordWriter(path) as writer:
        for number in numbers:
            writer.write(b"%d" % number)
    lengths = [12 + len(b"%d" % number) + 4 for number in numbers]
    return [sum(lengths[:index]) for index in range(len(lengths) + 1)]


def damage(path, *offsets):
    raw = bytearray(path.read_bytes())
    for offset in offsets:
        raw[offset] ^= 1
    path.write_bytes(raw)


def as_number(record):
    return {"number": int(record["record"])}


def text_as_number(line):
    return {"number": int(line["text"])}


@pytest.mark.parametrize("window", [None, 500])
@pytest.mark.parametrize("is_compressed", [False, True])
@pytest.mark.parametrize("source", ["webdataset", "text_lines"])
def test_offsets_of_thousands_of_skipped_examples_are_correct(
    tmp_path, source, is_compressed, window
):
    """Each block is searched once, and not once per example."""
    count = 4000
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        add_members(archive, [(f"{number:04}.txt", b"%1000d" % number) for number in range(count)])
    content = buffer.getvalue()
    if source == "text_lines":
        content = b"".join(b"%04d\n" % number for number in range(count))
    (tmp_path / "a").write_bytes(gzip.compress(content, 1) if is_compressed else content)
    size = 5 if source == "text_lines" else 512 + 1024
    name = "text" if source == "text_lines" else "txt"

    def only_some(example):
        if int(example[name]) % 1000:
            raise ValueError("not one of them")
        return {"number": int(example[name])}

    pipe = getattr(hr, source)(tmp_path / "a")
    pipe = pipe if window is None else pipe.shuffle(window=window, seed=5)
    numbers, skipped = once(pipe.map(only_some).skip_errors(count))
    assert sorted(numbers) == [0, 1000, 2000, 3000]
    assert len(skipped) == count - 4
    assert all(one.offset_bytes == size * one.record_number for one in skipped)


class TestFormats:
    def test_record_with_a_wrong_checksum_counts_as_one(self, tmp_path):
        begins = numbered(tmp_path / "a", range(2000))
        damage(tmp_path / "a", begins[7] + 12, begins[8] + 12, begins[1500] + 13)
        numbers, skipped = run(hr.tfrecords(tmp_path / "a").map(as_number).skip_errors(3))
        assert numbers == [number for number in range(2000) if number not in (7, 8, 1500)]
        assert positions(skipped) == [("a", number, begins[number]) for number in (7, 8, 1500)]
        assert all(one.stage == "tfrecords" for one in skipped)
        assert "the checksum of its data does not match" in skipped[0].reason

    @pytest.mark.parametrize("is_shuffled", [False, True])
    def test_damaged_length_ends_the_file(self, tmp_path, is_shuffled):
        begins = numbered(tmp_path / "a", range(500))
        numbered(tmp_path / "b", range(500, 600))
        damage(tmp_path / "a", begins[300], begins[30] + 12)
        source = hr.tfrecords([tmp_path / "a", tmp_path / "b"])
        source = source.shuffle(seed=3) if is_shuffled else source
        size = (tmp_path / "a").stat().st_size
        lost = round((size - begins[300]) * 300 / begins[300])
        numbers, skipped = run(source.map(as_number).skip_errors(1 + lost))
        assert sorted(numbers) == [n for n in range(600) if n != 30 and not 300 <= n < 500]
        assert sorted(positions(skipped)) == [("a", 30, begins[30]), ("a", 300, begins[300])]
        ended = next(one for one in skipped if one.record_number == 300)
        assert "checksum of its length" in ended.reason
        assert ended.num_lost == lost in range(195, 206)
        end = (
            f"The rest of the file, about {lost} records, judging by the length of the earlier "
            "ones, was not"
        )
        assert ended.reason.endswith(f"{end} read.")
        with pytest.raises(errors.DataLossError, match=f"before .*, and the budget is {lost}"):
            list(source.map(as_number).skip_errors(lost))

    @pytest.mark.parametrize("is_shuffled", [False, True])
    def test_records_lost_in_an_unreadable_file_cannot_be_counted(self, tmp_path, is_shuffled):
        begins = numbered(tmp_path / "a", range(500))
        damage(tmp_path / "a", begins[0])
        source = hr.tfrecords(tmp_path / "a")
        source = source.shuffle(seed=3) if is_shuffled else source
        batches = iter(source.skip_errors(0.99))
        with pytest.raises(errors.DataLossError, match="how many examples are lost here"):
            list(batches)
        assert [one.num_lost for one in batches.skipped] == [None]

    def test_truncated_file_loses_its_last_record(self, tmp_path):
        begins = numbered(tmp_path / "a", range(50))
        (tmp_path / "a").write_bytes((tmp_path / "a").read_bytes()[:-3])
        numbers, skipped = run(hr.tfrecords(tmp_path / "a").map(as_number).skip_errors(1))
        assert numbers == list(range(49))
        assert positions(skipped) == [("a", 49, begins[49])]
        assert skipped[0].num_lost == 1

    def test_truncated_compressed_data_is_skipped(self, tmp_path):
        lines = b"".join(b"%d\n" % number for number in range(90_000))
        (tmp_path / "a").write_bytes(gzip.compress(lines)[:100_000])
        (tmp_path / "b").write_bytes(b"7\n")
        pipeline = hr.text_lines([tmp_path / "a", tmp_path / "b"]).map(text_as_number)
        for way in WAYS:
            batches = iter(pipeline.skip_errors(10**9).options(**way))
            numbers = []
            with pytest.raises(errors.DataLossError, match="how many examples are lost here"):
                numbers.extend(int(example["number"]) for example in batches)
            assert numbers == list(range(len(numbers)))
            assert len(numbers) > 10_000
            [skipped] = batches.skipped
            assert (skipped.record_number, skipped.num_lost) == (len(numbers), None)
            assert "ends too early" in skipped.reason

    @pytest.mark.parametrize("is_shuffled", [False, True])
    def test_unparsable_examples_are_skipped(self, tmp_path, is_shuffled):
        write_damaged(tmp_path / "x" / "a", range(300))
        source = hr.tfrecords(tmp_path / "x" / "a")
        source = source.shuffle(seed=3) if is_shuffled else source
        numbers, skipped = run(source.parse({"number": int}).skip_errors(20))
        lost = {number for number in range(300) if number % 77 == 5 or number % 90 == 7}
        assert sorted(numbers) == sorted(set(range(300)) - lost)
        begins = [0]
        for number in range(300):
            length = 20 if number % 77 == 5 else len(example(number))
            begins.append(begins[-1] + 12 + length + 4)
        assert sorted(positions(skipped)) == sorted(("a", n, begins[n]) for n in lost)
        by_stage = {one.record_number: one.stage for one in skipped}
        assert by_stage == {n: "parse" if n % 77 == 5 else "tfrecords" for n in lost}

    @pytest.mark.parametrize("is_shuffled", [False, True])
    def test_skipped_csv_records_are_reported_with_their_line(self, tmp_path, is_shuffled):
        path = tmp_path / "a.csv"
        path.write_text('number,text\n1,"x\ny"\n2\n\n3,z\nfour,z\n5,"z\n')
        source = hr.csv(path, {"number": int, "text": str})
        source = source.shuffle(seed=3) if is_shuffled else source
        numbers, skipped = run(source.select("number").skip_errors(5))
        assert sorted(numbers) == [1, 3]
        # The number is the line number, starting from 0.
        assert sorted(positions(skipped)) == [("a.csv", 3, 20), ("a.csv", 6, 27), ("a.csv", 7, 34)]
        assert {one.stage for one in skipped} == {"csv"}

    def test_csv_file_with_a_wrong_header_is_skipped(self, tmp_path):
        (tmp_path / "a").write_text("number\n1\n")
        (tmp_path / "b").write_text("other\n2\n")
        (tmp_path / "c").write_text("number\n3\n")
        source = hr.csv([tmp_path / name for name in "abc"], {"number": int})
        # How many examples it has is not known.
        for way in WAYS:
            batches = iter(source.skip_errors(10**9).options(**way))
            assert next(batches)["number"] == 1
            with pytest.raises(
                errors.InvalidArgumentError,
                match=r"no column 'number'.* the budget cannot be checked",
            ):
                next(batches)

    def test_invalid_json_lines_are_skipped(self, tmp_path):
        path = tmp_path / "a.jsonl"
        path.write_text('{"number": 1}\n{"number": }\n\n{"number": "3"}\n{"number": 4}\n')
        numbers, skipped = run(hr.json_lines(path, {"number": int}).skip_errors(2))
        assert numbers == [1, 4]
        assert positions(skipped) == [("a.jsonl", 1, 14), ("a.jsonl", 3, 28)]

    @pytest.mark.parametrize("is_shuffled", [False, True])
    def test_damaged_archive_samples_are_skipped(self, tmp_path, is_shuffled):
        with tarfile.open(tmp_path / "a.tar", "w") as archive:
            for number in range(6):
                files = [(f"{number}.number", b"%d" % number), (f"{number}.txt", b"x")]
                if number == 2:
                    files.pop(0)
                if number == 4:
                    files.insert(1, files[0])
                add_members(archive, files)
        source = hr.webdataset(tmp_path / "a.tar")
        source = source.shuffle(seed=3) if is_shuffled else source
        source = source.map(lambda sample: {"number": int(sample["number"])})
        numbers, skipped = run(source.skip_errors(2))
        assert sorted(numbers) == [0, 1, 3, 5]
        # Each file has a header of 512 bytes and is filled up to 512.
        assert sorted(positions(skipped)) == [("a.tar", 2, 4096), ("a.tar", 4, 7168)]

    @pytest.mark.parametrize("is_shuffled", [False, True])
    def test_truncated_archive_loses_its_last_sample(self, tmp_path, is_shuffled):
        with tarfile.open(tmp_path / "a.tar", "w") as archive:
            add_members(archive, [(f"{number}.number", b"%d" % number) for number in range(6)])
        (tmp_path / "a.tar").write_bytes((tmp_path / "a.tar").read_bytes()[: 4 * 1024 + 100])
        source = hr.webdataset(tmp_path / "a.tar")
        source = source.shuffle(seed=3) if is_shuffled else source
        numbers, skipped = run(
            source.map(lambda sample: {"number": int(sample["number"])}).skip_errors(2)
        )
        assert sorted(numbers) == [0, 1, 2]
        assert [one.record_number for one in skipped] == [3]
        assert "ends within a file" in skipped[0].reason
        assert skipped[0].num_lost == 1

    @pytest.mark.parametrize("is_shuffled", [False, True])
    def test_damaged_archive_header_loses_the_rest_of_the_archive(self, tmp_path, is_shuffled):
        with tarfile.open(tmp_path / "a.tar", "w", format=tarfile.USTAR_FORMAT) as archive:
            add_members(archive, [(f"{number}.number", b"%d" % number) for number in range(40)])
        raw = bytearray((tmp_path / "a.tar").read_bytes()[: 40 * 1024])
        raw[10 * 1024 + 3] ^= 1
        (tmp_path / "a.tar").write_bytes(raw)
        source = hr.webdataset(tmp_path / "a.tar")
        source = source.shuffle(seed=3) if is_shuffled else source
        source = source.map(lambda sample: {"number": int(sample["number"])})
        numbers, skipped = run(source.skip_errors(40))
        # The sample before may have more files.
        assert sorted(numbers) == list(range(9))
        [lost] = skipped
        assert (lost.record_number, lost.offset_bytes, lost.num_lost) == (9, 9 * 1024, 31)

    def test_invalid_fixed_length_records_are_skipped(self, tmp_path):
        (tmp_path / "a").write_bytes(b"0102x304050")
        source = hr.fixed_length_records(tmp_path / "a", 2).map(as_number)
        numbers, skipped = run(source.skip_errors(2))
        assert numbers == [1, 2, 4, 5][: len(numbers)]
        assert positions(skipped) == [("a", 2, 4), ("a", 5, 10)]

    def test_undecodable_images_are_skipped(self, tmp_path):
        image = pytest.importorskip("PIL.Image")
        encoded = io.BytesIO()
        image.new("RGB", (4, 4)).save(encoded, "PNG")
        for number in range(5):
            path = tmp_path / "class" / f"{number}.png"
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(b"nothing" if number == 3 else encoded.getvalue())

        @hr.native
        def decode(example):
            image = hr.ops.decode_png(example["data"], channels=3)
            return {"number": hr.ops.reshape(image, [4, 4, 3])[0, 0, 0] + 1}

        numbers, skipped = run(hr.image_folder(tmp_path).map(decode).skip_errors(1))
        assert numbers == [1] * 4
        assert positions(skipped) == [("3.png", 0, 0)]
        assert skipped[0].stage.startswith("map(")
        assert "decode" in skipped[0].stage


def odd(example):
    if example["number"] % 100 == 3:
        raise LookupError(f"no {example['number']}")
    return example["number"] % 2 == 1


def pair(example):
    if example["number"] % 100 == 3:
        raise LookupError(f"no {example['number']}")
    return [example] * int(example["number"] % 3)


class TestFunctions:
    @pytest.fixture
    def numbers(self):
        return hr.arrays({"number": np.arange(1000)})

    def test_errors_in_filter_and_flat_map_are_skipped(self, numbers):
        values, skipped = run(numbers.filter(odd).skip_errors(10))
        assert values == [n for n in range(1000) if n % 2 == 1 and n % 100 != 3]
        assert [one.record_number for one in skipped] == list(range(3, 1000, 100))
        assert skipped[0] == hr.Skipped("arrays", 3, None, "filter(odd)", "LookupError: no 3")
        values, skipped = run(numbers.flat_map(pair).skip_errors(10))
        assert values == [n for n in range(1000) if n % 100 != 3 for _ in range(n % 3)]
        assert len(skipped) == 10

    def test_wrong_value_returned_by_a_function_is_skipped(self, numbers):
        pipeline = numbers.map(lambda e: {"number": 7} if e["number"] == 500 else e)
        numbers, skipped = run(
            pipeline.map(lambda e: {"number": "x"} if e["number"] == 7 else e).skip_errors(9)
        )
        assert len(numbers) == 998
        assert [one.record_number for one in skipped] == [7, 500]

    def test_skipping_does_not_change_the_draws_of_other_examples(self, numbers):
        def drawn(example, rng):
            return {"number": example["number"] * 1000 + rng.integers(1000)}

        def failing(example):
            if example["number"] % 100 == 3:
                raise LookupError
            return example

        uninterrupted, _ = run(numbers.map(drawn, seed=5))
        kept, _ = run(numbers.map(failing).skip_errors(10).map(drawn, seed=5))
        assert kept == [number for number in uninterrupted if number // 1000 % 100 != 3]

    def test_failing_batch_is_skipped_completely(self, numbers):
        def failing(batch):
            if 500 in batch["number"]:
                raise LookupError
            return batch

        values, skipped = run(numbers.batch(30).map(failing).skip_errors(1))
        assert values == [*range(480), *range(510, 1000)]
        assert [(one.file, one.record_number) for one in skipped] == [(None, 16)]

    def test_stages_before_skip_errors_do_not_count_failed_examples(self, numbers):
        def failing(example):
            if example["number"] < 5:
                raise LookupError
            return example

        before = numbers.map(failing)
        assert run(before.take(3).skip_errors(9))[0] == [5, 6, 7]
        assert run(before.skip(2).take(2).skip_errors(9))[0] == [7, 8]
        assert run(before.shard(1, 2).take(2).skip_errors(9))[0] == [6, 8]
        assert run(before.batch(2).take(1).skip_errors(9))[0] == [5, 6]

    def test_first_example_can_be_skipped(self, numbers):
        def failing(example):
            if example["number"] < 5:
                raise LookupError
            return {"number": float(example["number"])}

        pipeline = numbers.map(failing).skip_errors(9)
        assert pipeline.spec == {"number": hr.Spec(np.dtype("float64"), ())}
        with pytest.raises(LookupError):
            numbers.map(failing).spec  # noqa: B018

    def test_spec_cannot_be_inferred_if_all_examples_are_skipped(self, numbers):
        def failing(example):
            raise LookupError(example["number"])

        with pytest.raises(LookupError):
            list(numbers.map(failing).skip_errors(9))

    def test_error_outside_any_example_is_not_skipped(self):
        def examples():
            yield {"number": 1}
            raise LookupError("an iterator")

        batches = iter(hr.iterable(examples).skip_errors(9))
        assert next(batches)["number"] == 1
        with pytest.raises(LookupError, match="an iterator"):
            next(batches)

        def interrupted(example):
            raise KeyboardInterrupt

        pipeline = hr.arrays({"number": np.arange(3)}).filter(interrupted).skip_errors(9)
        with pytest.raises(KeyboardInterrupt):
            list(pipeline)
        # A file that opens but cannot be read.
        with pytest.raises(errors.UnknownError, match="/proc/self/mem; "):
            list(hr.tfrecords("/proc/self/mem").skip_errors(9))


class TestBudgets:
    @pytest.fixture
    def pipeline(self):
        def failing(example):
            if example["number"] % 100 == 50:
                raise LookupError("missing")
            return example

        return hr.arrays({"number": np.arange(5000)}).map(failing)

    def until_error(self, pipeline, error):
        inputs = []
        with iter(pipeline) as batches:
            with pytest.raises(error) as raised:
                inputs.extend(int(example["number"]) for example in batches)
            return inputs, batches.skipped, raised.value

    @pytest.mark.parametrize("way", WAYS)
    def test_exceeding_the_budget_by_count_is_an_error(self, pipeline, way):
        inputs, skipped, error = self.until_error(
            pipeline.skip_errors(3).options(**way), LookupError
        )
        assert inputs == [number for number in range(350) if number % 100 != 50]
        assert len(skipped) == 4
        assert error.__notes__[-1].startswith(
            "skip_errors: 3 examples were skipped before this one, and the budget is 3."
        )
        assert len(self.until_error(pipeline.skip_errors(0), LookupError)[0]) == 50

    @pytest.mark.parametrize("way", WAYS)
    def test_exceeding_a_fractional_budget_is_an_error(self, pipeline, way):
        inputs, _, error = self.until_error(
            pipeline.skip_errors(0.0099).options(**way), LookupError
        )
        # One in a hundred is judged from 1,000 examples on.
        assert inputs[-1] == 1049
        assert "10 of 1050 examples were skipped before this one" in error.__notes__[-1]
        assert len(list(pipeline.skip_errors(0.011))) == 4950

    def test_share_of_few_examples_is_checked_at_the_end(self, pipeline):
        few = pipeline.take(100).skip_errors(0.005)
        inputs, skipped, error = self.until_error(few, errors.SkippedExamples)
        assert (len(inputs), len(skipped)) == (100, 1)
        assert error.skipped == tuple(skipped)
        assert str(error).startswith(
            "skip_errors: 1 of 101 examples was skipped, but the budget is 0.500%: 1 by "
        )
        assert len(list(pipeline.skip_errors(0.005).take(100))) == 100

    def test_count_covers_all_epochs_and_share_the_examples_read(self, pipeline):
        few = pipeline.take(200)
        inputs, _, _ = self.until_error(few.skip_errors(5).epochs(10), LookupError)
        # Two are omitted in each epoch, and the sixth is the last of the third.
        assert (len(inputs), inputs[-1]) == (2 * 200 + 149, 149)
        assert len(list(few.skip_errors(0.02).epochs(10))) == 2000
        inputs, _, _ = self.until_error(few.skip_errors(0.008).epochs(10), LookupError)
        assert len(inputs) == 5 * 200 + 50

    def test_record_error_mentions_the_budget(self, tmp_path):
        begins = numbered(tmp_path / "a", range(100))
        damage(tmp_path / "a", *(begins[number] + 12 for number in (3, 5, 7)))
        pipeline = hr.tfrecords(tmp_path / "a").map(as_number).skip_errors(2)
        inputs, skipped, error = self.until_error(pipeline, errors.DataLossError)
        assert inputs == [0, 1, 2, 4, 6]
        assert len(skipped) == 3
        assert "record 7" in str(error)
        assert "copy the file again. skip_errors: 2 examples were skipped before" in str(error)

    def test_summary_is_raised_at_the_end_if_requested(self, pipeline):
        expected = pipeline.take(300).skip_errors(100, raises_at_end=True)
        inputs, skipped, error = self.until_error(expected, errors.SkippedExamples)
        assert (len(inputs), len(skipped), len(error.skipped)) == (300, 3, 3)
        assert "3 examples were skipped: 3 by map(" in str(error)
        assert "starting with arrays, record 50: map(" in str(error)
        assert len(list(pipeline.take(40).skip_errors(100, raises_at_end=True))) == 40

    def test_two_skip_errors_count_separately(self, pipeline):
        def failing(example):
            if example["number"] % 500 == 60:
                raise ValueError("another")
            return example

        twice = pipeline.skip_errors(50).map(failing).skip_errors(10)
        with iter(twice) as batches:
            assert len(list(batches)) == 4940
            assert len(batches.skipped) == 60
        self.until_error(pipeline.skip_errors(50).map(failing).skip_errors(9), ValueError)
        self.until_error(pipeline.skip_errors(49).map(failing).skip_errors(10), LookupError)

    def test_budget_is_a_number_of_any_type(self, pipeline):
        assert repr(pipeline.skip_errors(np.int64(50))) == repr(pipeline.skip_errors(50))
        assert repr(pipeline.skip_errors(np.float32(0.5))) == repr(pipeline.skip_errors(0.5))

    def test_invalid_budget_is_rejected(self, pipeline):
        for budget in (-1, 0.0, 1.0, 2.5, float("nan"), 10**400, np.int64(-1), np.float32(2)):
            with pytest.raises(ValueError, match="skip_errors: budget is"):
                pipeline.skip_errors(budget)
        for budget in (True, "1", None):
            with pytest.raises(TypeError, match="skip_errors: budget is"):
                pipeline.skip_errors(budget)
        with pytest.raises(TypeError, match="raises_at_end is 1"):
            pipeline.skip_errors(1, raises_at_end=1)

    def test_skip_errors_is_rejected_in_an_unsupported_position(self, pipeline):
        both = hr.concat([pipeline, pipeline])
        with pytest.raises(ValueError, match="skip_errors: cannot come after a full shuffle of"):
            both.shuffle(seed=3).skip_errors(9)
        with pytest.raises(ValueError, match="skip_errors skips examples, so call it later"):
            pipeline.skip_errors(9).shuffle(seed=3)
        with pytest.raises(TypeError, match="len: the number of examples after skip_errors"):
            len(pipeline.skip_errors(9))


class TestResume:
    @pytest.fixture
    def pipeline(self, tmp_path):
        write_damaged(tmp_path / "x" / "a", range(2000))
        return self.build(tmp_path, 1000)

    def build(self, directory, budget):
        examples = hr.tfrecords(directory / "x" / "a").parse({"number": int})
        return examples.skip_errors(budget).shuffle(window=100, seed=3).epochs(2).batch(50)

    def until_error(self, batches):
        """The state before the first batch and after each, and the error at the end."""
        states = [batches.state()]
        try:
            for _ in batches:
                states.append(batches.state())
        except errors.OpError as error:
            return states, error
        pytest.fail("there was no error")

    def test_report_is_part_of_the_state(self, pipeline):
        full = iter(pipeline)
        for number, _ in enumerate(full):
            if number == 30:
                at_30, state = full.skipped, json.loads(json.dumps(full.state()))
        assert 0 < len(at_30) < len(full.skipped)
        resumed = pipeline.resume(state)
        assert resumed.skipped == at_30
        list(resumed)
        assert resumed.skipped == full.skipped
        assert len(full.skipped) == 2 * len(once(pipeline.take(10**6))[1]) / 2

    def test_budget_runs_out_at_the_same_batch_after_a_resume(self, pipeline, tmp_path):
        small = self.build(tmp_path, 60)
        states, error = self.until_error(iter(small))
        assert "skip_errors: 60 examples were skipped before" in str(error)
        assert len(states) > 20
        for position in (0, 15, len(states) - 1):
            later, again = self.until_error(small.resume(states[position]))
            assert len(later) == len(states) - position
            assert (type(again), str(again)) == (type(error), str(error))
        # Earlier batches do not depend on the budget, so it may differ.
        assert len(list(pipeline.resume(states[-1]))) > 5

    def test_skipped_examples_before_a_cache_are_reported_in_each_iteration(self, tmp_path):
        write_damaged(tmp_path / "x" / "a", range(500))
        examples = hr.tfrecords(tmp_path / "x" / "a").parse({"number": int})
        for cached in (
            examples.skip_errors(100).cache().epochs(3),
            examples.cache().skip_errors(100).epochs(3),
            examples.cache().shuffle(seed=3).skip_errors(100).epochs(3),
        ):
            first, second = once(cached), once(cached)
            assert first == second
            # It was read once.
            assert len(first[1]) == len({one.record_number for one in first[1]})

    def test_edited_report_in_a_state_is_rejected(self, pipeline):
        batches = iter(pipeline)
        [next(batches) for _ in range(20)]
        state = json.loads(json.dumps(batches.state()))
        batches.close()
        texts, entries, judges = state["skipped"]
        assert entries
        for edited in (
            None,
            7,
            [[], entries, judges],
            [texts, [entries[0][:-1]], judges],
            [texts, [[*entries[0][:-1], -1]], judges],
            [texts, [[9, *entries[0][1:]]], judges],
            [texts, [[0, -1, *entries[0][2:]]], judges],
            [texts, entries, [[-1, 0, True]]],
            [texts, entries, []],
            [],
        ):
            hostile = {key: value for key, value in state.items() if key != "checksum"}
            hostile["skipped"] = edited
            hostile["checksum"] = states_of._checksum(hostile)
            with pytest.raises(
                ValueError, match=r"resume: |the state was saved by a pipeline with different"
            ):
                pipeline.resume(hostile)


class TestZip:
    """A failure in one part of a zip takes its partners with it, or is an error."""

    @staticmethod
    def part(name, fails, count=60):
        def function(example):
            if fails(example["n"]):
                raise LookupError(f"{name} {example['n']}")
            return {name: example["n"]}

        return hr.arrays({"n": np.arange(count)}).map(function)

    def pairs(self, end=lambda part: part):
        return hr.zip(
            [
                end(self.part("a", lambda n: n % 7 == 3)),
                end(self.part("b", lambda n: n % 11 in (3, 5))).map(lambda row: row),
            ]
        ).skip_errors(100)

    @staticmethod
    def numbers(rows):
        numbers = [(int(row["a"]), int(row["b"])) for row in rows]
        assert all(a == b for a, b in numbers)
        return [a for a, _ in numbers]

    @pytest.mark.parametrize(
        "end",
        [
            lambda part: part,
            lambda part: part.cache(),
            lambda part: hr.zip([part]),
        ],
    )
    def test_failing_function_in_one_part_skips_the_pair(self, end):
        expected = [n for n in range(60) if n % 7 != 3 and n % 11 not in (3, 5)]
        for way in ({"num_threads": 1}, {"num_threads": 4, "memory_bytes": 10_000}):
            with iter(self.pairs(end).options(**way)) as batches:
                assert self.numbers(batches) == expected
                skipped = {int(one.reason.split()[-1].strip("'")) for one in batches.skipped}
            assert skipped == set(range(60)) - set(expected)
            states = []
            with iter(self.pairs(end).options(**way)) as batches:
                for _ in batches:
                    states.append(batches.state())
            for index, state in enumerate(states, 1):
                rest = self.pairs(end).options(**way).resume(state)
                assert self.numbers(rest) == expected[index:]

    def test_skipped_rows_count_towards_the_length_of_a_part(self):
        failing = self.part("a", lambda n: n == 59)
        uninterrupted = hr.zip([failing, self.part("b", lambda n: False)]).skip_errors(1)
        assert self.numbers(uninterrupted) == list(range(59))
        longer = hr.zip([failing, self.part("b", lambda n: False, 59)]).skip_errors(1)
        with pytest.raises(errors.InvalidArgumentError, match="pipeline 1 ends after 59 examples"):
            list(longer)

    @pytest.mark.parametrize(
        "end",
        [
            lambda part: part.take(50),
            lambda part: part.filter(lambda row: row["a"] % 2 == 0),
            lambda part: part.batch(2).unbatch(),
            lambda part: hr.concat([part, part]),
            lambda part: part.shuffle(window=3, seed=1),
        ],
    )
    def test_failure_with_unknown_partners_is_an_error_with_a_remedy(self, end):
        pairs = hr.zip(
            [end(self.part("a", lambda n: n == 7)), self.part("b", lambda n: False, 200)],
            strict=False,
        )
        with pytest.raises(LookupError, match="a 7") as caught:
            list(pairs.skip_errors(10))
        assert "skip_errors after zip does not cover" in caught.value.__notes__[-1]
        inside = hr.zip(
            [
                end(self.part("a", lambda n: n == 7)).skip_errors(10),
                self.part("b", lambda n: False, 200),
            ],
            strict=False,
        )
        assert 7 not in [int(row["a"]) for row in inside]

    def test_damaged_record_in_a_part_is_an_error_with_a_remedy(self, tmp_path):
        path = tmp_path / "a"
        starts = numbered(path, range(40))
        damage(path, starts[20] + 12)
        records = hr.tfrecords(path).map(as_number)
        pairs = hr.zip([records, self.part("b", lambda n: False, 40)])
        with pytest.raises(errors.DataLossError, match=r"record 20.*does not cover"):
            list(pairs.skip_errors(10))


@pytest.mark.parametrize("directory", [None, "kept"])
def test_failures_in_two_cached_parts_of_one_source_are_distinguished(directory, tmp_path):
    def fail_at_fives(example):
        if example["n"] % 5 == 0:
            raise ValueError("a five")
        return example

    place = None if directory is None else tmp_path / directory
    numbers = hr.arrays({"n": np.arange(10)})
    parts = [numbers.map(fail_at_fives).cache(place) for _ in range(2)]
    for _ in range(2):  # The second time from the cache.
        with iter(hr.concat(parts).skip_errors(4)) as batches:
            assert len(list(batches)) == 16
            assert [one.record_number for one in batches.skipped] == [0, 5, 0, 5]
