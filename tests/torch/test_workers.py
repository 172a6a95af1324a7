"""Worker processes of the loader: their memory, their failures and their end."""

import gc
import os
import re
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import numpy as np
import pytest
import torch
from tests.calls import wait_until
from tests.torch import datasets
from tests.torch.datasets import as_plain

from headrace.pipeline.workers.shared_segments import FilledSegments
from headrace.torch import DataLoader
from headrace.torch.shared_batches import BatchWriter, unpacked

PROGRAM = """
import os, resource, sys, time
import numpy as np, torch
from torch.utils.data import Dataset
from headrace.torch import DataLoader

class Images(Dataset):
    def __init__(self, length, size):
        self.length, self.size = length, size
    def __len__(self):
        return self.length
    def __getitem__(self, index):
        return torch.full((self.size,), index % 251, dtype=torch.uint8), np.full(2000, index)
"""


def run(body, *before):
    """Runs a program in a new interpreter, and returns its output."""
    script = PROGRAM + textwrap.dedent(body)
    done = subprocess.run(
        [*before, sys.executable, "-W", "ignore", "-c", script],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def is_there(process):
    try:
        status = Path(f"/proc/{process}/stat").read_text()
    except FileNotFoundError:
        return False
    return status.rpartition(")")[2].split()[0] != "Z"


def pids(batches):
    return [process.pid for process in batches._workers]


@pytest.mark.timeout(300)
def test_ten_thousand_batches_are_kept_with_few_file_descriptors():
    output = run(
        """
        resource.setrlimit(resource.RLIMIT_NOFILE, (256, 256))
        kept = list(DataLoader(Images(20_000, 2000), batch_size=2, num_workers=2))
        assert len(kept) == 10_000
        for number, (images, arrays) in enumerate(kept):
            assert images[0, 0] == images[0, -1] == 2 * number % 251, number
            assert arrays[1].tolist() == [2 * number + 1] * 2000
        print(len(os.listdir("/proc/self/fd")))
        """
    )
    assert int(output) < 40


@pytest.mark.timeout(300)
def test_a_batch_may_be_larger_than_dev_shm():
    mount = ["unshare", "--mount", "--map-root-user"]
    probe = subprocess.run([*mount, "true"], capture_output=True, check=False)
    if probe.returncode:
        pytest.skip("no file systems may be mounted here")
    shell = 'mount -t tmpfs -o size=64m tmpfs /dev/shm && exec "$@"'
    output = run(
        """
        print(os.statvfs("/dev/shm").f_blocks * os.statvfs("/dev/shm").f_frsize >> 20)
        total = 0
        for images, arrays in DataLoader(Images(600, 600_000), batch_size=150, num_workers=2):
            total += len(images)
            assert images[3, 0] == images[3, -1]
        print(total, len(os.listdir("/dev/shm")))
        """,
        *mount,
        "sh",
        "-c",
        shell,
        "sh",
    )
    assert output.split() == ["64", "600", "0"]


def test_the_memory_of_workers_does_not_grow_over_epochs():
    output = run(
        """
        from pathlib import Path
        loader = DataLoader(
            Images(400, 100_000), batch_size=8, num_workers=2, persistent_workers=True
        )
        def used():
            status = [Path(f"/proc/{w.pid}/status").read_text() for w in loader._iterator._workers]
            return sum(int(text.partition("VmRSS:")[2].split()[0]) for text in status)
        for epoch in range(8):
            for batch in loader:
                pass
            if epoch == 1:
                before = used()
        print(used() / before)
        """
    )
    assert float(output) < 1.1


def test_a_batch_that_is_kept_does_not_change():
    loader = DataLoader(datasets.Kinds(200), batch_size=4, num_workers=2, persistent_workers=True)
    for _ in range(2):
        kept = [batch for number, batch in enumerate(loader) if number % 3 == 0]
        for number, batch in enumerate(kept):
            expected = torch.arange(4) + 12 * number
            assert torch.equal(batch["int"], expected)
            assert torch.equal(batch["array"][:, 1, 2].long(), expected)
            batch["array"] += 1


class Cached(datasets.Numbers):
    """Keeps the result of `default_collate` in the worker, and returns it in all later batches."""

    def __init__(self):
        super().__init__(200)
        self.kept = []

    def __getitem__(self, index):
        batch = torch.utils.data.default_collate([torch.full((5000,), index)] * 2)
        self.kept.append((index, batch))
        assert all(bool((kept == index).all()) for index, kept in self.kept), "it has changed"
        return batch.clone()


def test_samples_kept_by_a_dataset_do_not_change():
    list(DataLoader(Cached(), 2, num_workers=1))


class Views(datasets.Numbers):
    """Tensors that share a storage, or are parts of one."""

    def __init__(self):
        super().__init__(8)
        self.all = torch.arange(8 * 3000.0).reshape(8, 3000)

    def __getitem__(self, index):
        row, own = self.all[index], torch.arange(4000.0)
        return {
            "row": row,
            "column": self.all[:, index],
            "own": own,
            "half": own[::2],
            "transposed": torch.arange(6000).reshape(60, 100).T,
            "expanded": torch.ones(1).expand(5000),
            "empty": torch.empty(0, 4),
            "scalar": torch.tensor(3.0),
            "parameter": torch.nn.Parameter(torch.ones(2000)),
            "leaf": torch.ones(2000, requires_grad=True),
            "complex": torch.full((900,), 1j).conj(),
            "sparse": torch.eye(3).to_sparse(),
            "strided array": np.arange(6000)[::3],
            "fortran array": np.asfortranarray(np.arange(6000).reshape(60, 100)),
            "objects": np.array([1, "a", None], object),
            "structured": np.zeros(300, [("a", np.int32), ("b", "U3")]),
            "masked": np.ma.masked_less(np.arange(2000), 5),
            "long text": "ä" * 50_000,
            "numbers": list(range(20_000)),
        }


def as_it_is(sample):
    return sample


@pytest.mark.filterwarnings("ignore:Sparse invariant checks")
def test_tensors_and_arrays_of_any_kind_arrive_unchanged():
    dataset = Views()
    loader = DataLoader(dataset, batch_size=None, num_workers=2, collate_fn=as_it_is)
    for index, got in enumerate(loader):
        expected = dataset[index]
        assert list(got) == list(expected)
        for name, value in expected.items():
            assert type(got[name]) is type(value), name
            if name == "sparse":
                assert torch.equal(got[name].to_dense(), value.to_dense())
            elif isinstance(value, torch.Tensor):
                assert torch.equal(got[name], value), name
                assert got[name].requires_grad == value.requires_grad, name
                assert got[name].dtype == value.dtype
            elif isinstance(value, np.ndarray):
                np.testing.assert_array_equal(got[name], value, name)
                assert got[name].dtype == value.dtype
                assert got[name].flags.writeable
        assert got["transposed"].stride() == (1, 100)
        assert got["fortran array"].flags.f_contiguous
        got["own"][0] = 77
        assert got["half"][0] == 77, "two views of a storage stay such"


def test_a_default_device_changes_no_batch():
    batch = [torch.full((900,), 7), torch.empty(0, 3), torch.tensor(5)]
    with torch.device("meta"):
        message, segment = BatchWriter().packed(batch)
        got = unpacked(message, [os.dup(segment.descriptor)], FilledSegments(1))
    segment.close()
    assert as_plain(got) == as_plain(batch)
    assert {tensor.device.type for tensor in got} == {"cpu"}


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM, "exit", "SystemExit"])
def test_error_for_a_worker_that_exits_names_the_sample(how):
    loader = DataLoader(datasets.EndsAt(17, how), batch_size=4, num_workers=2)
    batches, received = iter(loader), []
    workers = pids(batches)
    with pytest.raises(RuntimeError, match=r"DataLoader worker \(pid\(s\) \d+\) exited") as error:
        received.extend(batch.tolist() for batch in batches)
    assert received == np.arange(16).reshape(4, 4).tolist()
    assert "the sample with index 17" in str(error.value)
    if how in ("exit", "SystemExit"):
        assert "exited unexpectedly with exit code 3" in str(error.value)
    else:
        assert f"is killed by signal: {signal.strsignal(how)}" in str(error.value)
    with pytest.raises(RuntimeError, match="the sample with index 17"):
        next(batches)
    again = DataLoader(datasets.Numbers(), batch_size=4, num_workers=2)
    again.load_state_dict(loader.state_dict())
    assert next(iter(again)).tolist() == [16, 17, 18, 19]
    del batches, error
    gc.collect()
    wait_until(lambda: not any(map(is_there, workers)))


