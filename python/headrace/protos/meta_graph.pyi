from collections.abc import Iterable, Mapping
from typing import final

from google.protobuf.descriptor import Descriptor
from google.protobuf.internal.containers import (
    MessageMap,
    RepeatedCompositeFieldContainer,
    RepeatedScalarFieldContainer,
)
from google.protobuf.message import Message

from headrace.protos.checkpoint import TensorShapeProto, VersionDef

__all__ = [
    "AttrValue",
    "CollectionDef",
    "GraphDef",
    "MetaGraphDef",
    "NodeDef",
    "QueueRunnerDef",
    "SaverDef",
    "TensorProto",
    "VariableDef",
]

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

@final
class VariableDef(Message):
    DESCRIPTOR: Descriptor
    variable_name: str
    initializer_name: str
    snapshot_name: str
    initial_value_name: str
    trainable: bool
    def __init__(
        self,
        *,
        variable_name: str = ...,
        initializer_name: str = ...,
        snapshot_name: str = ...,
        initial_value_name: str = ...,
        trainable: bool = ...,
    ) -> None: ...

@final
class CollectionDef(Message):
    @final
    class NodeList(Message):
        DESCRIPTOR: Descriptor
        @property
        def value(self) -> RepeatedScalarFieldContainer[str]: ...
        def __init__(self, *, value: Iterable[str] | None = ...) -> None: ...

    @final
    class BytesList(Message):
        DESCRIPTOR: Descriptor
        @property
        def value(self) -> RepeatedScalarFieldContainer[bytes]: ...
        def __init__(self, *, value: Iterable[bytes] | None = ...) -> None: ...

    @final
    class Int64List(Message):
        DESCRIPTOR: Descriptor
        @property
        def value(self) -> RepeatedScalarFieldContainer[int]: ...
        def __init__(self, *, value: Iterable[int] | None = ...) -> None: ...

    @final
    class FloatList(Message):
        DESCRIPTOR: Descriptor
        @property
        def value(self) -> RepeatedScalarFieldContainer[float]: ...
        def __init__(self, *, value: Iterable[float] | None = ...) -> None: ...

    DESCRIPTOR: Descriptor
    @property
    def node_list(self) -> CollectionDef.NodeList: ...
    @property
    def bytes_list(self) -> CollectionDef.BytesList: ...
    @property
    def int64_list(self) -> CollectionDef.Int64List: ...
    @property
    def float_list(self) -> CollectionDef.FloatList: ...
    def __init__(
        self,
        *,
        node_list: CollectionDef.NodeList | None = ...,
        bytes_list: CollectionDef.BytesList | None = ...,
        int64_list: CollectionDef.Int64List | None = ...,
        float_list: CollectionDef.FloatList | None = ...,
    ) -> None: ...

@final
class SaverDef(Message):
    DESCRIPTOR: Descriptor
    LEGACY: int
    V1: int
    V2: int
    filename_tensor_name: str
    save_tensor_name: str
    restore_op_name: str
    max_to_keep: int
    sharded: bool
    keep_checkpoint_every_n_hours: float
    version: int
    def __init__(
        self,
        *,
        max_to_keep: int = ...,
        sharded: bool = ...,
        keep_checkpoint_every_n_hours: float = ...,
        version: int = ...,
    ) -> None: ...

@final
class QueueRunnerDef(Message):
    DESCRIPTOR: Descriptor
    queue_name: str
    close_op_name: str
    cancel_op_name: str
    @property
    def enqueue_op_name(self) -> RepeatedScalarFieldContainer[str]: ...
    @property
    def queue_closed_exception_types(self) -> RepeatedScalarFieldContainer[int]: ...
    def __init__(
        self,
        *,
        queue_name: str = ...,
        enqueue_op_name: Iterable[str] | None = ...,
        close_op_name: str = ...,
        cancel_op_name: str = ...,
        queue_closed_exception_types: Iterable[int] | None = ...,
    ) -> None: ...

@final
class MetaGraphDef(Message):
    @final
    class MetaInfoDef(Message):
        DESCRIPTOR: Descriptor
        meta_graph_version: str
        @property
        def tags(self) -> RepeatedScalarFieldContainer[str]: ...
        def __init__(
            self, *, meta_graph_version: str = ..., tags: Iterable[str] | None = ...
        ) -> None: ...

    DESCRIPTOR: Descriptor
    @property
    def meta_info_def(self) -> MetaGraphDef.MetaInfoDef: ...
    @property
    def graph_def(self) -> GraphDef: ...
    @property
    def collection_def(self) -> MessageMap[str, CollectionDef]: ...
    def __init__(
        self,
        *,
        meta_info_def: MetaGraphDef.MetaInfoDef | None = ...,
        graph_def: GraphDef | None = ...,
        collection_def: Mapping[str, CollectionDef] | None = ...,
    ) -> None: ...
