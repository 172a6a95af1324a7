"""Batches whose tensors and arrays are in shared memory. Everything else is pickled."""

import io
import pickle
import threading
from collections.abc import Sequence
from multiprocessing.reduction import ForkingPickler
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt
import torch
import torch.multiprocessing  # Registers reducers for other tensors.

from headrace.pipeline.workers.shared_segments import FilledSegments, Segment, SegmentPool

__all__ = ["BatchWriter", "PackedBatch", "unpacked"]

# Arrays with fewer bytes are pickled, and a pickle with more bytes is put into shared memory.
_LEAST_BYTES: Final = 1 << 10
_MOST_PICKLED: Final = 1 << 14


class PackedBatch(NamedTuple):
    """A batch that a worker sends.

    Attributes:
        pickled: The pickled batch, or None if it is the first of the parts.
        segment: The number of the segment that contains the parts, or None if there are none.
        size: The size of the segment if it is new, otherwise 0. Its descriptor comes with the
            message.
        locations: The offset and the size of each part.
        dropped: The segments that the receiver must forget.
    """

    pickled: bytes | None
    segment: int | None
    size: int
    locations: tuple[tuple[int, int], ...]
    dropped: tuple[int, ...]


class BatchWriter:
    """Packs batches in a worker process."""

    def __init__(self) -> None:
        self.segments: Final = SegmentPool()

    def install(self) -> None:
        """Makes PyTorch's `default_collate` build batches in the segments of this process."""
        before, thread = torch.UntypedStorage._new_shared, threading.get_ident()

        def new_shared(cls: Any, size: int, *, device: Any = "cpu") -> Any:
            if torch.device(device).type != "cpu":
                return before(size, device=device)
            is_ours = size >= _LEAST_BYTES and threading.get_ident() == thread
            room = self.segments.take(size) if is_ours else None
            if room is None:
                return torch.UntypedStorage(size)
            return torch.frombuffer(room, dtype=torch.uint8).untyped_storage()

        torch.UntypedStorage._new_shared = classmethod(new_shared)

    def packed(self, batch: Any) -> tuple[PackedBatch, Segment | None]:
        """Packs a batch. Also returns the segment if its descriptor must be sent.

        Raises:
            Exception: If a part of the batch cannot be pickled.
        """
        parts: list[npt.NDArray[np.uint8]] = []

        def add(buffer: pickle.PickleBuffer) -> bool:
            try:
                raw = buffer.raw()
            except BufferError:  # The array is not contiguous.
                return True
            if raw.nbytes < _LEAST_BYTES:
                return True
            parts.append(np.frombuffer(raw, np.uint8))
            return False

        file = io.BytesIO()
        _Pickler(file, add).dump(batch)
        pickled: bytes | None = file.getvalue()
        assert pickled is not None
        if len(pickled) > _MOST_PICKLED:
            parts.insert(0, np.frombuffer(pickled, np.uint8))
            pickled = None
        segment: Segment | None = None
        locations: tuple[tuple[int, int], ...] = ()
        if parts:
            segment, offsets = self.segments.fill(parts)
            locations = tuple((n, part.nbytes) for n, part in zip(offsets, parts, strict=True))
        else:
            self.segments.give_up()
        dropped, self.segments.dropped = tuple(self.segments.dropped), []
        is_new = segment is not None and segment.descriptor >= 0
        message = PackedBatch(
            pickled,
            None if segment is None else segment.number,
            segment.size if segment is not None and is_new else 0,
            locations,
            dropped,
        )
        return message, segment if is_new else None


def unpacked(batch: PackedBatch, descriptors: Sequence[int], segments: FilledSegments) -> Any:
    """Returns a worker's batch. Nothing else shares memory with its tensors and arrays."""
    segments.drop(batch.dropped)
    if batch.segment is None:
        return pickle.loads(batch.pickled or b"")
    if batch.size:
        if not descriptors:
            raise RuntimeError(
                "Too many open files. The memory of a new worker's batch could not be received. "
                "Raise the limit with `ulimit -n`, or use fewer workers."
            )
        segments.add(batch.segment, descriptors[0], batch.size)
    parts: list[Any] = segments.pieces(batch.segment, batch.locations)
    pickled = parts.pop(0) if batch.pickled is None else batch.pickled
    return pickle.loads(pickled, buffers=parts)


