"""Token files at URLs."""

import numpy as np
from tests.io.storage.server import Server

import headrace as hr


def windows(pipe):
    return [example["tokens"].tolist() for example in pipe]


def test_windows_of_remote_files_match_local_files(server: Server, tmp_path):
    for name in "ab":
        tokens = np.arange(200_000 if name == "a" else 77, dtype=np.uint16)
        (tmp_path / f"{name}.bin").write_bytes(tokens.tobytes())
        server.files[f"bucket/{name}.bin"] = (tmp_path / f"{name}.bin").read_bytes()
    local = hr.tokens(tmp_path, 65, np.uint16)
    for root in ("s3://bucket", f"{server.url}/bucket"):
        remote = hr.tokens([f"{root}/a.bin", f"{root}/b.bin"], 65, np.uint16)
        assert len(remote) == len(local)
        assert windows(remote) == windows(local)
        assert windows(remote.shuffle(seed=2).take(200)) == windows(local.shuffle(seed=2).take(200))
        assert windows(remote.skip(3000)) == windows(local.skip(3000))


def test_index_beside_a_remote_file_is_used(server: Server):
    documents = [np.arange(5), np.arange(40), np.arange(3)]
    server.files["bucket/a.ds"] = np.concatenate(documents).astype(np.uint32).tobytes()
    ends = np.cumsum([5, 40, 3]).astype(np.uint64)
    server.files["bucket/a.ds.index"] = ends.tobytes()
    pipe = hr.tokens("s3://bucket/a.ds", 8, documents="split")
    assert windows(pipe) == [list(range(n, n + 8)) for n in range(0, 33, 7)]
    assert pipe.spec["tokens"].dtype == np.uint32
