"""``wharf_data.ds`` against ds-format: values, masks, dtypes and metadata that both read; bytes that both write."""

from __future__ import annotations

import copy
import os
import threading
import warnings

import pytest

np = pytest.importorskip("numpy")
from hypothesis import assume, given, settings  # noqa: E402
from hypothesis import strategies as st  # noqa: E402
from hypothesis.extra import numpy as hnp  # noqa: E402

import wharf_data  # noqa: E402
from wharf_data import ds  # noqa: E402

try:
    import ds_format as original
except ImportError:
    original = None

needs_original = pytest.mark.skipif(original is None, reason="ds-format is not installed")

NUMBERS = ["f4", "f8", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8"]


def same(a, b, under_mask=True):
    """Equal values, masks, dtypes and kinds of arrays."""
    assert type(a) is type(b), (type(a), type(b))
    if a is None or a is np.ma.masked:
        return
    if isinstance(a, (str, bytes)) and not isinstance(a, np.generic):
        assert a == b
        return
    assert a.dtype == b.dtype and a.shape == b.shape, (a.dtype, b.dtype, a.shape, b.shape)
    shown = ... if under_mask else ~np.ma.getmaskarray(a)
    np.testing.assert_array_equal(np.ma.getdata(a)[shown], np.ma.getdata(b)[shown])
    if isinstance(a, np.ma.MaskedArray):
        np.testing.assert_array_equal(np.ma.getmaskarray(a), np.ma.getmaskarray(b))


def same_dataset(a, b):
    assert list(a) == list(b)
    np.testing.assert_equal(a["."], b["."])
    for name in a:
        if name != ".":
            same(a[name], b[name])


def plain(value):
    """Lists, dicts and scalars of Python."""
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple, np.ndarray)):
        return [plain(item) for item in value]
    return value.item() if isinstance(value, np.generic) else value


names = st.text(st.sampled_from("abcxyz_. \\é"), min_size=1, max_size=4)
scalars = st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats(allow_nan=True) | st.text(max_size=5)
attributes = st.dictionaries(
    st.text("abc\\. ", min_size=1, max_size=3).filter(lambda name: not name.startswith(".")),
    scalars | st.lists(scalars, max_size=3),
    max_size=3,
)


@st.composite
def arrays(draw, masked=True, text=True):
    kind = draw(st.sampled_from(["number", "number", "bool"] + (["U", "S", "unicode"] if text else [])))
    shape = draw(hnp.array_shapes(min_dims=0, max_dims=3, min_side=0 if kind == "number" else 1, max_side=4))
    if kind == "bool":
        shape = (*shape[:-1], 8)  # ds-format reads no others
        data = draw(hnp.arrays(bool, shape))
    elif kind == "number":
        code = draw(st.sampled_from(NUMBERS))
        data = draw(hnp.arrays(np.dtype(draw(st.sampled_from("<>")) + code), shape))
    elif kind == "unicode":
        data = draw(hnp.arrays(object, shape, elements=st.text(max_size=4)))
    else:
        alphabet = st.characters(min_codepoint=1, max_codepoint=300) if kind == "U" else st.just("a")
        data = draw(hnp.arrays(f"{kind}4", shape, elements=st.text(alphabet, max_size=4) if kind == "U" else st.binary(max_size=4).map(lambda item: item.rstrip(b"\0"))))
    if masked and kind in ("number",) and draw(st.booleans()):
        data = np.ma.array(data, mask=draw(hnp.arrays(bool, shape)))
    if data.ndim == 0:
        data = data[()]
        assume(data is not np.ma.masked)
    return data


@st.composite
def datasets(draw, **options):
    d = {".": {".": draw(attributes)}}
    for name in draw(st.lists(names, max_size=4, unique=True)):
        data = draw(st.none() | arrays(**options))
        key = ds.escape(name)
        d[key] = data
        meta = draw(attributes)
        if draw(st.booleans()) and data is not None:
            meta[".dims"] = [f"{name}-{axis}" for axis in range(np.ndim(data))]
        if draw(st.booleans()):
            meta[".time"] = True
        if meta or draw(st.booleans()):
            d["."][key] = meta
    return d


@needs_original
@settings(max_examples=150, deadline=None)
@given(datasets())
def test_writes_the_same_bytes(tmp_path_factory, d):
    folder = tmp_path_factory.mktemp("ds")
    ours, theirs = folder / "ours.ds", folder / "theirs.ds"
    ds.write(ours, copy.deepcopy(d))
    original.write(str(theirs), copy.deepcopy(d))
    assert ours.read_bytes() == theirs.read_bytes()
    same_dataset(ds.read(theirs), original.read(str(theirs)))
    for name in ds.vars(d):
        same_dataset(ds.read(theirs, [ds.escape(name)]), original.read(str(theirs), [original.escape(name)]))


@needs_original
@pytest.mark.parametrize("endian", "<>")
@pytest.mark.parametrize("code", [*NUMBERS, "?"])
def test_reads_large_arrays(tmp_path, code, endian):
    rng = np.random.default_rng(7)
    data = (rng.random((4096, 96)) * 100).astype(endian + code)
    mask = rng.random(data.shape) < 0.3
    d = {"a": data, "m": np.ma.array(data, mask=mask), ".": {}}
    if code == "?":
        d["m"].mask[0, 0] ^= int((~mask).sum()) % 8 != 0  # may still be no multiple of 8
        del d["m"]
    for name in list(d)[:-1]:
        d["."][name] = {".dims": ["row", "column"]}
    path = tmp_path / "large.ds"
    original.write(str(path), d)
    same_dataset(ds.read(path), original.read(str(path)))
    for sel in [{"row": 17}, {"row": -1, "column": 3}, {"row": [5, 1, 4000]}, {"column": list(range(9))}, {"row": mask[:, 0]}]:
        same_dataset(ds.read(path, sel=sel), original.read(str(path), sel=sel))
    ranged = ds.read(path, "a", range_={"row": [100, -200]})
    same(ranged["a"], data[100:-200])
    views = ds.read(path, copy=False)
    same(views["a"], np.asarray(data) if code != "?" else data)
    assert code == "?" or not views["a"].flags.writeable
    assert ds.read(path)["a"].flags.writeable
    own = ds.read(path, copy="on-demand")
    own["a"][:] = 0
    same(ds.read(path)["a"], np.asarray(data))


