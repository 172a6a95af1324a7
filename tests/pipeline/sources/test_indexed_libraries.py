"""Rows by number from data libraries."""

import numpy as np
import pytest

import headrace as hr


def numbers(pipe, name="n"):
    return [int(example[name]) for example in pipe]


def test_torch_data_set_is_read():
    torch = pytest.importorskip("torch")

    class Squares(torch.utils.data.Dataset):
        def __len__(self):
            return 50

        def __getitem__(self, number):
            return torch.full((2, 3), number, dtype=torch.float32), number

    pipe = hr.indexed(Squares(), names=["image", "label"]).shuffle(seed=1)
    batch = next(iter(pipe.batch(50)))
    assert batch["image"].shape == (50, 2, 3)
    assert batch["image"].dtype == np.float32
    assert batch["image"][:, 0, 0].tolist() == batch["label"].tolist()
    assert sorted(batch["label"]) == list(range(50))


def test_torch_subset_is_read_in_blocks():
    torch = pytest.importorskip("torch")
    full = torch.utils.data.TensorDataset(torch.arange(100))
    part = torch.utils.data.Subset(full, range(0, 100, 2))
    assert numbers(hr.indexed(part, names=["n"])) == list(range(0, 100, 2))


@pytest.mark.filterwarnings("ignore")  # Those of its hashes.
def test_hugging_face_data_set_is_read():
    datasets = pytest.importorskip("datasets")
    rows = {"n": list(range(60)), "text": [f"text {n}" for n in range(60)]}
    pipe = hr.indexed(datasets.Dataset.from_dict(rows)).shuffle(seed=1)
    results = list(pipe)
    assert sorted(numbers(results)) == list(range(60))
    assert all(example["text"] == f"text {int(example['n'])}" for example in results)


def test_h5py_data_set_is_read(tmp_path):
    h5py = pytest.importorskip("h5py")
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file["image"] = np.arange(600, dtype=np.uint8).reshape(100, 6)
        file["label"] = np.arange(100)
    with h5py.File(tmp_path / "a.h5") as file:
        assert numbers(hr.indexed(file["label"], names=["n"])) == list(range(100))
        pipe = hr.indexed({"image": file["image"], "n": file["label"]}).shuffle(seed=1)
        batch = next(iter(pipe.batch(100)))
        assert sorted(batch["n"]) == list(range(100))
        images = np.arange(600, dtype=np.uint8).reshape(100, 6)
        assert np.array_equal(batch["image"], images[batch["n"]])
        assert sorted(numbers(hr.indexed(file).rename(label="n"))) == list(range(100))


@pytest.fixture(scope="module")
def array(tmp_path_factory):
    """An array of zarr, whose threads stay until the program ends."""
    zarr = pytest.importorskip("zarr")
    path = str(tmp_path_factory.mktemp("zarr") / "a.zarr")
    array = zarr.open(path, mode="w", shape=(100,), chunks=(10,), dtype="i8")
    array[:] = np.arange(100)
    return array


def test_zarr_array_is_read(array):
    assert numbers(hr.indexed(array, names=["n"])) == list(range(100))
    assert sorted(numbers(hr.indexed(array, names=["n"]).shuffle(seed=1))) == list(range(100))


def test_array_record_records_are_read(tmp_path):
    module = pytest.importorskip("array_record.python.array_record_module")
    source = pytest.importorskip("array_record.python.array_record_data_source")
    path = str(tmp_path / "a.array_record")
    writer = module.ArrayRecordWriter(path, "group_size:1")
    for number in range(20):
        writer.write(b"%d" % number)
    writer.close()
    with source.ArrayRecordDataSource(path) as records:
        results = [int(example["record"]) for example in hr.indexed(records).shuffle(seed=1)]
    assert sorted(results) == list(range(20))
