from collections.abc import Iterable, Mapping
from typing import final

from google.protobuf.descriptor import Descriptor
from google.protobuf.internal.containers import (
    MessageMap,
    RepeatedScalarFieldContainer,
)
from google.protobuf.message import Message

from headrace.protos.graph import GraphDef

__all__ = [
    "CollectionDef",
    "MetaGraphDef",
    "QueueRunnerDef",
    "SaverDef",
    "VariableDef",
]

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
