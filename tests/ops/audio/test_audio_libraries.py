"""Sound compared with soundfile, librosa and torchaudio; `make test-frameworks` installs them."""

import io
from pathlib import Path

import numpy as np
import pytest

import headrace as hr

FILES = Path(__file__).with_name("files")
RNG = np.random.default_rng(11)
SOUND = np.sin(np.cumsum(RNG.uniform(0.05, 0.5, 9001))).astype(np.float32) / 2
SOUND += RNG.normal(0, 0.01, 9001).astype(np.float32)


def computed(operation, value):
    return hr.native(lambda example: {"y": operation(example["x"])})({"x": value})["y"]


@pytest.mark.parametrize(
    ("name", "bound"),
    [("tone.wav", 0), ("tone.flac", 0), ("tone.mp3", 1e-4), ("tone.ogg", 1e-4)],
)
def test_files_decode_like_soundfile(name, bound):
    soundfile = pytest.importorskip("soundfile")
    contents = (FILES / name).read_bytes()
    expected, rate = soundfile.read(io.BytesIO(contents), dtype="float32", always_2d=True)
    result = computed(lambda x: hr.ops.decode_audio(x, mono=False), contents)
    assert computed(hr.ops.audio_sample_rate, contents) == rate
    assert result.shape == expected.shape
    np.testing.assert_allclose(result, expected, atol=bound)


@pytest.mark.parametrize(
    ("orig_freq", "new_freq"),
    [(44_100, 16_000), (16_000, 44_100), (48_000, 16_000), (8000, 11_025)],
)
def test_resampling_matches_torchaudio(orig_freq, new_freq):
    torch = pytest.importorskip("torch")
    functional = pytest.importorskip("torchaudio.functional")
    expected = functional.resample(torch.from_numpy(SOUND), orig_freq, new_freq).numpy()
    result = computed(lambda x: hr.ops.resample(x, orig_freq, new_freq), SOUND)
    assert result.shape == expected.shape
    np.testing.assert_allclose(result, expected, atol=2e-5)


def assert_close(actual, expected):
    """Compares energies in decibels: exactly if they are loud, and approximately far below."""
    assert actual.shape == expected.shape
    np.testing.assert_allclose(actual, expected, atol=2e-2)
    loud = expected > expected.max() - 40
    np.testing.assert_allclose(actual[loud], expected[loud], atol=5e-4)


@pytest.mark.parametrize(
    "options",
    [
        {"n_fft": 2048, "hop_length": 512, "n_mels": 128},
        {"n_fft": 512, "hop_length": 100, "win_length": 301, "n_mels": 40, "f_min": 50.0},
    ],
    ids=["defaults", "others"],
)
def test_bands_match_librosa(options):
    librosa = pytest.importorskip("librosa")
    arguments = {key.replace("f_m", "fm"): value for key, value in options.items()}
    energy = librosa.feature.melspectrogram(y=SOUND, sr=22_050, **arguments)
    expected = librosa.power_to_db(energy, top_db=None)
    result = computed(
        lambda x: hr.ops.log_mel_spectrogram(x, 22_050, **options, pad_mode="constant", log="db"),
        SOUND,
    )
    assert_close(result, expected)


@pytest.mark.parametrize(
    "options", [{}, {"mel_scale": "slaney", "norm": "slaney", "n_mels": 40}], ids=["htk", "slaney"]
)
def test_bands_match_torchaudio(options):
    torch = pytest.importorskip("torch")
    transforms = pytest.importorskip("torchaudio.transforms")
    options = {"n_mels": 64, "mel_scale": "htk", "norm": None, **options}
    energy = transforms.MelSpectrogram(16_000, **options)(torch.from_numpy(SOUND))
    expected = transforms.AmplitudeToDB()(energy).numpy()
    result = computed(
        lambda x: hr.ops.log_mel_spectrogram(x, 16_000, hop_length=200, log="db", **options), SOUND
    )
    assert_close(result, expected)
