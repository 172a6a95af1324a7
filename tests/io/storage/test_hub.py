"""Files of the hub: patterns, revisions, redirects, tokens and rejected requests."""

import io
from collections.abc import Iterator

import pyarrow
import pyarrow.parquet
import pytest
from tests import lerobot_files
from tests.io.storage.hub import COMMIT, NEWER, Hub
from tests.pipeline.conftest import same

import headrace as hr
from headrace.core import errors
from headrace.io import storage

TOKEN = "hf_a-secret-of-the-test"
NAME = "datasets/me/words"


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    with Hub() as hub:
        monkeypatch.setenv("HF_ENDPOINT", hub.url)
        monkeypatch.setenv("HEADRACE_STORAGE_RETRIES", "3")
        monkeypatch.delenv("HF_TOKEN", raising=False)
        files = {f"data/{n}.txt": b"%d of old\n" % n for n in range(5)}
        hub.add(f"{NAME}@{COMMIT}", {**files, "data/deep/er.txt": b"deep\n"})
        hub.add(f"{NAME}@{COMMIT}", {"README.md": b"small\n"}, is_large=False)
        hub.branches[f"{NAME}@main"] = COMMIT
        yield hub


def texts(pipe: hr.Pipeline) -> list[bytes]:
    return [example["text"] for example in pipe]


OLD = [b"%d of old" % n for n in range(5)]


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/data/3.txt", [b"3 of old"]),
        ("@main/data/*.txt", OLD),
        ("/data", OLD),
        ("/**/er.txt", [b"deep"]),
        ("/data/{1..2}.txt", [b"1 of old", b"2 of old"]),
        (f"@{COMMIT}/README.md", [b"small"]),
    ],
)
def test_files_patterns_and_directories_are_read(hub, path, expected):
    assert texts(hr.text_lines(f"hf://{NAME}{path}")) == expected


def test_listing_of_several_pages_is_read(hub):
    hub.page = 2
    assert texts(hr.text_lines(f"hf://{NAME}/data/*")) == OLD


def test_files_of_a_bucket_are_read(hub):
    hub.add("buckets/me/box", {"a/1.txt": b"one\n", "a/2.txt": b"two\n"})
    assert texts(hr.text_lines("hf://buckets/me/box/a/*.txt")) == [b"one", b"two"]


def test_revision_can_contain_slashes(hub):
    hub.branches[f"{NAME}@refs/convert/parquet"] = COMMIT
    assert texts(hr.text_lines(f"hf://{NAME}@refs/convert/parquet/data/1.txt")) == [b"1 of old"]


def test_large_files_are_read_in_any_order(hub):
    lines = [b"line %d" % n for n in range(5000)]
    hub.add(f"{NAME}@{COMMIT}", {"long.txt": b"\n".join(lines)})
    pipe = hr.text_lines(f"hf://{NAME}/long.txt").shuffle(seed=1).options(index="memory")
    result = texts(pipe)
    assert result != lines
    assert sorted(result) == sorted(lines)
    assert texts(hr.text_lines(f"hf://{NAME}/long.txt")) == lines


def test_token_is_only_sent_to_the_hub(hub, monkeypatch):
    hub.token = TOKEN
    monkeypatch.setenv("HF_TOKEN", TOKEN)
    assert texts(hr.text_lines(f"hf://{NAME}/data/*.txt")) == OLD
    assert all(headers.get("authorization") == f"Bearer {TOKEN}" for _, headers in hub.requests)
    assert hub.data.headers
    assert TOKEN not in repr(hub.data.headers)


@pytest.mark.parametrize("token", [None, "hf_another-secret"])
@pytest.mark.parametrize("path", ["/data/1.txt", "/data/*.txt"])
def test_unauthorized_error_has_a_remedy_and_no_token(hub, monkeypatch, token, path):
    hub.token = TOKEN
    if token is not None:
        monkeypatch.setenv("HF_TOKEN", token)
    with pytest.raises(errors.UnauthenticatedError, match=r"401 Unauthorized.*HF_TOKEN") as caught:
        texts(hr.text_lines(f"hf://{NAME}{path}"))
    assert "hf_another-secret" not in str(caught.value)
    assert TOKEN not in str(caught.value)


def test_requests_to_a_busy_hub_are_retried(hub):
    hub.num_busy = 3
    assert texts(hr.text_lines(f"hf://{NAME}/data/*.txt")) == OLD


def test_hub_that_stays_busy_is_an_error(hub):
    hub.num_busy = 1000
    with pytest.raises(errors.UnavailableError, match=r"429 Too Many Requests.*Wait some minutes"):
        texts(hr.text_lines(f"hf://{NAME}/data/*.txt"))


