"""Pipelines as Grain datasets, with `to_grain`."""

import json
import os
import subprocess
import sys
from importlib.util import find_spec

import numpy as np
import pytest

import headrace as hr

grain = pytest.importorskip("grain")

PIPE = hr.arrays({"n": np.arange(20)}).shuffle(seed=3).batch(3)
BATCHES = [batch["n"].tolist() for batch in PIPE]


def numbers(batches):
    return [batch["n"].tolist() for batch in batches]


def check_each_state(dataset, seen):
    """Checks that the state after each element continues with the next one."""
    whole = [seen(element) for element in dataset]
    assert whole
    states = []
    iterator = iter(dataset)
    for _ in range(len(whole)):
        states.append(json.dumps(iterator.get_state()))
        next(iterator)
    states.append(json.dumps(iterator.get_state()))
    iterator.close()
    for position, state in enumerate(states):
        resumed = iter(dataset)
        resumed.set_state(json.loads(state))
        resumed.start_prefetch()
        assert [seen(element) for element in resumed] == whole[position:]
    return whole


def test_dataset_yields_the_batches_of_the_pipeline():
    dataset = PIPE.to_grain()
    assert isinstance(dataset, grain.IterDataset)
    assert isinstance(iter(dataset), grain.DatasetIterator)
    assert numbers(dataset) == BATCHES
    assert str(dataset) == f"PipelineDataset({PIPE!r})"


def test_iterator_resumes_at_each_batch():
    assert check_each_state(PIPE.to_grain(), lambda batch: batch["n"].tolist()) == BATCHES


def test_iterator_resumes_at_each_example_of_grain_batches():
    examples = hr.arrays({"n": np.arange(11)}).shuffle(window=4, seed=1)
    dataset = examples.to_grain().map(lambda example: example["n"] * 2).batch(2)
    whole = check_each_state(dataset, np.ndarray.tolist)
    assert whole == [(2 * batch["n"]).tolist() for batch in examples.batch(2)]


def test_iterator_can_return_to_an_earlier_state():
    iterator = iter(PIPE.to_grain())
    state = iterator.get_state()
    assert numbers(iterator) == BATCHES
    assert list(iterator) == []
    iterator.set_state(state)
    assert numbers(iterator) == BATCHES


def test_states_have_constant_keys_and_types():
    iterator = iter(PIPE.to_grain())
    for _ in range(len(BATCHES) + 1):
        assert {key: type(value) for key, value in iterator.get_state().items()} == {
            "headrace": str
        }
        next(iterator, None)


def test_epochs_of_the_pipeline_have_different_orders():
    epochs = numbers(PIPE.epochs(2).to_grain())
    assert epochs[:7] == BATCHES
    assert epochs[7:] == numbers(PIPE.epoch(1))


# Grain keeps threads, and its worker processes import the program again.
WORKERS = """
import json
import os
import subprocess
import sys

import grain
import numpy as np
from absl import flags

import headrace as hr

if __name__ == "__main__":
    flags.FLAGS.mark_as_parsed()
    pipe = hr.arrays({"n": np.arange(20)}).shuffle(seed=3).batch(3)
    options = grain.MultiprocessingOptions(num_workers=int(sys.argv[1]))
    dataset = pipe.to_grain().mp_prefetch(options)
    iterator = iter(dataset)
    seen = [next(iterator)["n"].tolist() for _ in range(3)]
    state = json.loads(json.dumps(iterator.get_state()))
    iterator.close()
    resumed = iter(dataset)
    resumed.set_state(state)
    print(json.dumps(seen + [batch["n"].tolist() for batch in resumed]))
    resumed.close()
"""


@pytest.mark.timeout(200)
@pytest.mark.parametrize("num_workers", [1, 2])
def test_worker_processes_keep_order_and_state(num_workers, tmp_path):
    assert run(WORKERS, tmp_path, str(num_workers)) == BATCHES


