"""Attention over packed rows and trees equals attention over each example."""

from itertools import pairwise

import numpy as np
import pytest

import headrace as hr

torch = pytest.importorskip("torch")
functional = torch.nn.functional
# A CPU without a compiler runs the reference implementation.
pytestmark = pytest.mark.filterwarnings("ignore:flex_attention called without torch.compile")

HEADS, SIZE, VOCABULARY, LENGTH = 2, 8, 16, 32


@pytest.fixture(autouse=True)
def seeded():
    torch.manual_seed(1)


@pytest.fixture
def project():
    """A function from tokens and positions to queries, keys and values of each head."""
    tokens = torch.randn(VOCABULARY, 3 * HEADS * SIZE)
    places = torch.randn(64, 3 * HEADS * SIZE)

    def project(ids, positions):
        values = tokens[ids.long()] + places[positions.long()]
        return values.view(-1, 3, HEADS, SIZE).unbind(1)

    return project


def alone(project, tokens):
    """Causal attention over one example: (length, heads, size)."""
    heads = [x.transpose(0, 1) for x in project(tokens, torch.arange(len(tokens)))]
    return functional.scaled_dot_product_attention(*heads, is_causal=True).transpose(0, 1)


def masked(project, tokens, positions, mask):
    """Attention over a whole row, with a mask of queries and keys."""
    heads = [x.transpose(0, 1) for x in project(tokens, positions)]
    return functional.scaled_dot_product_attention(*heads, attn_mask=mask).transpose(0, 1)


def documents():
    random = np.random.default_rng(1)
    for length in random.integers(1, 20, 40):
        yield {"tokens": random.integers(0, VOCABULARY, length).astype(np.int32)}


def packed_rows():
    rows = hr.iterable(documents).pack(LENGTH, "tokens", cu_seqlens=True)
    return list(rows.to_torch())


def segments(row):
    """The examples of a row."""
    ends = row["cu_seqlens"].tolist()
    return [row["tokens"][start:end] for start, end in pairwise(ends)]


def test_offsets_match_variable_length_attention(project):
    for row in packed_rows():
        offsets = row["cu_seqlens"]
        # The form that flash_attn_varlen_func and PyTorch's nested tensors accept.
        assert (offsets.dtype, offsets.ndim, int(offsets[0])) == (torch.int32, 1, 0)
        assert offsets.is_contiguous()
        assert (offsets.diff() > 0).all()
        length = int(offsets[-1])
        # The argument `max_seqlen_q`, and positions that restart with each example.
        assert int(offsets.diff().max()) == int(row["positions"].max()) + 1
        assert row["positions"].dtype == torch.int32
        starts = torch.repeat_interleave(offsets[:-1], offsets.diff())
        assert torch.equal(row["positions"][:length], torch.arange(length) - starts)
        # The kernels leave the output of padding undefined.
        assert not row["segment_ids"][length:].any()
        assert torch.equal(offsets.diff(), row["segment_ids"].bincount()[-len(offsets) + 1 :])
        outputs = varied(project, row["tokens"][:length], row["positions"][:length], offsets)
        for output, tokens in zip(outputs, segments(row), strict=True):
            torch.testing.assert_close(output, alone(project, tokens))


def varied(project, tokens, positions, offsets):
    """Attention within each example, with the same offsets for queries, keys and values."""
    heads = project(tokens, positions)
    parts = [torch.nested.nested_tensor_from_jagged(x, offsets.long()).unbind() for x in heads]
    return [
        functional.scaled_dot_product_attention(
            *(x.transpose(0, 1) for x in part), is_causal=True
        ).transpose(0, 1)
        for part in zip(*parts, strict=True)
    ]


def test_batches_without_padding_fit_variable_length_attention(project):
    rows = hr.iterable(documents).pack(LENGTH, "tokens", cu_seqlens=True)
    originals = [tokens for row in packed_rows() for tokens in segments(row)]
    for batch in rows.batch(4, lists=["cu_seqlens"]).to_torch():
        # As in the guide.
        is_used = batch["segment_ids"] > 0
        tokens, positions = batch["tokens"][is_used], batch["positions"][is_used]
        lengths = torch.cat([ends.diff() for ends in batch["cu_seqlens"]])
        ends = functional.pad(lengths.cumsum(0, dtype=torch.int32), (1, 0))
        assert (ends.dtype, int(ends[-1])) == (torch.int32, len(tokens))
        assert int(positions.max()) + 1 == int(lengths.max())
        for output in varied(project, tokens, positions, ends):
            torch.testing.assert_close(output, alone(project, originals.pop(0)))
    assert not originals


