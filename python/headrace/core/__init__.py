"""Types and helpers that every other package uses: errors, dtypes, shapes and the native module."""