def test_a_worker_that_is_killed_from_outside_is_an_error():
    loader = DataLoader(datasets.Numbers(1000), batch_size=2, num_workers=2)
    batches = iter(loader)
    next(batches)
    os.kill(pids(batches)[1], signal.SIGKILL)
    with pytest.raises(RuntimeError, match=r"SIGKILL.*look for 'Out of memory'"):
        list(batches)


def test_a_persistent_worker_that_is_killed_between_epochs_is_an_error():
    loader = DataLoader(datasets.Numbers(8), batch_size=2, num_workers=2, persistent_workers=True)
    list(loader)
    os.kill(pids(loader._iterator)[0], signal.SIGKILL)
    with pytest.raises(RuntimeError, match="exited unexpectedly"):
        list(loader)


@pytest.mark.parametrize("workers", ["processes", "threads"])
def test_error_for_a_worker_that_times_out_names_the_sample(workers):
    loader = DataLoader(
        datasets.SlowAt(5), batch_size=2, num_workers=2, timeout=0.2, workers=workers
    )
    batches = iter(loader)
    assert [next(batches).tolist() for _ in range(2)] == [[0, 1], [2, 3]]
    with pytest.raises(RuntimeError, match=r"timed out after 0\.2 seconds.*ind.* \[?4?,? ?5"):
        next(batches)


