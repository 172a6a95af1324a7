"""Pipelines for Keras 3, on any of its backends and without TensorFlow.

`adapter` passes a pipeline to `fit`, and `BackupAndRestore` resumes at any batch. The functions
that read directories and arrays accept the arguments of `keras.utils`.
"""

from headrace.keras.adapter import adapter
from headrace.keras.audio_directory import audio_dataset_from_directory
from headrace.keras.backup_and_restore import BackupAndRestore
from headrace.keras.image_directory import image_dataset_from_directory
from headrace.keras.text_directory import text_dataset_from_directory
from headrace.keras.timeseries import timeseries_dataset_from_array

__all__ = [
    "BackupAndRestore",
    "adapter",
    "audio_dataset_from_directory",
    "image_dataset_from_directory",
    "text_dataset_from_directory",
    "timeseries_dataset_from_array",
]
