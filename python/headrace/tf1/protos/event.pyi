from collections.abc import Iterable
from typing import Final, Literal, final

from google.protobuf.descriptor import Descriptor
from google.protobuf.internal.containers import (
    RepeatedCompositeFieldContainer,
    RepeatedScalarFieldContainer,
)
from google.protobuf.message import Message

__all__ = ["Event", "HistogramProto", "SessionLog", "Summary", "TaggedRunMetadata"]

@final
class HistogramProto(Message):
    DESCRIPTOR: Descriptor
    min: float
    max: float
    num: float
    sum: float
    sum_squares: float
    @property
    def bucket_limit(self) -> RepeatedScalarFieldContainer[float]: ...
    @property
    def bucket(self) -> RepeatedScalarFieldContainer[float]: ...
    def __init__(
        self,
        *,
        min: float = ...,
        max: float = ...,
        num: float = ...,
        sum: float = ...,
        sum_squares: float = ...,
        bucket_limit: Iterable[float] | None = ...,
        bucket: Iterable[float] | None = ...,
    ) -> None: ...

@final
class Summary(Message):
    @final
    class Image(Message):
        DESCRIPTOR: Descriptor
        height: int
        width: int
        colorspace: int
        encoded_image_string: bytes
        def __init__(
            self,
            *,
            height: int = ...,
            width: int = ...,
            colorspace: int = ...,
            encoded_image_string: bytes = ...,
        ) -> None: ...

    @final
    class Value(Message):
        DESCRIPTOR: Descriptor
        tag: str
        simple_value: float
        node_name: str
        @property
        def image(self) -> Summary.Image: ...
        @property
        def histo(self) -> HistogramProto: ...
        def __init__(
            self,
            *,
            tag: str = ...,
            simple_value: float = ...,
            image: Summary.Image | None = ...,
            histo: HistogramProto | None = ...,
            node_name: str = ...,
        ) -> None: ...
        def WhichOneof(
            self, oneof_group: Literal["value"]
        ) -> Literal["simple_value", "image", "histo"] | None: ...

    DESCRIPTOR: Descriptor
    @property
    def value(self) -> RepeatedCompositeFieldContainer[Summary.Value]: ...
    def __init__(self, *, value: Iterable[Summary.Value] | None = ...) -> None: ...

@final
class SessionLog(Message):
    DESCRIPTOR: Descriptor
    STATUS_UNSPECIFIED: Final[int]
    START: Final[int]
    STOP: Final[int]
    CHECKPOINT: Final[int]
    status: int
    checkpoint_path: str
    msg: str
    def __init__(
        self, *, status: int = ..., checkpoint_path: str = ..., msg: str = ...
    ) -> None: ...

@final
class TaggedRunMetadata(Message):
    DESCRIPTOR: Descriptor
    tag: str
    run_metadata: bytes
    def __init__(self, *, tag: str = ..., run_metadata: bytes = ...) -> None: ...

@final
class Event(Message):
    DESCRIPTOR: Descriptor
    wall_time: float
    step: int
    file_version: str
    graph_def: bytes
    @property
    def summary(self) -> Summary: ...
    @property
    def session_log(self) -> SessionLog: ...
    @property
    def tagged_run_metadata(self) -> TaggedRunMetadata: ...
    def __init__(
        self,
        *,
        wall_time: float = ...,
        step: int = ...,
        file_version: str = ...,
        graph_def: bytes = ...,
        summary: Summary | None = ...,
        session_log: SessionLog | None = ...,
        tagged_run_metadata: TaggedRunMetadata | None = ...,
    ) -> None: ...
    def WhichOneof(
        self, oneof_group: Literal["what"]
    ) -> (
        Literal["file_version", "graph_def", "summary", "session_log", "tagged_run_metadata"] | None
    ): ...
