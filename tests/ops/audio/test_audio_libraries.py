"""Sound beside soundfile, librosa and torchaudio; `make test-frameworks` installs them."""

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
def test_files_decode_as_by_soundfile(name, bound):
    soundfile = pytest.importorskip("soundfile")
    contents = (FILES / name).read_bytes()
    expected, rate = soundfile.read(io.BytesIO(contents), dtype="float32", always_2d=True)
    found = computed(lambda x: hr.ops.decode_audio(x, mono=False), contents)
    assert computed(hr.ops.audio_sample_rate, contents) == rate
    assert found.shape == expected.shape
    np.testing.assert_allclose(found, expected, atol=bound)


@pytest.mark.parametrize(
    ("kind", "subtype"),
    [
        *(("WAV", name) for name in ("PCM_U8", "PCM_16", "PCM_24", "PCM_32", "FLOAT", "DOUBLE")),
        *(("WAVEX", "PCM_24"), ("RF64", "PCM_16")),
        *(("FLAC", name) for name in ("PCM_S8", "PCM_16", "PCM_24")),
    ],
)
def test_files_that_soundfile_writes_decode_as_it_reads_them(kind, subtype):
    soundfile = pytest.importorskip("soundfile")
    output = io.BytesIO()
    stereo = np.stack([SOUND, SOUND[::-1]], 1)
    soundfile.write(output, stereo, 22_050, subtype, format=kind)
    expected, _ = soundfile.read(io.BytesIO(output.getvalue()), dtype="float32")
    found = computed(lambda x: hr.ops.decode_audio(x, mono=False), output.getvalue())
    np.testing.assert_array_equal(found, expected)


# The channel of libsndfile for each of FFmpeg's, of files of Vorbis with so many channels.
VORBIS_ORDER = {
    3: [0, 2, 1],
    5: [0, 2, 1, 3, 4],
    6: [0, 2, 1, 5, 3, 4],
    7: [0, 2, 1, 6, 5, 3, 4],
    8: [0, 2, 1, 7, 5, 6, 3, 4],
}
RATES = (8000, 11_025, 16_000, 22_050, 24_000, 32_000, 44_100, 48_000)


@pytest.mark.parametrize("seed", range(25))
@pytest.mark.parametrize(
    ("kind", "subtype", "most_channels", "bound"),
    [
        ("OGG", "VORBIS", 8, 2e-6),
        ("FLAC", "PCM_16", 8, 0),
        ("FLAC", "PCM_24", 8, 0),
        ("MP3", "MPEG_LAYER_III", 2, 1e-4),
        ("WAVEX", "PCM_24", 8, 0),
        ("WAV", "FLOAT", 8, 0),
    ],
)
def test_random_files_of_soundfile_decode_as_it_reads_them(
    kind, subtype, most_channels, bound, seed
):
    soundfile = pytest.importorskip("soundfile")
    rng = np.random.default_rng(seed)
    channels, rate = int(rng.integers(1, most_channels + 1)), int(rng.choice(RATES))
    sound = rng.uniform(-0.5, 0.5, (int(rng.integers(1, rate)), channels)).astype(np.float32)
    for channel in range(channels):  # Silent channels and stretches are coded in other ways.
        begin = rng.integers(len(sound))
        sound[begin : begin + rng.integers(len(sound) + 1), channel] *= rng.choice([0, 0.01, 1])
    level = {} if kind.startswith("WAV") else {"compression_level": float(rng.integers(0, 11) / 10)}
    output = io.BytesIO()
    soundfile.write(output, sound, rate, subtype, format=kind, **level)
    expected, _ = soundfile.read(io.BytesIO(output.getvalue()), dtype="float32", always_2d=True)
    if kind == "OGG":
        expected = expected[:, VORBIS_ORDER.get(channels, range(channels))]
    found = computed(lambda x: hr.ops.decode_audio(x, mono=False), output.getvalue())
    assert found.shape == expected.shape
    np.testing.assert_allclose(found, expected, atol=bound)
    mean = computed(hr.ops.decode_audio, output.getvalue())
    np.testing.assert_allclose(mean, expected.mean(1), atol=max(bound, 1e-6))


@pytest.mark.parametrize(
    ("orig_freq", "new_freq"),
    [(44_100, 16_000), (16_000, 44_100), (48_000, 16_000), (8000, 11_025)],
)
def test_resampling_is_that_of_torchaudio(orig_freq, new_freq):
    torch = pytest.importorskip("torch")
    functional = pytest.importorskip("torchaudio.functional")
    expected = functional.resample(torch.from_numpy(SOUND), orig_freq, new_freq).numpy()
    found = computed(lambda x: hr.ops.resample(x, orig_freq, new_freq), SOUND)
    assert found.shape == expected.shape
    np.testing.assert_allclose(found, expected, atol=2e-5)


def assert_close(found, expected):
    """Asserts energies in decibels: exact where it is loud, and near far below."""
    assert found.shape == expected.shape
    np.testing.assert_allclose(found, expected, atol=2e-2)
    loud = expected > expected.max() - 40
    np.testing.assert_allclose(found[loud], expected[loud], atol=5e-4)


@pytest.mark.parametrize(
    "options",
    [
        {"n_fft": 2048, "hop_length": 512, "n_mels": 128},
        {"n_fft": 512, "hop_length": 100, "win_length": 301, "n_mels": 40, "f_min": 50.0},
    ],
    ids=["defaults", "others"],
)
def test_bands_are_those_of_librosa(options):
    librosa = pytest.importorskip("librosa")
    given = {key.replace("f_m", "fm"): value for key, value in options.items()}
    energy = librosa.feature.melspectrogram(y=SOUND, sr=22_050, **given)
    expected = librosa.power_to_db(energy, top_db=None)
    found = computed(
        lambda x: hr.ops.log_mel_spectrogram(x, 22_050, **options, pad_mode="constant", log="db"),
        SOUND,
    )
    assert_close(found, expected)


@pytest.mark.parametrize(
    "options", [{}, {"mel_scale": "slaney", "norm": "slaney", "n_mels": 40}], ids=["htk", "slaney"]
)
def test_bands_are_those_of_torchaudio(options):
    torch = pytest.importorskip("torch")
    transforms = pytest.importorskip("torchaudio.transforms")
    options = {"n_mels": 64, "mel_scale": "htk", "norm": None, **options}
    energy = transforms.MelSpectrogram(16_000, **options)(torch.from_numpy(SOUND))
    expected = transforms.AmplitudeToDB()(energy).numpy()
    found = computed(
        lambda x: hr.ops.log_mel_spectrogram(x, 16_000, hop_length=200, log="db", **options), SOUND
    )
    assert_close(found, expected)
