"""Differences from TensorFlow that we want, each with its reason.

A key is the name of a case, or the beginning of several names followed by "*".
"""

WANTED: dict[str, str] = {
    "arrays.linspace_of_unknown*": "TensorFlow 1.15 knows that the result has one dimension, and "
    "refuses to make none; 2 computes it in another way",
    "arrays.range_of_another_type": "TensorFlow 1.15 refuses it; 2 casts",
    "arrays.one_hot_of_an_integer_as_a_fraction": "TensorFlow 1.15 refuses it; 2 casts",
}


def reason_for(name: str) -> str | None:
    """Returns why a case may differ; None if it may not."""
    for key, reason in WANTED.items():
        if name == key or (key.endswith("*") and name.startswith(key[:-1])):
            return reason
    return None
