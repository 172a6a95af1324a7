"""`bucket_by_shape`: batches of images with similar aspect ratios, cropped to one shape."""

import math
from abc import abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, ClassVar, Final, Literal, Self, TypeAlias

from headrace.pipeline.functions.native_function import NativeFunction
from headrace.pipeline.stages.arguments import check_bool, checked_int, checked_names
from headrace.pipeline.stages.batch import Batch
from headrace.pipeline.stages.chain import Chain
from headrace.pipeline.stages.components import batch_depth, has_epochs, steps
from headrace.pipeline.stages.stage import (
    Effect,
    KeepsComponents,
    Planning,
    Step,
    check_names,
    named,
)
from headrace.pipeline.values.types import Specs

__all__ = ["BucketByShapeMethod", "CropToBucket", "InBuckets", "ShapeBucket", "shapes_near"]

# The heights and widths of buckets.
Shapes: TypeAlias = tuple[tuple[int, int], ...]

# The maximum ratio of a bucket's longer side to its shorter side.
_MOST_RATIO: Final = 4
_MOST_BUCKETS: Final = 10_000


@dataclass(frozen=True)
class ImageStep(Step, is_base=True):
    """Calls a native function for each image.

    Attributes:
        component: The component with the image files.
        shapes: The height and width of each bucket.
        orientation: Whether the EXIF orientation is applied.
    """

    component: str
    shapes: Shapes
    orientation: bool = named(False)

    effect: ClassVar = Effect.EACH
    needs_values: ClassVar = True
    added_axes: ClassVar = 0
    # States describe the buckets with the stage that forms batches.
    described_by: ClassVar = None

    @property
    def name(self) -> str:
        """The stage's name in messages."""
        return "bucket_by_shape"

    @property
    @abstractmethod
    def function(self) -> NativeFunction:
        """The function."""

    def specs_after(self, specs: Specs) -> Specs:
        """Returns the components that the function returns."""
        return dict(self.function.traced("map", specs, None).specs)

    def length_after(self, length: float) -> float:
        """Returns the number of output examples."""
        return length

    def plan_into(self, planning: Planning) -> None:
        """Adds this step to a plan."""
        traced = self.function.traced("map", planning.before, None)
        planning.later(traced.stage(False))


@dataclass(frozen=True)
class ShapeBucket(ImageStep):
    """Adds the number of each image's bucket, determined from the header of its file."""

    @property
    def function(self) -> NativeFunction:
        """The function that finds the bucket."""
        return _finder(self.component, self.shapes, self.orientation)

    def specs_after(self, specs: Specs) -> Specs:
        """Returns the components, with the number of the bucket."""
        check_names(self, [self.component], specs)
        spec = specs[self.component]
        if spec.dtype is not bytes or spec.shape not in ((), None):
            raise ValueError(
                f"bucket_by_shape: the component {self.component!r} is {spec}, expected the bytes "
                "of an image file. Write bucket_by_shape(...) instead of decoding the image."
            )
        added = _bucket_name(self.component)
        if added in specs:
            raise ValueError(
                f"bucket_by_shape: there is already a component {added!r}. Rename it, or drop it "
                "with select."
            )
        return super().specs_after(specs)

    def names_after(self, names: tuple[str, ...] | None) -> tuple[str, ...] | None:
        """Returns the names, plus the bucket's name."""
        check_names(self, [self.component], names)
        return None if names is None else (*names, _bucket_name(self.component))

    def plan_into(self, planning: Planning) -> None:
        """Adds this step to a plan."""
        super().plan_into(planning)
        planning.finish_rows()


@dataclass(frozen=True)
class InBuckets(KeepsComponents):
    """Orders examples so that the ranks' next batches come from one bucket.

    Attributes:
        component: The component with the image files.
        shapes: The height and width of each bucket.
        size: The number of examples in a batch.
        num_ranks: The number of ranks.
    """

    component: str
    shapes: Shapes
    size: int
    num_ranks: int = field(default=1, compare=False, repr=False)

    effect: ClassVar = Effect.GROUPS
    needs_values: ClassVar = True
    added_axes: ClassVar = 0

    @property
    def name(self) -> str:
        """The stage's name in messages."""
        return "bucket_by_shape"

    @property
    def counts_ranks(self) -> bool:
        """True, because a skipped example would move all later ones to other batches."""
        return True

    def length_after(self, length: float) -> None:
        """Returns None, because the number depends on the shapes."""

    def plan_into(self, planning: Planning) -> None:
        """Adds this step to a plan."""
        column = list(planning.before).index(_bucket_name(self.component))
        num_rows = self.size * self.num_ranks
        planning.plan = planning.plan.in_runs(column, len(self.shapes), num_rows)


