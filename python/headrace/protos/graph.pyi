from collections.abc import Iterable, Mapping
from typing import final

from google.protobuf.descriptor import Descriptor
from google.protobuf.internal.containers import (
    MessageMap,
    RepeatedCompositeFieldContainer,
    RepeatedScalarFieldContainer,
)
from google.protobuf.message import Message

__all__ = [
    "AttrValue",
    "GraphDef",
    "NodeDef",
    "TensorProto",
    "TensorShapeProto",
    "VersionDef",
]

@final
class VersionDef(Message):
    DESCRIPTOR: Descriptor
    producer: int
    min_consumer: int
    @property
    def bad_consumers(self) -> RepeatedScalarFieldContainer[int]: ...
    def __init__(
        self,
        *,
        producer: int = ...,
        min_consumer: int = ...,
        bad_consumers: Iterable[int] | None = ...,
    ) -> None: ...

@final
class TensorShapeProto(Message):
    @final
    class Dim(Message):
        DESCRIPTOR: Descriptor
        size: int
        name: str
        def __init__(self, *, size: int = ..., name: str = ...) -> None: ...

    DESCRIPTOR: Descriptor
    unknown_rank: bool
    @property
    def dim(self) -> RepeatedCompositeFieldContainer[TensorShapeProto.Dim]: ...
    def __init__(
        self, *, dim: Iterable[TensorShapeProto.Dim] | None = ..., unknown_rank: bool = ...
    ) -> None: ...

@final
class TensorProto(Message):
    DESCRIPTOR: Descriptor
    dtype: int
    tensor_content: bytes
    @property
    def tensor_shape(self) -> TensorShapeProto: ...
    @property
    def float_val(self) -> RepeatedScalarFieldContainer[float]: ...
    @property
    def double_val(self) -> RepeatedScalarFieldContainer[float]: ...
    @property
    def int_val(self) -> RepeatedScalarFieldContainer[int]: ...
    @property
    def string_val(self) -> RepeatedScalarFieldContainer[bytes]: ...
    @property
    def scomplex_val(self) -> RepeatedScalarFieldContainer[float]: ...
    @property
    def int64_val(self) -> RepeatedScalarFieldContainer[int]: ...
    @property
    def bool_val(self) -> RepeatedScalarFieldContainer[bool]: ...
    @property
    def dcomplex_val(self) -> RepeatedScalarFieldContainer[float]: ...
    @property
    def half_val(self) -> RepeatedScalarFieldContainer[int]: ...
    @property
    def uint32_val(self) -> RepeatedScalarFieldContainer[int]: ...
    @property
    def uint64_val(self) -> RepeatedScalarFieldContainer[int]: ...
    def __init__(
        self,
        *,
        dtype: int = ...,
        tensor_shape: TensorShapeProto | None = ...,
        tensor_content: bytes = ...,
        float_val: Iterable[float] | None = ...,
        double_val: Iterable[float] | None = ...,
        int_val: Iterable[int] | None = ...,
        string_val: Iterable[bytes] | None = ...,
        scomplex_val: Iterable[float] | None = ...,
        int64_val: Iterable[int] | None = ...,
        bool_val: Iterable[bool] | None = ...,
        dcomplex_val: Iterable[float] | None = ...,
        half_val: Iterable[int] | None = ...,
        uint32_val: Iterable[int] | None = ...,
        uint64_val: Iterable[int] | None = ...,
    ) -> None: ...

@final
class AttrValue(Message):
    @final
    class ListValue(Message):
        DESCRIPTOR: Descriptor
        @property
        def s(self) -> RepeatedScalarFieldContainer[bytes]: ...
        @property
        def i(self) -> RepeatedScalarFieldContainer[int]: ...
        @property
        def f(self) -> RepeatedScalarFieldContainer[float]: ...
        @property
        def b(self) -> RepeatedScalarFieldContainer[bool]: ...
        @property
        def type(self) -> RepeatedScalarFieldContainer[int]: ...
        @property
        def shape(self) -> RepeatedCompositeFieldContainer[TensorShapeProto]: ...
        @property
        def tensor(self) -> RepeatedCompositeFieldContainer[TensorProto]: ...
        def __init__(
            self,
            *,
            s: Iterable[bytes] | None = ...,
            i: Iterable[int] | None = ...,
            f: Iterable[float] | None = ...,
            b: Iterable[bool] | None = ...,
            type: Iterable[int] | None = ...,
            shape: Iterable[TensorShapeProto] | None = ...,
            tensor: Iterable[TensorProto] | None = ...,
        ) -> None: ...

    DESCRIPTOR: Descriptor
    s: bytes
    i: int
    f: float
    b: bool
    type: int
    @property
    def list(self) -> AttrValue.ListValue: ...
    @property
    def shape(self) -> TensorShapeProto: ...
    @property
    def tensor(self) -> TensorProto: ...
    def __init__(
        self,
        *,
        list: AttrValue.ListValue | None = ...,
        s: bytes = ...,
        i: int = ...,
        f: float = ...,
        b: bool = ...,
        type: int = ...,
        shape: TensorShapeProto | None = ...,
        tensor: TensorProto | None = ...,
    ) -> None: ...

@final
class NodeDef(Message):
    DESCRIPTOR: Descriptor
    name: str
    op: str
    device: str
    @property
    def input(self) -> RepeatedScalarFieldContainer[str]: ...
    @property
    def attr(self) -> MessageMap[str, AttrValue]: ...
    def __init__(
        self,
        *,
        name: str = ...,
        op: str = ...,
        input: Iterable[str] | None = ...,
        device: str = ...,
        attr: Mapping[str, AttrValue] | None = ...,
    ) -> None: ...

@final
class GraphDef(Message):
    DESCRIPTOR: Descriptor
    @property
    def node(self) -> RepeatedCompositeFieldContainer[NodeDef]: ...
    @property
    def versions(self) -> VersionDef: ...
    def __init__(
        self, *, node: Iterable[NodeDef] | None = ..., versions: VersionDef | None = ...
    ) -> None: ...
