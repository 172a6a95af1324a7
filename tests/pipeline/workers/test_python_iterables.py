"""`iterable`: each pass uses one iterator, and no example is lost or held back."""

import pickle
import signal
import threading
from types import SimpleNamespace

import numpy as np
import pytest

import headrace as hr
from headrace.core import errors
from headrace.pipeline.workers.python_iterables import Feed


class Make:
    """A factory of iterators that counts its calls."""

    def __init__(self, count):
        self.count = count
        self.calls = 0

    def __call__(self):
        self.calls += 1
        return ({"n": number} for number in range(self.count))


def numbers_of(batches):
    return [int(number) for batch in batches for number in np.ravel(batch["n"])]


def once(count):
    """A pipeline over a single iterator."""
    iterator = iter([{"n": number} for number in range(count)])
    return hr.iterable(lambda: iterator)


def plus_one(example):
    return {"n": example["n"] + 1}


class TestLearning:
    def test_function_is_called_once_per_pass(self):
        make = Make(300)
        mapped = hr.iterable(make).map(plus_one).filter(lambda _: True).map(plus_one).batch(7)
        assert numbers_of(mapped) == list(range(2, 302))
        assert make.calls == 1
        assert numbers_of(mapped.epochs(2)) == list(range(2, 302)) * 2
        assert make.calls == 3

    @pytest.mark.parametrize(
        "behind",
        [
            lambda source: source,
            lambda source: source.map(plus_one).map(lambda e: {"n": e["n"] - 1}),
            lambda source: source.shuffle(window=1, seed=1).map(lambda example: example),
            lambda source: source.flat_map(lambda example: [example]),
            lambda source: source.batch(3).map(lambda batch: batch),
            lambda source: hr.concat([source.map(lambda example: example)]),
        ],
    )
    def test_no_example_of_a_single_use_iterator_is_lost(self, behind):
        assert numbers_of(behind(once(1000))) == list(range(1000))

    def test_iterator_can_modify_its_arrays_in_place(self):
        def filled():
            row, texts = np.zeros(2), [""]
            for number in range(9):
                row[:], texts[0] = number, str(number)
                yield {"x": row, "text": texts}

        # The components of the second function are inferred from the fifth example.
        pipe = hr.iterable(filled).filter(lambda e: e["x"][0] > 3).map(dict)
        results = [(example["x"].tolist(), example["text"].tolist()) for example in pipe]
        assert results == [([n, n], [str(n)]) for n in range(4, 9)]

    def test_spec_uses_the_iterator_that_is_read_later(self):
        make = Make(300)
        mapped = hr.iterable(make).map(plus_one)
        assert list(mapped.spec) == list(mapped.batch(2).spec) == ["n"]
        assert make.calls == 1
        assert numbers_of(mapped) == list(range(1, 301))
        assert make.calls == 1
        assert numbers_of(mapped) == list(range(1, 301))
        assert make.calls == 2

    def test_copy_creates_its_own_iterator(self):
        pipe = hr.iterable(Make(3))
        assert list(pipe.spec) == ["n"]
        assert numbers_of(pickle.loads(pickle.dumps(pipe))) == [0, 1, 2]
        assert numbers_of(pipe) == [0, 1, 2]

    def test_inference_does_not_advance_the_state_of_an_iterator(self):
        class Doubling:
            def __init__(self):
                self.last = 1

            def __iter__(self):
                return self

            def __next__(self):
                self.last *= 2
                return {"n": self.last}

            def state(self):
                return self.last

            def restore(self, state):
                self.last = state

        def pipeline():
            return hr.iterable(Doubling).map(lambda example: example).take(20).batch(3)

        batches = iter(pipeline())
        states, uninterrupted = [batches.state()], []
        for batch in batches:
            uninterrupted.append(batch["n"].tolist())
            states.append(batches.state())
        assert uninterrupted[0] == [2, 4, 8]
        for position, state in enumerate(states):
            assert [b["n"].tolist() for b in pipeline().resume(state)] == uninterrupted[position:]


