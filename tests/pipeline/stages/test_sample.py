"""Draws with replacement, by weight or evenly over classes."""

import gzip
import pickle
import shutil
from collections import Counter

import numpy as np
import pytest
from tests.pipeline.conftest import CACHE_WAYS, NUM_EXAMPLES, pa, pq

from headrace import pipeline as hp
from headrace.core import errors
from headrace.io.records import TFRecordWriter
from headrace.protos import Example

WEIGHTS = [0.0, 1.0, 2.5, 0.0, 4.0, 0.5]
# The 0.9999 quantile of the chi-square distribution, by degrees of freedom.
QUANTILES = {1: 15.1, 2: 18.4, 3: 21.1, 4: 23.5}


def arrays(count=6, weights=WEIGHTS):
    return hp.arrays({"n": np.arange(count), "w": np.resize(np.array(weights), count)})


def numbers(examples, name="n"):
    return [int(row[name]) for row in examples]


def statistic(drawn, shares):
    """The chi-square statistic of draws, given the expected share of each number."""
    counts, total = Counter(drawn), sum(shares.values())
    assert set(counts) <= {number for number, share in shares.items() if share}
    expected = {number: len(drawn) * share / total for number, share in shares.items() if share}
    return sum((counts[number] - many) ** 2 / many for number, many in expected.items())


@pytest.mark.parametrize("weights", ["w", np.float32(WEIGHTS), [2 * weight for weight in WEIGHTS]])
def test_draw_frequencies_match_the_weights(items_of, weights):
    drawn = numbers(items_of(arrays().sample(weights, num=20_000, seed=7)))
    assert len(drawn) == 20_000
    assert statistic(drawn, dict(enumerate(WEIGHTS))) < QUANTILES[3]


def test_neighbouring_draws_are_independent():
    drawn = np.array(numbers(arrays().sample("w", num=20_000, seed=7)))
    pairs = Counter(zip((drawn[:-1] == 4).tolist(), (drawn[1:] == 4).tolist(), strict=True))
    assert statistic(list(pairs.elements()), {(a, b): 1 for a in (0, 1) for b in (0, 1)}) < 21.1


@pytest.mark.parametrize("labels", [[3, 3, 3, 3, -1, 7], ["a", "a", "a", "a", "b", ""]])
@pytest.mark.parametrize(
    "convert", [list, lambda labels: [str(label).encode() for label in labels]]
)
def test_classes_and_examples_of_a_class_are_equally_likely(items_of, labels, convert):
    pipeline = hp.arrays({"n": range(6), "label": convert(labels)})
    drawn = numbers(items_of(pipeline.sample(by="label", num=20_000, seed=7)))
    assert statistic(drawn, {0: 1, 1: 1, 2: 1, 3: 1, 4: 4, 5: 4}) < 25.8


def test_draws_differ_between_epochs_and_seeds_and_are_repeatable(items_of):
    pipeline = arrays(100).sample("w", seed=7)
    drawn = numbers(items_of(pipeline))
    assert len(drawn) == len(pipeline) == 100
    assert numbers(pipeline) == drawn
    again = numbers(pipeline.epoch(1))
    assert again != drawn
    assert numbers(arrays(100).sample("w", seed=8)) != drawn
    assert numbers(items_of(pipeline.epochs(2))) == [*drawn, *again]


def test_number_of_draws_is_the_length():
    for num, expected in [(None, 6), (0, 0), (1, 1), (50, 50)]:
        pipeline = arrays().sample("w", num=num, seed=7)
        assert len(pipeline) == pipeline.count() == len(list(pipeline)) == expected
        assert len(pipeline.batch(4)) == len(list(pipeline.batch(4)))


def test_length_is_known_without_an_index(tables, tmp_path):
    # Other tests write indexes next to the shared files.
    for path in tables.glob("*.jsonl"):
        shutil.copy(path, tmp_path)
    tables = tmp_path
    pipeline = hp.json_lines(tables / "*.jsonl").sample("number", num=7, seed=1)
    assert len(pipeline) == 7
    with pytest.raises(TypeError, match="the number of examples in json_lines is unknown"):
        len(hp.json_lines(tables / "*.jsonl").sample("number", seed=1))


