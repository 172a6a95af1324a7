"""Sources of rows by number."""

import threading
from typing import Any

import numpy as np
import pytest
from tests.pipeline.workers.indexed_source import Rows

import headrace as hr


class Numbers:
    """Returns rows by number or in blocks, and records the requested numbers."""

    def __init__(self, length: int = 100) -> None:
        self.length = length
        self.asked: list[int] = []

    def __len__(self) -> int:
        return self.length

    def __getitem__(self, number: int) -> Any:
        self.asked.append(number)
        return {"n": number, "half": number / 2}


class Blocks(Numbers):
    """The same, only in blocks."""

    def __init__(self, length: int = 100) -> None:
        super().__init__(length)
        self.blocks: list[list[int]] = []

    def __getitems__(self, numbers: list[int]) -> list[Any]:
        self.blocks.append(numbers)
        return [{"n": number, "half": number / 2} for number in numbers]


def numbers_of(pipe: hr.Pipeline) -> list[int]:
    return [int(example["n"]) for example in pipe]


class TestComponents:
    def test_dict_rows_have_one_component_per_key(self):
        pipe = hr.indexed(Numbers())
        assert list(pipe.spec) == ["n", "half"]
        assert next(iter(pipe.skip(3))) == {"n": 3, "half": 1.5}

    def test_tuple_items_are_named_by_position(self):
        pipe = hr.indexed([(np.zeros((2, 3), np.uint8), 1), (np.ones((2, 3), np.uint8), 2)])
        batch = next(iter(pipe.batch(2)))
        assert list(batch) == ["0", "1"]
        assert batch["0"].shape == (2, 2, 3)
        assert batch["1"].tolist() == [1, 2]

    def test_tuple_items_can_be_named(self):
        pipe = hr.indexed([(1, "a"), (2, "b")], names=("number", "letter"))
        assert list(pipe) == [{"number": 1, "letter": "a"}, {"number": 2, "letter": "b"}]

    def test_list_is_one_component_unless_several_names_are_passed(self):
        assert next(iter(hr.indexed([[1, 2]])))["x"].tolist() == [1, 2]
        assert next(iter(hr.indexed([[1, 2]], names=["a", "b"]))) == {"a": 1, "b": 2}

    def test_arrays_and_numbers_become_component_x(self):
        assert next(iter(hr.indexed([1.5]))) == {"x": 1.5}
        assert next(iter(hr.indexed(np.eye(3))))["x"].tolist() == [1, 0, 0]
        assert next(iter(hr.indexed([2], names=["label"]))) == {"label": 2}

    def test_bytes_are_records_that_can_be_parsed(self):
        message = hr.protos.Example()
        message.features.feature["n"].int64_list.value.append(5)
        pipe = hr.indexed([message.SerializeToString()])
        assert next(iter(pipe.parse({"n": int}))) == {"n": 5}

    def test_dict_of_sources_has_one_component_per_source(self):
        pipe = hr.indexed({"n": np.arange(10), "text": [str(n) for n in range(10)]})
        assert list(pipe.skip(8)) == [{"n": 8, "text": "8"}, {"n": 9, "text": "9"}]

    def test_lists_of_any_length_are_padded(self):
        pipe = hr.indexed([{"ids": list(range(n))} for n in range(4)])
        batch = next(iter(pipe.padded_batch(4)))
        assert batch["ids"].tolist() == [[0, 0, 0], [0, 0, 0], [0, 1, 0], [0, 1, 2]]


