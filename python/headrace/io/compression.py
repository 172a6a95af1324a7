"""Compression of record files.

Source: `tf.python_io.TFRecordOptions` in TensorFlow 1.15.
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

    Writers pass all options except the first to zlib-rs. Its files are about as large as zlib's,
    but not identical byte for byte.

    Args:
        compression_type: A `TFRecordCompressionType`, "ZLIB", "GZIP", "" or None. Without
            compression, the other options have no effect.
        flush_mode: How to flush the compressed stream during writing, so that readers can see the
            data early: `zlib.Z_PARTIAL_FLUSH`, `Z_SYNC_FLUSH`, `Z_FULL_FLUSH` or `Z_BLOCK`. With
            None or `zlib.Z_NO_FLUSH`, the stream is flushed only if you call the writer's `flush`.
        input_buffer_size: The number of bytes between two such flushes. None or 0 means 262,144.
        output_buffer_size: At least 2. It does not affect the result.
        window_bits: The base-two logarithm of the size of the window in which matches are searched,
            from 8 to 15 for "ZLIB", and from 25 to 31 for "GZIP" (zlib adds 16). None uses the
            largest window.
        compression_level: From 0 (none) to 9 (smallest). None or -1 means 6.
        compression_method: `zlib.DEFLATED`, which is 8, or None.
        mem_level: How much memory to use, from 1 to 9. None uses 8.
        compression_strategy: `zlib.Z_DEFAULT_STRATEGY`, `Z_FILTERED`, `Z_HUFFMAN_ONLY`, `Z_RLE` or
            `Z_FIXED`. None uses the default strategy.

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


# The compression of a record file, or None for an uncompressed file.
CompressionLike: TypeAlias = TFRecordOptions | int | str | None
