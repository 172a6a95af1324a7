"""Measures bands of sounds: `python -m benchmarks.sounds`."""

from benchmarks.beside import ALONE, Kind, Peer, command_of
from benchmarks.sounds.data import make

KIND = Kind(
    "W16",
    "sounds",
    "WAV files of two seconds: log-mel spectrograms of 80 bands, batches of 32",
    "sounds",
    2_000,
    3,
    make,
    [
        Peer(
            "headrace",
            "headrace",
            "with_headrace",
            None,
            "`hr.audio_folder`, a native function; one thread for each core",
        ),
        Peer(
            ALONE, "soundfile and librosa by hand", "with_librosa", "sound", "one thread, no more"
        ),
        Peer(
            "torch",
            "PyTorch, two workers",
            "with_torchaudio",
            "sound",
            "`DataLoader(num_workers=2, prefetch_factor=4)`; soundfile and torchaudio",
        ),
    ],
    tolerances=[0, 0, 0.001],
)

main = command_of(KIND)

if __name__ == "__main__":
    main()
