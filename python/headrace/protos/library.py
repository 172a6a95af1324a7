"""The names of the package protobuf that headrace uses; an extra installs the package.

All of them are imported here, so that a program without the package gets a clear error.
"""

from headrace.core.optional_dependencies import missing_protobuf

if missing := missing_protobuf():
    raise ModuleNotFoundError(f"headrace.protos: {missing}", name="google.protobuf")

from google.protobuf import text_format
from google.protobuf.descriptor_pb2 import (
    DescriptorProto,
    FieldDescriptorProto,
    FileDescriptorProto,
)
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message import DecodeError, Message
from google.protobuf.message_factory import GetMessageClass

__all__ = [
    "DecodeError",
    "DescriptorPool",
    "DescriptorProto",
    "FieldDescriptorProto",
    "FileDescriptorProto",
    "GetMessageClass",
    "Message",
    "text_format",
]
