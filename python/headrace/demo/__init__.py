"""The main job: digits to TFRecords, training through queues, a checkpoint, evaluation."""
