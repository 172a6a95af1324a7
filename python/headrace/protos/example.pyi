from collections.abc import Iterable, Mapping
from typing import Literal, final

from google.protobuf.descriptor import Descriptor
from google.protobuf.internal.containers import (
    MessageMap,
    RepeatedCompositeFieldContainer,
    RepeatedScalarFieldContainer,
)
from google.protobuf.message import Message

__all__ = [
    "BytesList",
    "Example",
    "Feature",
    "FeatureList",
    "FeatureLists",
    "Features",
    "FloatList",
    "Int64List",
    "SequenceExample",
]

@final
class BytesList(Message):
    DESCRIPTOR: Descriptor
    @property
    def value(self) -> RepeatedScalarFieldContainer[bytes]: ...
    def __init__(self, *, value: Iterable[bytes] | None = ...) -> None: ...

@final
class FloatList(Message):
    DESCRIPTOR: Descriptor
    @property
    def value(self) -> RepeatedScalarFieldContainer[float]: ...
    def __init__(self, *, value: Iterable[float] | None = ...) -> None: ...

@final
class Int64List(Message):
    DESCRIPTOR: Descriptor
    @property
    def value(self) -> RepeatedScalarFieldContainer[int]: ...
    def __init__(self, *, value: Iterable[int] | None = ...) -> None: ...

@final
class Feature(Message):
    DESCRIPTOR: Descriptor
    @property
    def bytes_list(self) -> BytesList: ...
    @property
    def float_list(self) -> FloatList: ...
    @property
    def int64_list(self) -> Int64List: ...
    def __init__(
        self,
        *,
        bytes_list: BytesList | None = ...,
        float_list: FloatList | None = ...,
        int64_list: Int64List | None = ...,
    ) -> None: ...
    def HasField(
        self, field_name: Literal["kind", "bytes_list", "float_list", "int64_list"]
    ) -> bool: ...
    def ClearField(
        self, field_name: Literal["kind", "bytes_list", "float_list", "int64_list"]
    ) -> None: ...
    def WhichOneof(
        self, oneof_group: Literal["kind"]
    ) -> Literal["bytes_list", "float_list", "int64_list"] | None: ...

@final
class Features(Message):
    DESCRIPTOR: Descriptor
    @property
    def feature(self) -> MessageMap[str, Feature]: ...
    def __init__(self, *, feature: Mapping[str, Feature] | None = ...) -> None: ...

@final
class FeatureList(Message):
    DESCRIPTOR: Descriptor
    @property
    def feature(self) -> RepeatedCompositeFieldContainer[Feature]: ...
    def __init__(self, *, feature: Iterable[Feature] | None = ...) -> None: ...

@final
class FeatureLists(Message):
    DESCRIPTOR: Descriptor
    @property
    def feature_list(self) -> MessageMap[str, FeatureList]: ...
    def __init__(self, *, feature_list: Mapping[str, FeatureList] | None = ...) -> None: ...

@final
class Example(Message):
    DESCRIPTOR: Descriptor
    @property
    def features(self) -> Features: ...
    def __init__(self, *, features: Features | None = ...) -> None: ...

@final
class SequenceExample(Message):
    DESCRIPTOR: Descriptor
    @property
    def context(self) -> Features: ...
    @property
    def feature_lists(self) -> FeatureLists: ...
    def __init__(
        self, *, context: Features | None = ..., feature_lists: FeatureLists | None = ...
    ) -> None: ...
