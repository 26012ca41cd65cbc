"""msgpack with numpy values, as in samples. Pickles are refused."""

from __future__ import annotations

from typing import IO, Any

from ... import _native

__all__ = ["make_packer", "make_unpacker", "pack", "packb", "unpack", "unpackb"]


def packb(value: Any) -> bytes:
    """Encodes a value.

    Raises:
        TypeError: msgpack and numpy have no such type.
        UnsupportedError: an array of Python objects, which would need a pickle.
    """
    message: bytes = _native.packb(value)
    return message


def unpackb(message: Any) -> Any:
    """Decodes one value from ``bytes`` or another buffer.

    Raises:
        InvalidError: it is not exactly one message.
        UnsupportedError: it contains a pickle.
    """
    return _native.unpackb(message)


def pack(value: Any, stream: IO[bytes]) -> None:
    """Encodes a value and writes it to a binary file."""
    stream.write(packb(value))


def unpack(stream: IO[bytes]) -> Any:
    """Decodes the value that a binary file contains."""
    return unpackb(stream.read())


class _Packer:
    """Encodes values one by one."""

    def pack(self, value: Any) -> bytes:
        """Encodes a value, as ``packb`` does."""
        return packb(value)


def make_packer() -> _Packer:
    """An object whose method ``pack`` encodes a value."""
    return _Packer()


def make_unpacker(file_like: IO[bytes] | None = None, **kwargs: Any) -> Any:
    """A ``msgpack.Unpacker`` for a stream of messages: needs the package ``msgpack``, and takes its arguments."""
    import msgpack  # type: ignore[import-untyped,unused-ignore]

    from .._values import decode

    return msgpack.Unpacker(file_like, strict_map_key=False, object_hook=decode, **kwargs)
