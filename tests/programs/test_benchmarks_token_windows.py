"""The benchmark of windows of tokens."""

import json

import numpy as np
import pytest
from benchmarks.token_windows import windows, with_headrace, with_memmap


@pytest.mark.parametrize("program", [with_headrace, with_memmap])
def test_the_readers_give_windows_of_the_file(program, tmp_path, monkeypatch, capsys):
    path = tmp_path / "tokens.bin"
    for module in (windows, program):
        monkeypatch.setattr(module, "PATH", path)
    monkeypatch.setattr(windows, "NUM_TOKENS", 200_000)
    windows.read(3, program.batches)
    assert json.loads(capsys.readouterr().out)["windows"] == 3 * windows.BATCH
    first = next(program.batches())[0].astype(np.uint16).tobytes()
    assert first in path.read_bytes()
