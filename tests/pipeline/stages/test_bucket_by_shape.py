"""Batches of images with similar aspect ratios, cropped to the shape of their bucket."""

import io
from collections import Counter

import numpy as np
import pytest

import headrace as hr
from headrace.pipeline.stages.bucket_by_shape import shapes_near

Image = pytest.importorskip("PIL.Image")

BUCKETS = [(8, 16), (8, 8), (16, 8)]
SHAPES = [(20, 40), (30, 30), (50, 20), (21, 45), (90, 91)]


def file_of(number, kind="PNG"):
    """An image whose shape and grey value depend on its number."""
    height, width = SHAPES[number % len(SHAPES)]
    pixels = np.full((height, width, 3), number % 256, np.uint8)
    file = io.BytesIO()
    Image.fromarray(pixels).save(file, kind)
    return file.getvalue()


def images(count=60):
    return hr.arrays({"image": [file_of(n) for n in range(count)], "n": np.arange(count)})


def bucket_of(number):
    return [0, 1, 2, 0, 1][number % len(SHAPES)]


def in_runs(numbers, length):
    """The numbers in complete runs of one bucket."""
    filling = {bucket: [] for bucket in range(3)}
    for number in numbers:
        run = filling[bucket_of(number)]
        run.append(number)
        if len(run) == length:
            yield list(run)
            run.clear()


def numbers(batches):
    return [batch["n"].tolist() for batch in batches]


def test_batches_have_the_shape_of_their_bucket(items_of):
    batches = items_of(
        images().bucket_by_shape("image", size=4, buckets=BUCKETS),
        ({"num_threads": 1}, {"num_threads": 3}),
    )
    assert numbers(batches) == list(in_runs(range(60), 4))
    for batch in batches:
        shape = BUCKETS[bucket_of(int(batch["n"][0]))]
        assert batch["image"].shape == (4, *shape, 3)
        assert batch["image"].dtype == np.uint8
        assert (batch["image"] == batch["n"][:, None, None, None]).all()
        assert list(batch) == ["image", "n"]


def test_images_cover_their_bucket_and_are_cropped_in_the_centre():
    rng = np.random.default_rng(7)
    pixels = rng.integers(0, 256, (61, 97, 3)).astype(np.uint8)
    for kind in ("PNG", "BMP", "TIFF"):
        file = io.BytesIO()
        Image.fromarray(pixels).save(file, kind)
        pipeline = hr.arrays({"image": [file.getvalue()]})
        (batch,) = pipeline.bucket_by_shape("image", size=1, buckets=[(16, 16)])
        part = Image.fromarray(pixels).crop((18, 0, 79, 61))
        expected = np.asarray(part.resize((16, 16), Image.Resampling.BILINEAR))
        assert np.abs(batch["image"][0].astype(int) - expected).max() <= 1


@pytest.mark.parametrize("kind", ["JPEG", "PNG", "GIF", "WEBP", "BMP", "TIFF"])
def test_bucket_is_chosen_for_files_of_every_format(kind):
    files = [file_of(number, kind) for number in range(5)]
    pipeline = hr.arrays({"image": files, "n": np.arange(5)})
    batches = pipeline.bucket_by_shape("image", size=1, buckets=BUCKETS)
    for batch in batches:
        assert batch["image"].shape[1:3] == BUCKETS[bucket_of(int(batch["n"][0]))]
    assert len(numbers(batches)) == 5


@pytest.mark.parametrize("world", [1, 2, 3])
def test_all_ranks_get_the_same_bucket_at_each_step(world):
    pipeline = images(100).shuffle(seed=7)
    order = [int(example["n"]) for example in pipeline]
    ranks = [
        list(pipeline.shard(rank, world).bucket_by_shape("image", size=2, buckets=BUCKETS))
        for rank in range(world)
    ]
    steps = list(zip(*ranks, strict=True))
    assert len({len(rank) for rank in ranks}) == 1
    for step in steps:
        assert len({batch["image"].shape for batch in step}) == 1
    runs = [
        [number for row in zip(*(b["n"].tolist() for b in step), strict=True) for number in row]
        for step in steps
    ]
    assert runs == list(in_runs(order, 2 * world))


def test_leftover_images_are_counted():
    pipeline = images(31).shard(1, 2).bucket_by_shape("image", size=4, buckets=BUCKETS)
    batches = iter(pipeline)
    num_batches = len(numbers(batches))
    counts = Counter(bucket_of(number) for number in range(31))
    left_out = sum(stage.left_out for stage in batches.statistics().stages)
    assert left_out == sum(count % 8 for count in counts.values())
    assert 2 * 4 * num_batches + left_out == 31


def test_resume_continues_at_every_batch():
    pipeline = images(80).shuffle(seed=7).shard(1, 2)
    pipeline = pipeline.bucket_by_shape("image", size=3, buckets=BUCKETS).epochs(2)
    batches, states, expected = iter(pipeline), [], []
    while True:
        states.append(batches.state())
        batch = next(batches, None)
        if batch is None:
            break
        expected.append(batch["n"].tolist())
    assert len(expected) > 20
    for start, state in enumerate(states):
        assert numbers(pipeline.resume(state)) == expected[start:]


