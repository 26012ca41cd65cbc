"""Rare values of msgpack: numpy values in other forms than today's, structured arrays, and extension types."""

from __future__ import annotations

from typing import Any, NamedTuple

from .._errors import UnsupportedError


class ExtType(NamedTuple):
    """A value of an extension type, where the package ``msgpack`` is not installed."""

    code: int
    data: bytes


def ext(code: int, data: bytes) -> Any:
    """The value of an extension type: ``msgpack.Timestamp`` or ``msgpack.ExtType``, if that package is there."""
    try:
        import msgpack  # type: ignore[import-untyped,unused-ignore]
    except ImportError:
        return ExtType(code, data)
    return msgpack.Timestamp.from_bytes(data) if code == -1 else msgpack.ExtType(code, data)


def decode(value: dict[Any, Any]) -> Any:
    """The numpy value or complex number that a dict encodes, or the dict itself."""
    import numpy as np

    try:
        if b"nd" in value:
            if value[b"nd"] is not True:
                return np.frombuffer(value[b"data"], _dtype(value[b"type"]))[0]
            if value.get(b"kind") == b"O":
                raise _pickle()
            return np.ndarray(value[b"shape"], _dtype(value[b"type"]), value[b"data"])
        if b"complex" in value:
            return complex(_text(value[b"data"]))
    except KeyError:
        pass
    return value


def _pickle() -> UnsupportedError:
    return UnsupportedError(
        "an array of Python objects is a pickle, and loading one would run its code: it is not decoded"
    )


def _text(value: Any) -> Any:
    return value.decode() if isinstance(value, bytes) else value


def _dtype(description: Any) -> Any:
    """The dtype of a name, or of a list of fields ``[name, dtype]`` or ``[name, dtype, shape]``."""
    import numpy as np

    if isinstance(description, (list, tuple)):
        description = [
            (
                tuple(map(_text, name)) if isinstance(name, list) else _text(name),
                _dtype(_text(kind)),
                *(tuple(part) if isinstance(part, list) else part for part in shape),
            )
            for name, kind, *shape in description
        ]
    dtype = np.dtype(description)
    if dtype.hasobject:
        raise _pickle()
    return dtype
