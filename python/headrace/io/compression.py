"""Compression of files of records.

Source: `tf.python_io.TFRecordOptions` of TensorFlow 1.15.
"""

from typing import Any, ClassVar, Final, TypeAlias

__all__ = ["CompressionLike", "TFRecordCompressionType", "TFRecordOptions"]


class TFRecordCompressionType:
    """The compression types of a TFRecord file."""

    NONE: Final = 0
    ZLIB: Final = 1
    GZIP: Final = 2


class TFRecordOptions:
    """Options for reading and writing TFRecord files.

    Writers pass all options but the first to zlib-rs. Its files have about the size of zlib's, but
    other bytes.

    Args:
        compression_type: A `TFRecordCompressionType`, "ZLIB", "GZIP", "" or None. Without
            compression, the other options have no effect.
        flush_mode: The way to flush the compressed stream while it is written, so that readers can
            see the data early: `zlib.Z_PARTIAL_FLUSH`, `Z_SYNC_FLUSH`, `Z_FULL_FLUSH` or `Z_BLOCK`.
            With None or `zlib.Z_NO_FLUSH`, only a writer's `flush` does so.
        input_buffer_size: The number of bytes between two such flushes. None or 0 for 262,144.
        output_buffer_size: At least 2, without effect on the bytes.
        window_bits: The base-two logarithm of the window that is searched for matches: from 8 to
            15 for "ZLIB", from 25 to 31 for "GZIP" (zlib adds 16). None for the largest.
        compression_level: From 0 (none) to 9 (smallest). None or -1 for 6.
        compression_method: `zlib.DEFLATED`, which is 8, or None.
        mem_level: The memory to compress with, from 1 to 9. None for 8.
        compression_strategy: `zlib.Z_DEFAULT_STRATEGY`, `Z_FILTERED`, `Z_HUFFMAN_ONLY`, `Z_RLE` or
            `Z_FIXED`. None for the first.

    Raises:
        ValueError: If the compression is unknown.
    """

    compression_type_map: ClassVar[dict[Any, str]] = {
        TFRecordCompressionType.ZLIB: "ZLIB",
        TFRecordCompressionType.GZIP: "GZIP",
        TFRecordCompressionType.NONE: "",
    }

    def __init__(
        self,
        compression_type: "CompressionLike" = None,
        flush_mode: int | None = None,
        input_buffer_size: int | None = None,
        output_buffer_size: int | None = None,
        window_bits: int | None = None,
        compression_level: int | None = None,
        compression_method: int | None = None,
        mem_level: int | None = None,
        compression_strategy: int | None = None,
    ) -> None:
        self.get_compression_type_string(compression_type)
        self.compression_type = compression_type
        self.flush_mode = flush_mode
        self.input_buffer_size = input_buffer_size
        self.output_buffer_size = output_buffer_size
        self.window_bits = window_bits
        self.compression_level = compression_level
        self.compression_method = compression_method
        self.mem_level = mem_level
        self.compression_strategy = compression_strategy

    @classmethod
    def get_compression_type_string(cls, options: "CompressionLike") -> str:
        """Returns "", "ZLIB" or "GZIP" for options, a `TFRecordCompressionType` or a string.

        Raises:
            ValueError: If the compression is unknown.
        """
        if not options:
            return ""
        if isinstance(options, TFRecordOptions):
            return cls.get_compression_type_string(options.compression_type)
        if options in cls.compression_type_map:
            return cls.compression_type_map[options]
        if options in cls.compression_type_map.values():
            return str(options)
        raise ValueError(f'Not a valid compression_type: "{options}"')


# The compression of a file of records; None for uncompressed.
CompressionLike: TypeAlias = TFRecordOptions | int | str | None
