"""How many examples or batches a pipeline gives, where that is known before it runs."""

from headrace.pipeline import stages
from headrace.pipeline.stages import Stage

__all__ = ["length_of"]


def length_of(chain: tuple[Stage, ...]) -> int:
    """Returns how many examples, or batches, the stages give.

    Raises:
        TypeError: If that is not known before they run.
    """
    match chain[0]:
        case stages.Arrays(arrays=arrays):
            length = len(next(iter(arrays.values())))
        case stages.Concat(parts=parts) | stages.Mix(parts=parts, stop="all"):
            length = sum(length_of(part) for part in parts)
        case stages.Zip(parts=parts):
            length = min(length_of(part) for part in parts)
        case source:
            raise TypeError(
                f"len: how many examples {source.name} has is not known before it is read."
            )
    for stage in chain[1:]:
        length = _length_after(stage, length)
    return length


def _length_after(stage: Stage, length: int) -> int:
    match stage:
        case stages.Take(count=count):
            return min(length, count)
        case stages.Skip(count=count):
            return max(length - count, 0)
        case stages.Shard(index=index, count=count):
            return max(0, -((index - length) // count))
        case (
            stages.Batch(size=size, remainder=remainder)
            | stages.PaddedBatch(size=size, remainder=remainder)
        ):
            return length // size if remainder == "drop" else -(-length // size)
        case stages.Epochs(count=count):
            if count is None:
                raise TypeError("len: the pipeline has no end, since epochs() has no count.")
            return length * count
        case (
            stages.Filter()
            | stages.FlatMap()
            | stages.Unbatch()
            | stages.BucketByLength()
            | stages.Pack()
            | stages.SkipErrors()
        ):
            raise TypeError(
                f"len: how many examples {stage.name} leaves is not known before it runs."
            )
    return length
