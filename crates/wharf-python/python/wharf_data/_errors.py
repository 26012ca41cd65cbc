"""Exceptions: what went wrong, and where."""

from __future__ import annotations

import builtins
import os


class Error(Exception):
    """An error of this package.

    Attributes that are not known are ``None``. Numbers count from 0, except ``line``, which counts from 1.
    """

    kind: str = "error"
    format: str | None = None
    path: str | None = None
    offset: int | None = None
    row: int | None = None
    block: int | None = None
    line: int | None = None
    column: str | None = None
    key: str | None = None
    severity: str = "error"

    def __reduce__(self) -> tuple[object, ...]:
        # Not in the dict.
        errno = {"errno": self.errno} if isinstance(self, builtins.OSError) else {}
        return (_restore, (type(self), self.args, {**self.__dict__, **errno}))


class InvalidError(Error, ValueError):
    """The input violates its format, or a value does not fit."""

    kind = "invalid"


class TruncatedError(InvalidError):
    """The input ends in the middle of a field."""

    kind = "truncated"


class UnsupportedError(Error):
    """The input may be valid, but needs what this version lacks."""

    kind = "unsupported"


class LimitError(Error):
    """Going on would exceed a limit, such as the memory that a damaged length asks for."""

    kind = "limit"


class UsageError(Error, ValueError):
    """The request does not fit: an unknown column, a row past the end, an output that exists."""

    kind = "usage"


class IoError(Error, builtins.OSError):
    """Reading or writing failed."""

    kind = "io"

    # `OSError.__str__` makes a text of errno, strerror and filename instead.
    __str__ = BaseException.__str__

    def __reduce__(self) -> tuple[object, ...]:
        system = {name: getattr(self, name) for name in ("errno", "strerror", "filename")}
        return (_restore, (type(self), self.args, {**self.__dict__, **system}))


class CancelledError(Error):
    """The work was ended before it was done."""

    kind = "cancelled"


class LossWarning(UserWarning):
    """A conversion could not keep some values. The report has the details."""


_CLASSES: dict[str, type[Error]] = {
    "invalid": InvalidError,
    "truncated": TruncatedError,
    "unsupported": UnsupportedError,
    "limit": LimitError,
    "usage": UsageError,
    "io": IoError,
    "cancelled": CancelledError,
}


def make(message: str, *, kind: str, errno: int | None = None, **position: object) -> Error:
    """The exception of a kind, with its position as attributes."""
    cls = _CLASSES.get(kind, Error)
    if errno is not None and cls is IoError and errno == 2:
        cls = NotFoundError
    error = cls(message)
    error.__dict__.update(position, kind=kind)
    if isinstance(error, builtins.OSError) and errno is not None:
        error.errno, error.strerror = errno, os.strerror(errno)
        error.filename = position.get("path")
    return error


class NotFoundError(IoError, FileNotFoundError):
    """A file or folder does not exist."""


def _restore(cls: type[Error], args: tuple[object, ...], attributes: dict[str, object]) -> Error:
    error = cls(*args)
    for name, value in attributes.items():
        setattr(error, name, value)
    return error
