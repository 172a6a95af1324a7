"""Creates message classes from a schema written in Python, so that builds don't need `protoc`."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from headrace.protos.library import (
    DescriptorPool,
    DescriptorProto,
    FieldDescriptorProto,
    FileDescriptorProto,
    GetMessageClass,
    Message,
)

__all__ = ["Field", "build_messages"]

_SCALARS: Final = {
    "bool": FieldDescriptorProto.TYPE_BOOL,
    "bytes": FieldDescriptorProto.TYPE_BYTES,
    "double": FieldDescriptorProto.TYPE_DOUBLE,
    "fixed32": FieldDescriptorProto.TYPE_FIXED32,
    "float": FieldDescriptorProto.TYPE_FLOAT,
    "int32": FieldDescriptorProto.TYPE_INT32,
    "int64": FieldDescriptorProto.TYPE_INT64,
    "string": FieldDescriptorProto.TYPE_STRING,
    "uint32": FieldDescriptorProto.TYPE_UINT32,
    "uint64": FieldDescriptorProto.TYPE_UINT64,
}
_ENUM_OF: Final = "enum "
_MAP_OF: Final = "map<string, "

# Not the default pool, because TensorFlow may be imported in the same process.
_POOL: Final = DescriptorPool()


@dataclass(frozen=True)
class Field:
    """One message field, like a line in a `.proto` file.

    Attributes:
        name: Its name.
        number: Its number on the wire.
        type: A scalar type, a message of the same file or an imported one (`Outer.Inner` for a
            nested one), `map<string, MESSAGE>`, or `enum NAME` for an enumeration of the message or
            the file.
        is_repeated: Whether it is a list. Lists of numbers are packed.
        oneof: The group of fields of which at most one is set, or None.
    """

    name: str
    number: int
    type: str
    is_repeated: bool = False
    oneof: str | None = None


def build_messages(
    module: str,
    file_name: str,
    schema: Mapping[str, Sequence[Field]],
    imports: Sequence[str] = (),
    enums: Mapping[str, Sequence[str]] | None = None,
) -> dict[str, type[Message]]:
    """Creates the message classes of a proto3 file in the package `headrace`.

    Args:
        module: The Python module that contains the classes. pickle looks for them there.
        file_name: The name of the file in the pool.
        schema: The fields of each message. A message named `Outer.Inner` is nested in `Outer`,
            which must come first.
        imports: The names of files built before, whose messages the fields may use.
        enums: The names of each enumeration's values, starting from 0. An enumeration is named
            `Message.Enum`, or `Enum` if several messages use it.

    Returns:
        The classes of the top-level messages, by name.
    """
    file = FileDescriptorProto(name=file_name, package="headrace", syntax="proto3")
    file.dependency.extend(imports)
    messages: dict[str, DescriptorProto] = {}
    for full_name, fields in schema.items():
        outer, _, name = full_name.rpartition(".")
        siblings = messages[outer].nested_type if outer else file.message_type
        messages[full_name] = siblings.add(name=name)
        for field in fields:
            _add_field(messages[full_name], full_name, field)
    for full_name, values in (enums or {}).items():
        outer, _, name = full_name.rpartition(".")
        enum = (messages[outer].enum_type if outer else file.enum_type).add(name=name)
        for number, value in enumerate(values):
            enum.value.add(name=value, number=number)
    _POOL.AddSerializedFile(file.SerializeToString())
    classes = {
        name: GetMessageClass(_POOL.FindMessageTypeByName(f"headrace.{name}")) for name in schema
    }
    for full_name, cls in classes.items():
        outer, _, name = full_name.rpartition(".")
        if not outer:
            cls.__module__ = module
        elif not hasattr(classes[outer], name):
            # The pure Python implementation (used by free-threaded Python) does not do this.
            setattr(classes[outer], name, cls)
    return {name: cls for name, cls in classes.items() if "." not in name}


def _add_field(message: DescriptorProto, message_name: str, field: Field) -> None:
    added = message.field.add(name=field.name, number=field.number)
    is_map = field.type.startswith(_MAP_OF)
    added.label = (
        FieldDescriptorProto.LABEL_REPEATED
        if field.is_repeated or is_map
        else FieldDescriptorProto.LABEL_OPTIONAL
    )
    if field.type in _SCALARS:
        added.type = _SCALARS[field.type]
    elif field.type.startswith(_ENUM_OF):
        added.type = FieldDescriptorProto.TYPE_ENUM
        # Names are resolved from the message outwards.
        added.type_name = field.type.removeprefix(_ENUM_OF)
    else:
        added.type = FieldDescriptorProto.TYPE_MESSAGE
        type_name = _add_map_entry(message, message_name, field) if is_map else field.type
        added.type_name = f".headrace.{type_name}"
    if field.oneof is not None:
        names = [oneof.name for oneof in message.oneof_decl]
        if field.oneof not in names:
            message.oneof_decl.add(name=field.oneof)
            names.append(field.oneof)
        added.oneof_index = names.index(field.oneof)


def _add_map_entry(message: DescriptorProto, message_name: str, field: Field) -> str:
    """Adds the hidden message for one key and value of a map, and returns the message's name."""
    entry_name = f"{field.name.title().replace('_', '')}Entry"
    entry = message.nested_type.add(name=entry_name)
    entry.options.map_entry = True
    _add_field(entry, "", Field("key", 1, "string"))
    value_type = field.type.removeprefix(_MAP_OF).removesuffix(">")
    _add_field(entry, "", Field("value", 2, value_type))
    return f"{message_name}.{entry_name}"