def test_selects_along_dimensions_independently(tmp_path):
    data = np.arange(60.0).reshape(3, 4, 5)
    d = {"a": data, "x": np.arange(3.0), ".": {"a": {".dims": ["x", "y", "z"]}, "x": {".dims": ["x"]}}}
    path = tmp_path / "a.ds"
    ds.write(path, d)
    for sel, expected, dims in [
        ({"x": [0, 2], "z": [4, 1]}, data[np.ix_([0, 2], range(4), [4, 1])], ["x", "y", "z"]),
        ({"x": 1, "z": [4, 1]}, data[1][:, [4, 1]], ["y", "z"]),
        ({"x": slice(None, None, -2), "y": -1}, data[::-2, -1], ["x", "z"]),
        ({"y": np.array([True, False, True, False])}, data[:, [0, 2]], ["x", "y", "z"]),
        ({"x": 2, "y": 3, "z": 4}, data[2, 3, 4], []),
        ({"other": 2}, data, ["x", "y", "z"]),
    ]:
        read = ds.read(path, "a", sel=sel)
        same(read["a"], expected)
        assert ds.dims(read, "a") == dims
        selected = copy.deepcopy(d)
        ds.select(selected, sel)
        same(ds.var(selected, "a"), expected)
        assert ds.dims(selected, "a") == dims
        same(ds.read(path, "a", sel=sel, copy=False)["a"], expected)
    with pytest.raises(wharf_data.UsageError, match="out of range"):
        ds.read(path, sel={"x": 3})
    assert ds.read(path, "a", at={"x": 1.2}, between={"x": [0.5, None]})["a"].shape == (1, 4, 5)
    assert ds.read(path, "a", at={"x": [0.2, 1.9]})["a"].shape == (2, 4, 5)


@pytest.mark.parametrize("extension", ["ds", "nc"])
def test_selectors_fit_the_dimension(tmp_path, extension):
    data = np.arange(24, dtype="i4").reshape(4, 6)
    d = {"a": data, ".": {"a": {".dims": ["t", "x"]}}}
    path = tmp_path / f"a.{extension}"
    ds.write(path, d)
    for sel, message in [
        ({"x": [5, 6]}, "x: index 6 is out of range: the dimension has 6 elements"),
        ({"x": [4, 5, 6, 7]}, "x: index 6 is out of range"),
        ({"x": [7]}, "x: index 7 is out of range"),
        ({"x": -7}, "x: index -7 is out of range"),
        ({"t": np.array([0, 4], "u1")}, "t: index 4 is out of range"),
        ({"x": [True, False]}, "x: expected a mask of 6 elements, found 2"),
    ]:
        for copied in (True, False):
            with pytest.raises(wharf_data.UsageError, match=message):
                ds.read(path, "a", sel=sel, copy=copied)
        with pytest.raises(wharf_data.UsageError, match=message):
            ds.select(dict(d), sel=sel)
    for index in (1.7, np.array([1.7]), True, [[0]], "x"):
        with pytest.raises(TypeError, match="x: expected an index"):
            ds.read(path, "a", sel={"x": index})
    for index, expected in [([-1, -6], data[:, [5, 0]]), ([], data[:, []]), (np.int8(-1), data[:, -1]), ([False] * 5 + [True], data[:, 5:])]:
        assert ds.read(path, "a", sel={"x": index})["a"].tolist() == expected.tolist()
    for index in (slice(4, 1), slice(9, None, 2), slice(-10, None, -1)):
        assert ds.read(path, "a", sel={"t": index})["a"].shape == (0, 6)
        assert ds.read(path, "a", sel={"x": index})["a"].shape == (4, 0) or index.stop == 1


def test_nearest_elements():
    def nearest(values, at, **attributes):
        d = {"x": values, ".": {"x": {".dims": ["x"], **attributes}}}
        ds.select(d, at={"x": at})
        return d["x"]

    assert nearest(np.array([0, 10, 20], "u1"), 12) == 10
    assert nearest(np.array([-100, 90], "i1"), 100) == 90
    assert nearest(np.array([2**63 - 1, -(2**63)]), -1) == -(2**63)
    assert nearest(np.array([2**62, 2**62 + 3]), 2**62 + 2) == 2**62 + 3
    assert nearest(np.array([0, 2**64 - 1], "u8"), -5) == 0
    assert nearest(np.array([0, 10], "u1"), 5.5) == 10
    assert nearest(np.array([0, np.nan, 20]), 19) == 20
    assert nearest(np.ma.array([0, 19, 20], mask=[0, 1, 0]), 19) == 20
    hours = {"units": "hours since 2000-01-01"}
    times = np.ma.array([0.0, 6, 12], mask=[1, 0, 0])
    for text in ("2000-01-01 07:00", "2000-01-01T0659", "2000-01-01T08:30:00+02:00", "2000-01-01T06:00:00Z"):
        assert nearest(times, text, **hours) == 6
    for at, attributes, message in [
        ("nonsense", hours, "x: expected a time such as .*, found 'nonsense'"),
        ("2000-01", hours, "x: expected a time"),
        ("2000-01-01", {}, "x: expected times with units"),
        (float("nan"), {}, "x: no element is near nan"),
    ]:
        with pytest.raises(ValueError, match=message):
            nearest(np.array([0.0, 6, 12]), at, **attributes)
    with pytest.raises(ValueError, match="x: no element is near 1: all are missing"):
        nearest(np.array([np.nan, np.nan]), 1)
    with pytest.raises(ValueError, match="x: expected a variable with numbers, found str"):
        nearest(np.array(["a", "b"]), 1)
    with pytest.raises(ValueError, match="x: expected a time"):
        ds.select({"x": np.arange(3), ".": {"x": {".dims": ["x"], **hours}}}, between={"x": ["x", None]})