def test_mask_is_built_from_segments_and_positions(project):
    for row in packed_rows():
        ids, positions = row["segment_ids"], row["positions"]
        mask = (ids[:, None] == ids) & (positions[:, None] >= positions)
        output = masked(project, row["tokens"], positions, mask)
        expected = torch.cat([alone(project, tokens) for tokens in segments(row)])
        torch.testing.assert_close(output[: len(expected)], expected)


def flex(project, tokens, positions, is_visible):
    """FlexAttention over a row, with a block mask of `is_visible(query, key)`."""
    attention = pytest.importorskip("torch.nn.attention.flex_attention")

    def mask(batch, head, query, key):
        return is_visible(query, key)

    length = len(tokens)
    blocks = attention.create_block_mask(mask, None, None, length, length, device="cpu")
    heads = [x.transpose(0, 1)[None] for x in project(tokens, positions)]
    return attention.flex_attention(*heads, block_mask=blocks)[0].transpose(0, 1)


def test_flex_attention_mask_is_built_from_segments(project):
    for row in packed_rows()[:3]:
        ids, positions = row["segment_ids"], row["positions"]

        def is_visible(query, key, ids=ids, positions=positions):
            return (ids[query] == ids[key]) & (positions[query] >= positions[key])

        output = flex(project, row["tokens"], positions, is_visible)
        expected = torch.cat([alone(project, tokens) for tokens in segments(row)])
        torch.testing.assert_close(output[: len(expected)], expected)


def answers():
    random = np.random.default_rng(1)
    for prompt in range(6):
        question = random.integers(0, VOCABULARY, random.integers(1, 9))
        for _ in range(5):
            answer = random.integers(0, 3, random.integers(1, 6))
            tokens = np.concatenate([question, answer]).astype(np.int32)
            yield {"tokens": tokens, "prompt_id": prompt, "count": len(tokens)}


def trees():
    rows = hr.iterable(answers).pack(64, "tokens", along="count", tree="prompt_id")
    return list(rows.to_torch())


def above(tree):
    """For each node, itself and the nodes above it, as a matrix."""
    parents = tree["parents"].tolist()
    matrix = torch.eye(len(parents), dtype=torch.bool)
    for node, parent in enumerate(parents):
        if parent >= 0:
            matrix[node] |= matrix[parent]
    return matrix


def paths(tree):
    """For each row of a tree, where its elements are."""
    ends = tree["node_lengths"].cumsum(0)
    nodes = torch.arange(len(ends)).repeat_interleave(tree["node_lengths"].long())
    return [torch.nonzero(above(tree)[leaf][nodes]).flatten() for leaf in tree["leaf_of"].tolist()]


def test_attention_over_a_tree_matches_attention_over_each_row(project):
    originals = iter(answers())
    for tree in trees():
        lengths, positions = tree["node_lengths"].long(), tree["positions"]
        nodes = torch.arange(len(lengths)).repeat_interleave(lengths)
        visible = above(tree)
        mask = visible[nodes][:, nodes] & (positions[:, None] >= positions)
        output = masked(project, tree["tokens"], positions, mask)

        def is_visible(query, key, nodes=nodes, positions=positions, visible=visible):
            return visible[nodes[query], nodes[key]] & (positions[query] >= positions[key])

        by_blocks = flex(project, tree["tokens"], positions, is_visible)
        torch.testing.assert_close(by_blocks, output)
        for path, count in zip(paths(tree), tree["count"].tolist(), strict=True):
            tokens = torch.from_numpy(next(originals)["tokens"])
            assert torch.equal(tree["tokens"][path], tokens)
            assert len(tokens) == count
            torch.testing.assert_close(output[path], alone(project, tokens))
    assert next(originals, None) is None
