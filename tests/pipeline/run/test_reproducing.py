"""The same batches in another process, and batches with `deterministic=False`."""

import json
import subprocess
import sys

import numpy as np
import pytest

from headrace import pipeline as hp

TIMEOUT = 60

PROGRAM = """
import hashlib, json, sys
import numpy as np
from headrace import pipeline as hp

def draw(example, rng):
    return {"number": example["number"] + rng.integers(1000)}

def digest(pipeline):
    made = hashlib.sha256()
    for batch in pipeline.batch(37).epochs(2).options(num_threads=int(sys.argv[2])):
        made.update(np.ascontiguousarray(batch["number"], np.int64).tobytes())
    return made.hexdigest()

numbers = hp.tfrecords(sys.argv[1]).parse({"number": int})
pipelines = [
    numbers.shuffle(seed=3),
    numbers.shuffle(window=100, seed=3).map(draw, seed=5),
    hp.mix([numbers, numbers.map(draw, seed=1)], weights=[1, 2], seed=9, stop="all"),
    hp.concat([numbers, numbers.cache()]).shuffle(seed=4).map(draw, seed=5),
    numbers.flat_map(lambda example: [example] * 2).map(draw, seed=2).shuffle(window=9, seed=2),
]
print(json.dumps([digest(pipeline) for pipeline in pipelines]))
"""


def test_other_processes_yield_the_same_batches(records):
    results = []
    for num_threads, hash_seed in (("1", "1"), ("2", "2"), ("8", "3")):
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM, str(records), num_threads],
            capture_output=True,
            timeout=TIMEOUT,
            check=False,
            env={"PYTHONHASHSEED": hash_seed, "PYTHONPATH": ":".join(sys.path)},
        )
        assert done.returncode == 0, done.stderr.decode()
        results.append(json.loads(done.stdout))
    assert results[0] == results[1] == results[2]
    assert len(set(results[0])) == len(results[0])


@pytest.mark.parametrize("num_threads", [1, 8])
def test_nondeterministic_pipeline_yields_all_examples_in_some_order(records, num_threads):
    numbers = hp.tfrecords(records).parse({"number": int})
    for pipeline in (
        numbers,
        numbers.map(lambda example: example),
        numbers.shuffle(seed=3),
        numbers.shuffle(window=100, seed=3),
        hp.zip([numbers, hp.arrays({"n": np.arange(1000)})]),
    ):
        loose = pipeline.batch(30).options(deterministic=False, num_threads=num_threads)
        actual = np.concatenate([batch["number"] for batch in loose])
        assert sorted(actual) == list(range(1000))


def test_error_ends_a_nondeterministic_iteration(records):
    def fail(example):
        if example["number"] == 500:
            raise KeyError("x")
        return example

    numbers = hp.tfrecords(records).parse({"number": int}).map(fail)
    with pytest.raises(KeyError):
        list(numbers.options(deterministic=False))


def test_deterministic_must_be_a_bool(records):
    with pytest.raises(TypeError, match="options: deterministic is 1, expected a bool"):
        hp.tfrecords(records).options(deterministic=1)
    assert "deterministic=False" in hp.tfrecords(records).options(deterministic=False).describe()
