"""Record formats for graphs only: sequence examples, JSON, WAV."""
