"""Records, with formats that only graphs read: sequence examples, JSON, WAV."""
