"""The contract of all kinds of readers."""

import re
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.tf1.ops.readers.reading import KINDS, Kind

import headrace.tf1 as tf

IAE = tf.errors.InvalidArgumentError
CONTENTS = [[b"aaaa", b"bbbb", b"cccc"], [b"dddd"], [b"eeee", b"ffff"]]
END = "is closed and has insufficient elements (requested 1, current size 0)"


@dataclass(frozen=True)
class Files:
    """Files of one kind and their records."""

    paths: list[bytes]
    expected: list[list[tuple[bytes, bytes]]]

    @property
    def records(self) -> list[tuple[bytes, bytes]]:
        return [record for records in self.expected for record in records]


@pytest.fixture
def files(kind: Kind, tmp_path: Path) -> Files:
    return make_files(kind, tmp_path, CONTENTS)


def make_files(kind: Kind, directory: Path, contents: Sequence[Sequence[bytes]]) -> Files:
    paths, expected = [], []
    for number, records in enumerate(contents):
        path = directory / f"file-{number}"
        if kind.write is not None:
            path.write_bytes(kind.write(records))
        paths.append(bytes(path))
        expected.append(kind.expected(bytes(path), records))
    return Files(paths, expected)


class TestReading:
    def test_read_returns_every_record_in_order_until_the_queue_ends(self, kind, files, reading):
        one = reading(kind.make, files.paths)
        assert [one.read() for _ in files.records] == files.records
        for _ in range(2):
            error = one.error()
            assert isinstance(error, tf.errors.OutOfRangeError)
            assert END in error.message
            assert error.op.type == "ReaderReadV2"

    def test_read_up_to_stays_within_a_file(self, kind, files, reading):
        one = reading(kind.make, files.paths)
        length = 1 if kind.has_whole_files else 2
        for records in files.expected:
            for start in range(0, len(records), length):
                assert one.read_up_to(2) == records[start : start + 2]
        with pytest.raises(tf.errors.OutOfRangeError, match=re.escape(END)):
            one.read_up_to(2)

    def test_read_up_to_zero_does_not_wait(self, kind, reading):
        assert reading(kind.make, is_closed=False).read_up_to(0) == []

    def test_read_up_to_a_negative_number_is_rejected(self, kind, reading):
        with pytest.raises(IAE, match="num_records must be >= 0 not -1"):
            reading(kind.make).read_up_to(-1)

    def test_read_continues_when_a_name_arrives(self, kind, files, reading):
        one, results = reading(kind.make, is_closed=False), []
        thread = one.blocked(one.read, results)
        one.add(files.paths[0])
        thread.join(10)
        assert results == files.records[:1]

    def test_waiting_read_keeps_the_reader_busy(self, kind, files, reading):
        one, records, counts = reading(kind.make, is_closed=False), [], []
        thread = one.blocked(one.read, records)
        counter = threading.Thread(target=lambda: counts.append(one.counts()))
        counter.start()
        one.add(files.paths[0])
        for each in (thread, counter):
            each.join(10)
        assert (records, counts) == (files.records[:1], [(1, int(kind.has_whole_files))])

    def test_read_ends_with_the_session(self, kind, reading):
        one, results = reading(kind.make, is_closed=False), []
        one.blocked(one.read, results)
        one.end()
        assert isinstance(results[0], tf.errors.CancelledError)

    def test_read_respects_the_timeout(self, kind, reading):
        one = reading(kind.make, is_closed=False)
        options = tf.RunOptions(timeout_in_ms=50)
        with pytest.raises(tf.errors.DeadlineExceededError):
            one.session.run(one._read, options=options)

    def test_concurrent_reads_return_each_record_once(self, kind, tmp_path, reading):
        files = make_files(kind, tmp_path, [[b"%04d" % n for n in range(50)]] * 3)
        one, seen = reading(kind.make, files.paths), []
        threads = [threading.Thread(target=lambda: seen.extend(one.read_all())) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(20)
        assert sorted(seen) == sorted(files.records)

    def test_readers_of_two_sessions_are_independent(self, kind, files, reading):
        one = reading(kind.make, files.paths)
        one.read()
        with tf.Session(graph=one.graph) as other:
            assert other.run(one._counts) == [0, 0]


class TestCounts:
    def test_file_is_counted_once_its_end_is_reached(self, kind, files, reading):
        one = reading(kind.make, files.paths)
        counts = []
        for _ in files.records:
            one.read()
            counts.append(one.counts())
        if kind.has_whole_files:
            assert counts == [(1, 1), (2, 2), (3, 3)]
        else:
            assert counts == [(1, 0), (2, 0), (3, 0), (4, 1), (5, 2), (6, 2)]
        one.error()
        assert one.counts() == (len(files.records), 3)

    def test_file_is_counted_when_read_up_to_reaches_its_end(self, kind, files, reading):
        one = reading(kind.make, files.paths)
        one.read_up_to(4)
        assert one.counts() == (len(files.expected[0]), 1)

    def test_reset_restarts_the_counts_and_drops_the_file(self, kind, files, reading):
        one = reading(kind.make, files.paths)
        one.read()
        one.reset()
        assert one.counts() == (0, 0)
        assert one.read() == files.expected[1][0]


class TestStates:
    def test_reader_of_a_new_session_resumes_at_the_next_record(self, kind, files, reading):
        one = reading(kind.make, files.paths)
        for number in range(len(files.records) + 1):
            state, counts, num_names = one.state(), one.counts(), one.stats().size
            rest = files.paths[len(files.paths) - num_names :]
            other = reading(kind.make, rest)
            other.restore(state)
            assert other.counts() == counts
            assert other.state() == state
            assert other.read_all() == files.records[number:]
            if number < len(files.records):
                one.read()

    def test_state_is_empty_at_first_and_after_a_reset(self, kind, files, reading):
        one = reading(kind.make, files.paths)
        assert one.state() == b""
        one.read()
        one.reset()
        assert one.state() == b""
        one.restore(b"")
        assert one.counts() == (0, 0)

    @pytest.mark.parametrize(
        ("state", "text"),
        [
            (b"junk", "Could not parse state for {reader}: junk"),
            (b"\xff'\n", r"Could not parse state for {reader}: \377\'\n"),
            (
                b"\x08" + b"\xff" * 9 + b"\x01",
                "Unexpected negative value when restoring in {reader}: work_started: -1",
            ),
            (
                b"\x08\x02\x10\x01\x22\x01A",
                "Inconsistent work started vs. finished when restoring in {reader}: "
                'work_started: 2 work_finished: 1 current_work: "A"',
            ),
        ],
    )
    def test_invalid_state_is_rejected_and_resets_the_reader(
        self, kind, files, reading, state, text
    ):
        one = reading(kind.make, files.paths)
        one.read()
        op = one.reader.reader_ref.op
        text = text.format(reader=f"{op.type.removesuffix('V2')} '{op.name}'")
        with pytest.raises(IAE, match=re.escape(text)):
            one.restore(state)
        assert (one.counts(), one.state()) == ((0, 0), b"")
        assert one.read() == files.expected[1][0]

    def test_state_must_be_a_scalar(self, kind, reading):
        with pytest.raises(ValueError, match="Shape must be rank 0 but is rank 1"):
            kind.make().restore_state([b""])
        text = re.escape("Reader state must be scalar, but had shape: [1]")
        with pytest.raises(IAE, match=text):
            reading(kind.make).restore([b""])

    def test_state_can_always_be_saved(self, kind):
        assert kind.make().supports_serialize


def kinds(condition: Callable[[Kind], bool]) -> pytest.MarkDecorator:
    chosen = [kind for kind in KINDS if condition(kind)]
    return pytest.mark.parametrize("kind", chosen, ids=[kind.name for kind in chosen])


@kinds(lambda kind: not kind.has_whole_files)
class TestStatesInsideFiles:
    def test_state_cannot_be_restored_without_the_file(self, kind, files, reading):
        one = reading(kind.make, files.paths[:1])
        one.read()
        state = one.state()
        Path(files.paths[0].decode()).unlink()
        with pytest.raises(tf.errors.NotFoundError, match=r"; No such file or directory\. Check"):
            one.restore(state)
        assert one.counts() == (0, 0)

    def test_state_cannot_be_restored_with_a_shorter_file(self, kind, files, reading):
        one = reading(kind.make, files.paths[:1])
        one.read_up_to(3)
        state = one.state()
        one.restore(state)
        Path(files.paths[0].decode()).write_bytes(kind.write([b"aa"]))
        text = (
            r"the state to restore was saved at byte \d+, but the file ends at byte \d+\. Restore"
        )
        with pytest.raises(IAE, match=text):
            one.restore(state)
        assert one.counts() == (0, 0)

    def test_impossible_states_are_rejected(self, kind, files, reading):
        state = b"\x08\x01\x22%c%s\xa0\x06%s\xa8\x06%s" % (
            *(len(files.paths[0]), files.paths[0]),
            *(b"\xff" * 9 + b"\x01", b"\xff" * 9 + b"\x01"),
        )
        with pytest.raises(IAE):
            reading(kind.make).restore(state)


class TestErrorsOfDerivedValues:
    def test_errors_of_later_operations_name_file_record_and_byte(self, kind, files):
        queue = tf.FIFOQueue(9, [tf.string], [[]])
        reader = kind.make()
        one, several = reader.read(queue).value, reader.read_up_to(queue, 9).values
        numbers = [tf.string_to_number(one), tf.string_to_number(several)]
        word, first = kind.first.split()
        where = rf"\[while reading {re.escape(files.paths[0].decode())}: {word}"
        with tf.Session() as session:
            session.run(queue.enqueue_many([files.paths[:1] * 2]))
            with pytest.raises(IAE, match=where + rf" {first} at byte \d+\]"):
                session.run(numbers[0])
            number = int(first) + (not kind.has_whole_files)
            second = rf" {number} at byte \d+\]"
            with pytest.raises(IAE, match=where + second):
                session.run(numbers[1])


class TestNames:
    @pytest.mark.parametrize(
        ("dtypes", "element", "text"),
        [
            ([tf.string, tf.string], ["a", "b"], "Expected single component queue"),
            ([tf.int32], [1], "Expected queue with single string component"),
            ([tf.string], [["a", "b"]], "Expected to dequeue a one-element string tensor"),
        ],
    )
    def test_file_names_must_come_from_a_queue_of_strings(self, kind, dtypes, element, text):
        queue = tf.FIFOQueue(3, dtypes)
        with tf.Session() as session:
            session.run(queue.enqueue(element))
            with pytest.raises(IAE, match=text):
                session.run(kind.make().read(queue))

    def test_file_name_can_be_a_vector_of_one_element(self, kind, files):
        queue = tf.FIFOQueue(3, [tf.string])
        read = kind.make().read(queue.queue_ref)
        with tf.Session() as session:
            session.run(queue.enqueue([files.paths[:1]]))
            assert tuple(session.run(read)) == files.records[0]

    def test_non_utf_8_file_names_are_accepted(self, kind, tmp_path, reading):
        path = bytes(tmp_path / "f") + b"\xff\xfe"
        if kind.write is not None:
            with open(path, "wb") as file:
                file.write(kind.write([b"aaaa"]))
        assert reading(kind.make, [path]).read_all() == kind.expected(path, [b"aaaa"])

    @pytest.mark.parametrize("queue", [3, None, "names"])
    def test_file_names_must_come_from_a_queue(self, kind, queue):
        with pytest.raises(TypeError, match="expected a queue or its queue_ref, got"):
            kind.make().read(queue)
        with pytest.raises(TypeError, match="does not match expected type of resource"):
            kind.make().read(tf.constant(1))


class TestGraph:
    def test_graph_has_tensorflow_names_types_and_shapes(self, kind):
        reader, queue = kind.make(), tf.FIFOQueue(1, tf.string)
        assert re.fullmatch(r"\w+ReaderV2", reader.reader_ref.op.name)
        assert reader.reader_ref.dtype == tf.resource
        read, several = reader.read(queue), reader.read_up_to(queue, 3)
        assert (read._fields, several._fields) == (("key", "value"), ("keys", "values"))
        tensors = [*read, *several, reader.num_records_produced("n"), reader.serialize_state()]
        assert [(tensor.name, tensor.dtype.name, tensor.shape.as_list()) for tensor in tensors] == [
            ("ReaderReadV2:0", "string", []),
            ("ReaderReadV2:1", "string", []),
            ("ReaderReadUpToV2:0", "string", [None]),
            ("ReaderReadUpToV2:1", "string", [None]),
            ("n:0", "int64", []),
            ("ReaderSerializeStateV2:0", "string", []),
        ]
        ops = [reader.reset(), reader.restore_state(b""), reader.num_work_units_completed().op]
        assert [op.name for op in ops] == [
            "ReaderResetV2",
            "ReaderRestoreStateV2",
            "ReaderNumWorkUnitsCompletedV2",
        ]

    def test_read_up_to_requires_a_scalar_integer(self, kind):
        reader, queue = kind.make(), tf.FIFOQueue(1, tf.string)
        with pytest.raises(ValueError, match="Shape must be rank 0 but is rank 1"):
            reader.read_up_to(queue, [1, 2])
        with pytest.raises(TypeError, match="Expected int64 passed to parameter 'num_records'"):
            reader.read_up_to(queue, 1.5)

    def test_reader_base_can_wrap_another_reader(self, kind, files, reading):
        base = reading(lambda: tf.ReaderBase(kind.make().reader_ref), files.paths)
        assert not base.reader.supports_serialize
        assert base.read() == files.records[0]


def test_lmdb_files_are_rejected_with_a_remedy():
    with pytest.raises(tf.errors.UnimplementedError, match="Write the records to TFRecord files"):
        tf.LMDBReader()