@needs_original
@settings(max_examples=100, deadline=None)
@given(st.data())
def test_select_equals_the_original(data):
    n = data.draw(st.integers(1, 6))
    d = {
        "t": np.sort(np.array(data.draw(st.lists(st.floats(-5, 5), min_size=n, max_size=n)))),
        "a": np.arange(n * 3).reshape(n, 3),
        ".": {"t": {".dims": ["t"]}, "a": {".dims": ["t", "c"]}},
    }
    selectors = {"sel": {}}
    if data.draw(st.booleans()):
        selectors["sel"] = {"t": data.draw(st.integers(0, n - 1) | st.lists(st.integers(0, n - 1), min_size=1).map(sorted))}
    if data.draw(st.booleans()):
        selectors["range_"] = {"t": data.draw(st.tuples(st.none() | st.integers(-n, n), st.none() | st.integers(-n, n)))}
        first, end = selectors["range_"]["t"]
        assume(not ("t" in selectors["sel"] and isinstance(selectors["sel"]["t"], int)))
    if data.draw(st.booleans()):
        selectors["between"] = {"t": data.draw(st.tuples(st.none() | st.floats(-5, 5), st.none() | st.floats(-5, 5)))}
    if data.draw(st.booleans()):
        selectors["at"] = {"t": data.draw(st.floats(-5, 5) | st.lists(st.floats(-5, 5), min_size=1, max_size=3))}
    ours, theirs = copy.deepcopy(d), copy.deepcopy(d)
    original.select(theirs, **selectors)
    ds.select(ours, **selectors)
    assert ds.dims(ours, "a") == original.dims(theirs, "a")
    same_dataset(ours, theirs)


ACCESSORS = [
    lambda m, d: m.vars(d),
    lambda m, d: m.vars(d, full=True),
    lambda m, d: m.dims(d),
    lambda m, d: m.dims(d, full=True, size=True),
    lambda m, d: m.get_dims(d),
    lambda m, d: [m.dims(d, name, size=True) for name in m.vars(d)],
    lambda m, d: [m.dim(d, name) for name in [*m.dims(d), "none"]],
    lambda m, d: [m.size(d, name) for name in m.vars(d, full=True)],
    lambda m, d: [m.type(d, name) for name in m.vars(d, full=True)],
    lambda m, d: [m.time(d, name) for name in m.vars(d)],
    lambda m, d: [m.attrs(d, name) for name in [None, *m.vars(d)]],
    lambda m, d: [m.attr(d, attr, var=name) for name in [None, *m.vars(d)] for attr in m.attrs(d, name)],
    lambda m, d: [m.meta(d, name) for name in [None, "", *m.vars(d), "none"]],
    lambda m, d: m.attr(d, "new", 7),
    lambda m, d: [m.attr(d, "new", [1, 2], var=name) for name in m.vars(d)],
    lambda m, d: [m.attrs(d, name, {"p": 1, "q": "x"}) for name in m.vars(d)],
    lambda m, d: [m.time(d, name, False) for name in m.vars(d)],
    lambda m, d: [m.time(d, name, True) for name in m.vars(d)],
    lambda m, d: m.meta(d, "a", {".dims": ["k"]}),
    lambda m, d: m.meta(d, "a", None),
    lambda m, d: m.rm(d, "a"),
    lambda m, d: [m.rm_attr(d, "a", name) for name in [None, *m.vars(d)]],
    lambda m, d: m.rename(d, "a", "b"),
    lambda m, d: m.rename_m(d, {"a": "x", "x": "a"}),
    lambda m, d: m.rename_m(d, {"a": None}),
    lambda m, d: [m.rename_attr_m(d, {"a": "b", "b": "a", "c": None}, name) for name in [None, *m.vars(d)]],
    lambda m, d: [m.rename_dim_m(d, {dim: "new-" + dim}) for dim in m.dims(d)],
    lambda m, d: m.find(d, "var", "z*"),
    lambda m, d: m.findall(d, "dim", "*0"),
    lambda m, d: m.findall(d, "attr", "*"),
    lambda m, d: [m.require(d, what, "a") for what in ("var", "dim", "attr")],
    lambda m, d: m.copy(d),
    lambda m, d: m.validate(d),
]


@needs_original
@settings(max_examples=40, deadline=None)
@given(datasets())
def test_accessors_equal_the_original(d):
    for access in ACCESSORS:
        ours, theirs = copy.deepcopy(d), copy.deepcopy(d)
        try:
            expected = access(original, theirs)
        except (ValueError, TypeError, KeyError) as error:
            with pytest.raises(type(error)):
                access(ds, ours)
            continue
        np.testing.assert_equal(access(ds, ours), expected)
        assert set(ours) == set(theirs)
        np.testing.assert_equal(ours.get("."), theirs.get("."))
        for name in set(ours) - {"."}:
            same(ours[name], theirs[name])


@needs_original
@pytest.mark.parametrize("mode", ["soft", "moderate", "strict"])
def test_modes(mode):
    d = {"a": [1, 2], ".": {".": {}}}
    for module in (ds, original):
        with module.with_mode(mode):
            assert module.mode == mode
            for missing in (lambda: module.var(d, "b"), lambda: module.attr(d, "c"), lambda: module.dim(d, "e")):
                if mode == "strict":
                    with pytest.raises(NameError, match="not found"):
                        missing()
                elif mode == "moderate":
                    with pytest.warns(UserWarning, match="not found"):
                        assert not missing()
                else:
                    assert not missing()
        assert module.mode == "soft"


@needs_original
def test_lists_become_arrays():
    for data in [[1, 2], [1.5, None], [[1, 2], [3, 4]], ["a", "bc"], [b"a", b"bc"], ["a", None], (True, False), [], 1, 2.5, True, "x", b"y"]:
        ours, theirs = {}, {}
        ds.var(ours, "a", data)
        original.var(theirs, "a", data)
        same(ds.var(ours, "a"), original.var(theirs, "a"))
    ours = {}
    ds.var(ours, "a", [[1, None], [3, 4]])
    assert ours["a"].shape == (2, 2) and ours["a"].mask.tolist() == [[False, True], [False, False]]
    for data in [[{}], {1: 2}, np.zeros(2, "c8"), np.zeros(2, "M8[s]")]:
        for module in (ds, original):
            with pytest.raises(ValueError):
                module.var({}, "a", data)