def test_shutdown_does_not_wait_forever_for_a_sample(monkeypatch):
    monkeypatch.setattr(torch.utils.data._utils, "MP_STATUS_CHECK_INTERVAL", 0.2)
    batches = iter(DataLoader(datasets.EndsAt(0, "sleep"), num_workers=2))
    workers = pids(batches)
    assert next(iter(DataLoader(datasets.Numbers()))) == 0
    begin = time.monotonic()
    del batches
    gc.collect()
    assert time.monotonic() - begin < 5
    assert not any(map(is_there, workers))


@pytest.mark.parametrize("context", ["fork", "spawn", "forkserver"])
def test_workers_end_when_the_program_is_killed(context, tmp_path):
    script = f"""
import time, torch
from tests.torch import datasets
from headrace.torch import DataLoader
if __name__ == "__main__":
    loader = DataLoader(
        datasets.EndsAt(3, "sleep"), num_workers=2, multiprocessing_context={context!r}
    )
    batches = iter(loader)
    next(batches)
    print(*(worker.pid for worker in batches._workers), flush=True)
    time.sleep(600)
"""
    path = tmp_path / "program.py"
    path.write_text(script)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    program = subprocess.Popen(
        [sys.executable, str(path)], stdout=subprocess.PIPE, text=True, env=environment
    )
    with program:
        workers = [int(number) for number in program.stdout.readline().split()]
        assert len(workers) == 2
        program.kill()
    wait_until(lambda: not any(map(is_there, workers)))


def test_ctrl_c_raises_keyboard_interrupt_and_ends_the_workers(tmp_path):
    script = """
import signal, threading, time, os
from tests.torch import datasets
from headrace.torch import DataLoader
batches = iter(DataLoader(datasets.EndsAt(3, "sleep"), num_workers=2))
print(*(worker.pid for worker in batches._workers), flush=True)
threading.Timer(1.0, lambda: os.killpg(0, signal.SIGINT)).start()
try:
    for batch in batches:
        pass
except KeyboardInterrupt:
    print("interrupted", flush=True)
    raise
"""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    done = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        env=environment,
        process_group=0,
        timeout=60,
        check=False,
    )
    first, *rest = done.stdout.splitlines()
    assert rest == ["interrupted"]
    assert done.returncode == -signal.SIGINT, done.stderr
    assert "Traceback" not in done.stderr.partition("KeyboardInterrupt")[2]
    assert not any(is_there(int(number)) for number in first.split())


class Unpicklable(datasets.Numbers):
    """Makes batches that no process can send."""

    def __getitem__(self, index):
        return lambda: index


def test_a_batch_that_cannot_be_sent_is_an_error():
    loader = DataLoader(Unpicklable(), batch_size=None, num_workers=1)
    with pytest.raises(Exception, match=r"[Pp]ickle"):
        next(iter(loader))


def test_an_exception_of_a_local_class_arrives_as_its_base_class():
    class LocalError(ValueError):
        pass

    loader = DataLoader(datasets.FailsAt(3, LocalError("broken")), num_workers=2)
    with pytest.raises(ValueError, match=re.compile("LocalError.*index 3", re.DOTALL)):
        list(loader)


def test_a_forked_program_does_not_end_the_workers():
    loader = DataLoader(datasets.Numbers(), num_workers=1, persistent_workers=True)
    expected = list(loader)
    child = os.fork()
    if child == 0:
        del loader
        gc.collect()
        os._exit(0)
    os.waitpid(child, 0)
    assert list(loader) == expected
