from collections.abc import Iterable
from typing import final

from google.protobuf.descriptor import Descriptor
from google.protobuf.internal.containers import (
    RepeatedCompositeFieldContainer,
    RepeatedScalarFieldContainer,
)
from google.protobuf.message import Message

from headrace.protos.graph import GraphDef, TensorShapeProto

__all__ = [
    "CostGraphDef",
    "DeviceStepStats",
    "NodeExecStats",
    "NodeOutput",
    "RunMetadata",
    "StepStats",
    "TensorDescription",
]

@final
class AllocationDescription(Message):
    DESCRIPTOR: Descriptor
    requested_bytes: int
    allocated_bytes: int
    allocator_name: str

@final
class TensorDescription(Message):
    DESCRIPTOR: Descriptor
    dtype: int
    @property
    def shape(self) -> TensorShapeProto: ...
    @property
    def allocation_description(self) -> AllocationDescription: ...
    def __init__(self, *, dtype: int = ..., shape: TensorShapeProto | None = ...) -> None: ...

@final
class NodeOutput(Message):
    DESCRIPTOR: Descriptor
    slot: int
    @property
    def tensor_description(self) -> TensorDescription: ...
    def __init__(
        self, *, slot: int = ..., tensor_description: TensorDescription | None = ...
    ) -> None: ...

@final
class NodeExecStats(Message):
    DESCRIPTOR: Descriptor
    node_name: str
    all_start_micros: int
    op_start_rel_micros: int
    op_end_rel_micros: int
    all_end_rel_micros: int
    timeline_label: str
    scheduled_micros: int
    thread_id: int
    @property
    def output(self) -> RepeatedCompositeFieldContainer[NodeOutput]: ...
    def __init__(
        self,
        *,
        node_name: str = ...,
        all_start_micros: int = ...,
        op_start_rel_micros: int = ...,
        op_end_rel_micros: int = ...,
        all_end_rel_micros: int = ...,
        output: Iterable[NodeOutput] | None = ...,
        timeline_label: str = ...,
        scheduled_micros: int = ...,
        thread_id: int = ...,
    ) -> None: ...

@final
class DeviceStepStats(Message):
    DESCRIPTOR: Descriptor
    device: str
    @property
    def node_stats(self) -> RepeatedCompositeFieldContainer[NodeExecStats]: ...
    def __init__(
        self, *, device: str = ..., node_stats: Iterable[NodeExecStats] | None = ...
    ) -> None: ...

@final
class StepStats(Message):
    DESCRIPTOR: Descriptor
    @property
    def dev_stats(self) -> RepeatedCompositeFieldContainer[DeviceStepStats]: ...
    def __init__(self, *, dev_stats: Iterable[DeviceStepStats] | None = ...) -> None: ...

@final
class CostGraphDef(Message):
    DESCRIPTOR: Descriptor

    @final
    class Node(Message):
        DESCRIPTOR: Descriptor

        @final
        class InputInfo(Message):
            DESCRIPTOR: Descriptor
            preceding_node: int
            preceding_port: int

        @final
        class OutputInfo(Message):
            DESCRIPTOR: Descriptor
            size: int
            alias_input_port: int
            dtype: int
            @property
            def shape(self) -> TensorShapeProto: ...

        name: str
        device: str
        id: int
        temporary_memory_size: int
        is_final: bool
        compute_cost: int
        persistent_memory_size: int
        compute_time: int
        memory_time: int
        @property
        def input_info(self) -> RepeatedCompositeFieldContainer[InputInfo]: ...
        @property
        def output_info(self) -> RepeatedCompositeFieldContainer[OutputInfo]: ...
        @property
        def control_input(self) -> RepeatedScalarFieldContainer[int]: ...

    @property
    def node(self) -> RepeatedCompositeFieldContainer[Node]: ...

@final
class RunMetadata(Message):
    DESCRIPTOR: Descriptor
    @property
    def step_stats(self) -> StepStats: ...
    @property
    def cost_graph(self) -> CostGraphDef: ...
    @property
    def partition_graphs(self) -> RepeatedCompositeFieldContainer[GraphDef]: ...
    def __init__(
        self,
        *,
        step_stats: StepStats | None = ...,
        cost_graph: CostGraphDef | None = ...,
        partition_graphs: Iterable[GraphDef] | None = ...,
    ) -> None: ...