def weather(n, first, units="days since 2000-01-01"):
    return {
        "time": np.arange(first, first + n, dtype="i4"),
        "t": np.arange(n * 2.0).reshape(n, 2) + first,
        "h": np.arange(2),
        ".": {
            "time": {".dims": ["time"], "units": units},
            "t": {".dims": ["time", "h"], "units": "K"},
            "h": {".dims": ["h"]},
            ".": {"title": f"part {first}"},
        },
    }


@needs_original
@pytest.mark.parametrize(
    "arguments",
    [{"dim": "time"}, {"dim": "time", "new": "n"}, {"dim": "run"}, {"dim": "run", "variables": ["t"]}, {"dim": "time", "new": "n", "variables": ["h"]}],
)
def test_merge_and_split_equal_the_original(arguments):
    dd = [weather(3, 0), weather(3 if arguments["dim"] == "run" else 2, 3)]
    del dd[1]["h"]
    dd[1]["extra"] = np.float32(1.5)
    if arguments["dim"] == "run":
        del dd[1]["extra"]
    if arguments.get("new") is None and arguments["dim"] == "time":
        dd[0]["extra"] = np.float32(0.5)
    ours, theirs = (module.merge(copy.deepcopy(dd), **arguments) for module in (ds, original))
    assert set(ours) == set(theirs)
    np.testing.assert_equal(ours["."], theirs["."])
    for name in ds.vars(ours):
        same(ours[name], theirs[name])
    for along in ("time", "h"):
        for part, expected in zip(ds.split(weather(3, 0), along), original.split(weather(3, 0), along), strict=True):
            expected["."]["."] = expected["."].pop("")  # ds-format names the attributes of the dataset wrongly
            np.testing.assert_equal(part["."], expected["."])
            for name in ds.vars(part):
                np.testing.assert_array_equal(part[name], expected[name])


def test_splits_along_several_dimensions():
    parts = ds.split(weather(3, 0), ["h", "time"])
    assert [float(part["t"]) for part in parts] == [0, 2, 4, 1, 3, 5]
    assert ds.attrs(parts[0]) == {"title": "part 0"}


@needs_original
def test_merge_rebases_times():
    dd = [weather(3, 0), weather(2, 0, "hours since 2000-01-04")]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ours, theirs = (module.merge(copy.deepcopy(dd), "time") for module in (ds, original))
    assert ours["."]["time"]["units"] == theirs["."]["time"]["units"]
    np.testing.assert_allclose(ours["time"].filled(0), [2451544.5, 2451545.5, 2451546.5, 2451547.5, 2451547.5 + 1 / 24], rtol=1e-15)


@needs_original
@pytest.mark.parametrize("units", [("1", "2"), ("m", "km"), ("m", None), (None, "m")])
def test_merge_keeps_values_with_other_units_than_times(units):
    for data in ([np.array([2**60 + 1]), np.array([3])], [np.array(["a"], object), np.array(["bc"])], [np.array([b"a"]), np.array([b"bc"])]):
        dd = [{"s": one, ".": {"s": {".dims": ["x"]} | ({"units": unit} if unit else {})}} for one, unit in zip(data, units)]
        with pytest.warns(UserWarning, match="merge: s: values with different units are not converted: [12mkno]+.*, ") as caught:
            ours = ds.merge(copy.deepcopy(dd), "x")
        assert [one.filename for one in caught] == [__file__]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            theirs = original.merge(copy.deepcopy(dd), "x")
        same(ours["s"], theirs["s"])
        assert ours["."] == theirs["."]
        with pytest.warns(UserWarning, match="merge: s: values with different units"):
            same(ds.merge(dd, "x", jd=False)["s"], ours["s"])


@needs_original
def test_computes_like_the_original():
    def run(module, change):
        d = {"a": np.arange(24.0).reshape(2, 3, 4), "b": np.arange(3.0), ".": {"a": {".dims": ["x", "y", "z"]}, "b": {".dims": ["y"]}}}
        change(module, d)
        return d

    for change in [
        lambda m, d: m.apply(d, np.mean, dims="y"),
        lambda m, d: m.apply(d, lambda x: x[::-1], dims=["y"]),
        lambda m, d: m.apply(d, np.mean, dims=["x", "z"], vars=["a"]),
        lambda m, d: m.apply(d, lambda x: x[:2], dims="z", newdims="w"),
        lambda m, d: m.apply(d, lambda x, sel: x * sel.get("x", 1), dims="y", with_sel=True),
        lambda m, d: m.group_by(d, "y", np.array([1, 0, 1]), np.mean),
        lambda m, d: m.group_by(d, "z", ["q", "q", "p", "p"], np.max) if m is ds else m.group_by(d, "z", np.array(["q", "q", "p", "p"]), np.max),
    ]:
        ours, theirs = run(ds, change), run(original, change)
        assert ds.dims(ours, "a") == original.dims(theirs, "a")
        same(ours["a"], theirs["a"])
    d = run(ds, lambda m, d: m.apply(d, np.sqrt))
    np.testing.assert_array_equal(d["b"], np.sqrt(np.arange(3.0)))


def test_results_keep_their_type_and_mask():
    def of(data, *names):
        return {"v": data, ".": {"v": {".dims": list(names)}}}

    for parts, expected in [
        ([np.array([1, 2]), np.array([2.5, 3.75])], np.array([1, 2, 2.5, 3.75])),
        ([np.array([1, 2], "i1"), np.array([300], "u2")], np.array([1, 2, 300], "i4")),
        ([np.array([1.5], "f4"), np.array([2**40 + 1])], np.array([1.5, 2**40 + 1])),
        ([np.array([True]), np.array([2], "u1")], np.array([1, 2], "u1")),
        ([np.array(["a"]), np.array([b"b"], object)], np.array(["a", b"b"], object)),
    ]:
        merged = ds.merge([of(part, "x") for part in parts], "x")
        assert merged["v"].dtype == expected.dtype and merged["v"].filled(0).ravel().tolist() == expected.tolist()
    with pytest.raises(ValueError, match='merge: incompatible types in variable "v": text and numbers'):
        ds.merge([of(np.array(["a"]), "x"), of(np.array([1]), "x")], "x")

    d = of(np.array([1, 2, 4]), "t")
    ds.group_by(d, "t", [0, 0, 1], np.mean)
    same(d["v"], np.array([1.5, 4.0]))
    d = of(np.ma.array([[1, 2], [3, 4], [5, 6]], mask=[[1, 0], [1, 0], [0, 0]]), "t", "x")
    ds.group_by(d, "t", np.array([0, 0, 1]), np.ma.mean)
    same(d["v"], np.ma.array([[0, 3.0], [5, 6]], mask=[[1, 0], [0, 0]]), under_mask=False)
    d = of(np.ma.array([1, 2, 3], mask=[1, 1, 0]), "t")
    ds.group_by(d, "t", [0, 0, 1], np.ma.max)
    same(d["v"], np.ma.array([0, 3], mask=[1, 0]), under_mask=False)

    d = of(np.array([[1, 2], [3, 4]]), "t", "x")
    ds.apply(d, np.mean, "t")
    same(d["v"], np.array([2.0, 3.0]))
    d = of(np.ma.array([[1, 2], [3, 4]], mask=[[0, 1], [0, 1]]), "t", "x")
    ds.apply(d, np.ma.max, "t")
    same(d["v"], np.ma.array([3, 0], mask=[0, 1]), under_mask=False)
    d = of(np.zeros((0, 3), "i2"), "t", "x")
    ds.apply(d, np.mean, "x")
    assert d["v"].dtype == "i2" and d["v"].shape == (0,)