class TestOrder:
    def test_full_shuffle_differs_in_each_epoch(self):
        pipe = hr.indexed(Numbers()).shuffle(seed=3)
        first, second = numbers_of(pipe), [int(e["n"]) for e in pipe.epoch(1)]
        assert sorted(first) == sorted(second) == list(range(100))
        assert first != second != list(range(100))

    def test_order_is_the_same_as_for_arrays(self):
        expected = numbers_of(hr.arrays({"n": np.arange(100)}).shuffle(seed=3).shard(1, 3))
        assert numbers_of(hr.indexed(Numbers()).shuffle(seed=3).shard(1, 3)) == expected

    def test_shuffle_window_holds_row_numbers(self):
        source = Numbers()
        pipe = hr.indexed(source).shuffle(window=50, seed=3).shard(0, 4)
        result = numbers_of(pipe)
        assert len(result) == 25
        # The first one is for the components.
        assert set(source.asked[1:]) <= set(result)

    @pytest.mark.parametrize("skips", [False, True])
    def test_only_remaining_rows_are_read(self, skips):
        source = Numbers(1000)
        pipe = hr.indexed(source).shuffle(seed=1).skip(500).shard(1, 50).take(3)
        if skips:
            pipe = hr.indexed(source).shuffle(seed=1).skip_errors(5).shard(1, 50)
        result = numbers_of(pipe)
        assert not skips or len(source.asked) >= 1000
        assert skips or set(source.asked) <= {*result, source.asked[0]}

    def test_length_is_known(self):
        assert len(hr.indexed(Numbers(10)).epochs(3).batch(4)) == 8
        assert len(hr.indexed([])) == 0
        assert list(hr.indexed([])) == []

    def test_parts_of_a_split_contain_each_row_once(self):
        parts = hr.indexed(Numbers()).split(0.7, 0.3, seed=2)
        assert sorted(n for part in parts for n in numbers_of(part.shuffle(seed=1))) == [
            *range(100)
        ]

    def test_different_numbers_of_shards_and_threads_resume(self):
        def pipe(rank: int, world: int, num_threads: int = 1) -> hr.Pipeline:
            rows = hr.indexed(Numbers(96), num_threads).shuffle(seed=5)
            return rows.shard(rank, world).batch(4)

        with iter(pipe(0, 2)) as batches:
            inputs = [int(n) for _ in range(3) for n in next(batches)["n"]]
            state = batches.state()
        others = [int(n) for batch in list(pipe(1, 2))[:3] for n in batch["n"]]
        rest = [
            int(n)
            for rank in range(3)
            for batch in pipe(rank, 3, 2).resume(state)
            for n in batch["n"]
        ]
        assert sorted([*inputs, *others, *rest]) == list(range(96))

    def test_state_of_a_source_with_a_different_length_is_rejected(self):
        with iter(hr.indexed(Numbers(10))) as batches:
            next(batches)
            state = batches.state()
        with pytest.raises(ValueError, match=r"stage 0 is indexed\(11\), but it was indexed\(10\)"):
            hr.indexed(Numbers(11)).resume(state)

    def test_digest_is_equal_on_all_ranks(self):
        digests = set()
        for rank in range(2):
            with iter(hr.indexed(Numbers()).shuffle(seed=5).shard(rank, 2).batch(5)) as batches:
                next(batches)
                digests.add(batches.digest())
        assert len(digests) == 1


class TestBlocks:
    def test_blocks_are_read_in_one_call(self):
        source = Blocks(1000)
        assert numbers_of(hr.indexed(source)) == list(range(1000))
        assert len(source.blocks) + len(source.asked) < 100
        assert max(map(len, source.blocks)) > 50

    def test_failing_row_in_a_block_is_skipped_alone(self):
        class Failing(Blocks):
            def __getitems__(self, numbers: list[int]) -> list[Any]:
                if 7 in numbers:
                    raise KeyError("a block")
                return super().__getitems__(numbers)

            def __getitem__(self, number: int) -> Any:
                if number == 7:
                    raise KeyError("row 7")
                return super().__getitem__(number)

        result = numbers_of(hr.indexed(Failing(20)).skip_errors(1))
        assert result == [n for n in range(20) if n != 7]

    def test_block_of_the_wrong_length_is_an_error(self):
        class Short:
            def __len__(self) -> int:
                return 10

            def __getitems__(self, numbers: list[int]) -> list[Any]:
                return []

        with pytest.raises(ValueError, match="returned 0 rows for 1 indexes"):
            list(hr.indexed(Short()))

    def test_neighbouring_rows_of_file_backed_arrays_are_read_as_slices(self):
        class InFile:
            shape, dtype = (1000, 2), np.dtype(np.int64)

            def __init__(self) -> None:
                self.asked: list[Any] = []

            def __len__(self) -> int:
                return 1000

            def __getitem__(self, position: Any) -> Any:
                self.asked.append(position)
                return np.arange(2000).reshape(1000, 2)[position]

        source = InFile()
        results = [example["x"].tolist() for example in hr.indexed(source)]
        assert results == [[2 * n, 2 * n + 1] for n in range(1000)]
        assert len(source.asked) < 100


