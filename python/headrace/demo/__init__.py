"""The demo: digits as TFRecords, training on a pipeline, a checkpoint, evaluation."""

from headrace.core.optional_dependencies import missing_cli

if missing := missing_cli():
    raise ModuleNotFoundError(f"headrace.demo: {missing}")
