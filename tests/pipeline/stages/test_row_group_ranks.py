"""Ranks that read different row groups."""

import json
from collections import Counter

import pytest

import headrace as hr

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

NUM_FILES = 3
NUM_GROUPS = 5
GROUP_SIZE = 10


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    directory = tmp_path_factory.mktemp("tables")
    for file in range(NUM_FILES):
        texts = [
            f"{file}-{group}-{row:02}" for group in range(NUM_GROUPS) for row in range(GROUP_SIZE)
        ]
        pq.write_table(
            pa.table({"text": texts}), directory / f"{file}.parquet", row_group_size=GROUP_SIZE
        )
    return hr.parquet(directory)


def rank_of(tables, rank, world):
    return tables.shuffle(window=20, seed=1, num_open=3).shard(rank, world, by="piece")


def texts_of(pipe):
    return [example["text"] for example in pipe]


def groups_of(texts):
    return {text[:3] for text in texts}


@pytest.mark.timeout(60)
@pytest.mark.parametrize("world", [1, 2, 3])
def test_ranks_together_yield_each_row_once(world, tables):
    for epoch in range(2):
        ranks = [texts_of(rank_of(tables, rank, world).epoch(epoch)) for rank in range(world)]
        again = [
            texts_of(rank_of(tables, rank, world).options(num_threads=3).epoch(epoch))
            for rank in range(world)
        ]
        assert again == ranks
        rows = Counter(text for rank in ranks for text in rank)
        assert rows == Counter(texts_of(tables))
        # No two ranks read the same row group, and the numbers of row groups are as equal as
        # possible.
        groups = [groups_of(rank) for rank in ranks]
        assert sum(map(len, groups)) == NUM_FILES * NUM_GROUPS
        assert min(map(len, groups)) == NUM_FILES * NUM_GROUPS // world


def test_rank_reads_different_row_groups_in_each_epoch(tables):
    epochs = [groups_of(texts_of(rank_of(tables, 1, 3).epoch(epoch))) for epoch in range(4)]
    assert len(set(map(frozenset, epochs))) > 1


@pytest.mark.timeout(60)
@pytest.mark.parametrize("world", [1, 2, 3])
def test_ranks_resume_at_their_position(world, tables):
    for rank in range(world):
        pipe = rank_of(tables, rank, world).batch(7).epochs(2)
        with iter(pipe) as batches:
            steps, states = [], [batches.state()]
            for batch in batches:
                steps.append(batch["text"].tolist())
                states.append(json.loads(json.dumps(batches.state())))
        for position in range(0, len(states), 3):
            rest = [batch["text"].tolist() for batch in pipe.resume(states[position])]
            assert rest == steps[position:]


def test_describe_shows_the_row_groups_a_rank_reads(tables):
    line = rank_of(tables, 1, 4).describe().splitlines()[2]
    assert (
        line == "shard(1, 4, by='piece'); it reads 1 of 4 row groups, different ones in each epoch"
    )


def test_fewer_row_groups_than_ranks_are_rejected(tables):
    message = "shard: by='piece' .*got 15 pieces for 16 ranks"
    with pytest.raises(ValueError, match=message):
        iter(rank_of(tables, 0, 16))
