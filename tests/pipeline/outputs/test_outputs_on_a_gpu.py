"""Batches on a GPU. `make test-gpu` runs these, and fails without a GPU."""

import os
from importlib.util import find_spec

import numpy as np
import pytest

import headrace as hr

WANTED = os.environ.get("HEADRACE_TEST_GPU") == "1"


def torch_with_gpu():
    """Returns PyTorch. Skips the test without a GPU, unless a GPU is required."""
    if find_spec("torch") is None and not WANTED:
        pytest.skip("torch is not installed")
    torch = pytest.importorskip("torch") if not WANTED else __import__("torch")
    if not torch.cuda.is_available():
        if WANTED:
            pytest.fail("PyTorch finds no GPU")
        pytest.skip("no GPU")
    return torch


def jax_with_gpu():
    """Returns JAX, like `torch_with_gpu`."""
    if find_spec("jax") is None and not WANTED:
        pytest.skip("jax is not installed")
    jax = __import__("jax")
    if jax.default_backend() != "gpu":
        if WANTED:
            pytest.fail("JAX finds no GPU")
        pytest.skip("no GPU")
    return jax


def pipeline(num_examples=4096, length=4096):
    numbers = np.arange(num_examples)
    images = np.repeat(numbers.astype(np.float32), length).reshape(num_examples, length)
    return hr.arrays({"number": numbers, "image": images}).shuffle(seed=1).batch(64)


def test_tensors_on_the_device_are_complete():
    torch = torch_with_gpu()
    pipe = pipeline()
    for tensors, batch in zip(pipe.to_torch(device="cuda"), pipe, strict=True):
        assert tensors["image"].device.type == "cuda"
        # A copy that was used before it was complete would differ.
        total = (tensors["image"] * 2).sum(dim=1)
        assert torch.equal(total.cpu(), torch.from_numpy(batch["image"] * 2).sum(dim=1))
        assert tensors["number"].tolist() == batch["number"].tolist()


def test_memory_is_not_reused_while_a_batch_is_in_use():
    torch = torch_with_gpu()
    pipe = pipeline()
    kept = [tensors["image"] for tensors in pipe.to_torch(device="cuda")]
    torch.cuda.synchronize()
    for tensor, batch in zip(kept, pipe, strict=True):
        assert torch.equal(tensor.cpu(), torch.from_numpy(batch["image"]))


@pytest.mark.parametrize("pin_memory", [True, False, None])
def test_batches_can_be_in_pinned_memory(pin_memory):
    torch_with_gpu()
    (tensors,) = pipeline(64, 16).to_torch(pin_memory=pin_memory)
    assert tensors["image"].is_pinned() is bool(pin_memory)


def test_loop_over_pinned_batches_resumes():
    torch_with_gpu()
    pipe = pipeline(512, 16)
    loader = pipe.to_torch(device="cuda")
    batches = iter(loader)
    inputs = [next(batches)["number"].tolist() for _ in range(3)]
    state = loader.state_dict()
    batches.close()
    resumed = pipe.to_torch(device="cuda")
    resumed.load_state_dict(state)
    inputs += [batch["number"].tolist() for batch in resumed]
    assert inputs == [batch["number"].tolist() for batch in pipe]


def test_jax_arrays_are_on_the_device():
    jax = jax_with_gpu()
    pipe = pipeline(512, 64)
    for arrays, batch in zip(pipe.to_jax(), pipe, strict=True):
        assert arrays["image"].devices() == {jax.devices()[0]}
        assert np.array_equal(np.asarray(arrays["image"]), batch["image"])