class TestErrors:
    @pytest.mark.parametrize(
        ("source", "words"),
        [
            (iter([]), "got list_iterator, expected an object with __len__"),
            ("text", "got str, expected an object with __len__"),
            (7, "got int, expected an object"),
            ({}, "the keys of the dict are .*, expected at least one string"),
            ({0: [1]}, r"the keys of the dict are \[0\], expected at least one"),
        ],
    )
    def test_objects_without_rows_are_rejected(self, source, words):
        with pytest.raises(TypeError, match=f"indexed: {words}"):
            hr.indexed(source)

    @pytest.mark.parametrize(
        ("length", "kind", "words"),
        [
            (-1, ValueError, "the length of Numbers is out of range"),
            (1.5, TypeError, "the length of Numbers is unknown"),
            (2**70, ValueError, "the length of Numbers is out of range"),
        ],
    )
    def test_invalid_lengths_are_rejected(self, length, kind, words):
        with pytest.raises(kind, match=f"indexed: {words}"):
            hr.indexed(Numbers(length))

    def test_different_lengths_are_rejected(self):
        with pytest.raises(
            ValueError, match=r"the sources have different lengths: {'a': 1, 'b': 2}"
        ):
            hr.indexed({"a": [1], "b": [1, 2]})

    @pytest.mark.parametrize(
        ("rows", "words"),
        [([(1, 2, 3)], "a row is a tuple of 3 items"), ([5], "a row is a int")],
    )
    def test_names_that_do_not_fit_a_row_are_an_error(self, rows, words):
        with pytest.raises(ValueError, match=words):
            list(hr.indexed(rows, names=["a", "b"]))

    def test_names_for_dict_rows_are_an_error(self):
        with pytest.raises(ValueError, match="whose keys already name the components"):
            list(hr.indexed([{"a": 1}], names=["b"]))

    def test_changing_length_is_an_error(self):
        source = Numbers(10)
        pipe = hr.indexed(source)
        assert len(numbers_of(pipe)) == 10
        source.length = 12
        with pytest.raises(ValueError, match="Numbers has 12 rows, but it had 10"):
            list(pipe)

    def test_missing_row_is_an_error(self):
        class Short(Numbers):
            def __getitem__(self, number: int) -> Any:
                return {"n": [0, 1, 2][number]}

        with pytest.raises(IndexError, match="Short has no row at index 3") as caught:
            list(hr.indexed(Short(5)))
        assert any("indexed(Short), at indexed: index 3" in n for n in caught.value.__notes__)
        assert numbers_of(hr.indexed(Short(5)).skip_errors(2)) == [0, 1, 2]

    def test_skipped_rows_are_reported_by_index(self):
        class Damaged(Numbers):
            def __getitem__(self, number: int) -> Any:
                if number % 10 == 4:
                    raise OSError("a picture is damaged")
                return super().__getitem__(number)

        with iter(hr.indexed(Damaged()).shuffle(seed=1).skip_errors(0.5)) as batches:
            assert sorted(int(e["n"]) for e in batches) == [n for n in range(100) if n % 10 != 4]
            assert sorted(one.record_number for one in batches.skipped) == [*range(4, 100, 10)]

    def test_none_in_an_example_is_rejected(self):
        with pytest.raises(TypeError, match="'a' contains objects"):
            list(hr.indexed([{"a": None}]))

    def test_tables_are_rejected(self):
        pandas = pytest.importorskip("pandas")
        with pytest.raises(TypeError, match=r"Use headrace\.arrays for columns"):
            hr.indexed(pandas.DataFrame({"a": [1]}))


class TestCallers:
    def test_threads_read_concurrently(self):
        barrier = threading.Barrier(2)

        class Waiting(Numbers):
            def __getitem__(self, number: int) -> Any:
                if number in (1, 2):
                    barrier.wait(20)
                return {"n": number}

        assert numbers_of(hr.indexed(Waiting(20), num_threads=2)) == list(range(20))

    def test_processes_return_the_same_results(self):
        rows = Rows(300)
        expected = [e["n"] for e in hr.indexed(rows).shuffle(seed=1)]
        results = list(hr.indexed(rows, num_processes=2).shuffle(seed=1))
        assert [e["n"] for e in results] == expected
        assert rows.pid not in {int(e["pid"]) for e in results}

    def test_error_in_a_process_names_the_failing_row(self):
        pipe = hr.indexed(Rows(20, fails_at=5), num_processes=1)
        with pytest.raises(ValueError, match="row 5") as caught:
            list(pipe)
        assert any("at indexed: index 5" in note for note in caught.value.__notes__)

    def test_unpicklable_source_is_rejected(self):
        class Held(Numbers):
            def __init__(self) -> None:
                super().__init__()
                self.lock = threading.Lock()

        with pytest.raises(TypeError, match=r"indexed\(.*Held\): num_processes is set"):
            list(hr.indexed(Held(), num_processes=1))

    def test_threads_with_processes_are_rejected(self):
        with pytest.raises(ValueError, match="indexed: num_threads is 2 and num_processes is 2"):
            hr.indexed([1], 2, 2)


def test_pipelines_of_the_same_source_are_equal():
    source = Numbers()
    assert hr.indexed(source) == hr.indexed(source)
    assert hr.indexed(source) != hr.indexed(source, names=["a"])
    assert hr.indexed(source) != hr.indexed(Numbers())


def test_describe_names_the_source():
    text = hr.indexed(Numbers(), num_threads=2).shuffle(seed=1).describe()
    assert "indexed(100)" in text
    assert "indexed(Numbers, num_threads=2)" in text
