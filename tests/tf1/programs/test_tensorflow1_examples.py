"""Each program in `examples/tensorflow1/` runs with small settings and prints the right output."""

import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
from PIL import Image, ImageStat

EXAMPLES = Path(__file__).parents[3] / "examples" / "tensorflow1"
DIGITS = EXAMPLES / "digits"

pytestmark = pytest.mark.timeout(120)  # Longer than each program may take.


def run(program, *arguments):
    """Returns the output of a program."""
    command = [sys.executable, "-W", "error", EXAMPLES / program, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=100, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def steps_and_accuracy(output):
    match = re.search(r"(\d+) steps, accuracy (0\.\d+)", output)
    return int(match[1]), float(match[2])


@pytest.mark.parametrize(
    "program",
    [
        "fed_digits.py",
        pytest.param("preloaded_constant_digits.py", marks=pytest.mark.nightly),
        pytest.param("preloaded_variable_digits.py", marks=pytest.mark.nightly),
    ],
)
def test_network_learns_from_digits_in_memory(program):
    output = run(DIGITS / program, "--examples", 400, "--epochs", 6, "--batch-size", 50)
    steps, accuracy = steps_and_accuracy(output)
    assert steps == 48
    assert accuracy > 0.6


@pytest.fixture(scope="module")
def records(tmp_path_factory):
    """Digits as TFRecords."""
    directory = tmp_path_factory.mktemp("digits")
    output = run(DIGITS / "convert_to_records.py", directory, "--examples", 1_000)
    assert "train: 1000 digits" in output
    return directory


@pytest.mark.nightly
def test_network_learns_from_records(records):
    steps, accuracy = steps_and_accuracy(run(DIGITS / "records_digits.py", records, "--epochs", 4))
    assert steps == 40
    assert accuracy > 0.6


@pytest.mark.parametrize("library", ["numpy", "jax", "torch"])
def test_tensorflow_1_input_feeds_a_model_of_another_library(records, library):
    if find_spec(library) is None:
        pytest.skip(f"{library} is not installed")
    output = run(DIGITS / "old_training.py", records, "--epochs", 4, "--library", library)
    assert "4 epochs are over" in output
    assert f"{library}: " in output
    steps, accuracy = steps_and_accuracy(output)
    assert steps == 80
    assert accuracy > 0.75


def test_queued_program_trains_saves_restores_and_evaluates(tmp_path):
    output = run(DIGITS / "queued_digits.py", tmp_path / "digits", "--epochs", 4)
    assert "4 epochs are over; all were seen" in output
    steps, accuracy = steps_and_accuracy(output)
    assert steps == 125
    assert accuracy > 0.85


def test_records_are_filtered_and_expanded_to_several_examples(tmp_path):
    output = run("filtered_records.py", tmp_path, "--lines", 500)
    sums = re.findall(r"station \d: (\d+) \((\d+) in the log\)", output)
    assert len(sums) == 4
    assert all(got == expected for got, expected in sums)
    assert "station 3: 0 (switched off)" in output


def test_every_line_is_batched_in_its_bucket():
    output = run("bucketed_lines.py", "--files", 10)
    got, expected, padding = re.search(r"(\d+) lines of (\d+), padding (\d+)%", output).groups()
    assert got == expected
    assert int(padding) < 30


@pytest.mark.nightly
def test_trainer_and_evaluator_run_side_by_side(tmp_path):
    evaluator = subprocess.Popen(
        [sys.executable, DIGITS / "cifar_eval.py", tmp_path, "--until-step", "60"],
        stdout=subprocess.PIPE,
        text=True,
    )
    with evaluator:
        try:
            output = run(
                DIGITS / "cifar_train.py",
                *(tmp_path, "--steps", 60, "--checkpoint-every", 20, "--examples", 1_000),
            )
            assert re.findall(r"step (\d+): loss", output) == ["20", "40", "60"]
            lines, _ = evaluator.communicate(timeout=50)
        finally:
            evaluator.kill()
    evaluated = re.findall(r"step (\d+): accuracy (0\.\d+)", lines)
    assert evaluated[-1][0] == "60"
    assert float(evaluated[-1][1]) > 0.4


def test_photos_are_shown_on_one_sheet(tmp_path):
    output = run("photo_contact_sheet.py", tmp_path / "sheet.png", "--side", 32, "--columns", 4)
    num_shown, num_found, height, width = map(
        int, re.search(r"(\d+) photographs of (\d+) on .*\((\d+), (\d+)\)", output).groups()
    )
    assert num_shown == num_found > 10
    assert (height, width) == (-(-num_shown // 4) * 32, 4 * 32)
    with Image.open(tmp_path / "sheet.png") as sheet:
        assert sheet.size == (width, height)
        cells = [sheet.crop((x, 0, x + 32, 32)) for x in range(0, width, 32)]
        assert all(ImageStat.Stat(cell).stddev[0] > 10 for cell in cells), "no cell is blank"


def test_photos_from_shards_keep_their_labels(tmp_path):
    output = run("old_photos.py", tmp_path / "photos", "--pictures", 60, "--epochs", 2)
    assert "4 batches: red 40, green 40, blue 40" in output
    assert "the brightest colour is the label's in 120 of 120" in output


def test_sounds_are_padded_by_a_feeding_thread():
    output = run("old_sounds.py", "--sounds", 20)
    assert re.search(r"^\d+ pieces of 20 sounds, padded to at most 550 samples$", output, re.M)
    assert "pitches: 200 240 280 320 360" in output


def test_images_and_masks_are_transformed_identically(tmp_path):
    output = run("old_masks.py", tmp_path / "pairs", "--pairs", 8)
    assert "8 batches of (4, 48, 64, 3) and (4, 48, 64, 1)" in output
    assert int(re.search(r"agree in (\d+)%", output)[1]) > 80
    assert list((tmp_path / "pairs" / "log").iterdir())