class TestSources:
    class Rows:
        """An object with a length and items, like a PyTorch data set."""

        def __len__(self):
            return 3

        def __getitem__(self, number):
            return {"n": number}

    class Loop:
        def __iter__(self):
            return iter([{"n": 0}, {"n": 1}, {"n": 2}])

    @pytest.mark.parametrize(
        "source", [[{"n": n} for n in range(3)], ({"n": 0}, {"n": 1}, {"n": 2}), Rows(), Loop()]
    )
    def test_iterable_can_be_passed_without_a_factory(self, source):
        pipe = hr.iterable(source)
        assert numbers_of(pipe) == numbers_of(pipe) == [0, 1, 2]
        assert numbers_of(pipe.epochs(2)) == [0, 1, 2] * 2
        assert pipe == hr.iterable(source)
        assert repr(pipe) == f"Pipeline(iterable({type(source).__name__}))"

    def test_state_does_not_contain_the_items_of_a_list(self):
        pipe = hr.iterable([{"n": number} for number in range(50)]).batch(20)
        batches = iter(pipe)
        next(batches)
        state = batches.state()
        assert state["stages"][0] == "iterable(list)"
        assert numbers_of(pipe.resume(state)) == list(range(20, 50))

    @pytest.mark.parametrize("iterator", [iter([]), (_ for _ in ()), map(str, [])])
    def test_iterator_is_rejected_with_a_remedy(self, iterator):
        with pytest.raises(
            TypeError,
            match=r"can be read only once\. Pass a list, or a function that creates a new iterator "
            "on each call",
        ):
            hr.iterable(iterator)

    @pytest.mark.parametrize("wrong", [5, "text", b"bytes", {"n": [1, 2]}])
    def test_non_iterable_value_is_rejected(self, wrong):
        with pytest.raises(
            TypeError, match=f"got {type(wrong).__name__}, expected a list or another iterable"
        ):
            hr.iterable(wrong)

    def test_returning_the_same_iterator_twice_is_an_error(self):
        same = r"iterable\(once.<locals>.<lambda>\): the function returned the same iterator again"
        pipe = once(10)
        batches = iter(pipe.epochs(2))
        assert [int(next(batches)["n"]) for _ in range(10)] == list(range(10))
        with pytest.raises(ValueError, match=same):
            next(batches)
        with pytest.raises(ValueError, match=same):
            list(pipe)

    def test_function_that_returns_no_iterator_is_an_error(self):
        with pytest.raises(TypeError, match="returned int, expected an iterable of dicts"):
            list(hr.iterable(lambda: 5))


class TestErrors:
    @pytest.mark.parametrize(
        ("items", "number"),
        [([5], 0), ([{"n": 1}] * 200 + [{"n": "text"}], 200), ([{"n": 1}, 3], 1)],
    )
    def test_errors_name_the_item(self, items, number):
        with pytest.raises(TypeError) as caught:
            list(hr.iterable(items))
        assert caught.value.__notes__ == [f"in iterable(list), at item {number}, counted from 0"]

    @pytest.mark.parametrize("number", [0, 150])
    def test_iterator_exception_is_raised_with_its_item(self, number):
        def items():
            yield from ({"n": item} for item in range(number))
            raise RuntimeError("no more")

        batches = iter(hr.iterable(items).batch(10))
        with pytest.raises(RuntimeError, match="no more") as caught:
            list(batches)
        assert caught.value.__notes__[0].endswith(f"at item {number}, counted from 0")

    @pytest.mark.parametrize("method", ["map", "flat_map"])
    def test_function_that_fails_at_its_first_example_is_an_error(self, method, tmp_path):
        (tmp_path / "lines.txt").write_text("one\ntwo\n")

        def fail(example):
            raise ValueError(example["text"])

        pipe = getattr(hr.text_lines(tmp_path / "lines.txt"), method)(fail)
        with pytest.raises(ValueError, match="one") as caught:
            list(pipe)
        (note,) = caught.value.__notes__
        assert note.startswith(f"in {method}(")
        assert note.endswith("lines.txt: line 1")

    @pytest.mark.parametrize("value", [None, 5, [1]])
    def test_function_that_returns_no_dict_is_an_error(self, value):
        with pytest.raises(TypeError, match=f"returned {type(value).__name__}, exp") as caught:
            list(hr.arrays({"n": np.arange(3)}).map(lambda _: value))
        assert caught.value.__notes__[0].endswith("at arrays: row 0")

    def test_iterator_exception_before_the_first_batch_is_raised(self):
        job = SimpleNamespace(pass_number=1, target_bytes=1 << 20)
        feed, taken = Feed(), []
        taking = threading.Thread(target=lambda: taken.append(feed.take(job)))
        taking.start()
        assert feed.wait() is job
        feed.put(1, [b"row"], None)
        taking.join(30)
        assert taken == [([([b"row"], None)], None)]
        error = ValueError("no more")
        feed.end(1, error)
        # The iterator is called again and is at its end.
        feed.end(1)
        assert feed.take(job) == ([], error)