def run(text, directory, *arguments):
    """Returns what a program prints, as JSON."""
    program = directory / "program.py"
    program.write_text(text)
    environment = {"PYTHONPATH": os.pathsep.join(sys.path), "KERAS_BACKEND": "jax"}
    done = subprocess.run(
        [sys.executable, program, *arguments],
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
        env={**os.environ, **environment, "JAX_PLATFORMS": "cpu"},
    )
    assert done.returncode == 0, done.stderr[-4000:]
    return json.loads(done.stdout)


KERAS = """
import json

import keras
import numpy as np

import headrace as hr

numbers = np.arange(40, dtype=np.float32)[:, None] / 40
pipe = hr.arrays({"x": numbers, "y": 3 * numbers}).shuffle(seed=3).batch(8)
model = keras.Sequential([keras.layers.Dense(1)])
model.compile("sgd", "mse")
data = pipe.epochs(3).to_grain().map(lambda batch: (batch["x"], batch["y"]))
history = model.fit(data, steps_per_epoch=5, epochs=3, verbose=0)
print(json.dumps(history.history["loss"]))
"""


@pytest.mark.timeout(200)
def test_keras_trains_on_the_dataset(tmp_path):
    for name in ("keras", "jax"):
        if find_spec(name) is None:
            pytest.skip(f"{name} is not installed")
    losses = run(KERAS, tmp_path)
    assert len(losses) == 3
    assert losses[0] > losses[1] > losses[2] > 0


def test_threads_keep_order_and_state():
    dataset = grain.experimental.ThreadPrefetchIterDataset(PIPE.to_grain(), prefetch_buffer_size=2)
    assert check_each_state(dataset, lambda batch: batch["n"].tolist()) == BATCHES


def test_workers_require_a_seed_and_reject_contiguous_parts():
    dataset = hr.arrays({"n": range(4)}).shuffle().to_grain()
    with pytest.raises(ValueError, match="seed"):
        dataset.set_slice(slice(0, None, 2))
    with pytest.raises(ValueError, match="sequential_slice=True needs random access"):
        PIPE.to_grain().set_slice(slice(0, None, 2), sequential_slice=True)


def test_checkpoint_handler_saves_and_restores(tmp_path):
    epath = pytest.importorskip("etils.epath")
    handler, iterator = grain.checkpoint.CheckpointHandler(), iter(PIPE.to_grain())
    next(iterator)
    handler.save(epath.Path(tmp_path), iterator)
    resumed = handler.restore(epath.Path(tmp_path), iter(PIPE.to_grain()))
    assert numbers(resumed) == BATCHES[1:]


def test_closed_iterator_is_an_error():
    iterator = iter(PIPE.to_grain())
    next(iterator)
    state = iterator.get_state()
    iterator.close()
    iterator.close()
    assert iterator.get_state() == state
    with pytest.raises(ValueError, match="to_grain: the iterator is closed"):
        next(iterator)
    with pytest.raises(ValueError, match="to_grain: the iterator is closed"):
        iterator.set_state(state)


@pytest.mark.parametrize(
    ("state", "message"),
    [
        (3, r"set_state: got 3, expected the result of get_state\(\)"),
        ({}, "set_state: got an empty dict, expected"),
        ({"next_index": 4}, "set_state: got a dict with the keys 'next_index'"),
        ({"headrace": "{}"}, "resume: got an empty dict, expected a state"),
        ({"headrace": "{"}, "resume: the state is damaged"),
        (iter(hr.arrays({"n": [1]}).to_grain()).get_state(), "resume: stage 0 is arrays"),
    ],
)
def test_foreign_states_are_rejected_before_the_first_element(state, message):
    iterator = iter(PIPE.to_grain())
    with pytest.raises(ValueError, match=message):
        iterator.set_state(state)
    assert numbers(iterator) == BATCHES


def test_error_for_missing_grain_names_the_package(monkeypatch):
    monkeypatch.setitem(sys.modules, "grain", None)
    monkeypatch.setattr("headrace.core.optional_dependencies.find_spec", lambda name: None)
    with pytest.raises(ModuleNotFoundError, match="to_grain: grain is required"):
        PIPE.to_grain()
