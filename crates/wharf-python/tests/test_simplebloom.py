"""`wharf_data.simplebloom` against the package simplebloom: same answers, same bytes, both ways."""

from __future__ import annotations

import copy
import doctest
import io
import os
import pickle
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import wharf_data
from wharf_data import simplebloom
from wharf_data.simplebloom import BloomFilter

np = pytest.importorskip("numpy", reason="numpy is not installed")

#: What the original writes for the keys k0 to k4.
FILE = bytes.fromhex("53494D50424C4F4F 0000000000000023 0000000000000005 3FC999999999999A E2531D")

texts = st.text(st.characters(exclude_categories=["Cs"]))
sizes = st.integers(2, 3000)
probabilities = st.none() | st.floats(1e-12, 1 - 1e-12)


@pytest.fixture(scope="module")
def original():
    return pytest.importorskip("simplebloom", reason="the original simplebloom is not installed").BloomFilter


def test_doctests():
    assert doctest.testmod(simplebloom).failed == 0


def test_golden_file():
    bf = BloomFilter(5)
    for i in range(5):
        bf += f"k{i}"
    assert bytes(bf.dumps()) == FILE
    assert (bf.num_elements, bf.false_positive_prob, len(bf)) == (5, 0.2, 3)


@settings(deadline=None, max_examples=200)
@given(sizes, probabilities, st.lists(texts, max_size=60), st.lists(texts, max_size=20))
def test_same_as_the_original(original, size, probability, keys, others):
    theirs, ours, bulk = original(size, probability), BloomFilter(size, probability), BloomFilter(size, probability)
    for key in keys:
        theirs += key
        ours += key
    bulk.update(keys)
    assert theirs.dumps() == ours.dumps() == bulk.dumps()
    assert (theirs.num_elements, theirs.false_positive_prob, len(theirs)) == (
        ours.num_elements,
        ours.false_positive_prob,
        len(ours),
    )
    from_theirs, from_ours = BloomFilter.loads(theirs.dumps()), original.loads(bytes(ours.dumps()))
    expected = [key in theirs for key in keys + others]
    assert [key in from_theirs for key in keys + others] == expected
    assert [key in from_ours for key in keys + others] == expected
    assert from_theirs.contains(keys + others).tolist() == expected


@settings(deadline=None, max_examples=60)
@given(st.lists(texts, min_size=1, max_size=40))
def test_all_inputs_give_the_same_bits(keys):
    # Arrays of fixed width cannot hold trailing zeros.
    keys = [key.rstrip("\0") for key in keys]
    expected = BloomFilter(100, 0.01)
    expected.update(keys)
    inputs = [
        (key for key in keys),
        tuple(keys),
        dict.fromkeys(keys),
        [key.encode() for key in keys],
        np.array(keys),
        np.array(keys).astype(np.dtype("U").newbyteorder(">")),
        np.array(keys, dtype=object),
        np.array(keys, dtype=np.dtypes.StringDType()),
        np.array([key.encode() for key in keys]),
        np.array(keys + keys)[::2] if len(keys) % 2 else np.array(keys + keys).reshape(2, -1),
    ]
    for given_keys in inputs:
        bf = BloomFilter(100, 0.01)
        bf.update(given_keys)
        assert bf.dumps() == expected.dumps(), type(given_keys)


@pytest.mark.parametrize("kind", ["string", "large_string", "string_view", "binary", "large_binary", "binary_view"])
def test_arrow(kind):
    pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    keys = [f"key {i} é" for i in range(1000)]
    values = [key.encode() for key in keys] if "binary" in kind else keys
    array = pa.array(values, getattr(pa, kind)())
    expected = BloomFilter(1000, 0.01)
    expected.update(keys)
    others = [f"other {i}" for i in range(1000)]
    for given_keys in (array, pa.chunked_array([array[:10], array[10:]]), array[3:7]):
        bf = BloomFilter(1000, 0.01)
        bf.update(given_keys)
        assert bf.contains(given_keys).all()
        assert bf.contains(others).tolist() == [other in bf for other in others]
        assert len(given_keys) != 1000 or bf.dumps() == expected.dumps()


def test_arrow_of_other_types():
    pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    bf = BloomFilter(10, 0.01)
    bf.update(pa.array(["a", "b", "a"]).dictionary_encode())
    bf.update(pa.array([b"abcd"], pa.binary(4)))
    assert bf.contains(["a", "b", "abcd", "c"]).tolist() == [True, True, True, False]
    with pytest.raises(ValueError, match="null.*row 2"):
        bf.update(pa.array(["c", "d", None]))
    with pytest.raises(ValueError, match="Int64"):
        bf.update(pa.array([1]))


def test_series():
    keys = ["a", "b", "a"]
    for package in ("pandas", "polars"):
        module = pytest.importorskip(package, reason=f"{package} is not installed")
        bf = BloomFilter(10, 0.01)
        bf.update(module.Series(keys))
        assert bf.contains(module.Series(["a", "c"])).tolist() == [True, False]


def test_contains_has_the_shape_of_the_keys():
    bf = BloomFilter(100)
    bf.update(["a", "b"])
    found = bf.contains(np.array([["a", "x"], ["b", "y"]]))
    assert found.dtype == np.bool_ and found.tolist() == [[True, False], [True, False]]
    found[0, 1] = True  # writable
    assert bf.contains([]).tolist() == [] and bf.contains(np.array([], dtype="U3")).shape == (0,)
    assert bf.contains(np.array(["", ""], dtype="U0")).tolist() == [False, False]


