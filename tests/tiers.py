"""Cases that run in the nightly tier only, since the first ones find most faults."""

from collections.abc import Iterable

import pytest
from _pytest.mark import ParameterSet


def nightly_after(count: int, cases: Iterable[object]) -> list[ParameterSet]:
    """Returns the cases of a test, of which all but the first `count` are marked `nightly`.

    A case of several arguments is a tuple.
    """
    return [
        pytest.param(
            *(case if isinstance(case, tuple) else (case,)),
            marks=[pytest.mark.nightly] if number >= count else [],
        )
        for number, case in enumerate(cases)
    ]
