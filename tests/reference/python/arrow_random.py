"""Random Arrow tables: every type, nulls everywhere, nested."""

import datetime
import decimal
import math
import random
import string

import numpy as np
import pyarrow as pa

EPOCH = datetime.datetime(1970, 1, 1)
LETTERS = string.ascii_letters + " äß\u0301日本\U0001f600\"\\,\n\x00"


def integer(rng, kind):
    bits, signed = kind.bit_width, str(kind).startswith("int")
    low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if signed else (0, (1 << bits) - 1)
    return rng.choice([low, high, 0, 1, rng.randint(low, high), rng.randint(low, high)])


def real(rng, code):
    value = rng.choice([0.0, -0.0, math.nan, math.inf, -math.inf, rng.random(), rng.uniform(-1e4, 1e4), 5e-324])
    return np.array(value, code)[()]


def text(rng, most=20):
    return "".join(rng.choice(LETTERS) for _ in range(rng.randrange(most)))


def octets(rng, size):
    return rng.randbytes(size)


def plain_types():
    yield pa.bool_(), lambda rng: rng.random() < 0.5
    for kind in (pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64()):
        yield kind, lambda rng, kind=kind: integer(rng, kind)
    for kind, code in ((pa.float16(), "e"), (pa.float32(), "f"), (pa.float64(), "d")):
        yield kind, lambda rng, code=code: real(rng, code)
    for kind in (pa.string(), pa.large_string(), pa.string_view()):
        yield kind, text
    for kind in (pa.binary(), pa.large_binary(), pa.binary_view()):
        yield kind, lambda rng: octets(rng, rng.randrange(20))
    yield pa.binary(5), lambda rng: octets(rng, 5)
    yield pa.date32(), lambda rng: (EPOCH + datetime.timedelta(days=rng.randint(-700_000, 2_900_000))).date()
    yield pa.time32("s"), lambda rng: datetime.time(rng.randrange(24), rng.randrange(60), rng.randrange(60))
    yield pa.time32("ms"), lambda rng: datetime.time(rng.randrange(24), rng.randrange(60), rng.randrange(60), rng.randrange(1000) * 1000)
    yield pa.time64("us"), lambda rng: datetime.time(rng.randrange(24), rng.randrange(60), rng.randrange(60), rng.randrange(1_000_000))
    yield pa.date64(), lambda rng: (EPOCH + datetime.timedelta(days=rng.randint(-700_000, 2_900_000))).date()
    for zone in (None, "UTC", "+02:00"):
        yield pa.timestamp("s", zone), lambda rng: rng.randint(-(1 << 40), 1 << 40)
    for unit in ("ms", "us", "ns"):
        for zone in (None, "UTC", "+02:00"):
            # Numbers are taken as they are. Older versions of Parquet have no nanoseconds: they are whole microseconds.
            yield pa.timestamp(unit, zone), lambda rng, step=1000 if unit == "ns" else 1: step * rng.randint(-(1 << 50), 1 << 50)
        yield pa.duration(unit), lambda rng: rng.randint(-(1 << 53), 1 << 53)
    yield pa.decimal128(20, 3), lambda rng: decimal.Decimal(rng.randint(-(10**19), 10**19)).scaleb(-3)
    yield pa.decimal128(7, 2), lambda rng: decimal.Decimal(rng.randint(-(10**6), 10**6)).scaleb(-2)


def with_nulls(rng, value, share):
    return lambda: None if rng.random() < share else value(rng)


def dictionary(rng, rows, share):
    words = [text(rng, 9) + str(n) for n in range(rng.randint(1, 9))]
    index = rng.choice([pa.int8(), pa.int16(), pa.int32()])
    places = pa.array([None if rng.random() < share else rng.randrange(len(words)) for _ in range(rows)], index)
    return pa.DictionaryArray.from_arrays(places, pa.array(words, pa.string()))


def tensor(rng, rows, share):
    shape = [rng.randint(1, 3) for _ in range(rng.randint(1, 3))]
    kind = pa.fixed_shape_tensor(rng.choice([pa.float32(), pa.int16(), pa.float64()]), shape)
    item = rng.randrange(-100, 100)
    values = [None if rng.random() < share else [item + n for n in range(math.prod(shape))] for _ in range(rows)]
    return pa.ExtensionArray.from_storage(kind, pa.array(values, kind.storage_type))


def nested(rng, depth):
    """A type made of others, and a source of values."""
    turn = rng.randrange(6) if depth else 5
    if turn == 5:
        return rng.choice(list(plain_types()))
    item, value = nested(rng, depth - 1)
    inner = lambda rng: None if rng.random() < 0.15 else value(rng)
    if turn == 0:
        return pa.list_(item), lambda rng: [inner(rng) for _ in range(rng.choice([0, 0, 1, 2, 5]))]
    if turn == 1:
        return pa.large_list(item), lambda rng: [inner(rng) for _ in range(rng.choice([0, 1, 3]))]
    if turn == 2:
        size = rng.randint(1, 3)
        return pa.list_(item, size), lambda rng: [inner(rng) for _ in range(size)]
    if turn == 3:
        return pa.map_(pa.string(), item), lambda rng: [(text(rng, 5) + str(n), inner(rng)) for n in range(rng.randrange(3))]
    other, another = nested(rng, depth - 1)
    return pa.struct([("a", item), ("b", other)]), lambda rng: {"a": inner(rng), "b": another(rng)}


def column(rng, rows):
    """A field without a name, and its values."""
    share = rng.choice([0.0, 0.0, 0.1, 0.5, 1.0])
    turn = rng.randrange(10)
    if turn == 0:
        array = dictionary(rng, rows, share)
    elif turn == 1:
        array = tensor(rng, rows, share)
    else:
        kind, value = nested(rng, 2) if turn < 5 else rng.choice(list(plain_types()))
        make = with_nulls(rng, value, share)
        array = pa.array([make() for _ in range(rows)], kind)
    nullable = share > 0 or rng.random() < 0.5
    metadata = {"note": text(rng)} if rng.random() < 0.3 else None
    return array, nullable, metadata


def table(seed, number):
    rng = random.Random(f"{seed} {number}")
    rows = rng.choice([0, 1, 7, 100, 1000, 3000])
    arrays, fields = [], []
    for place in range(rng.randint(1, 8)):
        array, nullable, metadata = column(rng, rows)
        arrays.append(array)
        fields.append(pa.field(f"column {place} é"[: rng.randint(8, 12)], array.type, nullable, metadata))
    return pa.Table.from_arrays(arrays, schema=pa.schema(fields, {"seed": str(seed)} if rng.random() < 0.5 else None))


def large(rows=300_000):
    """Many row groups and batches, more distinct texts than a dictionary page holds."""
    generator = np.random.default_rng(7)
    numbers = generator.standard_normal(rows)
    return pa.table({
        "number": numbers, "small": generator.integers(0, 9, rows, dtype="i1"), "text": pa.array([f"customer {n * 7919 % rows}" for n in range(rows)]),
        "vector": pa.FixedSizeListArray.from_arrays(pa.array(generator.random(rows * 4, dtype="f4")), 4),
        "list": pa.ListArray.from_arrays(pa.array(np.arange(rows + 1) * 2, pa.int32()), pa.array(np.arange(2 * rows))),
        "sparse": pa.array(numbers, mask=numbers < 1.5), "time": pa.array(np.arange(rows), pa.timestamp("us")),
        "label": pa.array([f"label {n % 11}" for n in range(rows)]).dictionary_encode(),
    })