def test_every_source_with_random_access_is_sampled_like_arrays(tables, items_of):
    weights = (np.arange(NUM_EXAMPLES) % 7 == 3).astype(float)
    expected = numbers(
        hp.arrays({"number": np.arange(NUM_EXAMPLES)}).sample(weights, seed=3), "number"
    )
    assert {number % 7 for number in expected} == {3}
    sources = [
        hp.csv(tables / "csv", {"number": int, "text": bytes}),
        hp.json_lines(tables / "*.jsonl", {"number": int}),
        hp.webdataset(tables / "*.tar").map(lambda row: {"number": int(row["number"])}),
        hp.image_folder(tables / "images").map(lambda row: {"number": int(row["data"])}),
        hp.csv(tables / "csv", {"number": int}).cache(),
        hp.indexed({"number": np.arange(NUM_EXAMPLES)}),
    ]
    if pq is not None:
        sources.append(hp.parquet(tables / "*.parquet"))
    for source in sources:
        drawn = items_of(source.sample(weights, seed=3), CACHE_WAYS)
        assert numbers(drawn, "number") == expected


def test_weights_are_read_from_every_source(tables, items_of):
    def weighted(row):
        return {"number": row["number"], "w": float(row["number"] % 7 == 3)}

    expected = numbers(
        hp.arrays({"number": np.arange(NUM_EXAMPLES)}).map(weighted).sample("w", seed=3), "number"
    )
    for source in [
        hp.csv(tables / "csv", {"number": int}).map(weighted),
        hp.json_lines(tables / "*.jsonl", {"number": int}).map(weighted).cache(),
        hp.indexed({"number": np.arange(NUM_EXAMPLES)}).map(weighted),
    ]:
        assert numbers(items_of(source.sample("w", seed=3), CACHE_WAYS), "number") == expected


@pytest.mark.skipif(pq is None, reason="needs pyarrow")
def test_weights_of_a_table_are_read_without_its_other_columns(tmp_path, items_of):
    columns = {"n": [1, 2, 3], "w": [0.0, 1.0, 1.0], "other": ["a" * 1000] * 3}
    pq.write_table(pa.table(columns), tmp_path / "a.parquet")
    for pipeline in [
        hp.parquet(tmp_path / "a.parquet"),
        hp.parquet(tmp_path / "a.parquet", columns={"w": float, "n": int, "other": str}),
        hp.parquet(tmp_path / "a.parquet", columns=["other", "n", "w"], dtypes={"w": np.float64}),
    ]:
        renamed = pipeline.rename(w="weight").select("n", "weight")
        sampled = renamed.sample("weight", num=50, seed=1)
        assert set(numbers(items_of(sampled, CACHE_WAYS))) == {2, 3}


def test_labels_of_a_folder_are_known_without_reading_the_files(tables, items_of):
    pipeline = hp.image_folder(tables / "images")
    drawn = numbers(items_of(pipeline.sample(by="label", num=2000, seed=7)), "label")
    assert statistic(drawn, {0: 1, 1: 1}) < QUANTILES[1]
    # Reading a part's examples results in the same weights.
    train, _ = pipeline.split(0.5, 0.5)
    read = train.map(lambda row: row).sample(by="label", seed=7)
    assert [row["path"] for row in items_of(train.sample(by="label", seed=7))] == [
        row["path"] for row in read
    ]


@pytest.mark.parametrize("even", [None, "drop", "pad"])
@pytest.mark.parametrize("count", [1, 2, 4, 7])
def test_ranks_divide_the_draws_of_a_sample_before_shard(items_of, even, count):
    pipeline = arrays(40).sample("w", num=30, seed=7)
    drawn = numbers(pipeline)
    shares = [numbers(items_of(pipeline.shard(rank, count, even))) for rank in range(count)]
    num_whole = 30 - 30 % count
    of_ranks = [number for together in zip(*shares, strict=False) for number in together]
    assert of_ranks[:num_whole] == drawn[:num_whole]


@pytest.mark.parametrize("even", [None, "drop", "pad"])
@pytest.mark.parametrize("count", [2, 4, 7])
def test_each_rank_draws_from_its_own_share_after_shard(items_of, even, count):
    for rank in range(count):
        share = arrays(24, [1.0]).shard(rank, count, even)
        own = numbers(share)
        pipeline = share.sample(weights="w", seed=7)
        assert len(pipeline) == len(list(pipeline)) == len(own)
        assert set(numbers(items_of(share.sample("w", num=500, seed=7)))) == set(own)
        mapped = share.map(lambda row: row).sample("w", num=500, seed=7)
        assert numbers(mapped) == numbers(share.sample("w", num=500, seed=7))


