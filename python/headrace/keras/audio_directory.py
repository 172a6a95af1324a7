"""`audio_dataset_from_directory`: sound files in one directory per class, for Keras."""

import os
from collections.abc import Sequence
from typing import Any, Final

from headrace import ops
from headrace.graph import Tensor
from headrace.keras.adapter import keras_module
from headrace.keras.class_directory import ClassDirectory, LabelMode, Labels, Subset, dataset_of

__all__ = ["audio_dataset_from_directory"]

_WHERE: Final = "keras.audio_dataset_from_directory"


def audio_dataset_from_directory(
    directory: str | os.PathLike[str],
    labels: Labels = "inferred",
    label_mode: LabelMode = "int",
    class_names: Sequence[str] | None = None,
    batch_size: int | None = 32,
    sampling_rate: int | None = None,
    output_sequence_length: int | None = None,
    ragged: bool = False,
    shuffle: bool = True,
    seed: int | None = None,
    validation_split: float | None = None,
    subset: Subset = None,
    follow_links: bool = False,
    verbose: bool = True,
) -> Any:
    """Reads WAV files from a directory, like the `keras.utils` function of the same name.

    Args:
        directory: The directory with one subdirectory for each class. Files whose names end with
            `.wav` are read.
        labels: See `image_dataset_from_directory`, which describes the shared arguments in more
            detail.
        label_mode: The encoding of the labels.
        class_names: The subdirectories to read.
        batch_size: The number of sounds in a batch, or None for single sounds.
        sampling_rate: The sample rate of the result. Sounds are resampled by `ops.resample`, after
            they are cut off at `output_sequence_length`. Defaults to the rate of each file.
        output_sequence_length: The number of samples at which longer sounds are cut off. Shorter
            ones are padded with zeros. If None, sounds are padded to the longest in the batch.
        ragged: Not supported, because a `tf.RaggedTensor` needs TensorFlow.
        shuffle: Whether to shuffle.
        seed: The seed of the shuffle and the split.
        validation_split: The share of files for validation.
        subset: The part of the files to return.
        follow_links: Whether to read directories that are symbolic links.
        verbose: Whether to print the number of files.

    Returns:
        An adapter for `fit`; see `adapter`. Its `class_names` and `file_paths` are lists. Sounds
        are float32 from -1 to 1, (samples, channels).

    Raises:
        ModuleNotFoundError: If Keras is not installed.
        NotFoundError: If the directory does not exist.
        ValueError: If an argument is wrong. The message names it.

    Examples:
        >>> import wave
        >>> from pathlib import Path
        >>> Path("words", "yes").mkdir(parents=True)
        >>> with wave.open("words/yes/1.wav", "wb") as file:
        ...     file.setparams((1, 2, 16_000, 0, "NONE", ""))
        ...     file.writeframes(np.array([8192, -8192], "<i2").tobytes())
        >>> data = hr.keras.audio_dataset_from_directory("words", output_sequence_length=3)
        Found 1 files belonging to 1 classes.
        >>> sounds, labels = next(iter(data))
        >>> sounds[0, :, 0]
        array([ 0.25, -0.25,  0.  ], dtype=float32)
    """
    keras_module("audio_dataset_from_directory")
    if ragged:
        raise ValueError(
            f"{_WHERE}: ragged=True is not supported, because a tf.RaggedTensor needs TensorFlow. "
            "Leave it out to pad with zeros, or pass output_sequence_length."
        )
    for name, number in (
        ("sampling_rate", sampling_rate),
        ("output_sequence_length", output_sequence_length),
    ):
        if number is not None and (not isinstance(number, int) or number <= 0):
            raise ValueError(f"{_WHERE}: {name} is {number!r}, expected a positive integer.")
    files = ClassDirectory(
        _WHERE,
        (".wav",),
        directory,
        labels,
        label_mode,
        class_names,
        shuffle,
        seed,
        validation_split,
        subset,
        follow_links,
        verbose,
    )

    def load(contents: Tensor) -> Tensor:
        audio = ops.decode_audio(contents, mono=False)
        if output_sequence_length is not None:
            audio = audio[:output_sequence_length]
            num_missing = output_sequence_length - ops.shape(audio)[0]
            audio = ops.pad(audio, [[0, num_missing], [0, 0]])
            audio = ops.ensure_shape(audio, [output_sequence_length, None])
        if sampling_rate is not None:
            audio = ops.resample(audio, ops.audio_sample_rate(contents), sampling_rate)
        return audio

    return dataset_of(files, "audio", load, batch_size, output_sequence_length is None)
