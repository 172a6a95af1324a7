"""Token files of other programs.

`files/megatron_*` were written by `IndexedDatasetBuilder` of megatron-core 0.16.1, with documents
added whole and in parts, `files/datatrove_*` by `TokenizedFile` of datatrove 0.10.1, and
`files/tokenizer.ds` by its `DocumentTokenizer`, whose words are `w0` to `w699` and which ends
documents with token 0. With these libraries installed, new files are written as well.
"""

from pathlib import Path

import numpy as np
import pytest

import headrace as hr

FILES = Path(__file__).parent / "files"
DOCUMENTS = [np.arange(100 * n, 100 * n + count) for n, count in enumerate([5, 30, 2, 1, 64, 9])]
LENGTH = 4


def assert_documents(path, dtype, documents=DOCUMENTS):
    """Checks the type, the tokens and the ends of documents of a file, in order and shuffled."""
    pipe = hr.tokens(path, 1)
    assert pipe.spec["tokens"].dtype == dtype
    expected = np.concatenate(documents).tolist()
    assert [example["tokens"].item() for example in pipe] == expected
    ends = hr.tokens(path, sum(map(len, documents)), documents="mask")
    (window,) = list(ends)
    numbers = np.repeat(np.arange(len(documents)) + 1, [len(document) for document in documents])
    assert window["segment_ids"].tolist() == numbers.tolist()
    split = hr.tokens(path, LENGTH, stride=LENGTH, documents="split")
    parts = [
        document[start : start + LENGTH].tolist()
        for document in documents
        for start in range(0, len(document) - LENGTH + 1, LENGTH)
    ]
    assert [example["tokens"].tolist() for example in split] == parts
    shuffled = [example["tokens"].tolist() for example in split.shuffle(seed=1)]
    assert shuffled != parts
    assert sorted(shuffled) == sorted(parts)


@pytest.fixture(scope="module")
def datatrove():
    """The datatrove module that writes files, with its permanent fsspec thread started."""
    module = pytest.importorskip("datatrove.pipeline.tokens.tokenizer")
    pytest.importorskip("fsspec.asyn").get_loop()
    return module


@pytest.mark.parametrize("dtype", [np.uint16, np.int32])
def test_megatron_builder_files_are_read(dtype):
    assert_documents(FILES / f"megatron_{np.dtype(dtype)}.bin", dtype)


@pytest.mark.parametrize("dtype", [np.uint16, np.uint32])
def test_datatrove_writer_files_are_read(dtype):
    assert_documents(FILES / f"datatrove_{8 * np.dtype(dtype).itemsize}.ds", dtype)


def test_datatrove_tokenizer_files_are_read():
    documents = [np.append(document[document > 0], 0) for document in DOCUMENTS]
    assert_documents(FILES / "tokenizer.ds", np.uint16, documents)


# Megatron's builder converts tensors to arrays in a way that NumPy no longer supports.
@pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")
@pytest.mark.parametrize("dtype", [np.uint16, np.int32])
def test_files_written_by_the_installed_megatron_are_read(tmp_path, dtype):
    torch = pytest.importorskip("torch")
    written = pytest.importorskip("megatron.core.datasets.indexed_dataset")
    builder = written.IndexedDatasetBuilder(str(tmp_path / "a.bin"), dtype=dtype)
    for number, document in enumerate(DOCUMENTS):
        if number % 2:
            for part in np.array_split(document, min(3, len(document))):
                builder.add_item(torch.from_numpy(part.copy()))
            builder.end_document()
        else:
            builder.add_document(torch.from_numpy(document), [len(document)])
    builder.finalize(str(tmp_path / "a.idx"))
    assert_documents(tmp_path / "a.bin", dtype)


@pytest.mark.parametrize("dtype", [np.uint16, np.uint32])
def test_files_written_by_the_installed_datatrove_are_read(datatrove, tmp_path, dtype):
    file = datatrove.TokenizedFile(str(tmp_path), "a.ds", token_size=np.dtype(dtype).itemsize)
    for document in DOCUMENTS:
        file.write(document.tolist(), None)
    file.close()
    assert_documents(tmp_path / "a.ds", dtype)


def test_files_tokenized_by_the_installed_datatrove_are_read(datatrove, tmp_path):
    data = pytest.importorskip("datatrove.data")
    tokenizers = pytest.importorskip("tokenizers")
    words = {"<end>": 0} | {f"w{number}": number for number in range(1, 700)}
    model = tokenizers.Tokenizer(tokenizers.models.WordLevel(words, unk_token="<end>"))
    model.pre_tokenizer = tokenizers.pre_tokenizers.WhitespaceSplit()
    model.add_special_tokens(["<end>"])
    model.save(str(tmp_path / "tokenizer.json"))
    step = datatrove.DocumentTokenizer(
        str(tmp_path / "out"),
        str(tmp_path / "tokenizer.json"),
        eos_token="<end>",
        shuffle_documents=False,
    )
    texts = [" ".join(f"w{number}" for number in document if number) for document in DOCUMENTS]
    step.run(data.Document(text=text, id="0") for text in texts)
    documents = [np.append(document[document > 0], 0) for document in DOCUMENTS]
    assert_documents(tmp_path / "out", np.uint16, documents)
