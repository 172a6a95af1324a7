"""Runs the programs with pipelines in `examples/`, and checks their output."""

import os
import re
import signal
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
from tests.torchrun import torchrun

EXAMPLES = Path(__file__).parents[2] / "examples"


def needs(*names):
    missing = [name for name in names if find_spec(name) is None]
    return pytest.mark.skipif(bool(missing), reason=f"{', '.join(missing)} is not installed")


def start(program, *arguments, **variables):
    """Runs a program to its end, and returns the finished process."""
    return subprocess.run(
        [sys.executable, "-W", "error", EXAMPLES / program, *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=250,
        check=False,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), **variables},
    )


def run(program, *arguments, **variables):
    """Returns the output of a program."""
    done = start(program, *arguments, **variables)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def test_examples_page_lists_every_program():
    text = (EXAMPLES / "README.md").read_text("utf-8")
    programs = {path.name for path in EXAMPLES.glob("*.py")}
    assert len(programs) >= 10
    assert set(re.findall(r"\[(\w+\.py)\]", text)) == programs


@pytest.mark.timeout(300)
@needs("torch")
def test_image_folder_trains_a_torch_model():
    output = run("torch_images.py")
    assert float(re.findall(r"accuracy (\d\.\d+)", output)[-1]) > 0.9


@pytest.mark.timeout(300)
@needs("torch")
def test_language_model_learns_from_packed_documents():
    output = run("language_model.py")
    losses = [float(loss) for loss in re.findall(r"(\d\.\d+) nats", output)]
    assert len(losses) == 4
    assert losses[-1] < losses[0] - 0.5
    assert all(int(share) > 80 for share in re.findall(r"(\d+)% filled", output))


@needs("pyarrow")
def test_model_learns_a_table_from_csv_and_from_parquet():
    output = run("tables.py")
    errors = re.findall(r"(CSV|Parquet): mean squared error (\d\.\d+)", output)
    assert [kind for kind, _ in errors] == ["CSV", "Parquet"]
    assert all(float(error) < 0.02 for _, error in errors)


def test_sounds_are_batched_by_similar_length():
    output = run("sounds.py")
    assert "{200: 50, 400: 50, 600: 50, 800: 50}" in output
    assert int(re.search(r"200 sounds, (\d+)% of the batches", output)[1]) < 30


def test_damaged_sample_of_an_archive_is_skipped():
    output = run("webdataset_shards.py")
    assert re.findall(r"epoch \d: (\d+) pictures", output) == ["199", "199"]
    assert output.count("skipped train-001.tar, sample 3") == 2


def test_records_are_written_to_and_read_from_object_storage(monkeypatch):
    boto3 = pytest.importorskip("boto3")
    moto = pytest.importorskip("moto.server")
    server = moto.ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    try:
        host, port = server.get_host_and_port()
        monkeypatch.setenv("AWS_ACCESS_KEY_ID", "test")
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "test")
        monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
        url = f"http://{host}:{port}"
        client = boto3.client("s3", endpoint_url=url)
        client.create_bucket(Bucket="examples")
        client.close()
        output = run("s3_records.py", "s3://examples/numbers", AWS_ENDPOINT_URL=url)
    finally:
        server.stop()
    assert f"add up to {sum(range(1_000))}" in output


def test_killed_and_resumed_training_ends_with_the_same_weights(tmp_path):
    (tmp_path / "killed").mkdir()
    (tmp_path / "whole").mkdir()
    killed = start("resumed_training.py", tmp_path / "killed", "--die-at", 25)
    assert killed.returncode == -signal.SIGKILL
    resumed = run("resumed_training.py", tmp_path / "killed")
    assert "starts at step 20" in resumed
    last = run("resumed_training.py", tmp_path / "whole").splitlines()[-1]
    assert resumed.splitlines()[-1] == last
    assert 2.9 < float(last.split()[-1]) < 3.1


def test_policy_learns_from_rollouts_of_another_process(tmp_path):
    output = run("grpo.py", tmp_path)
    rewards = [float(reward) for reward in re.findall(r"mean reward (\d\.\d+)", output)]
    assert len(rewards) == 3
    assert rewards[-1] > 0.9


@pytest.mark.timeout(300)
@needs("torch")
def test_torch_ranks_train_identically():
    done = torchrun(2, EXAMPLES / "ddp_training.py", timeout=250)
    matches = re.findall(r"rank (\d): (\d+) batches an epoch, weight (\d\.\d+)", done.stdout)
    assert sorted(rank for rank, _, _ in matches) == ["0", "1"]
    assert len({rest for _, *rest in map(tuple, matches) for rest in [tuple(rest)]}) == 1
    assert 2.8 < float(matches[0][2]) < 3.2


@pytest.mark.timeout(300)
@needs("jax")
def test_jax_model_learns():
    assert float(re.search(r"accuracy (\d\.\d+)", run("jax_training.py"))[1]) > 0.9


@pytest.mark.timeout(300)
@needs("keras")
@pytest.mark.parametrize(
    "backend", [pytest.param(name, marks=needs(name)) for name in ("jax", "torch")]
)
def test_keras_model_learns(backend):
    output = run("keras_training.py", KERAS_BACKEND=backend)
    assert float(re.search(r"accuracy (\d\.\d+)", output)[1]) > 0.9


@pytest.mark.parametrize("program", ["jax_digits.py", "torch_digits.py"])
def test_network_learns_from_records_of_digits(program, tmp_path):
    if find_spec(program.removesuffix("_digits.py")) is None:
        pytest.skip("the framework is not installed")
    run("digits/digits.py", tmp_path, "--examples", 1_000)
    output = run(f"digits/{program}", tmp_path, "--epochs", 4)
    steps, accuracy = re.search(r"(\d+) steps, accuracy (0\.\d+)", output).groups()
    assert int(steps) == 40
    assert float(accuracy) > 0.6