class _Pickler(pickle.Pickler):
    """Pickles a batch. Ordinary tensors and arrays become buffers.

    Other tensors, such as tensors on a device, are sent in PyTorch's own way.
    """

    def __init__(self, file: io.BytesIO, add: Any) -> None:
        super().__init__(file, 5, buffer_callback=add)
        self.dispatch_table = ForkingPickler(io.BytesIO()).dispatch_table
        # The bytes of each storage. Two views of one storage thus still share it.
        self._storages: dict[int, _Bytes] = {}

    def reducer_override(self, value: Any) -> Any:
        """See `pickle.Pickler`."""
        kind = type(value)
        if kind is torch.Tensor:
            return self._tensor(value)
        if kind is np.ndarray and not (
            value.dtype.hasobject or value.flags.c_contiguous or value.flags.f_contiguous
        ):
            return np.ascontiguousarray(value).__reduce_ex__(5)
        return NotImplemented

    def _tensor(self, tensor: torch.Tensor) -> Any:
        if not _is_usual(tensor):
            return NotImplemented
        form = (tensor.dtype, tuple(tensor.size()), tensor.requires_grad)
        if tensor.is_conj() or tensor.is_neg():
            tensor = tensor.detach().resolve_conj().resolve_neg()
        if not tensor.numel():
            return _empty, (*form, tensor.stride())
        storage = tensor.untyped_storage()
        item = tensor.element_size()
        needed = tensor.numel() * item
        known = self._storages.get(storage.data_ptr())
        if known is None and storage.nbytes() > 2 * needed:
            # This is a view of a part, such as one sample in a tensor of all samples.
            tensor = tensor.detach().contiguous()
            if tensor.untyped_storage().nbytes() > needed:
                tensor = tensor.clone(memory_format=torch.contiguous_format)
            return _view, (_Bytes(tensor), *form, tensor.stride(), 0)
        if known is None:
            known = self._storages[storage.data_ptr()] = _Bytes(tensor)
        return _view, (known, *form, tensor.stride(), tensor.storage_offset())


class _Bytes:
    """The bytes of a tensor's storage."""

    def __init__(self, tensor: torch.Tensor) -> None:
        flat = torch.empty(0, dtype=torch.uint8, device="cpu")
        flat.set_(tensor.untyped_storage())
        self._data: Final = flat.numpy()

    def __reduce__(self) -> Any:
        return _storage, (pickle.PickleBuffer(self._data),)


def _is_usual(tensor: torch.Tensor) -> bool:
    """Returns whether a tensor consists only of bytes of this process, a shape and strides."""
    return (
        tensor.layout is torch.strided
        and tensor.device.type == "cpu"
        and not tensor.is_quantized
        and not tensor.is_nested
        and (tensor.is_leaf or not tensor.requires_grad)
    )


def _storage(data: Any) -> torch.Tensor:
    """Returns the bytes of a storage as a tensor. It is called when a batch is unpickled."""
    return torch.frombuffer(data, dtype=torch.uint8)


def _view(
    storage: torch.Tensor,
    dtype: torch.dtype,
    size: tuple[int, ...],
    requires_grad: bool,
    stride: tuple[int, ...],
    offset: int,
) -> torch.Tensor:
    """Returns a tensor over a storage. It is called when a batch is unpickled."""
    tensor = torch.empty(0, dtype=dtype, device="cpu")
    tensor.set_(storage.untyped_storage(), offset, size, stride)
    return tensor.requires_grad_() if requires_grad else tensor


def _empty(
    dtype: torch.dtype, size: tuple[int, ...], requires_grad: bool, stride: tuple[int, ...]
) -> torch.Tensor:
    """Returns a tensor without elements. It is called when a batch is unpickled."""
    return torch.empty_strided(size, stride, dtype=dtype, device="cpu", requires_grad=requires_grad)
