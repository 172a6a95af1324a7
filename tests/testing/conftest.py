import re
from collections.abc import Callable

import pytest
from tests.calls import wait_until

from headrace.testing import dump_waits


@pytest.fixture
def wait_for_dump() -> Callable[[str], str]:
    """Waits until the dump contains a text (short waits are omitted), and returns the dump."""

    def wait(pattern: str) -> str:
        results: list[str] = []

        def is_shown() -> bool:
            text = dump_waits(write=False)
            results[:] = [text] if re.search(pattern, text, re.MULTILINE) else []
            return bool(results)

        try:
            wait_until(is_shown)
        except AssertionError:
            pytest.fail(f"{pattern} is not in {dump_waits(write=False)}", pytrace=False)
        return results[0]

    return wait