@dataclass(frozen=True)
class CropToBucket(ImageStep):
    """Replaces an image file with pixels of its bucket's shape, and removes the bucket's number."""

    @property
    def function(self) -> NativeFunction:
        """The function that crops the image."""
        return _cropper(self.component, self.shapes, self.orientation)

    def names_after(self, names: tuple[str, ...] | None) -> tuple[str, ...] | None:
        """Returns the names without the bucket's name."""
        removed = _bucket_name(self.component)
        return None if names is None else tuple(name for name in names if name != removed)


class BucketByShapeMethod(Chain):
    """The method `bucket_by_shape`."""

    __slots__ = ()

    def bucket_by_shape(
        self,
        name: str,
        pixels: int = 1 << 20,
        multiple: int = 64,
        size: int = 8,
        ranks: Literal["together", "separate"] = "together",
        buckets: Iterable[tuple[int, int]] | None = None,
        orientation: bool = False,
    ) -> Self:
        """Groups images with similar aspect ratios into batches, and crops them to one shape.

        Each image goes into the bucket with the nearest aspect ratio, according to the header of
        its file. A bucket yields a batch as soon as it has enough images. The images of the batch
        are then decoded, scaled until they cover the bucket's shape, and cropped in the centre. The
        component becomes uint8, (size, height, width, 3), RGB, 0-255. The height and width differ
        between batches.

        The sides of a bucket are multiples of `multiple`. For each height, there is a bucket with
        the largest width for which `height * width` is at most `pixels`, and for each width, one
        with the largest such height. Buckets with one side more than 4 times as long as the other
        are left out.

        With several ranks, call `shard` directly before this stage. All ranks then get batches from
        the same bucket at each step, and the same number of batches. The ranks don't communicate:
        each of them reads all files and finds their buckets, but decodes only its own images. You
        can resume with a different number of ranks, unless `epochs` follows.

        At the end of the epoch, images that don't fill a batch on every rank are left out. Their
        number is `left_out` of this stage in `Batches.statistics()`.

        Args:
            name: The component with the image files, as `bytes`.
            pixels: The maximum number of pixels of an image in a batch.
            multiple: The sides of all images in batches are multiples of this.
            size: The number of images in a batch of one rank.
            ranks: "together" gives all ranks the same bucket at each step. With "separate", each
                rank forms batches from its own share, so shapes and numbers of batches differ
                between ranks.
            buckets: The height and width of each bucket, instead of `pixels` and `multiple`.
            orientation: If True, images are rotated and flipped according to their EXIF data, as
                with `hr.ops.decode_image(..., orientation=True)`, and go into the bucket of the
                rotated image.

        Raises:
            TypeError: If `orientation` is not a bool.
            ValueError: If the component does not exist or is not `bytes`, an argument is out of
                range, the stage follows `batch`, or there is a stage between `shard` and this one.
                Also if there is more than one `shard`.

        Source: aspect ratio bucketing of NovelAI (2022), and the buckets of SDXL (2023).

        Examples:
            >>> @hr.native
            ... def encode(example):
            ...     return {"image": hr.ops.encode_png(example["image"])}
            >>> wide = hr.arrays({"image": np.zeros((2, 20, 60, 3), np.uint8)})
            >>> tall = hr.arrays({"image": np.zeros((2, 50, 40, 3), np.uint8)})
            >>> files = hr.concat([wide.map(encode), tall.map(encode)])
            >>> for batch in files.bucket_by_shape("image", pixels=1024, multiple=8, size=2):
            ...     print(batch["image"].shape)
            (2, 16, 48, 3)
            (2, 32, 32, 3)
        """
        where = "bucket_by_shape"
        checked_names(where, [name])
        checked_int(where, "pixels", pixels, 1)
        checked_int(where, "multiple", multiple, 1)
        checked_int(where, "size", size, 1)
        check_bool(where, "orientation", orientation)
        if ranks not in ("together", "separate"):
            raise ValueError(f"{where}: ranks is {ranks!r}, expected 'together' or 'separate'.")
        if batch_depth(self._stages):
            raise ValueError(
                f"{where}: cannot come after batch, because it needs single examples. Call "
                "unbatch() first."
            )
        shapes = shapes_near(pixels, multiple) if buckets is None else _checked(buckets)
        shard, pipe = None, self
        if ranks == "together":
            shard, pipe = self._without_shard()
        num_ranks = 1 if shard is None else shard.num_shares
        pipe = pipe._then(ShapeBucket(name, shapes, orientation))
        pipe = pipe._then(InBuckets(name, shapes, size, num_ranks))
        if shard is not None:
            pipe = pipe._then(shard)
        cropped = pipe._then(CropToBucket(name, shapes, orientation))
        return cropped._then(Batch(size, "drop"))

    def _without_shard(self) -> tuple[Step | None, Self]:
        """Returns the shard at the end, and the pipeline without it."""
        shards = [n for n, s in enumerate(steps(self._stages), 1) if s.effect is Effect.DIVIDES]
        last = len(self._stages) - 1
        if last not in shards and all(step.num_shares == 1 for step in steps(self._stages)):
            return None, self
        shard = steps(self._stages)[last - 1]
        if shards != [last] or shard.piece_shard is not None or has_epochs(self._stages):
            raise ValueError(
                "bucket_by_shape: ranks='together' needs one shard(...) directly before "
                "bucket_by_shape, without by='piece', and epochs(...) after it. Move the stages in "
                "between, or pass ranks='separate'."
            )
        return shard, type(self)(self._stages[:last], self._options)