NOTHING = {
    "an iterable": lambda: hr.iterable([]).batch(2),
    "after an iterable": lambda: hr.iterable([]).map(plus_one).map(plus_one).batch(2),
    "arrays": lambda: hr.arrays({"n": np.arange(0)}).map(plus_one).batch(3).epochs(2),
    "a filter": lambda: (
        hr.arrays({"n": np.arange(9)}).filter(lambda _: False).map(plus_one).shuffle(window=3)
    ),
    "a flat_map": lambda: hr.arrays({"n": np.arange(9)}).flat_map(lambda _: []).batch(2),
    "a zip": lambda: hr.zip([hr.iterable([]), hr.arrays({"m": np.arange(3)})], strict=False),
    "a shard": lambda: hr.arrays({"n": np.arange(2)}).shard(2, 3).map(plus_one).padded_batch(2),
}


class TestEmptySources:
    @pytest.mark.parametrize("name", NOTHING)
    def test_empty_source_yields_no_batches(self, name):
        batches = iter(NOTHING[name]())
        assert list(batches) == []
        assert list(NOTHING[name]().resume(batches.state())) == []

    def test_empty_part_yields_nothing(self):
        parts = [hr.iterable([]).map(plus_one), hr.arrays({"n": np.arange(3)}).map(plus_one)]
        assert numbers_of(hr.concat(parts)) == [1, 2, 3]
        assert sorted(numbers_of(hr.mix(parts, stop="all", seed=1))) == [1, 2, 3]

    def test_skipped_examples_are_reported_without_any_batch(self):
        batches = iter(hr.arrays({"n": np.arange(3)}).map(lambda _: 1 / 0).skip_errors(5).batch(2))
        assert list(batches) == []
        assert [skipped.record_number for skipped in batches.skipped] == [0, 1, 2]
        with pytest.raises(ZeroDivisionError):
            list(hr.arrays({"n": np.arange(3)}).map(lambda _: 1 / 0).skip_errors(2).batch(2))

    def test_spec_without_an_example_is_an_error(self):
        with pytest.raises(
            errors.OutOfRangeError, match=r"^spec: iterable\(list\) yields no examples"
        ):
            hr.iterable([]).map(plus_one).spec  # noqa: B018

    def test_empty_pass_can_be_followed_by_examples(self):
        items = []
        pipe = hr.iterable(items).map(plus_one)
        assert list(pipe) == []
        items.append({"n": 4})
        assert numbers_of(pipe) == [5]


@pytest.mark.timeout(60)
class TestStreams:
    @pytest.mark.parametrize("mapped", [False, True])
    def test_batch_arrives_while_the_stream_waits(self, mapped):
        taken = threading.Semaphore(0)

        def stream():
            for number in range(12):
                if number and number % 2 == 0:
                    assert taken.acquire(timeout=30)
                yield {"n": number}

        source = hr.iterable(stream)
        source = source.map(lambda example: example) if mapped else source
        results = []
        for batch in source.batch(2):
            results.append(batch["n"].tolist())
            taken.release()
        assert results == [[n, n + 1] for n in range(0, 12, 2)]

    @pytest.mark.parametrize("mapped", [False, True])
    def test_iter_does_not_wait_for_an_example(self, mapped):
        may_yield = threading.Event()

        def stream():
            assert may_yield.wait(30)
            yield {"n": 1}

        source = hr.iterable(stream)
        batches = iter(source.map(plus_one) if mapped else source)
        assert batches.is_open
        may_yield.set()
        assert numbers_of(batches) == [2 if mapped else 1]

    def test_each_pass_starts_over_after_an_unfinished_one(self):
        make = Make(5000)
        assert numbers_of(hr.iterable(make).take(3).epochs(50)) == [0, 1, 2] * 50
        assert make.calls == 50

    def test_close_works_before_the_first_batch(self):
        batches = iter(hr.iterable(Make(3)))
        batches.close()
        assert not batches.is_open
        assert next(batches, None) is None

    def test_state_works_after_closing_before_the_first_batch(self):
        make = Make(3)
        pipe = hr.iterable(make).map(plus_one)
        batches = iter(pipe)
        batches.close()
        state = batches.state()
        assert not batches.is_open
        assert next(batches, None) is None
        assert numbers_of(pipe.resume(state)) == [1, 2, 3]
        again = pipe.resume(pipe.resume(state).state())
        next(again)
        again.close()
        closed = pipe.resume(again.state())
        closed.close()
        assert numbers_of(pipe.resume(closed.state())) == [2, 3]


