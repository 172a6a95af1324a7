"""Variables (tensors that a session keeps and changes), their scopes and initial values."""