def test_files(tmp_path, original):
    bf = BloomFilter(100, 0.1)
    bf += "key"
    path = tmp_path / "a.filter"
    for target in (path, str(path)):
        bf.dump(target)
        assert BloomFilter.load(target).dumps() == bf.dumps()
        assert "key" in original.load(target)
    buffer = io.BytesIO()
    bf.dump(buffer)
    assert buffer.getvalue() == path.read_bytes()
    with path.open("rb") as file:
        assert "key" in BloomFilter.load(file)
    assert "key" in BloomFilter.loads(memoryview(path.read_bytes()))
    with pytest.raises(FileNotFoundError):
        BloomFilter.load(tmp_path / "none")


@pytest.mark.parametrize("arguments", [(1,), (0,), (-1,), (5, 0), (5, 1), (5, 1.5), (5, -0.5), (5, float("nan"))])
def test_invalid_parameters(arguments):
    with pytest.raises(ValueError):
        BloomFilter(*arguments)


def test_parameters_of_wrong_types():
    for arguments in [("a",), (2.5,), ()]:
        with pytest.raises(TypeError):
            BloomFilter(*arguments)
    with pytest.raises(OverflowError):
        BloomFilter(2**70)
    with pytest.raises(MemoryError):
        BloomFilter(2**62, 0.001)


@pytest.mark.parametrize(
    "data", [b"", FILE[:31], b"X" + FILE[1:], FILE[:-1], FILE + b"x", FILE[:16] + bytes(8) + FILE[24:]]
)
def test_invalid_files(data):
    with pytest.raises(ValueError) as caught:
        BloomFilter.loads(data)
    assert isinstance(caught.value, wharf_data.InvalidError)


def test_invalid_keys():
    bf = BloomFilter(10)
    for key in (1, None, ["a"], bytearray(b"a")):
        with pytest.raises(TypeError):
            bf += key
        with pytest.raises(TypeError):
            key in bf
        with pytest.raises(TypeError):
            bf.update(["a", key])
    for one in ("key", b"key"):
        with pytest.raises(TypeError, match="one"):
            bf.update(one)
    with pytest.raises(UnicodeEncodeError):
        bf += "\ud800"
    with pytest.raises(ValueError, match="row 1"):
        bf.update(np.array(["a", "\ud800"]))
    bf += b"\xff"
    assert b"\xff" in bf


def test_object_protocol():
    bf = BloomFilter(100, 0.1)
    same = bf
    bf += "key"
    assert bf is same and bf == same and bf != BloomFilter(100, 0.1) and hash(bf) == hash(same) and bf
    bf.note = "x"
    for twin in (copy.copy(bf), copy.deepcopy(bf), pickle.loads(pickle.dumps(bf))):
        assert "key" in twin and twin.note == "x"
        twin += "other"
        assert "other" not in bf

    class Sized(BloomFilter):
        def __init__(self, keys):
            super().__init__(len(keys))
            self.update(keys)

    sized = Sized(["a", "b", "c"])
    assert "c" in sized and isinstance(Sized.loads(sized.dumps()), Sized)

    class Forgetful(BloomFilter):
        def __init__(self):
            pass

    with pytest.raises(ValueError, match="super"):
        "a" in Forgetful()


def test_threads():
    bf = BloomFilter(40_000, 1e-6)

    def insert(number):
        keys = [f"{number}-{i}" for i in range(5000)]
        bf.update(keys)
        for key in keys[:100]:
            assert key in bf
        assert bf.contains(keys).all()

    threads = [threading.Thread(target=insert, args=(i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    expected = BloomFilter(40_000, 1e-6)
    expected.update(f"{number}-{i}" for number in range(8) for i in range(5000))
    assert bf.dumps() == expected.dumps()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_fork():
    code = """
import os
from wharf_data.simplebloom import BloomFilter
keys = [str(i) for i in range(20_000)]
bf = BloomFilter(20_000); bf.update(keys)
pid = os.fork()
if pid == 0:
    other = BloomFilter(20_000); other.update(keys)
    os._exit(0 if other.dumps() == bf.dumps() and bf.contains(keys).all() else 1)
assert os.waitpid(pid, 0)[1] == 0
"""
    subprocess.run([sys.executable, "-W", "ignore", "-c", code], check=True, timeout=60)


def test_import_does_not_import_numpy():
    code = "import sys, wharf_data.simplebloom, wharf_data.zds; assert 'numpy' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize("dtype", ["U1", "S1", object])
def test_masked_keys_are_refused(dtype):
    bf = BloomFilter(100)
    keys = np.ma.array(np.array([["a", "b"], ["c", "d"]]).astype(dtype), mask=[[0, 0], [1, 0]])
    for use in (bf.update, bf.contains):
        with pytest.raises(ValueError, match=r"expected a key, found a masked element \(row 2\)"):
            use(keys)
    assert not bf.contains(keys.data).any()
    keys.mask = False
    bf.update(keys)
    assert bf.contains(keys).tolist() == [[True, True], [True, True]]
