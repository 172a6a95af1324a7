"""Python functions that raise, hang, exit their thread, or return invalid examples."""

import os
import signal
import tempfile
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any

import headrace as hr
import headrace.tf1 as tf
from headrace.pipeline import Pipeline
from stress.bad_functions import RAISES, RESULTS, Faulty
from stress.collecting import words_of
from stress.files.formats import FORMATS, number_in
from stress.part import Options, Result
from stress.watchdog import deadline

# The share of it that runs each night.
NIGHTLY = 0.1
FAULTS = 8_000
HANGS = 300
RUNS = 1_000
_FEWEST = 20
NUM_EXAMPLES = 300
_WAIT_S = 20.0


def run(options: Options) -> Result:
    """Lets functions of pipelines and of `tf.py_func` fail at random examples."""
    result = Result()
    counts: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory, "lines")
        path.write_bytes(FORMATS["text"].encode(range(NUM_EXAMPLES)))
        for number in range(max(_FEWEST, options.times(FAULTS))):
            _pipeline_fault(path, options.seed, number, counts, result.failures)
    for number in range(max(4, options.times(HANGS))):
        _hang(options.seed, number, counts, result.failures)
    for number in range(max(_FEWEST, options.times(RUNS))):
        _session_fault(options.seed, number, counts, result.failures)
    left = [one.name for one in threading.enumerate() if one is not threading.main_thread()]
    if left:
        result.failures.append(f"threads are left: {left}")
    result.figures["functions that went wrong"] = counts.total()
    result.figures.update({words: counts[words] for words in sorted(counts)})
    return result


# Tests functions of pipelines.


def _number(example: Any) -> int:
    return number_in(example["text"]) or 0


def _row(example: Any) -> dict[str, int]:
    return {"n": _number(example)}


def _map(path: Path, faulty: Callable[..., Faulty]) -> tuple[Faulty, Pipeline]:
    function = faulty(_number, _row)
    return function, hr.text_lines(path).map(function)


def _flat_map(path: Path, faulty: Callable[..., Faulty]) -> tuple[Faulty, Pipeline]:
    function = faulty(_number, lambda example: [_row(example)])
    return function, hr.text_lines(path).flat_map(function)


def _filter(path: Path, faulty: Callable[..., Faulty]) -> tuple[Faulty, Pipeline]:
    function = faulty(_number, lambda example: True)
    return function, hr.text_lines(path).filter(function).map(_row)


def _iterable(path: Path, faulty: Callable[..., Faulty]) -> tuple[Faulty, Pipeline]:
    function = faulty(lambda number: number, lambda number: {"n": number})
    return function, hr.iterable(lambda: map(function, range(NUM_EXAMPLES)))


_STAGES = {"map": _map, "flat_map": _flat_map, "filter": _filter, "iterable": _iterable}
# Rows of different shapes are detected when the batch is built.
_SHAPES = ("another shape", "no elements", "more axes")


def _pipeline_fault(
    path: Path, seed: int, number: int, counts: Counter[str], failures: list[str]
) -> None:
    draws = Random(f"{seed} function {number}")
    # The first example determines the components.
    moment = draws.randrange(1, NUM_EXAMPLES)
    stage = draws.choice(list(_STAGES))
    raises = draws.random() < 0.6
    names = sorted(RAISES if raises else RESULTS[stage])
    if stage == "iterable" and raises:
        # This ends an iterator.
        names.remove("StopIteration")
    name = draws.choice(names)
    fault = RAISES[name][0] if raises else RESULTS[stage][name]
    function, pipe = _STAGES[stage](
        path, lambda number_of, good: Faulty(moment, number_of, good, fault)
    )
    size, skips = draws.choice([1, 7, 50]), stage != "iterable" and draws.random() < 0.3
    if skips:
        pipe = pipe.skip_errors(1)
    pipe = pipe.batch(size).options(num_threads=draws.randint(1, 4))
    what = f"function fault {number} of seed {seed} ({stage}, {name}, {moment=}, {size=}, {skips=})"
    with deadline(what):
        inputs, error, more = _iterate(pipe)
    counts[f"functions that {'raise' if raises else 'return nonsense'}"] += 1
    is_late = any(shape in name for shape in _SHAPES)
    is_left_out = skips and not is_late and (not raises or issubclass(RAISES[name][1], Exception))
    if is_left_out:
        expected = [number for number in range(NUM_EXAMPLES) if number != moment]
        wrong = (
            None if inputs == expected and error is None else f"{len(inputs)}, {words_of(error)}"
        )
    else:
        first = moment - moment % size
        # A batch of one example has the shape of that example.
        is_batch = is_late and size == 1
        wrong = None if is_batch else _wrong(inputs, error, list(range(first)), raises, name)
        if wrong is None and not is_late and stage != "iterable":
            wrong = _wrong_note(error, stage, f"{path}: line {moment + 1}")
    if wrong is None and more is not None:
        wrong = f"it continues after the error: {more}"
    # The components of a `map` after a filter are inferred from the first block.
    if wrong is None and not 1 <= function.num_faults <= (2 if stage == "filter" else 1):
        wrong = f"the function was called {function.num_faults} times for the example"
    if wrong is not None:
        failures.append(f"{what}: {wrong}")


def _iterate(pipe: Pipeline) -> tuple[list[int], BaseException | None, object]:
    """Returns the numbers before the error, the error, and the result after it."""
    inputs: list[int] = []
    batches = iter(pipe)
    try:
        for batch in batches:
            inputs += [int(n.flat[0]) if hasattr(n, "flat") and n.size else 0 for n in batch["n"]]
    except BaseException as error:
        return inputs, error, next(batches, None)
    return inputs, None, None