def test_ranks_draw_differently_after_shard():
    shares = [arrays(40, [1.0]).shard(rank, 2).sample("w", seed=7) for rank in range(2)]
    first, second = ([number // 2 for number in numbers(share)] for share in shares)
    assert first != second


def test_part_of_a_split_is_sampled(items_of):
    train, test = arrays(200).split(0.7, 0.3)
    own = {number: WEIGHTS[number % 6] for number in numbers(train)}
    pipeline = train.sample("w", seed=7)
    assert len(pipeline) == len(own)
    assert statistic(numbers(items_of(train.sample("w", num=50, seed=7))), own) < 500
    assert not set(numbers(pipeline)) & set(numbers(test.sample("w", seed=7)))


def test_parts_of_a_combination_are_sampled_together(items_of):
    parts = [arrays(30), hp.arrays({"n": np.arange(30, 36), "w": np.full(6, 100.0)})]
    drawn = numbers(items_of(hp.concat(parts).sample("w", num=500, seed=7)))
    whole = hp.arrays({"n": np.arange(36)}).sample(
        [*np.resize(WEIGHTS, 30), *[100.0] * 6], num=500, seed=7
    )
    assert drawn == numbers(whole)
    zipped = hp.zip([arrays(30), hp.arrays({"m": np.arange(30)})]).sample("w", seed=7)
    assert all(row["n"] == row["m"] for row in items_of(zipped))
    assert numbers(zipped) == numbers(arrays(30).sample("w", seed=7))


def test_each_copy_of_an_example_has_its_own_random_numbers(items_of):
    def draw(row, rng):
        return {"n": row["n"], "draw": rng.integers(2**62)}

    for pipeline in [
        hp.arrays({"n": [1, 2]}).sample([1.0, 1.0], num=50, seed=7).map(draw, seed=5),
        hp.arrays({"n": [1, 2]}).sample([1.0, 1.0], num=50, seed=7).shard(1, 2).map(draw, seed=5),
    ]:
        draws = numbers(items_of(pipeline.epochs(2)), "draw")
        assert len(set(draws)) == len(draws)


def test_random_numbers_do_not_depend_on_the_ranks():
    def draw(row, rng):
        return {"draw": rng.integers(2**62)}

    pipeline = arrays(20).sample("w", seed=7)
    draws = [row["draw"] for row in pipeline.map(draw, seed=5)]
    shares = [[row["draw"] for row in pipeline.shard(r, 2).map(draw, seed=5)] for r in range(2)]
    assert [draw for pair in zip(*shares, strict=True) for draw in pair] == draws


def resumes(pipeline):
    """Checks that a pipeline resumes at every batch."""
    batches, states = iter(pipeline), []
    expected = []
    while True:
        states.append(batches.state())
        batch = next(batches, None)
        if batch is None:
            break
        expected.append(batch)
    for start, state in enumerate(states):
        rest = list(pipeline.resume(state))
        assert [batch["n"].tolist() for batch in rest] == [
            batch["n"].tolist() for batch in expected[start:]
        ]


def test_resume_continues_at_every_batch(tables):
    resumes(arrays(40).sample("w", num=25, seed=7).batch(4).epochs(2))
    resumes(arrays(40).shard(1, 3).sample("w", num=25, seed=7).batch(4))
    resumes(arrays(40).sample("w", num=25, seed=7).shuffle(window=5, seed=1).shard(0, 2).batch(2))
    resumes(hp.concat([arrays(40), arrays(7)]).sample("w", num=25, seed=7).batch(4))
    pipeline = hp.json_lines(tables / "*.jsonl", {"number": int}).rename(number="n")
    resumes(pipeline.sample("n", num=30, seed=7).batch(4))


@pytest.mark.parametrize("world", [1, 2, 4])
def test_different_number_of_ranks_continues_with_the_next_draw(world):
    pipeline = arrays(40).sample("w", num=96, seed=7)
    drawn = numbers(pipeline)
    batches = iter(pipeline.shard(0, 2).batch(4))
    for _ in range(3):
        next(batches)
    state = batches.state()
    digest = batches.digest()
    ranks = [list(pipeline.shard(rank, world).batch(4).resume(state)) for rank in range(world)]
    rows = [np.concatenate([batch["n"] for batch in rank]) for rank in ranks]
    assert np.stack(rows, 1).reshape(-1).tolist() == drawn[24:]
    alone = iter(pipeline.batch(8))
    for _ in range(3):
        next(alone)
    assert alone.digest() == digest


def test_state_contains_a_digest_of_the_weights(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text('{"n": 1, "w": 2}\n{"n": 2, "w": 1}\n')
    pipeline = hp.json_lines(path).sample("w", num=9, seed=7).batch(1)
    state = iter(pipeline).state()
    path.write_text('{"n": 1, "w": 1}\n{"n": 2, "w": 2}\n')
    other = hp.json_lines(path).sample("w", num=9, seed=7).batch(1)
    with pytest.raises(ValueError, match=r"the weights of sample\('w'\) have changed since"):
        other.resume(state)
    state = iter(arrays().sample(WEIGHTS, seed=7)).state()
    with pytest.raises(ValueError, match="stage 1 is sample"):
        arrays().sample([*WEIGHTS[:-1], 0.25], seed=7).resume(state)
    assert numbers(arrays().sample([*WEIGHTS], seed=7).resume(state))


def test_weights_are_read_again_when_files_change(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text('{"n": 1, "w": 2}\n')
    pipeline = hp.json_lines(path).sample("w", seed=7)
    assert numbers(pipeline) == [1]
    path.write_text('{"n": 1, "w": 0}\n{"n": 20, "w": 1}\n')
    assert numbers(pipeline) == [20, 20]


def test_weights_are_read_once(tmp_path):
    calls = []

    def note(row):
        calls.append(int(row["n"]))
        return row

    pipeline = arrays(9).map(note).sample("w", num=0, seed=7)
    for epoch in range(3):
        assert list(pipeline.epoch(epoch)) == []
    assert sorted(set(calls)) == list(range(9))
    assert len(calls) <= 11
    with_more = pipeline.batch(2)
    num_calls = len(calls)
    assert list(with_more) == []
    assert len(calls) <= num_calls + 1


def test_pipeline_with_weights_can_be_pickled():
    for pipeline in [arrays().sample("w", seed=7), arrays().sample(WEIGHTS, seed=7)]:
        drawn = numbers(pipeline)
        assert numbers(pickle.loads(pickle.dumps(pipeline))) == drawn


def test_empty_source_yields_nothing_unless_draws_are_requested(tmp_path):
    (tmp_path / "a.jsonl").write_text("")
    empty = hp.json_lines(tmp_path / "a.jsonl", {"w": float})
    assert list(empty.sample("w", seed=1)) == []
    one = arrays(1, [1.0])
    for pipeline in (
        *(empty, empty.map(lambda row: row), empty.map(lambda row: row).cache()),
        *(one.shard(1, 2), one.shard(1, 2).map(lambda row: row)),
    ):
        assert list(pipeline.sample("w", seed=1).map(lambda row: row)) == []
        with pytest.raises(errors.InvalidArgumentError, match="no examples to draw 3 from"):
            list(pipeline.sample("w", num=3, seed=1))


def test_damaged_records_are_skipped_each_time_they_are_drawn(tables):
    def failing(row):
        if row["number"] % 2:
            raise ValueError("odd")
        return row

    pipeline = hp.csv(tables / "csv", {"number": int})
    sampled = pipeline.sample(np.ones(NUM_EXAMPLES), num=200, seed=7)
    kept = [number for number in numbers(sampled, "number") if not number % 2]
    assert 0 < len(kept) < 200
    for at in [sampled.map(failing), pipeline.map(failing).sample(np.ones(1000), num=200, seed=7)]:
        assert numbers(at.skip_errors(200), "number") == kept


@pytest.mark.parametrize("weight", [-1.0, np.nan, np.inf])
def test_error_for_an_invalid_weight_names_its_record(tmp_path, weight):
    weights = [1.0, 1.0, weight, 1.0]
    with pytest.raises(ValueError, match=rf"weight 2 of 4 is {weight}, expected a finite number"):
        arrays(4).sample(weights)
    message = rf"example 2, counted from 0, has {weight} in 'w', expected a weight"
    with pytest.raises(ValueError, match=message):
        list(arrays(4, weights).sample("w"))
    with TFRecordWriter(tmp_path / "a.tfrecord") as writer:
        for one in weights:
            example = Example()
            example.features.feature["w"].float_list.value.append(one)
            writer.write(example.SerializeToString())
    pipeline = hp.tfrecords(tmp_path / "a.tfrecord").parse({"w": float}).sample("w")
    with pytest.raises(ValueError, match=rf"a\.tfrecord: record 2 has {weight} in 'w'"):
        next(iter(pipeline))


def test_random_access_errors_mention_sample(tmp_path):
    (tmp_path / "a.txt").write_text("1\n2\n")
    (tmp_path / "b").write_bytes(gzip.compress(b"1\n2\n"))
    lines = hp.text_lines(tmp_path / "a.txt")
    for pipeline, message in [
        (
            lines.options(index="off"),
            r'a\.txt: finding its records needs an index, .* options\(index="off"\)\. '
            r"Remove that option",
        ),
        (
            hp.text_lines(tmp_path / "b"),
            r"b: the file is compressed, .* accessed at random\. Decompress the files",
        ),
        (
            lines.cache(tmp_path / "cache", bytes=1),
            r"all examples of cache\(directory=\.\.\.\) are needed, but they are not stored\. .* "
            r"Write sample\(\.\.\.\) before cache\(\.\.\.\)\.",
        ),
    ]:
        with pytest.raises(errors.OpError, match=f"^sample: .*{message}$"):
            list(pipeline.sample([1.0, 2.0], seed=7))


@pytest.mark.skipif(pq is None, reason="needs pyarrow")
@pytest.mark.parametrize("is_part", [False, True])
def test_sample_rejects_a_table_that_does_not_fit_in_memory(tmp_path, is_part):
    pq.write_table(pa.table({"text": ["a" * 1000] * 2000}), tmp_path / "a.parquet")
    pipeline = hp.parquet(tmp_path / "a.parquet")
    pipeline = hp.concat([pipeline, pipeline]) if is_part else pipeline
    sampled = pipeline.sample(np.ones(4000 if is_part else 2000), seed=7)
    message = (
        r"^sample: keeping all rows of the files in memory needs more than .* bytes, expected at "
        r"most the 100000 of memory_bytes\. Read fewer columns, or raise "
        r"options\(memory_bytes=\.\.\.\)$"
    )
    with pytest.raises(errors.ResourceExhaustedError, match=message):
        next(iter(sampled.options(memory_bytes=100_000)))


def test_all_zero_or_miscounted_weights_are_rejected():
    with pytest.raises(ValueError, match="the weights are all 0, expected"):
        arrays(2).sample([0, 0])
    with pytest.raises(ValueError, match="the 3 weights in 'w' are all 0"):
        list(arrays(3, [0.0]).sample("w"))
    with pytest.raises(ValueError, match="so large that their sum is infinite"):
        arrays(2).sample([1e308, 1e308])
    for weights in ([1.0], [1.0] * 3, []):
        message = f"there are 2 examples, but {len(weights)} weights"
        with pytest.raises(errors.InvalidArgumentError, match=message):
            list(arrays(2).sample(weights))


def test_unsuitable_weight_components_are_rejected():
    pipeline = hp.arrays({"text": ["a"], "list": [[1.0, 2.0]], "x": [1.0], "n": [1]})
    for name, message in [
        ("text", "the component 'text' is str, expected one number"),
        ("list", r"the component 'list' is float64 of shape \(2,\), expected one number"),
        ("nothing", "there is no component 'nothing'"),
    ]:
        with pytest.raises(ValueError, match=message):
            pipeline.sample(name)
    with pytest.raises(ValueError, match="'x' is float64, expected an integer or a string"):
        pipeline.sample(by="x")
    with pytest.raises(ValueError, match="'text' is str, expected one number"):
        list(pipeline.map(lambda row: row).sample("text"))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: hp.iterable(lambda: iter([{"w": 1}])),
            "iterable yields its examples only in order",
        ),
        (lambda: hp.mix([arrays(), arrays()], [1, 1]), "mix yields its examples only in order"),
        (lambda: hp.csv("a.csv.gz", {"w": int}, compression="gzip"), "compressed with gzip"),
        (lambda: arrays().filter(lambda row: True), "filter does not turn each example into"),
        (
            lambda: arrays().shard(0, 2).cache(),
            r"cache comes after shard. Write cache\(...\) before",
        ),
        (lambda: arrays().skip_errors(1), "skip_errors skips examples"),
        (lambda: arrays().sample("w"), "sample does not turn each example into exactly one"),
        (lambda: arrays().batch(2), "cannot come after batch"),
        (lambda: arrays().epochs(2), "cannot come after epochs"),
    ],
)
def test_examples_without_random_access_are_rejected(make, message):
    with pytest.raises(ValueError, match=rf"sample: .*{message}"):
        make().sample("w")


def test_arguments_are_checked():
    for arguments in [{}, {"weights": "w", "by": "n"}]:
        with pytest.raises(ValueError, match="of weights and by, expected one of them"):
            arrays().sample(**arguments)
    for weights in (["a"], 3.0, [[1.0]], [1j]):
        with pytest.raises(TypeError, match="expected the name of a component, or an array"):
            arrays().sample(weights)
    with pytest.raises(TypeError, match="by is 3, expected the name"):
        arrays().sample(by=3)
    with pytest.raises(ValueError, match="num is -1"):
        arrays().sample("w", num=-1)
    with pytest.raises(ValueError, match="seed is -1"):
        arrays().sample("w", seed=-1)
    with pytest.raises(ValueError, match="sample before it has no seed"):
        arrays().sample("w").shard(0, 2)
