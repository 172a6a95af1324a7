"""Records in formats that only graphs can read: sequence examples, JSON, WAV."""