def shapes_near(pixels: int, multiple: int) -> Shapes:
    """Returns the height and width of each bucket; see `bucket_by_shape`."""
    most = math.isqrt(pixels * _MOST_RATIO) // multiple
    sides = [multiple * number for number in range(1, most + 1)]
    pairs = {(side, pixels // side // multiple * multiple) for side in sides}
    shapes = sorted({shape for pair in pairs for shape in (pair, pair[::-1])})
    near = [s for s in shapes if min(s) > 0 and max(s) <= _MOST_RATIO * min(s)]
    if not near or len(near) > _MOST_BUCKETS:
        raise ValueError(
            f"bucket_by_shape: pixels={pixels} and multiple={multiple} result in {len(near)} "
            f"buckets, expected 1 to {_MOST_BUCKETS:,}. Choose pixels of about 256 times the "
            "square of multiple."
        )
    return tuple((height, width) for height, width in near)


def _checked(buckets: object) -> Shapes:
    """Returns the user's buckets, without duplicates.

    Raises:
        TypeError: If they are not pairs.
        ValueError: If there are none, or a side is below 1.
    """
    pairs: list[Any] = list(buckets) if isinstance(buckets, Iterable) else [buckets]
    if any(not isinstance(pair, Sequence) or len(pair) != 2 for pair in pairs):
        raise TypeError(
            f"bucket_by_shape: buckets is {buckets!r}, expected a list of heights and widths, such "
            "as [(512, 768), (768, 512)]."
        )
    shapes = [
        (
            checked_int("bucket_by_shape", "the height of a bucket", height, 1),
            checked_int("bucket_by_shape", "the width of a bucket", width, 1),
        )
        for height, width in pairs
    ]
    if not shapes:
        raise ValueError("bucket_by_shape: buckets is empty, expected at least one bucket.")
    return tuple(dict.fromkeys(shapes))


def _bucket_name(component: str) -> str:
    return f"{component}.bucket"


@lru_cache(64)
def _finder(component: str, shapes: Shapes, orientation: bool) -> NativeFunction:
    # Most programs don't need the operations, which take long to import.
    from headrace.ops.image.shape_bucket import shape_bucket  # noqa: PLC0415
    from headrace.pipeline.native_functions.function import native  # noqa: PLC0415

    def bucket_by_shape(example: dict[str, Any]) -> dict[str, Any]:
        bucket = shape_bucket(example[component], shapes, orientation)
        return {**example, _bucket_name(component): bucket}

    return native(bucket_by_shape)


@lru_cache(64)
def _cropper(component: str, shapes: Shapes, orientation: bool) -> NativeFunction:
    from headrace.ops.image.shape_bucket import crop_to_bucket  # noqa: PLC0415
    from headrace.pipeline.native_functions.function import native  # noqa: PLC0415

    def bucket_by_shape(example: dict[str, Any]) -> dict[str, Any]:
        bucket = example[_bucket_name(component)]
        others = {n: value for n, value in example.items() if n != _bucket_name(component)}
        image = crop_to_bucket(example[component], bucket, shapes, orientation)
        return {**others, component: image}

    return native(bucket_by_shape)