@needs_original
@settings(max_examples=100, deadline=None)
@given(
    values=hnp.arrays(st.sampled_from(["f8", "i4", "i8", "f4"]), st.integers(1, 5), elements={"min_value": -100_000, "max_value": 100_000}),
    units=st.sampled_from(
        ["days since 1970-01-01", "hours since 2000-01-01 06:00", "seconds since 1582-10-10", "minutes since 1999-12-31T23:59:30", "days since -4712-01-01T12:00:00 UTC", "m", "days"]
    ),
    calendar=st.sampled_from([None, "standard", "gregorian", "proleptic_gregorian", "julian", "noleap", "all_leap", "unknown"]),
    missing=st.booleans(),
)
def test_julian_dates_equal_the_original(tmp_path_factory, values, units, calendar, missing):
    values = np.where(np.isfinite(values), values, 0).astype(values.dtype)
    if missing:
        values = np.ma.array(values, mask=[True] + [False] * (len(values) - 1))
    meta = {".dims": ["t"], "units": units} | ({} if calendar is None else {"calendar": calendar})
    # ds-format takes year -4712 of the calendar "gregorian" for another one than that of "standard", which is the same calendar.
    assume(not ("-4712" in units and calendar == "gregorian"))
    path = tmp_path_factory.mktemp("ds") / "t.ds"
    ds.write(path, {"t": values, ".": {"t": meta}})
    ours = ds.read(path, jd=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            theirs = original.read(str(path), jd=True)
        except (ValueError, OverflowError):
            assume(False)
    assert ours["."] == theirs["."]
    assert ours["t"].dtype == theirs["t"].dtype and type(ours["t"]) is type(theirs["t"])
    # ds-format adds up fractions of a day; ours are rounded once.
    np.testing.assert_allclose(np.ma.filled(ours["t"], 0), np.ma.filled(theirs["t"], 0), rtol=0, atol=1e-9)


def test_times_as_text_select(tmp_path):
    path = tmp_path / "t.ds"
    ds.write(path, weather(5, 0))
    d = ds.read(path, between={"time": ["2000-01-02", "2000-01-04T00:00:00Z"]})
    assert d["time"].tolist() == [1, 2] and d["t"].shape == (2, 2)
    assert ds.read(path, at={"time": "2000-01-03T07:00"})["time"] == 2


@pytest.mark.parametrize("count", range(1, 20))
def test_booleans_of_any_count(tmp_path, count):
    data = np.arange(count) % 3 == 0
    masked = np.ma.array(data, mask=np.arange(count) % 4 == 1)
    path = tmp_path / "b.ds"
    ds.write(path, {"a": data, "m": masked, "s": np.bool_(True)})
    d = ds.read(path)
    same(d["a"], data)
    assert d["s"] == np.bool_(True)
    np.testing.assert_array_equal(np.ma.filled(d["m"], False), masked.filled(False))


def test_missing_texts_keep_the_variables_behind_them(tmp_path):
    path = tmp_path / "t.ds"
    texts = np.ma.array(np.array(["a", "bc", "é"], object), mask=[False, True, False])
    ds.write(path, {"a": texts, "b": np.array([b"x", b"yz"], object), "c": [1.5]})
    d = ds.read(path)
    assert d["a"].tolist() == ["a", None, "é"] and d["a"].data.tolist() == ["a", 0, "é"]
    assert d["b"].tolist() == [b"x", b"yz"] and d["c"].tolist() == [1.5]


def test_writes_all_or_nothing(tmp_path):
    path = tmp_path / "a.ds"
    ds.write(path, {"a": [1]})
    before = path.read_bytes()
    with pytest.raises(ValueError, match="inconsistent"):
        ds.write(path, {"a": [1, 2], "b": [1], ".": {"a": {".dims": ["x"]}, "b": {".dims": ["x"]}}})
    with pytest.raises(TypeError):
        ds.write(path, {"a": [1], ".": {"a": {"bad": object()}}})
    assert path.read_bytes() == before and os.listdir(tmp_path) == ["a.ds"]
    ds.write(str(path).encode(), {"a": [2]}, sync=True)
    assert ds.read(str(path).encode())["a"] == [2]
    d = ds.read(path)
    ds.write(path, d)  # in place
    assert ds.read(path)["a"] == [2]


def test_errors(tmp_path):
    with pytest.raises(OSError, match="does not exist"):
        ds.read(tmp_path / "none.ds")
    (tmp_path / "a.bin").write_bytes(b"")
    with pytest.raises(OSError, match="Unknown file format"):
        ds.read(tmp_path / "a.bin")
    with pytest.raises(ValueError, match="Unknown file extension"):
        ds.write(tmp_path / "a.bin", {})
    for arguments in [(1,), ("a.ds", 1), ("a.ds", None, [1])]:
        with pytest.raises(ValueError, match="invalid type"):
            ds.read(*arguments)
    bad = tmp_path / "bad.ds"
    bad.write_bytes(b"ds-2.0\n{}\n")
    with pytest.raises(wharf_data.UnsupportedError, match="version") as caught:
        ds.read(bad)
    assert caught.value.path == str(bad)
    bad.write_bytes(b'ds-1.0\n{"a": {".size": [4], ".type": "int8", ".len": 4}, "b": {".size": [1], ".offset": 2, ".type": "int8", ".len": 1}}\nxy')
    with pytest.raises(wharf_data.InvalidError) as caught:
        ds.read(bad, "a")
    assert (caught.value.path, caught.value.column) == (str(bad), "a")


def test_reads_from_several_threads(tmp_path):
    path = tmp_path / "a.ds"
    data = np.arange(3_000_000.0)
    ds.write(path, {"a": data})
    found = []
    threads = [threading.Thread(target=lambda: found.append((ds.read(path)["a"] == data).all())) for _ in range(8)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    assert found == [True] * 8


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_reads_after_a_fork(tmp_path):
    path = tmp_path / "a.ds"
    data = np.ma.array(np.arange(3_000_000.0), mask=np.arange(3_000_000) % 5 == 0)
    ds.write(path, {"a": data, "b": data.data})
    ds.read(path)
    child = os.fork()
    if child == 0:
        try:
            d = ds.read(path)
            os._exit(0 if d["a"].sum() == data.sum() and (d["b"] == data.data).all() else 1)
        finally:
            os._exit(2)
    assert os.waitpid(child, 0)[1] == 0


# NetCDF.


netcdf_attributes = st.dictionaries(
    st.sampled_from(["units", "scale_factor", "missing_value", "note"]),
    st.integers(1, 5) | st.floats(1, 4, width=32) | st.text("abc", min_size=1, max_size=3) | st.lists(st.integers(0, 9), min_size=2, max_size=3),
    max_size=2,
)


@needs_original
@settings(max_examples=40, deadline=None)
@given(
    data=st.lists(
        hnp.arrays(st.sampled_from(NUMBERS).map(np.dtype), hnp.array_shapes(min_dims=0, max_dims=3, max_side=4)), min_size=1, max_size=3
    ),
    masked=st.booleans(),
    meta=st.lists(netcdf_attributes, min_size=4, max_size=4),
)
@pytest.mark.filterwarnings("ignore:WARNING. missing_value", "ignore:endian-ness")
def test_netcdf_reads_what_the_original_writes(tmp_path_factory, data, masked, meta):
    pytest.importorskip("netCDF4")
    path = tmp_path_factory.mktemp("nc") / "a.nc"
    d = {".": {".": meta[3]}}
    for number, (array, own) in enumerate(zip(data, meta)):
        mask = np.arange(array.size).reshape(array.shape) % 2 == 1
        d[f"v{number}"] = np.ma.array(array, mask=mask) if masked and array.ndim else array[()]
        d["."][f"v{number}"] = {key: value for key, value in own.items() if key in ("units", "note") or np.isscalar(value) and not isinstance(value, str)}
    original.write(str(path), copy.deepcopy(d))
    ours, theirs = ds.read(path), original.read(str(path))
    assert set(ours) == set(theirs)
    np.testing.assert_equal(plain(ours.get(".", {})), plain(theirs.get(".", {})))
    for name in ds.vars(ours):
        same(ds.var(ours, name), original.var(theirs, name), under_mask=False)


@needs_original
def test_netcdf_both_ways(tmp_path):
    netcdf4 = pytest.importorskip("netCDF4")
    d = {
        "time": np.array([2451545.0, 2451546.5]),
        "packed": np.array([[1, 2, 3], [4, 5, 6]], "i2"),
        "masked": np.ma.array([1.5, 2.5], mask=[True, False], dtype="f4"),
        "names": np.array(["a", "é"], object),
        "scalar": np.int32(7),
        ".": {
            ".": {"title": "x", "list": [1.5, 2.5]},
            "time": {".dims": ["time"], ".time": True},
            "packed": {".dims": ["time", "x"], "scale_factor": 0.5, "add_offset": 10.0},
            "masked": {".dims": ["time"], "units": "m"},
            "names": {".dims": ["time"]},
        },
    }
    ds.write(tmp_path / "ours.nc", d)
    theirs = original.read(str(tmp_path / "ours.nc"))
    ours = ds.read(tmp_path / "ours.nc")
    np.testing.assert_equal(plain(ours["."]), plain(theirs["."]))
    for name in original.vars(theirs):
        same(ds.var(ours, name), original.var(theirs, name), under_mask=False)
    assert ds.attrs(ours, "time") == {"units": "days since -4713-11-24 12:00 UTC", "calendar": "proleptic_gregorian"}
    assert ours["names"].tolist() == ["a", "é"] and ours["scalar"] == 7
    np.testing.assert_array_equal(ours["packed"], d["packed"])
    selections = [{"time": 1}, {"time": [1, 0]}, {"x": [0, 2]}, {"time": 0, "x": 2}]
    for sel in selections:
        ours, theirs = ds.read(tmp_path / "ours.nc", sel=sel), original.read(str(tmp_path / "ours.nc"), sel=sel)
        np.testing.assert_equal(plain(ours["."]), plain(theirs["."]))
        for name in original.vars(theirs):
            np.testing.assert_array_equal(np.ma.filled(ds.var(ours, name), 0), np.ma.filled(original.var(theirs, name), 0))
    same(ds.read(tmp_path / "ours.nc", "packed", range_={"time": [1, None]})["packed"], np.ma.array(d["packed"][1:].astype(float)))
    with netcdf4.Dataset(tmp_path / "c.nc", "w", format="NETCDF3_CLASSIC") as file:
        file.createDimension("n", 3)
        file.createDimension("s", 2)
        file.createVariable("c", "S1", ("n", "s"))[:] = np.array([[b"a", b"b"], [b"c", b""], [b"", b""]])
    ours, theirs = ds.read(tmp_path / "c.nc"), original.read(str(tmp_path / "c.nc"))
    np.testing.assert_array_equal(ours["c"], theirs["c"])
    assert ours["c"].dtype == theirs["c"].dtype
    ds.write(tmp_path / "again.ds", ds.read(tmp_path / "ours.nc"))


@needs_original
@pytest.mark.filterwarnings("ignore:invalid scale_factor")
def test_netcdf_packs_what_it_unpacks(tmp_path):
    netcdf4 = pytest.importorskip("netCDF4")
    packing = {"scale_factor": 0.01, "add_offset": 100.0}
    with netcdf4.Dataset(tmp_path / "packed.nc", "w") as file:
        file.createDimension("x", 4)
        t = file.createVariable("t", "i2", ("x",), fill_value=-32768)
        t.setncatts(packing | {"valid_range": np.array([-200, 300], "i2")})
        t[:] = np.ma.array([101.5, 102.25, 99, 0], mask=[0, 0, 0, 1])
        file.createVariable("s", "u1", ("x",)).setncatts({"scale_factor": np.float32(0.5)})
        file["s"][:] = [0, 1, 2.5, 100]
        file.createVariable("scalar", "f4", ()).setncatts({"add_offset": 5.0})
        file["scalar"][()] = 7.5
    for number in range(2):
        d = ds.read(tmp_path / "packed.nc")
        assert d["t"].tolist() == [101.5, 102.25, 99, None] and d["s"].tolist() == [0, 1, 2.5, 100] and d["scalar"] == 7.5
        assert ds.attr(d, "valid_range", var="t").tolist() == [-200, 300]
        ds.write(tmp_path / "packed.nc", d)
    d = {
        "p": np.array([1, 2, 3], "i2"),
        "m": np.ma.array([1, 2, 3], mask=[0, 1, 0]),
        "n": np.arange(3.0),
        "b": np.array([2**60 + 1] * 3),
        "f": np.array([1, np.nan, np.inf], "f4"),
        ".": {name: {".dims": ["x"], "scale_factor": 0.5, "add_offset": 10.0} for name in "pmf"},
    }
    d["."]["n"] = {".dims": ["x"], "scale_factor": [1, 2]}
    d["."]["b"] = {".dims": ["x"], "scale_factor": 1, "add_offset": 7}
    ds.write(tmp_path / "ours.nc", d)
    np.testing.assert_equal({name: ds.read(tmp_path / "ours.nc")[name].tolist() for name in "pmnbf"}, {name: d[name].tolist() for name in "pmnbf"})
    for name in "nb":
        ds.rm(d, name)
    original.write(str(tmp_path / "theirs.nc"), copy.deepcopy(d))
    for path in ("ours.nc", "theirs.nc"):
        ours, theirs = ds.read(tmp_path / path), original.read(str(tmp_path / path))
        for name in "pmf":
            same(ours[name], theirs[name], under_mask=False)
    for values, scale in (([1000], 0.001), ([1], 0), ([1.0], 0.0), (np.array([1e30], "f4"), 1e-20)):
        values = np.array(values, "i2") if isinstance(values[0], int) else np.asarray(values)
        with pytest.raises(wharf_data.UsageError, match="v: 1.*, packed by scale_factor and add_offset, does not fit into (int16|float)"):
            ds.write(tmp_path / "bad.nc", {"v": values, ".": {"v": {".dims": ["x"], "scale_factor": scale}}})
    assert not (tmp_path / "bad.nc").exists()


def test_netcdf_losses_are_warnings(tmp_path):
    def losses(d):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            ds.write(tmp_path / "a.nc", d)
        assert all(one.category is wharf_data.LossWarning and one.filename == __file__ for one in caught)
        assert all(str(one.message).startswith(f"{tmp_path / 'a.nc'}: ") for one in caught)
        return [str(one.message).removeprefix(f"{tmp_path / 'a.nc'}: ") for one in caught]

    flags = losses({"b": np.array([True, False]), ".": {"b": {"note": {"k": 1}}}})
    assert len(flags) == 2 and "booleans of \"b\"" in "".join(flags) and "object written as JSON text" in "".join(flags)
    assert losses({"s": ["a", None, None]}) == ['missing strings of "s" written as empty strings (2 times)']
    packed = {"v": np.ma.array([1, 3, 4, 5], mask=[0, 0, 0, 1]), ".": {"v": {".dims": ["x"], "scale_factor": 2}}}
    assert losses(packed) == ["integers of 'v' rounded by scale_factor and add_offset (2 times)"]
    assert ds.read(tmp_path / "a.nc")["v"].tolist() == [0, 4, 4, None]
    for scale in (0.1, np.float32(0.1), 1, 0.5, 1e-3):
        packed["."]["v"]["scale_factor"] = scale
        packed["v"] = np.array([0, 1, 1000, 123_457, -7])
        assert losses(packed) == []
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ds.write(tmp_path / "a.nc", {"x": [1, None], "s": ["a", "b"]})


# CSV, JSON, folders.


@needs_original
def test_csv_and_json(tmp_path):
    d = {"a": [1, 2, 3], "b": [1.5, None, 2.5], "c": ["x", "y", "z"], ".": {name: {".dims": ["i"]} for name in "abc"}}
    for extension in ("csv", "tsv"):
        for writer in (ds, original):
            path = tmp_path / f"{writer.__name__}.{extension}"
            writer.write(str(path), copy.deepcopy(d))
        assert (tmp_path / f"wharf_data.ds.{extension}").read_bytes() == path.read_bytes()
        same_dataset(ds.read(path), original.read(str(path)))
        same_dataset(ds.read(path, ["a"], full=True), original.read(str(path), ["a"], full=True))
    json_d = {"a": np.array([1, 2]), ".": {"a": {".dims": ["x"]}, ".": {}}}
    for writer in (ds, original):
        path = tmp_path / f"{writer.__name__}.json"
        writer.write(str(path), copy.deepcopy(json_d))
    assert (tmp_path / "wharf_data.ds.json").read_bytes() == path.read_bytes()
    ours, theirs = ds.read(path), original.read(str(path))
    same(ours["a"], original.var(theirs, "a"))
    assert ours["."] == theirs["."]


@needs_original
@pytest.mark.parametrize("parallel", [False, True])
def test_readdir(tmp_path, parallel):
    for number in range(3):
        ds.write(tmp_path / f"{number}.ds", weather(number + 1, number * 10))
    (tmp_path / "bad.ds").write_bytes(b"ds-9\n")
    (tmp_path / "other.txt").write_bytes(b"")
    errors, their_errors = [], []
    ours = ds.readdir(tmp_path, merge="time", warnings=errors, parallel=parallel)
    theirs = original.readdir(str(tmp_path), merge="time", warnings=their_errors)
    assert len(errors) == len(their_errors) == 1
    assert set(ours) == set(theirs)
    for name in ds.vars(ours):
        np.testing.assert_array_equal(ours[name], theirs[name])
    assert len(ds.readdir(tmp_path, warnings=[], parallel=parallel)) == 3
    assert [d["filename"] for d in ds.index(str(tmp_path), warnings=[])] == [str(tmp_path / f"{n}.ds") for n in range(3)]


def test_has_the_names_of_the_original():
    if original is None:
        pytest.skip("ds-format is not installed")
    expected = {name for name in dir(original) if not name.startswith("_")}
    not_for_libraries = {"bin", "cmd", "drivers", "help", "indent", "io", "misc", "op", "os", "output"}
    assert expected - not_for_libraries <= set(dir(ds))


@needs_original
def test_names_of_the_original():
    functions = {name for name, value in vars(original).items() if callable(value) and not name.startswith("_")}
    assert len(functions) > 40 and {name for name in functions if not hasattr(ds, name)} == set()


@pytest.mark.parametrize("extension", ["csv", "tab", "json"])
def test_a_text_file_is_written_completely_or_not_at_all(tmp_path, extension):
    path = tmp_path / f"a.{extension}"
    ds.write(path, {"é": ["x", "y"], ".": {"é": {".dims": ["i"]}}})
    before = path.read_bytes()
    assert "é".encode() in before or extension == "json"
    with pytest.raises((UnicodeEncodeError, TypeError)):
        attributes = {"n": 1j} if extension == "json" else {}
        ds.write(path, {"a": ["x", "\ud800"], ".": {"a": {".dims": ["i"], **attributes}}})
    assert path.read_bytes() == before and os.listdir(tmp_path) == [path.name]
    assert ds.read(path)["é"].tolist() == ["x", "y"]


def test_none_in_arrays_is_missing(tmp_path):
    for values, type_ in (([["a", None], [None, "bc"]], "unicode"), ([[None, b"a"]], "str"), ([[None, None]], "unicode")):
        data = np.array(values, object)
        for given in (data, np.ma.array(data, mask=np.arange(data.size).reshape(data.shape) == 0)):
            d = {"a": given, "b": [1.5], ".": {}}
            expected = [[None if item is np.ma.masked else item for item in row] for row in given.tolist()]
            for extension in ("ds", "json"):
                ds.write(tmp_path / f"a.{extension}", d) if extension == "ds" or type_ == "unicode" else None
            read = ds.read(tmp_path / "a.ds")
            assert read["a"].tolist() == expected and read["b"].tolist() == [1.5] and read["."]["a"][".type"] == type_
            assert ds.var(d, "a").tolist() == expected and data.tolist() == values
            assert wharf_data.open(tmp_path / "a.ds").verify() == []
    with pytest.warns(wharf_data.LossWarning, match="missing strings"):
        ds.write(tmp_path / "a.nc", {"a": np.array(["x", None], object)})
    assert ds.read(tmp_path / "a.nc")["a"].tolist() == ["x", ""]


@needs_original
def test_a_dimension_may_be_given_as_text(tmp_path):
    d = {"a": np.arange(4), "m": np.ma.array([1, 2, 3, 4], mask=[0, 1, 0, 0]), ".": {"a": {".dims": "time"}, "m": {".dims": "time"}}}
    ds.write(tmp_path / "ours.ds", d)
    original.write(str(tmp_path / "theirs.ds"), copy.deepcopy(d))
    ds.write(tmp_path / "ours.nc", d)
    assert d["."]["a"] == {".dims": "time"}
    for name in ("ours.ds", "theirs.ds", "ours.nc"):
        path = tmp_path / name
        for sel in (None, {"time": 1}, {"time": [2, 0]}, {"time": slice(1, 3)}):
            ours, theirs = ds.read(path, sel=sel), original.read(str(path), sel=sel)
            for variable in "am":
                same(ds.var(ours, variable), original.var(theirs, variable), under_mask=False)
                assert ds.dims(ours, variable) == ([] if sel == {"time": 1} else ["time"])
            views = ds.read(path, sel=sel, copy=False)
            assert views["a"].tolist() == ours["a"].tolist() and ds.dims(views, "a") == ds.dims(ours, "a")
        assert wharf_data.open(path).verify() == []
        assert wharf_data.open(path, sel={"time": [0, 2]}, tidy=["a"]).table().to_arrow().column("a").to_pylist() == [0, 2]
    xarray = pytest.importorskip("xarray")
    with xarray.open_dataset(tmp_path / "theirs.ds", engine="wharf") as opened:
        assert opened["a"].dims == ("time",) and opened["a"].values.tolist() == [0, 1, 2, 3]


def test_masked_byte_strings_stay_byte_strings(tmp_path):
    path = tmp_path / "a.ds"
    for values, type_ in (([b"\xff", 0], "str"), (["a", 0], "unicode"), ([0, 0], "unicode")):
        data = np.ma.array(np.array(values, object), mask=[value == 0 for value in values])
        ds.write(path, {"a": data, ".": {"a": {".dims": ["i"]}}})
        d = ds.read(path)
        assert d["."]["a"][".type"] == type_ and d["a"].mask.tolist() == data.mask.tolist() and wharf_data.open(path).verify() == []


def test_byte_strings_among_texts_are_utf8(tmp_path):
    """Their type is unicode: other bytes would make a file that nobody can read."""
    path = tmp_path / "mixed.ds"
    texts = np.array(["\u00e4", "\u00f6".encode()], object)
    ds.write(path, {"a": texts, ".": {"a": {".dims": ["i"]}}})
    assert ds.read(path)["a"].tolist() == ["\u00e4", "\u00f6"]
    texts[1] = b"\xff"
    with pytest.raises(ValueError, match=r"byte string 1 among texts is not UTF-8: b'\\xff'"):
        ds.write(path, {"a": texts, ".": {"a": {".dims": ["i"]}}})
    assert ds.read(path)["a"].tolist() == ["\u00e4", "\u00f6"]
