"""Differences from TensorFlow that we want, each with its reason.

A key is the name of a case, or the beginning of several names followed by "*".
"""

WANTED: dict[str, str] = {}


def reason_for(name: str) -> str | None:
    """Returns why a case may differ; None if it may not."""
    for key, reason in WANTED.items():
        if name == key or (key.endswith("*") and name.startswith(key[:-1])):
            return reason
    return None