@pytest.mark.parametrize(
    ("url", "words"),
    [
        (f"hf://{NAME}/nothing.txt", "no such file"),
        (f"hf://{NAME}/nothing*.txt", "no file matches this pattern"),
        (f"hf://{NAME}@v9/data/*.txt", "the revision does not exist"),
    ],
)
def test_missing_files_are_an_error(hub, url, words):
    with pytest.raises(errors.NotFoundError, match=words):
        texts(hr.text_lines(url))


def test_url_of_an_unsupported_repository_type_is_rejected(hub):
    with pytest.raises(errors.InvalidArgumentError, match="Expected hf://datasets/OWNER/NAME"):
        texts(hr.text_lines("hf://models/a/b"))


def test_writing_to_the_hub_is_rejected(hub):
    with pytest.raises(errors.UnimplementedError, match="cannot write to the hub"):
        storage.remove(f"hf://{NAME}/data/1.txt")


class TestRevisions:
    def moved(self, hub: Hub) -> None:
        """The branch moves on to another commit."""
        hub.add(f"{NAME}@{NEWER}", {f"data/{n}.txt": b"%d of new\n" % n for n in range(5)})
        hub.branches[f"{NAME}@main"] = NEWER

    def test_iteration_stays_on_its_first_commit(self, hub):
        pipe = hr.text_lines(f"hf://{NAME}/data/*.txt")
        with iter(pipe) as batches:
            assert [next(batches)["text"] for _ in range(2)] == OLD[:2]
            state = batches.state()
        self.moved(hub)
        assert [example["text"] for example in pipe.resume(state)] == OLD[2:]
        assert texts(pipe) == [b"%d of new" % n for n in range(5)]

    def test_state_names_the_commit(self, hub):
        with iter(hr.text_lines(f"hf://{NAME}@main/data/*.txt")) as batches:
            next(batches)
            assert batches.state()["revisions"] == {f"hf://{NAME}@main": COMMIT}

    def test_commits_are_pinned_in_combined_pipelines(self, hub):
        pipe = hr.concat([hr.text_lines(f"hf://{NAME}/data/{n}.txt") for n in range(5)])
        with iter(pipe) as batches:
            next(batches)
            state = batches.state()
        self.moved(hub)
        assert [example["text"] for example in pipe.resume(state)] == OLD[1:]

    def test_length_follows_the_current_commit(self, hub, tmp_path):
        def table(num_rows: int) -> bytes:
            file = io.BytesIO()
            pyarrow.parquet.write_table(pyarrow.table({"n": range(num_rows)}), file)
            return file.getvalue()

        def records(num_rows: int) -> dict[str, bytes]:
            return {"t.parquet": table(num_rows), "r.bin": bytes(4 * num_rows)}

        hub.add(f"{NAME}@{COMMIT}", records(7))
        lines = hr.text_lines(f"hf://{NAME}/data/*.txt").options(index_directory=str(tmp_path))
        pipes = [
            hr.files(f"hf://{NAME}/data/*.txt"),
            hr.parquet(f"hf://{NAME}/t.parquet"),
            hr.fixed_length_records(f"hf://{NAME}@main/r.bin", 4, compression=None),
            hr.concat([hr.parquet(f"hf://{NAME}/t.parquet").batch(4)] * 2),
        ]
        assert [len(pipe) for pipe in pipes] == [5, 7, 7, 4]
        with pytest.raises(TypeError, match=r"Use count\(\), which reads"):
            len(lines)
        with pytest.raises(
            TypeError, match="pass compression=None if the files are not compressed"
        ):
            len(hr.fixed_length_records(f"hf://{NAME}@main/r.bin", 4))
        shuffled = lines.shuffle(seed=1)
        assert sorted(texts(shuffled)) == OLD
        assert len(shuffled) == len(lines) == 5
        hub.add(f"{NAME}@{NEWER}", {**records(9), "data/1.txt": b"new\nones\n"})
        hub.branches[f"{NAME}@main"] = NEWER
        assert [len(pipe) for pipe in pipes] == [1, 9, 9, 6]
        with pytest.raises(TypeError, match=r"Use count\(\), which reads"):
            len(lines)


@pytest.mark.parametrize("shuffled", [False, True])
def test_robot_data_set_on_the_hub_matches_its_local_copy(hub, tmp_path, shuffled):
    pytest.importorskip("av")
    camera = "observation.images.front"
    root = lerobot_files.write_data_set(tmp_path / "robot", (4, 6), (camera,), files=1)
    name = f"datasets/me/robot{shuffled:d}"  # A process keeps open videos.
    files = {str(p.relative_to(root)): p.read_bytes() for p in root.rglob("*") if p.is_file()}
    hub.add(f"{name}@{COMMIT}", files)
    hub.branches[f"{name}@main"] = COMMIT
    results, expected = (
        hr.lerobot(where, {camera: [-1, 0], "action": range(3)}) for where in (f"hf://{name}", root)
    )
    if shuffled:
        results, expected = results.shuffle(seed=3), expected.shuffle(seed=3)
    assert same(list(results), list(expected))
    assert len(results) == 10
