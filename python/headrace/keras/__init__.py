"""Pipelines in Keras 3, on each of its backends and without TensorFlow.

`adapter` passes a pipeline to `fit`, and `BackupAndRestore` resumes at any batch.
"""

from headrace.keras.adapter import adapter
from headrace.keras.backup_and_restore import BackupAndRestore

__all__ = ["BackupAndRestore", "adapter"]
