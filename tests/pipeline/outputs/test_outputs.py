"""Batches as PyTorch tensors, JAX arrays and Arrow record batches."""

import copy
import json
import re
import subprocess
import sys
import warnings
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from tests.torchrun import torchrun

import headrace as hr
from headrace.core import errors


def needs(name):
    return pytest.mark.skipif(find_spec(name) is None, reason=f"{name} is not installed")


@pytest.fixture
def pipe():
    """Batches with various components."""
    texts = np.array([f"ä{number}" for number in range(100)], object)
    return (
        hr.arrays(
            {
                "number": np.arange(100),
                "image": np.arange(600, dtype=np.float32).reshape(100, 2, 3),
                "is_odd": np.arange(100) % 2 == 1,
                "text": texts,
                "data": np.array([text.encode() for text in texts], object),
            }
        )
        .shuffle(seed=3)
        .batch(16)
    )


def with_lists():
    """Batches with lists of arrays, of numbers and of strings."""
    rows = hr.arrays({"n": np.arange(10)}).map(
        lambda e: {**e, "boxes": np.full((e["n"] % 3, 4), e["n"], np.float32), "name": f"{e['n']}"}
    )
    return rows.shuffle(window=4, seed=1).batch(4, lists=("n", "boxes", "name"))


def numbers(batches):
    return [np.asarray(batch["number"]).tolist() for batch in batches]


def at_start(epoch, last_set=None):
    """The state of a loader before an epoch."""
    return {"epoch": epoch, "batches": None, "set_epoch": last_set, "offset": 0}