@pytest.mark.timeout(60)
class TestReentrance:
    def test_next_inside_the_function_is_rejected(self):
        mine, is_there = [], threading.Event()

        def asking(example):
            # The components are inferred from the first one, before there is an iteration.
            return example if example["n"] == 0 else is_there.wait(30) and next(mine[0])

        batches = iter(hr.arrays({"n": np.arange(9)}).map(asking))
        mine.append(batches)
        is_there.set()
        with pytest.raises(
            errors.FailedPreconditionError, match="by a function of the same pipeline"
        ):
            list(batches)

    def test_next_during_inference_is_rejected(self):
        mine = []
        batches = iter(hr.iterable(Make(3)).map(lambda _: next(mine[0])))
        mine.append(batches)
        with pytest.raises(
            errors.FailedPreconditionError, match="first example is already being read"
        ):
            list(batches)


@pytest.mark.timeout(60)
class TestEarlyEnds:
    @pytest.fixture
    def waiting(self):
        """An iteration whose `next` waits in another thread."""
        begun, goes_on = threading.Event(), threading.Event()

        def stream():
            yield {"n": 0}
            begun.set()
            goes_on.wait(30)

        batches = iter(hr.iterable(stream))
        next(batches)
        yield batches, begun
        goes_on.set()

    def test_another_thread_can_close_an_iteration(self, waiting):
        batches, begun = waiting

        def close():
            assert begun.wait(30)
            batches.close()

        closing = threading.Thread(target=close)
        closing.start()
        for _ in range(2):
            with pytest.raises(errors.FailedPreconditionError, match="another thread closed"):
                next(batches)
        closing.join(30)

    def test_signal_handler_exception_ends_the_wait(self, waiting):
        batches, _ = waiting
        has_raised = threading.Event()

        def interrupt():
            while not has_raised.wait(0.01):
                signal.raise_signal(signal.SIGUSR1)

        def handler(_, frame):
            if frame.f_code.co_name == "_next" and not has_raised.is_set():
                has_raised.set()
                raise RuntimeError("enough")

        before = signal.signal(signal.SIGUSR1, handler)
        sending = threading.Thread(target=interrupt)
        try:
            sending.start()
            with pytest.raises(RuntimeError, match="enough"):
                next(batches)
        finally:
            has_raised.set()
            sending.join(30)
            signal.signal(signal.SIGUSR1, before)
        with pytest.raises(errors.FailedPreconditionError, match="ended early with RuntimeError"):
            next(batches)

    def test_next_after_close_ends_the_loop(self, waiting):
        batches, _ = waiting
        batches.close()
        assert next(batches, None) is None


class Counted:
    """An iterator over numbers that can be resumed."""

    def __init__(self, count):
        self.count, self.number = count, 0

    def __iter__(self):
        return self

    def __next__(self):
        if self.number == self.count:
            raise StopIteration
        self.number += 1
        return {"n": self.number}

    def state(self):
        return self.number

    def restore(self, state):
        self.number = state


def test_iterator_exhausted_by_inference_resumes_with_its_state():
    def pipeline():
        numbers = hr.iterable(lambda: Counted(1)).epochs(2).shard(1, 3)
        return numbers.map(lambda example: {"m": example["n"]}).epochs(2)

    with iter(pipeline()) as batches:
        assert [int(next(batches)["m"])] == [1]
        state = batches.state()
    assert [int(example["m"]) for example in pipeline().resume(state)] == [1]
