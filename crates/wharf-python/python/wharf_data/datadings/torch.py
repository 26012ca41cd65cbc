"""The torch datasets of the package ``datadings``, over any reader.

``wharf_data.torch`` is faster: it decodes whole batches, gives every sample once over ranks and workers, and resumes at any position.
"""

from __future__ import annotations

import inspect
import io
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import torch.distributed
import torch.utils.data

__all__ = ["Compose", "CompressedToPIL", "Dataset", "DatasetBase", "IterableDataset", "dict2tuple", "no_rng"]

_Sample = dict[str, Any]
_Rng = Callable[[_Sample], Mapping[str, Any]]


def no_rng(_: _Sample) -> dict[str, Any]:
    """No parameters."""
    return {}


def _parameters(function: Any) -> list[str]:
    """The names of a transform's parameters, without the first, which gets the value."""
    if not callable(function):
        raise ValueError(f"transform must be callable, not {function!r}")
    named, varargs = [], False
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind is parameter.VAR_POSITIONAL:
            varargs = True
        elif parameter.kind is not parameter.VAR_KEYWORD:
            named.append(parameter.name)
    if varargs and named:
        warnings.warn(f"varargs are ignored for {function!r}", stacklevel=3)
    elif varargs:
        warnings.warn(f"{function!r} only accepts varargs so it will only receive sample values", stacklevel=3)
    elif not named:
        raise ValueError(f"transforms must accept at least one argument but {function!r} accepts none")
    return named[1:]


class Compose:
    """Several functions one after the other: each gets the value, and those of its other parameters that are in ``params``.

    They are arguments, or one iterable. With ``prefix``, the parameter ``size`` is ``params[prefix + "size"]``.

    >>> Compose(lambda v, number: v + number, lambda v: v * 2)(1, {"number": 3})
    8

    Raises:
        ValueError: a transform is no function of a value.
        KeyError: when called, a parameter is missing that has no default.
    """

    def __init__(self, *transforms: Any, prefix: str = "") -> None:
        if len(transforms) == 1 and isinstance(transforms[0], Iterable):
            transforms = tuple(transforms[0])
        self.transforms = transforms
        self._names = [_parameters(function) for function in transforms]
        self.param_names = [tuple(prefix + name for name in names) for names in self._names]
        self.prefix = prefix

    def __call__(self, value: Any, params: Mapping[str, Any]) -> Any:
        try:
            for function, names in zip(self.transforms, self._names, strict=True):
                found = {name: params[self.prefix + name] for name in names if self.prefix + name in params}
                value = function(value, **found)
        except TypeError as error:
            raise KeyError(
                "Required parameters for transform function are missing. Incomplete rng function? Missing constants? "
                + str(error)
            ) from error
        return value


class DatasetBase:
    """What both kinds of datasets share: a reader, and transforms of its samples.

    ``transforms`` is a function of a sample, or a dict of functions of a value and a dict of parameters, such as ``Compose``, by the name of
    the value. These parameters are what ``rng`` makes of the sample; they are added as ``"__params__"``.
    """

    def __init__(self, reader: Any, transforms: Any = None, rng: _Rng | None = None) -> None:
        self.reader = reader
        self._rng = rng or no_rng
        self._transforms = transforms

    def transform(self, sample: _Sample) -> Any:
        """The sample, transformed."""
        if self._transforms is None:
            return sample
        if not isinstance(self._transforms, dict):
            return self._transforms(sample)
        params = sample["__params__"] = self._rng(sample)
        for name, function in self._transforms.items():
            sample[name] = function(sample[name], params)
        return sample

    def __len__(self) -> int:
        return len(self.reader)


class Dataset(DatasetBase, torch.utils.data.Dataset[Any]):
    """Samples by index. For the arguments, see ``DatasetBase``."""

    def __getitem__(self, index: int) -> Any:
        return self.transform(self.reader.get(index))


class IterableDataset(DatasetBase, torch.utils.data.IterableDataset[Any]):
    """Samples in the order of the reader, in parts for all workers of all ranks. Epochs change which rank gets which part.

    ``batch_size`` is that of the ``DataLoader``, which should have ``persistent_workers=True``, or else each epoch is the first again. ``copy``
    and ``chunk_size`` are arguments of ``reader.iter``, ``group`` is the process group.

    Raises:
        RuntimeError: when iterated, if a worker could have a batch more than another.
    """

    def __init__(
        self,
        reader: Any,
        transforms: Any = None,
        rng: _Rng | None = None,
        batch_size: int | None = None,
        epoch: int = 0,
        copy: bool = True,
        chunk_size: int = 16,
        group: Any = None,
    ) -> None:
        super().__init__(reader, transforms, rng)
        distributed = torch.distributed.is_available() and torch.distributed.is_initialized()
        self.rank = torch.distributed.get_rank(group) if distributed else 0
        self.world_size = torch.distributed.get_world_size(group) if distributed else 1
        self.batch_size = batch_size
        self.epoch = epoch
        self.copy = copy
        self.chunk_size = chunk_size

    def _start_stop(self) -> tuple[int, int]:
        """The samples of this worker and epoch."""
        info = torch.utils.data.get_worker_info()
        workers, worker = (1, 0) if info is None else (info.num_workers, info.id)
        parts = self.world_size * workers
        size = len(self.reader) / parts
        if self.batch_size is not None and 0 < size % self.batch_size < 1:
            raise RuntimeError(
                f"len(shard) % batch_size = {size % self.batch_size}, so last batch may be empty; "
                "change num_workers, batch_size, or world_size"
            )
        part = ((self.rank + self.epoch) * workers + worker) % parts
        return round(size * part), len(self.reader) if part + 1 == parts else round(size * (part + 1))

    def __len__(self) -> int:
        start, stop = self._start_stop()
        return stop - start

    def __iter__(self) -> Iterator[Any]:
        start, stop = self._start_stop()
        self.epoch += 1
        if start < stop:
            samples = self.reader.iter(start, stop, copy=self.copy, chunk_size=self.chunk_size)
            yield from map(self.transform, samples)


class CompressedToPIL:
    """A transform that decodes an image: ``bytes`` to an image of ``PIL``. It uses ``simplejpeg`` for JPEG if that is installed."""

    def __call__(self, buf: Any) -> Any:
        from PIL import Image

        try:
            from simplejpeg import decode_jpeg  # type: ignore[import-untyped,unused-ignore]
        except ImportError:
            pass
        else:
            try:
                return Image.fromarray(decode_jpeg(buf))
            except ValueError:
                pass
        return Image.open(io.BytesIO(buf)).convert("RGB")

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


def dict2tuple(it: Iterable[Mapping[str, Any]], keys: Sequence[str] = ("image", "label")) -> Iterator[tuple[Any, ...]]:
    """The values of these keys of each sample."""
    for sample in it:
        yield tuple(sample[key] for key in keys)
