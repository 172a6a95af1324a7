"""How ``headrace bench`` measures a pipeline."""
