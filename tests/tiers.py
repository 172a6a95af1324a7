"""Marks cases for the nightly tier only, because the first ones find most bugs."""

from collections.abc import Iterable

import pytest
from _pytest.mark import ParameterSet


def nightly_after(count: int, cases: Iterable[object]) -> list[ParameterSet]:
    """Returns the cases of a test. All except the first `count` are marked `nightly`.

    A case of several arguments is a tuple.
    """
    return [
        pytest.param(
            *(case if isinstance(case, tuple) else (case,)),
            marks=[pytest.mark.nightly] if number >= count else [],
        )
        for number, case in enumerate(cases)
    ]
