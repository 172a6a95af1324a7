"""The names that headrace uses from the protobuf package. An extra installs this package.

All imports of protobuf are here, so that programs without the package get a clear error.
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