@needs("torch")
class TestTorch:
    def test_tensors_share_memory_with_the_batch(self, pipe):
        torch = pytest.importorskip("torch")
        for tensors, batch in zip(pipe.to_torch(), pipe, strict=True):
            assert list(tensors) == list(batch)
            for name in ("number", "image", "is_odd"):
                assert torch.equal(tensors[name], torch.from_numpy(batch[name]))
            assert tensors["text"] == batch["text"].tolist()
            assert tensors["data"] == batch["data"].tolist()
            tensors["image"] += 1  # The program owns them.

    def test_each_iter_call_starts_the_next_epoch(self, pipe):
        loader = pipe.to_torch()
        assert len(loader) == 7
        assert numbers(loader) == numbers(pipe)
        assert numbers(loader) == numbers(pipe.epoch(1))
        assert numbers(loader) == numbers(pipe.epoch(2))

    @pytest.mark.parametrize("device", [None, "cpu"])
    def test_state_resumes_at_the_loop_position(self, pipe, device):
        loader = pipe.to_torch(device)
        assert loader.state_dict() == at_start(0)
        numbers(loader)
        assert loader.state_dict() == at_start(1)
        batches = iter(loader)
        first = next(batches)["number"].tolist()
        state = json.loads(json.dumps(loader.state_dict()))
        rest = numbers(batches)
        assert [first, *rest] == numbers(pipe.epoch(1))
        for other in (None, "cpu"):
            resumed = pipe.to_torch(other)
            resumed.load_state_dict(state)
            assert resumed.state_dict() == state
            assert numbers(resumed) == rest
            assert numbers(resumed) == numbers(pipe.epoch(2))

    def test_state_after_the_last_batch_continues_with_the_next_epoch(self, pipe):
        loader = pipe.to_torch()
        for _ in loader:
            state = loader.state_dict()
        resumed = pipe.to_torch()
        resumed.load_state_dict(state)
        assert numbers(resumed) == numbers(pipe.epoch(1))
        assert numbers(resumed) == numbers(pipe.epoch(2))

    @pytest.mark.parametrize("num_taken", [0, 3, 7, 9])
    def test_distributed_checkpoint_restores_a_fresh_loader(self, pipe, num_taken, tmp_path):
        checkpoint = pytest.importorskip("torch.distributed.checkpoint")
        loader = pipe.to_torch()
        loader.set_epoch(0)
        batches = (batch for _ in range(2) for batch in loader)
        for _, _ in zip(range(num_taken), batches, strict=False):
            pass
        path = str(tmp_path / "checkpoint")
        with warnings.catch_warnings(action="ignore"):  # There is one process.
            checkpoint.save({"data": loader}, checkpoint_id=path)
            resumed = pipe.to_torch()
            checkpoint.load({"data": resumed}, checkpoint_id=path)
        assert resumed.state_dict() == loader.state_dict()
        rest = numbers(resumed)
        expected = [*numbers(pipe), *numbers(pipe.epoch(1)), *numbers(pipe.epoch(2))]
        assert rest == expected[num_taken : max(num_taken // 7 * 7 + 7, 7)]

    def test_older_state_is_accepted(self, pipe):
        batches = iter(pipe.epoch(1))
        next(batches)
        for within, rest in ((batches.state(), numbers(batches)), (None, numbers(pipe.epoch(1)))):
            loader = pipe.to_torch()
            loader.load_state_dict({"epoch": 1, "batches": within})
            assert numbers(loader) == rest

    def test_error_for_a_wrong_dict_lists_its_keys(self, pipe):
        loader = pipe.to_torch()
        full = {"model": {}, "data": loader.state_dict()}
        with pytest.raises(ValueError, match=r"load_state_dict: got a dict with the keys 'model',"):
            loader.load_state_dict(full)
        with pytest.raises(
            ValueError, match="load_state_dict: got None, expected the result of the"
        ):
            loader.load_state_dict(None)
        with pytest.raises(
            ValueError, match=r"It is the state of a to_torch\(\) loader, so pass it"
        ):
            pipe.resume(loader.state_dict())

    def test_iteration_without_a_batch_does_not_count_as_an_epoch(self, pipe):
        loader = pipe.to_torch()
        begun = iter(loader)
        iter(loader)
        assert loader.state_dict() == at_start(0)
        assert numbers(loader) == numbers(pipe)
        iter(loader)
        assert loader.state_dict() == at_start(1)
        # It starts at the loader's position at that time.
        assert numbers(begun) == numbers(pipe.epoch(1))

    def test_set_epoch_sets_the_next_epoch(self, pipe):
        loader = pipe.to_torch()
        for epoch in (3, 1, 1):
            loader.set_epoch(epoch)
            assert numbers(loader) == numbers(pipe.epoch(epoch))
        loader.sampler.set_epoch(5)
        assert loader.state_dict() == at_start(5, 5)
        assert numbers(loader) == numbers(pipe.epoch(5))
        assert numbers(loader) == numbers(pipe.epoch(6))
        assert loader.batch_sampler.batch_size == 16
        with pytest.raises(
            ValueError, match="set_epoch: epoch is -1, expected an int of at least 0"
        ):
            loader.set_epoch(-1)

    @pytest.mark.parametrize("is_late", [False, True])
    @pytest.mark.parametrize("taken", [2, 7, 8])
    @pytest.mark.parametrize("begun", [0, 4])
    def test_loop_counting_from_zero_after_a_resume_reads_the_following_epochs(
        self, pipe, is_late, taken, begun
    ):
        loader = pipe.to_torch()
        loader.set_epoch(begun)
        batches = iter(loader)
        for _ in range(taken):
            next(batches, None)
        state = loader.state_dict()
        rest = numbers(batches) or numbers(pipe.epoch(begun + 1))
        last = begun if taken == 2 else begun + 1
        resumed = pipe.to_torch()
        if is_late:
            resumed.set_epoch(0)
        resumed.load_state_dict(state)
        if not is_late:
            resumed.set_epoch(0)
        assert numbers(resumed) == rest
        for epoch in (1, 2):
            resumed.set_epoch(epoch)
            assert numbers(resumed) == numbers(pipe.epoch(last + epoch))

    def test_epoch_after_the_state_starts_from_the_beginning(self, pipe, caplog):
        loader = pipe.to_torch()
        next(iter(loader))
        state = loader.state_dict()
        for epoch, words in (
            (1, ""),
            (6, "set_epoch(6): the rest of epoch 0 is skipped"),
        ):
            resumed = pipe.to_torch()
            resumed.load_state_dict(state)
            resumed.set_epoch(epoch)
            assert numbers(resumed) == numbers(pipe.epoch(epoch))
            assert words in caplog.text
            assert bool(words) == bool(caplog.text)

    def test_length_argument_sets_len_and_is_checked(self, pipe):
        kept = pipe.unbatch().filter(lambda example: example["number"] < 50).batch(10)
        with pytest.raises(TypeError, match="len: the number of examples"):
            len(kept.to_torch())
        loader = kept.to_torch(length=5)
        assert len(loader) == 5
        assert len(numbers(loader)) == 5
        with pytest.raises(ValueError, match="length is 6, but epoch 0 had 5 batches"):
            list(kept.to_torch(length=6))
        with pytest.raises(
            ValueError, match="to_torch: length is -1, expected an int of at least 0"
        ):
            kept.to_torch(length=-1)

    def test_missing_device_is_an_error_at_the_call(self, pipe):
        torch = pytest.importorskip("torch")
        if torch.cuda.is_available():
            pytest.skip("there is a GPU")
        with pytest.raises((AssertionError, RuntimeError)) as expected:
            torch.empty(0, device="cuda")
        with pytest.raises(type(expected.value), match=re.escape(str(expected.value))):
            pipe.to_torch("cuda")

    def test_bfloat16_tensors_keep_their_values(self):
        torch = pytest.importorskip("torch")
        numbers = torch.arange(6, dtype=torch.bfloat16).reshape(3, 2) / 3
        for pipe in (
            hr.arrays({"x": numbers}),
            hr.arrays({"n": np.arange(3)}).map(lambda example: {"x": numbers[int(example["n"])]}),
        ):
            (batch,) = pipe.batch(3).to_torch()
            assert batch["x"].dtype == torch.bfloat16
            assert torch.equal(batch["x"], numbers)

    @pytest.mark.parametrize("device", [None, "cpu"])
    def test_lists_in_a_batch_become_lists_of_tensors(self, device):
        torch = pytest.importorskip("torch")
        loader = with_lists().to_torch(device)
        batches = iter(loader)
        first = next(batches)
        state = json.loads(json.dumps(loader.state_dict()))
        rest = list(batches)
        for tensors, batch in zip([first, *rest], with_lists(), strict=True):
            assert type(tensors["boxes"]) is list
            for boxes, expected in zip(tensors["boxes"], batch["boxes"], strict=True):
                assert torch.equal(boxes, torch.from_numpy(expected))
                boxes.add_(1)  # The program owns them.
            assert [int(n) for n in tensors["n"]] == batch["n"]
            assert tensors["name"] == batch["name"]
        resumed = with_lists().to_torch(device)
        resumed.load_state_dict(state)
        for one, other in zip(resumed, rest, strict=True):
            assert all(map(torch.equal, one["boxes"], [boxes - 1 for boxes in other["boxes"]]))

    def test_loader_can_be_copied_and_is_not_a_sequence(self, pipe):
        loader = pipe.unbatch().filter(lambda example: True).batch(16).to_torch()
        assert bool(loader)  # Although the number of batches is not known.
        assert (
            loader.bottleneck() == "nothing has been read yet. Call it again after a few batches."
        )
        assert repr(loader).endswith(", before epoch 0)")
        batches = iter(loader)
        next(batches)
        assert repr(loader).endswith(", within epoch 0)")
        assert "the training loop" in loader.bottleneck()
        for again in (copy.copy(loader), copy.deepcopy(loader), loader):
            assert again.state_dict() == loader.state_dict()
        rest = numbers(copy.copy(loader))
        assert rest == numbers(batches)
        with pytest.raises(TypeError, match="a loader does not support `in`"):
            assert 3 in loader
        for what in (lambda: loader[0], lambda: reversed(loader)):
            with pytest.raises(TypeError, match="a loader yields its batches only in order"):
                what()
        assert repr(iter(loader)) == "TorchBatches(not started)"
        assert repr(batches).startswith("TorchBatches(Batches(arrays > shuffle > batch")
        with pytest.raises(TypeError, match="an iteration does not support `in`"):
            assert 3 in batches

    def test_pipeline_works_within_a_data_loader(self, pipe, monkeypatch):
        data = pytest.importorskip("torch.utils.data")
        loader = data.DataLoader(pipe.to_torch(), batch_size=None)
        assert numbers(loader) == numbers(pipe)
        assert numbers(loader) == numbers(pipe.epoch(1))
        # As in a worker process.
        monkeypatch.setattr(data, "get_worker_info", lambda: SimpleNamespace(num_workers=2))
        with pytest.raises(ValueError, match="num_workers is 2, expected 0"):
            iter(pipe.to_torch())

    @pytest.mark.filterwarnings("ignore:.set_vital. is deprecated")  # In torchdata.
    def test_batches_of_batches_are_rejected(self, pipe):
        data = pytest.importorskip("torch.utils.data")
        words = "a DataLoader with a batch_size got a loader that already yields batches"
        loaders = [data.DataLoader]
        if find_spec("torchdata") is not None:
            stateful = pytest.importorskip("torchdata.stateful_dataloader")
            loaders.append(stateful.StatefulDataLoader)
        for loader in loaders:
            for options in ({"batch_size": 4}, {}):
                with pytest.raises(ValueError, match=words):
                    next(iter(loader(pipe.to_torch(), **options)))
            examples = pipe.unbatch().select("number").to_torch()
            assert numbers(loader(examples, batch_size=16)) == numbers(pipe)
            assert numbers(loader(pipe.to_torch(), batch_size=None)) == numbers(pipe)

    def test_leaving_the_loop_stops_the_threads(self, pipe):
        loader = pipe.to_torch("cpu")
        with iter(loader) as batches:
            next(batches)
        assert list(batches) == []

    def test_unbatched_examples_become_tensors(self, pipe):
        torch = pytest.importorskip("torch")
        example = next(iter(pipe.unbatch().to_torch()))
        assert example["number"].shape == ()
        assert torch.is_tensor(example["image"])
        assert isinstance(example["text"], str)

    def test_nondeterministic_loader_has_no_state(self, pipe):
        loader = pipe.options(deterministic=False).to_torch("cpu")
        next(iter(loader))
        with pytest.raises(errors.FailedPreconditionError, match="deterministic"):
            loader.state_dict()

    def test_invalid_arguments_are_rejected(self, pipe):
        with pytest.raises(TypeError, match="to_torch: pin_memory is 'no', expected True, False"):
            pipe.to_torch(pin_memory="no")
        with pytest.raises(RuntimeError, match="device"):
            pipe.to_torch("nowhere")

    @pytest.mark.timeout(300)
    def test_ranks_of_a_process_group_have_the_same_number_of_batches(self, tmp_path):
        """Four gloo processes, whose data do not divide evenly, meet at each batch and at the end.

        If a rank fails, `torchrun` ends all of them.
        """
        (tmp_path / "rank.py").write_text(RANK)
        torchrun(4, "rank.py", tmp_path, cwd=tmp_path, timeout=280)
        seen = [json.loads((tmp_path / f"{rank}.json").read_text()) for rank in range(4)]
        assert [len(batches) for batches in seen] == [4] * 4
        assert len({number for batches in seen for batch in batches for number in batch}) == 96

    @pytest.mark.timeout(300)
    def test_program_from_the_page_trains_on_two_ranks(self, tmp_path):
        page = Path(__file__).parents[3] / "docs/guides/several_gpus.md"
        blocks = re.findall(r"^```python\n(.*?)^```$", page.read_text("utf-8"), re.M | re.S)
        (program,) = (block for block in blocks if "init_process_group" in block)
        assert sum(map(bool, program.splitlines())) <= 20
        (tmp_path / "train.py").write_text(program, "utf-8")
        # Each rank has a file, since lines of two ranks could be mixed in one.
        options = ["--redirects=1", f"--log-dir={tmp_path}"]
        torchrun(2, *options, "train.py", cwd=tmp_path, timeout=280)
        files = sorted(tmp_path.rglob("stdout.log"))
        lines = sorted(line.split() for file in files for line in file.read_text().splitlines())
        assert [rank for rank, _, _ in lines] == ["0"] * 5 + ["1"] * 5
        digests = [{digest for rank, digest, _ in lines if rank == mine} for mine in ("0", "1")]
        assert digests[0] == digests[1]
        assert len(digests[0]) == 5
        assert all(float(loss) < 1 for _, _, loss in lines)


RANK = """
import json, sys
from pathlib import Path
import numpy as np
import torch
import torch.distributed as dist
import headrace as hr

dist.init_process_group("gloo")
rank = dist.get_rank()
pipe = hr.arrays({"number": np.arange(103)}).shuffle(seed=3)
pipe = pipe.filter(lambda example: example["number"] % 20).shard(even="drop")
seen = []
for batch in pipe.batch(6).to_torch():
    total = batch["number"].sum()
    dist.all_reduce(total)
    seen.append(batch["number"].tolist())
dist.barrier()
dist.destroy_process_group()
Path(sys.argv[1], f"{rank}.json").write_text(json.dumps(seen))
"""


@needs("jax")
class TestJax:
    def test_jax_arrays_are_on_the_default_device(self, pipe):
        jax = pytest.importorskip("jax")
        for arrays, batch in zip(pipe.to_jax(), pipe, strict=True):
            for name in ("image", "is_odd"):
                assert isinstance(arrays[name], jax.Array)
                assert np.array_equal(arrays[name], batch[name])
            assert arrays["text"].tolist() == batch["text"].tolist()

    def test_jax_state_is_at_the_loop_position(self, pipe):
        batches = pipe.to_jax()
        start = batches.state()
        next(batches)
        state = json.loads(json.dumps(batches.state()))
        rest = numbers(batches)
        assert numbers(pipe.to_jax(state=state)) == rest
        assert numbers(pipe.resume(state)) == rest
        assert numbers(pipe.to_jax(state=start)) == numbers(pipe)

    @pytest.mark.parametrize(
        ("value", "dtype"),
        [
            (np.array([7, 2**40 + 5]), "int32"),
            (np.array([7, -(2**31) - 1]), "int32"),
            (np.array([7, 2**63], np.uint64), "uint32"),
            (np.array([7, 1e39]), "float32"),
            (np.array([7, 1e39j]), "complex64"),
        ],
    )
    def test_numbers_out_of_the_32_bit_range_are_rejected(self, value, dtype):
        jax = pytest.importorskip("jax")
        pipe = hr.arrays({"id": value, "n": [0, 1]}).batch(2)
        words = (
            f"to_jax: the component 'id' has the {value.dtype} value {value[1]}, which is out of "
            f"range for {dtype}. JAX uses {dtype} because its 64-bit types are disabled. Call "
            'jax.config.update("jax_enable_x64", True), or convert'
        )
        with pytest.raises(ValueError, match=re.escape(words)):
            next(pipe.to_jax())
        with jax.enable_x64(True):
            (batch,) = pipe.to_jax()
            assert batch["id"].dtype == value.dtype
            assert np.array_equal(batch["id"], value)

    def test_numbers_in_the_32_bit_range_are_narrowed(self):
        pytest.importorskip("jax")
        limits = np.iinfo(np.int32)
        columns = {
            "int": np.array([limits.min, limits.max]),
            "uint": np.array([0, 2**32 - 1], np.uint64),
            "float": np.array([0.1, np.inf]),
            "nan": np.array([np.nan, -np.inf]),
        }
        (batch,) = hr.arrays(columns).batch(2).to_jax()
        for name, dtype in zip(columns, ("int32", "uint32", "float32", "float32"), strict=True):
            assert batch[name].dtype == dtype
            assert np.array_equal(batch[name], columns[name].astype(dtype), equal_nan=name == "nan")
        (first, _) = hr.arrays(columns).to_jax()
        assert first["int"] == limits.min

    def test_lists_in_a_batch_become_lists_of_arrays_unless_sharded(self):
        jax = pytest.importorskip("jax")
        for arrays, batch in zip(with_lists().to_jax(), with_lists(), strict=True):
            assert all(isinstance(boxes, jax.Array) for boxes in arrays["boxes"])
            assert all(map(np.array_equal, arrays["boxes"], batch["boxes"]))
            assert arrays["name"] == batch["name"]
        sharding = jax.sharding.SingleDeviceSharding(jax.devices()[0])
        with pytest.raises(
            ValueError, match=r"'boxes' is a list of arrays, which cannot be split by"
        ):
            next(with_lists().select("boxes").to_jax(sharding))

    def test_datetime_components_are_rejected_by_name(self):
        days = np.array(["2024-01-01"], "datetime64[D]")
        with pytest.raises(TypeError, match=r"to_jax: the component 'day' is datetime64\[D\]"):
            next(hr.arrays({"day": days}).to_jax())

    def test_global_arrays_span_eight_devices(self):
        command = [sys.executable, "-c", SHARDED]
        output = subprocess.run(command, capture_output=True, text=True, check=True, timeout=50)
        *sizes, last, example, wraps = json.loads(output.stdout)
        assert sizes == [[8, 16], [8, 16]]
        remedy = 'and drop a smaller last batch: batch(size, remainder="drop").'
        assert last.startswith("to_jax: the component 'x' of shape (4,) cannot be split by Named")
        assert example.startswith("to_jax: the component 'x' of shape () cannot be split by Named")
        assert last.endswith(remedy)
        assert wraps.startswith("to_jax: the component 'x' has the int64 value 1099511627776")


SHARDED = """
import json, os
os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=8"
os.environ["JAX_PLATFORMS"] = "cpu"
import jax
import numpy as np
import headrace as hr

mesh = jax.make_mesh((8,), ("batch",))
sharding = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec("batch"))
pipe = hr.arrays({"x": np.arange(32, dtype=np.float32)}).batch(16)
found = []
for batch, expected in zip(pipe.to_jax(sharding), pipe):
    assert np.array_equal(batch["x"], expected["x"])
    assert [shard.data.shape for shard in batch["x"].addressable_shards] == [(2,)] * 8
    found.append([len(batch["x"].sharding.device_set), len(batch["x"])])
numbers = hr.arrays({"x": np.arange(36, dtype=np.float32)})
for wrong in (numbers.batch(16), numbers, hr.arrays({"x": [2**40] * 8}).batch(8)):
    try:
        list(wrong.to_jax(sharding))
    except ValueError as error:
        found.append(str(error))
print(json.dumps(found))
"""


@needs("pyarrow")
class TestArrow:
    def test_to_arrow_returns_record_batches(self, pipe):
        pa = pytest.importorskip("pyarrow")
        table = pipe.to_arrow().read_all()
        assert len(table.to_batches()) == 7
        assert table.schema.field("image").type == pa.list_(pa.list_(pa.float32(), 3), 2)
        assert table.schema.field("text").type == pa.large_string()
        expected = list(pipe)
        for name in ("number", "image", "is_odd", "text", "data"):
            requested = [row for batch in expected for row in batch[name].tolist()]
            assert table[name].to_pylist() == requested

    def test_examples_and_lists_become_record_batches(self):
        def longer(example):
            number = int(example["number"])
            return {"list": np.arange(number % 4), "words": np.array([f"w{number}"], object)}

        examples = hr.arrays({"number": np.arange(50)}).map(longer)
        table = examples.to_arrow().read_all()
        assert table["list"].to_pylist() == [list(range(number % 4)) for number in range(50)]
        assert table["words"].to_pylist() == [[f"w{number}"] for number in range(50)]
        padded = examples.padded_batch(10).to_arrow().read_all()
        assert padded["list"].to_pylist()[3] == [0, 1, 2]
        assert padded["list"].to_pylist()[1] == [0, 0, 0]

    @pytest.mark.parametrize("num_rows", [1, 8])
    def test_multidimensional_rows_become_nested_lists(self, num_rows):
        def square(example):
            side = int(example["number"])
            return {"square": np.full((side, side, 2), side), "words": [["a"] * side] * side}

        squares = hr.arrays({"number": np.arange(1, 9)}).map(square).take(num_rows)
        for pipe in (squares, squares.batch(1)):
            table = pipe.to_arrow().read_all()
            numbers, words = (table[name].to_pylist() for name in ("square", "words"))
            assert numbers == [[[[side] * 2] * side] * side for side in range(1, num_rows + 1)]
            assert words == [[["a"] * side] * side for side in range(1, num_rows + 1)]

    def test_strings_from_several_readers_remain_strings(self, tmp_path):
        (tmp_path / "lines").write_text("a\nbb\n")
        lines = hr.text_lines(tmp_path / "lines")
        mixed = hr.mix([lines, lines.map(lambda example: example)], seed=1, stop="all")
        for pipe in (mixed, mixed.batch(4)):
            table = pipe.to_arrow().read_all()
            assert sorted(table["text"].to_pylist()) == [b"a", b"a", b"bb", b"bb"]

    def test_to_arrow_rejects_rows_of_different_ranks(self):
        ranks = hr.arrays({"number": np.arange(1, 9)}).map(
            lambda example: {"array": np.zeros((1,) * int(example["number"]))}
        )
        with pytest.raises(TypeError, match="to_arrow: rows have the shapes"):
            ranks.to_arrow().read_all()

    def test_leaving_an_arrow_reader_stops_the_threads(self, pipe):
        reader = pipe.to_arrow()
        reader.read_next_batch()
        del reader

    @pytest.mark.parametrize("library", ["polars", "pandas", "duckdb"])
    def test_other_libraries_read_the_record_batches(self, pipe, library):
        module = pytest.importorskip(library)
        plain = pipe.select("number", "text", "is_odd")
        match library:
            case "polars":
                total = module.DataFrame(plain.to_arrow())["number"].sum()
            case "pandas":
                total = plain.to_arrow().read_pandas()["number"].sum()
            case "duckdb":
                reader = plain.to_arrow()
                result = module.sql("select sum(number) from reader").fetchall()
                assert reader is not None
                [(total,)] = result
        assert int(total) == sum(range(100))


def test_missing_library_is_reported_by_name(pipe, monkeypatch):
    monkeypatch.setattr("headrace.core.optional_dependencies.find_spec", lambda name: None)
    for name, library in (("torch", "torch"), ("jax", "jax"), ("arrow", "pyarrow")):
        with pytest.raises(ModuleNotFoundError, match=f"to_{name}: {library} is"):
            getattr(pipe, f"to_{name}")()
