"""Conversions from and to Ray Data."""

import numpy as np
import pytest
import ray
from tests.pipeline.conftest import same

import headrace as hr
import headrace.ray as hray

pytestmark = pytest.mark.usefixtures("cluster")


@pytest.fixture(autouse=True)
def in_order():
    context = ray.data.DataContext.get_current()
    context.execution_options.preserve_order = True
    context.enable_progress_bars = False


def test_pipeline_becomes_a_dataset():
    pipe = hr.arrays({"number": np.arange(1000), "x": np.ones((1000, 3))}).shuffle(seed=1).batch(9)
    dataset = pipe.to_ray_dataset(num_blocks=4)
    rows = dataset.take_all()
    assert sorted(row["number"] for row in rows) == list(range(1000))
    assert all(row["x"].tolist() == [1, 1, 1] for row in rows)
    batches = [batch["number"].tolist() for batch in pipe]
    parts = [number for block in range(4) for batch in batches[block::4] for number in batch]
    assert [row["number"] for row in rows] == parts


def test_batch_lists_become_row_values():
    rows = hr.arrays({"n": np.arange(20)}).map(
        lambda e: {**e, "x": np.full((e["n"] % 4, 2), e["n"]), "name": f"{e['n']}"}
    )
    dataset = rows.batch(6, lists=("x", "name")).to_ray_dataset(num_blocks=1)
    assert [row["name"] for row in dataset.take_all()] == [str(n) for n in range(20)]
    assert [row["x"].tolist() for row in dataset.take_all()] == [
        [[n, n]] * (n % 4) for n in range(20)
    ]


def test_pipeline_of_examples_is_rejected():
    with pytest.raises(ValueError, match="to_ray_dataset: the pipeline yields examples, expected"):
        hr.arrays({"n": [1]}).to_ray_dataset()


def test_dataset_becomes_a_pipeline():
    rows = [
        {"number": number, "text": f"t{number}", "raw": b"%d" % number, "x": np.full(2, number)}
        for number in range(100)
    ]
    pipe = hray.from_dataset(ray.data.from_items(rows, override_num_blocks=5)).batch(10)
    batches = list(pipe)
    assert np.concatenate([batch["number"] for batch in batches]).tolist() == list(range(100))
    assert batches[3]["text"].tolist() == [f"t{number}" for number in range(30, 40)]
    assert batches[3]["raw"].tolist() == [b"%d" % number for number in range(30, 40)]
    assert batches[3]["x"][:, 1].tolist() == list(range(30, 40))
    first = iter(pipe)
    next(first)
    state = first.state()
    first.close()
    assert same(list(pipe.resume(state)), batches[1:])


def test_from_dataset_rejects_values_that_are_not_datasets():
    with pytest.raises(TypeError, match="from_dataset: got list, expected a ray"):
        hray.from_dataset([])
