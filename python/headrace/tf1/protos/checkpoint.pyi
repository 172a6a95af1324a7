from collections.abc import Iterable
from typing import final

from google.protobuf.descriptor import Descriptor
from google.protobuf.internal.containers import (
    RepeatedCompositeFieldContainer,
    RepeatedScalarFieldContainer,
)
from google.protobuf.message import Message

from headrace.protos.graph import TensorShapeProto, VersionDef

__all__ = [
    "BundleEntryProto",
    "BundleHeaderProto",
    "CheckpointState",
    "TensorSliceProto",
]

@final
class TensorSliceProto(Message):
    @final
    class Extent(Message):
        DESCRIPTOR: Descriptor
        start: int
        length: int
        def __init__(self, *, start: int = ..., length: int = ...) -> None: ...

    DESCRIPTOR: Descriptor
    @property
    def extent(self) -> RepeatedCompositeFieldContainer[TensorSliceProto.Extent]: ...
    def __init__(self, *, extent: Iterable[TensorSliceProto.Extent] | None = ...) -> None: ...

@final
class BundleHeaderProto(Message):
    DESCRIPTOR: Descriptor
    num_shards: int
    endianness: int
    @property
    def version(self) -> VersionDef: ...
    def __init__(
        self, *, num_shards: int = ..., endianness: int = ..., version: VersionDef | None = ...
    ) -> None: ...

@final
class BundleEntryProto(Message):
    DESCRIPTOR: Descriptor
    dtype: int
    shard_id: int
    offset: int
    size: int
    crc32c: int
    @property
    def shape(self) -> TensorShapeProto: ...
    @property
    def slices(self) -> RepeatedCompositeFieldContainer[TensorSliceProto]: ...
    def __init__(
        self,
        *,
        dtype: int = ...,
        shape: TensorShapeProto | None = ...,
        shard_id: int = ...,
        offset: int = ...,
        size: int = ...,
        crc32c: int = ...,
        slices: Iterable[TensorSliceProto] | None = ...,
    ) -> None: ...

@final
class CheckpointState(Message):
    DESCRIPTOR: Descriptor
    model_checkpoint_path: str
    last_preserved_timestamp: float
    @property
    def all_model_checkpoint_paths(self) -> RepeatedScalarFieldContainer[str]: ...
    @property
    def all_model_checkpoint_timestamps(self) -> RepeatedScalarFieldContainer[float]: ...
    def __init__(
        self,
        *,
        model_checkpoint_path: str = ...,
        all_model_checkpoint_paths: Iterable[str] | None = ...,
        all_model_checkpoint_timestamps: Iterable[float] | None = ...,
        last_preserved_timestamp: float = ...,
    ) -> None: ...