def _wrong(
    value: list[int], error: BaseException | None, requested: list[int], raises: bool, name: str
) -> str | None:
    expected = RAISES[name][1] if raises else (TypeError, ValueError, tf.errors.OpError, Exception)
    if not isinstance(error, expected):
        return f"another error: {_words(error)}"
    if value != requested:
        return f"{len(value)} examples came before it, {len(requested)} expected"
    return None


def _wrong_note(error: BaseException | None, stage: str, position: str) -> str | None:
    notes = " ".join(getattr(error, "__notes__", []))
    where = f"{stage}(" in notes or stage in _words(error)
    return None if where and (position in notes) else f"the note is {notes!r}, expected {position}"


def _words(error: BaseException | None) -> str:
    try:
        return words_of(error)
    except ValueError:
        return type(error).__name__


def _hang(seed: int, number: int, counts: Counter[str], failures: list[str]) -> None:
    """If a function does not return, the iteration can be closed, left and interrupted."""
    draws = Random(f"{seed} hang {number}")
    # An example in the first block, which is read ahead.
    moment, way = draws.randrange(1, 20), draws.choice(["close", "Ctrl-C", "forget"])
    stage = draws.choice(list(_STAGES))
    hangs, returns = threading.Event(), threading.Event()

    def hang(example: Any) -> Any:
        hangs.set()
        returns.wait()
        return {"n": 0}

    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory, "lines")
        path.write_bytes(FORMATS["text"].encode(range(NUM_EXAMPLES)))
        _, pipe = _STAGES[stage](
            path, lambda number_of, good: Faulty(moment, number_of, good, hang)
        )
        what = f"hang {number} of seed {seed} ({stage}, example {moment}, {way})"
        try:
            with deadline(what, _WAIT_S):
                _END[way](iter(pipe.batch(10)), hangs, what, failures)
        finally:
            returns.set()
    _join_functions(what)
    counts[f"functions that hang: ended by {way}"] += 1


def _close(batches: Any, hangs: threading.Event, what: str, failures: list[str]) -> None:
    batches.statistics()  # Also starts the threads of an iterable.
    hangs.wait()
    batches.close()
    if next(batches, None) is not None:
        failures.append(f"{what}: batches come after close")


def _interrupt(batches: Any, hangs: threading.Event, what: str, failures: list[str]) -> None:
    def send() -> None:
        hangs.wait()
        os.kill(os.getpid(), signal.SIGINT)

    sender = threading.Thread(target=send)
    try:
        sender.start()
        for _ in batches:
            pass
        failures.append(f"{what}: no KeyboardInterrupt")
    except KeyboardInterrupt:
        pass
    finally:
        sender.join()


def _forget(batches: Any, hangs: threading.Event, what: str, failures: list[str]) -> None:
    batches.statistics()
    hangs.wait()
    del batches


_END = {"close": _close, "Ctrl-C": _interrupt, "forget": _forget}


def _join_functions(what: str) -> None:
    with deadline(f"{what}: its threads", _WAIT_S):
        for thread in threading.enumerate():
            if thread.name.startswith("headrace-"):
                thread.join()


# Tests functions of sessions.


def _session_fault(seed: int, number: int, counts: Counter[str], failures: list[str]) -> None:
    """A `tf.py_func` of a queue runner, or in the loop's own run."""
    draws = Random(f"{seed} session {number}")
    moment, has_runner = draws.randrange(50), draws.random() < 0.5
    name = draws.choice(list(RAISES))
    function = Faulty(moment, int, lambda n: n, RAISES[name][0])
    what = f"py_func fault {number} of seed {seed} ({name}, {moment=}, {has_runner=})"
    with deadline(what), tf.Graph().as_default():
        inputs, error, is_usable = (_run_queue if has_runner else _run_alone)(function)
    counts[f"functions of py_func: in {'a runner' if has_runner else 'the loop'}"] += 1
    if inputs != list(range(moment)):
        failures.append(f"{what}: {len(inputs)} came before it, {moment} expected; {_words(error)}")
    elif error is None and not (has_runner and name == "StopIteration"):
        # In a runner, it counts as the end of the input and is logged.
        failures.append(f"{what}: there is no error")
    elif not is_usable:
        failures.append(f"{what}: the session is not usable after it")


def _run_alone(function: Faulty) -> tuple[list[int], BaseException | None, bool]:
    number = tf.placeholder(tf.int64, [])
    result = tf.py_func(function, [number], tf.int64)
    inputs: list[int] = []
    with tf.Session() as session:
        try:
            for value in range(50):
                inputs.append(int(session.run(result, {number: value})))
        except BaseException as error:
            return inputs, error, int(session.run(result, {number: 60})) == 60
    return inputs, None, True


def _run_queue(function: Faulty) -> tuple[list[int], BaseException | None, bool]:
    numbers = tf.train.range_input_producer(50, num_epochs=1, shuffle=False, capacity=4)
    value = tf.cast(numbers.dequeue(), tf.int64)
    result = tf.py_func(function, [value], tf.int64)
    result.set_shape([])
    queue = tf.FIFOQueue(5, [tf.int64], [[]])
    tf.train.add_queue_runner(tf.train.QueueRunner(queue, [queue.enqueue(result)]))
    taken, inputs = queue.dequeue(), list[int]()
    with tf.Session() as session:
        session.run(tf.local_variables_initializer())
        coord = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(session, coord)
        inputs.extend(_taken(session, taken))
        coord.request_stop()
        try:
            coord.join(threads, stop_grace_period_secs=_WAIT_S)
        except BaseException as error:
            return inputs, error, not any(thread.is_alive() for thread in threads)
    return inputs, None, True


def _taken(session: tf.Session, taken: Any) -> Iterator[int]:
    while True:
        try:
            yield int(session.run(taken))
        except tf.errors.OutOfRangeError:
            return
