"""Windows over tables whose row groups exceed the pipeline's memory."""

import pytest

import headrace as hr

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

MIB = 1 << 20
NUM_ROWS, GROUP_ROWS, LENGTH = 600, 90, 30_000


@pytest.fixture(params=["parquet", "arrow"])
def images(request, tmp_path):
    numbers = range(NUM_ROWS)
    blobs = [bytes([n % 256]) * LENGTH for n in numbers]
    table = pa.table({"n": list(numbers), "image": blobs})
    path = tmp_path / f"a.{request.param}"
    if request.param == "parquet":
        pq.write_table(table, path, row_group_size=GROUP_ROWS)
        return hr.parquet(path)
    with pa.ipc.new_file(path, table.schema) as writer:
        writer.write_table(table, max_chunksize=GROUP_ROWS)
    return hr.arrow(path)


def numbers_of(batches):
    results = []
    for batch in batches:
        numbers = batch["n"].tolist()
        images = batch["image"].tolist()
        assert images == [bytes([n % 256]) * LENGTH for n in numbers]
        results.append(numbers)
    return results


def test_order_and_states_do_not_depend_on_memory(images):
    pipe = images.shuffle(window=60, seed=4).batch(7)
    expected = numbers_of(pipe)
    assert sorted(n for numbers in expected for n in numbers) == list(range(NUM_ROWS))
    for memory_bytes in (8 * MIB, 40 * MIB):
        limited = pipe.options(memory_bytes=memory_bytes, num_threads=3)
        with iter(limited) as batches:
            taken = numbers_of(next(batches) for _ in range(31))
            state = batches.state()
        assert taken == expected[:31]
        with pipe.options(memory_bytes=48 * MIB - memory_bytes).resume(state) as batches:
            assert numbers_of(batches) == expected[31:]


def test_failing_examples_are_skipped_at_the_same_positions(images):
    def only_some(example):
        if example["n"] % 10 == 3:
            raise ValueError("not this one")
        return {"n": example["n"]}

    pipe = images.shuffle(window=60, seed=4).map(only_some).skip_errors(NUM_ROWS)
    results = []
    for memory_bytes in (8 * MIB, 400 * MIB):
        with iter(pipe.options(memory_bytes=memory_bytes)) as batches:
            numbers = [int(example["n"]) for example in batches]
            skipped = [(one.record_number, one.offset_bytes) for one in batches.skipped]
        assert sorted(number for number, _ in skipped) == list(range(3, NUM_ROWS, 10))
        assert len({offset for _, offset in skipped}) == -(-NUM_ROWS // GROUP_ROWS)
        results.append((numbers, skipped))
    assert results[0] == results[1]
