"""The main job: digits to TFRecords, training through queues, a checkpoint, evaluation."""

from headrace.extras import missing_cli

if missing := missing_cli():
    raise ModuleNotFoundError(f"headrace.demo: {missing}")