@pytest.mark.parametrize("before", [1, 2, 4])
@pytest.mark.parametrize("world", [1, 2, 4])
def test_different_number_of_ranks_continues_with_the_remaining_images(before, world):
    pipeline = images(150).shuffle(seed=7)

    def ranks(count, state=None):
        return [
            pipeline.shard(rank, count)
            .bucket_by_shape("image", size=2, buckets=BUCKETS)
            .resume(state)
            for rank in range(count)
        ]

    # The number of images so far must be a multiple of the number of ranks.
    for num_steps in (0, 2, 4, 8):
        first = ranks(before)
        seen = []
        for batches in first:
            seen += [number for _ in range(num_steps) for number in next(batches)["n"].tolist()]
        states = [batches.state() for batches in first]
        rest = [numbers(batches) for batches in ranks(world, states[-1])]
        others = [number for rank in rest for batch in rank for number in batch]
        assert len({len(rank) for rank in rest}) == 1
        for step in zip(*rest, strict=True):
            assert len({bucket_of(number) for batch in step for number in batch}) == 1
        assert len(set(seen) | set(others)) == len(seen) + len(others)
        left = Counter(map(bucket_of, set(range(150)) - set(seen) - set(others)))
        assert all(count < 2 * world for count in left.values())
        # A second state, after the change, continues exactly.
        again = ranks(world, states[0])
        for batches in again:
            for _ in range(3):
                next(batches)
        after = [numbers(batches) for batches in ranks(world, again[0].state())]
        assert after == [rank[3:] for rank in rest]


def test_number_of_ranks_cannot_change_within_epochs():
    def pipeline(world):
        ranks = images().shard(0, world)
        return ranks.bucket_by_shape("image", size=2, buckets=BUCKETS).epochs(2)

    state = iter(pipeline(2)).state()
    with pytest.raises(ValueError, match=r"stage 2 is shard\(0, 4\), but it was shard\(0, 2\)"):
        pipeline(4).resume(state)


def test_default_buckets_are_close_to_the_pixel_limit():
    shapes = shapes_near(1 << 20, 64)
    assert (1024, 1024) in shapes
    assert (832, 1216) in shapes
    assert (1216, 832) in shapes
    assert len(set(shapes)) == len(shapes)
    for height, width in shapes:
        assert height % 64 == width % 64 == 0
        assert 0.85 * (1 << 20) < height * width <= 1 << 20
        assert max(height, width) <= 4 * min(height, width)
    with pytest.raises(ValueError, match="pixels=10 and multiple=64 result in 0 buckets"):
        images().bucket_by_shape("image", pixels=10)


def test_error_for_a_damaged_image_names_its_record(tmp_path):
    for number in range(4):
        (tmp_path / f"{number}.png").write_bytes(file_of(number))
    (tmp_path / "2.png").write_bytes(b"no image")
    pipeline = hr.files(tmp_path / "*.png").rename(data="image")
    with pytest.raises(hr.errors.InvalidArgumentError, match=r"2\.png"):
        list(pipeline.bucket_by_shape("image", size=1, buckets=BUCKETS))


def test_arguments_are_checked():
    pipeline = images()
    for arguments, message in [
        ({"size": 0}, "size is 0"),
        ({"pixels": 0}, "pixels is 0"),
        ({"multiple": 0}, "multiple is 0"),
        ({"ranks": "apart"}, "ranks is 'apart', expected 'together' or 'separate'"),
        ({"buckets": []}, "buckets is empty"),
        ({"buckets": [(0, 8)]}, "the height of a bucket is 0"),
    ]:
        with pytest.raises(ValueError, match=message):
            pipeline.bucket_by_shape("image", **arguments)
    with pytest.raises(TypeError, match="expected a list of heights and widths"):
        pipeline.bucket_by_shape("image", buckets=[8])
    with pytest.raises(ValueError, match="there is no component 'picture'"):
        pipeline.bucket_by_shape("picture")
    with pytest.raises(ValueError, match=r"'n' is Spec\(int64, \(\)\), expected the bytes"):
        pipeline.bucket_by_shape("n")
    with pytest.raises(ValueError, match=r"there is already a component 'image\.bucket'"):
        pipeline.rename(n="image.bucket").bucket_by_shape("image")
    with pytest.raises(ValueError, match="cannot come after batch"):
        pipeline.batch(2).bucket_by_shape("image")
    with pytest.raises(ValueError, match="needs one shard"):
        pipeline.shard(0, 2).select("image").bucket_by_shape("image")
    with pytest.raises(ValueError, match="skip_errors: cannot come after bucket_by_shape"):
        pipeline.bucket_by_shape("image").skip_errors(1)


def test_separate_ranks_form_their_own_batches():
    pipeline = images(60).shard(1, 2)
    own = [int(example["n"]) for example in pipeline]
    batches = pipeline.bucket_by_shape("image", size=2, ranks="separate", buckets=BUCKETS)
    assert numbers(batches) == list(in_runs(own, 2))
