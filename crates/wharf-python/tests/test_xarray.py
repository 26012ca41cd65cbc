"""The engine ``wharf`` of xarray against its engine ``netcdf4`` on equal data."""

from __future__ import annotations

import pathlib
import pickle
import warnings

import pytest

np = pytest.importorskip("numpy")
xr = pytest.importorskip("xarray")
pd = pytest.importorskip("pandas")

from wharf_data import LossWarning, ds  # noqa: E402
from wharf_data.xarray import WharfBackendEntrypoint, _DsArray, _NetcdfArray, to_ds  # noqa: E402

netcdf4 = pytest.mark.skipif(not __import__("importlib.util").util.find_spec("netCDF4"), reason="netCDF4 is not installed")


def weather():
    rng = np.random.default_rng(7)
    temperature = rng.normal(280, 10, (6, 4, 3)).round(1)
    temperature[0, 0, 0] = np.nan
    return xr.Dataset(
        {
            "temperature": (("time", "lat", "lon"), temperature, {"units": "K", "long_name": "air temperature"}),
            "packed": (("time", "lon"), np.linspace(0, 10, 18).reshape(6, 3)),
            "count": (("lat",), np.arange(4, dtype="i2")),
            "flag": (("lon",), np.array([True, False, True])),
            "wind": (("time",), (np.arange(6) * 1.5).astype(">f4")),
            "station": ((), "Prague"),
            "height": ((), np.float32(235)),
        },
        {
            "time": pd.date_range("2000-01-01", periods=6, freq="6h"),
            "lat": ("lat", [50.0, 50.5, 51.0, 51.5], {"units": "degrees_north"}),
            "name": ("lon", np.array(["a", "bé", ""], object)),
            "lead": ("time", pd.to_timedelta(np.arange(6), "h")),
        },
        {"title": "weather", "version": 3, "levels": [1.5, 2.5]},
    )


ENCODING = {"packed": {"dtype": "i2", "scale_factor": 0.001, "add_offset": 5.0, "_FillValue": -999}}


def encoded():
    d = weather()
    for name, encoding in ENCODING.items():
        d[name].encoding = encoding
    return d


@pytest.fixture
def files(tmp_path):
    d = encoded()
    to_ds(d, tmp_path / "a.ds")
    return tmp_path


def open_ds(path, **options):
    return xr.open_dataset(path, engine=WharfBackendEntrypoint, decode_timedelta=True, **options)


def same(a, b):
    """Values, dimensions, coordinates, attributes and dtypes."""
    xr.testing.assert_identical(a.load(), b.load())
    for name in b.variables:
        assert a[name].dtype.kind == b[name].dtype.kind, name


def test_round_trip(files):
    d = open_ds(files / "a.ds")
    expected = encoded()
    xr.testing.assert_allclose(d.load(), expected, atol=0.001)  # `packed` is
    assert set(d.coords) == set(expected.coords)
    assert d["flag"].dtype == bool and d["time"].dtype.kind == "M"
    assert d.attrs == expected.attrs and d["temperature"].attrs == expected["temperature"].attrs
    assert ds.read(files / "a.ds", "flag")["flag"].dtype == bool


@netcdf4
@pytest.mark.parametrize("kind", ["NETCDF4", "NETCDF3_CLASSIC", "NETCDF3_64BIT"])
def test_equals_the_netcdf4_engine(files, kind):
    path = files / "a.nc"
    d = encoded().assign_coords(name=("lon", ["a", "b", "c"])) if kind != "NETCDF4" else encoded()
    d.to_netcdf(path, engine="netcdf4", format=kind, unlimited_dims=["time"])
    theirs = xr.open_dataset(path, engine="netcdf4", decode_timedelta=True)
    ours = open_ds(path)
    same(ours, theirs)
    assert ours.encoding["unlimited_dims"] == {"time"}
    for options in [{"mask_and_scale": False}, {"decode_times": False}, {"decode_coords": False}, {"drop_variables": ["packed"]}, {"decode_cf": False}]:
        same(xr.open_dataset(path, engine=WharfBackendEntrypoint, **options), xr.open_dataset(path, engine="netcdf4", **options))
    to_ds(theirs.load(), files / "b.ds")
    again = open_ds(files / "b.ds")
    for name in theirs.variables:
        xr.testing.assert_equal(again[name].load(), theirs[name])
    selected = [
        {"time": slice(1, 4)},
        {"time": slice(None, None, -2)},
        {"time": [4, 0, 2], "lat": [3, 1]},
        {"time": 2, "lon": [2, 0]},
        {"lat": -1, "lon": slice(1, None)},
        {"time": [], "lat": 0},
    ]
    for isel in selected:
        expected = theirs.isel(isel)
        for lazy in (open_ds(path), open_ds(files / "b.ds")):
            xr.testing.assert_equal(lazy.isel(isel).load(), expected)
    vectorized = {"time": xr.DataArray([0, 3], dims="p"), "lat": xr.DataArray([1, 2], dims="p")}
    xr.testing.assert_equal(open_ds(path).isel(vectorized).load(), theirs.isel(vectorized))
    xr.testing.assert_equal(open_ds(files / "b.ds").isel(vectorized).load(), theirs.isel(vectorized))


@pytest.mark.parametrize("kind", [_DsArray, _NetcdfArray])
def test_reads_only_what_is_selected(tmp_path, monkeypatch, kind):
    data = np.arange(60.0).reshape(5, 4, 3)
    d = {"a": data, ".": {"a": {".dims": ["x", "y", "z"]}}}
    path = tmp_path / ("a.ds" if kind is _DsArray else "a.nc")
    ds.write(path, d)
    keys = []
    read = kind._read
    monkeypatch.setattr(kind, "_read", lambda self, key: keys.append(key) or read(self, key))
    lazy = open_ds(path)
    part = lazy["a"].isel(x=slice(1, 3), y=2)
    assert keys == []
    np.testing.assert_array_equal(part.values, data[1:3, 2])
    assert len(keys) == 1 and keys[0][:2] == (slice(1, 3, 1), 2)


def test_reads_few_bytes(tmp_path):
    import resource

    data = np.zeros((20_000, 1000))
    data[777] = 5
    path = tmp_path / "big.ds"
    ds.write(path, {"a": data, ".": {"a": {".dims": ["x", "y"]}}})
    del data
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    lazy = open_ds(path)
    assert float(lazy["a"].isel(x=777, y=slice(10, 20)).sum()) == 50
    assert float(lazy["a"].isel(x=[1, 777]).sum()) == 5000
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 20_000  # kB, of 160 MB


def test_missing_values(tmp_path):
    mask = [False, True, False]
    d = {
        "i": np.ma.array(np.array([1, 2, 3], "i2"), mask=mask),
        "l": np.ma.array([1, 2, 3], mask=mask),
        "f": np.ma.array(np.array([1, 2, 3], ">f4"), mask=mask),
        "filled": np.ma.array(np.array([1, 2, 3], "i4"), mask=mask),
        "b": np.ma.array([True, False, True], mask=mask),
        "s": np.ma.array(np.array(["x", "y", "z"], object), mask=mask),
        "t": np.array([2451545.0, 2451545.25, 2451546.0]),
        "empty": None,
        ".": {name: {".dims": ["n"]} for name in ("i", "l", "f", "filled", "b", "s", "t")} | {"empty": {".type": "int8"}},
    }
    d["."]["filled"]["_FillValue"] = -1
    d["."]["t"][".time"] = True
    path = tmp_path / "m.ds"
    ds.write(path, d)
    with pytest.warns(UserWarning, match="'empty' left out"):
        found = open_ds(path).load()
    for name in ("i", "l", "f", "filled"):
        np.testing.assert_array_equal(found[name], [1, np.nan, 3])
    assert found["i"].dtype == np.float32 and found["f"].dtype.kind == "f"
    assert found["b"].values.tolist()[::2] == [True, True] and found["s"].values.tolist()[::2] == ["x", "z"]
    assert found["s"].isnull().values.tolist() == mask == found["b"].isnull().values.tolist()
    pytest.importorskip("cftime")
    assert [str(moment)[:16] for moment in found["t"].values] == ["2000-01-01T12:00", "2000-01-01T18:00", "2000-01-02T12:00"]
    with pytest.warns(UserWarning):
        raw = open_ds(path, mask_and_scale=False)
    assert raw["filled"].values.tolist() == [1, -1, 3]


@pytest.mark.filterwarnings("ignore:variable 'b' has multiple fill values")
@pytest.mark.parametrize("fill", [1e20, -999.9, 0.1, float("nan"), -9999])
def test_fill_values_have_the_type_of_the_variable(tmp_path, fill):
    stored = np.ma.array(np.array([1, 2, 3, fill], "f4"), mask=[0, 0, 1, 0])
    d = {"a": stored, "b": stored, ".": {"a": {".dims": ["x"], "_FillValue": fill}, "b": {".dims": ["x"], "missing_value": [fill, 2]}}}
    ds.write(tmp_path / "f.ds", d)
    found = open_ds(tmp_path / "f.ds").load()
    np.testing.assert_array_equal(found["a"], [1, 2, np.nan, np.nan])
    np.testing.assert_array_equal(found["b"], [1, np.nan, np.nan, np.nan])
    assert found["a"].dtype == found["b"].dtype == np.float32
    raw = open_ds(tmp_path / "f.ds", mask_and_scale=False)
    assert raw["a"].attrs["_FillValue"].dtype == np.float32
    np.testing.assert_array_equal(raw["a"], np.array([1, 2, fill, fill], "f4"))
    to_ds(found[["a"]], tmp_path / "g.ds")
    xr.testing.assert_equal(open_ds(tmp_path / "g.ds"), found[["a"]])


@pytest.mark.parametrize("fill, type_", [(1e300, "f4"), (1.5, "i2"), (70000, "i2"), (-1, "u8"), (2**63, "i8"), ("x", "i2"), (True, "i2")])
def test_fill_values_that_do_not_fit(tmp_path, fill, type_):
    d = {"a": np.ma.array([1, 2, 3], dtype=type_, mask=[0, 1, 0]), ".": {"a": {".dims": ["x"], "_FillValue": fill}}}
    ds.write(tmp_path / "f.ds", d)
    found = open_ds(tmp_path / "f.ds", mask_and_scale=False)["a"]
    np.testing.assert_array_equal(found, [1, np.nan, 3])
    assert found.attrs == {"_FillValue": fill}


def test_missing_values_are_kept_when_written_again(tmp_path):
    types = ["i2", "u8", ">i4", "f4", ">f8", bool, "U1"]
    d = {f"v{number}": np.ma.array(np.array([1, 0, 1]).astype(type_), mask=[0, 1, 0]) for number, type_ in enumerate(types)}
    d["filled"] = np.ma.array(np.array([1, 2, 3], "i4"), mask=[0, 1, 0])
    d["."] = {name: {".dims": ["x"]} for name in d}
    d["."]["filled"]["_FillValue"] = -1
    ds.write(tmp_path / "a.ds", d)
    found = open_ds(tmp_path / "a.ds")
    to_ds(found, tmp_path / "b.ds")
    again = open_ds(tmp_path / "b.ds")
    xr.testing.assert_equal(again.load(), found.load())
    assert {name: again[name].dtype for name in again} == {name: found[name].dtype for name in found}
    assert [ds.read(tmp_path / "b.ds", name)[name].dtype for name in ("v5", "filled")] == [bool, np.int32]
    if __import__("importlib.util").util.find_spec("netCDF4"):
        found[["v0", "v1", "v2", "v3", "v4", "v5", "filled"]].to_netcdf(tmp_path / "c.nc", engine="netcdf4")
        for name, variable in xr.open_dataset(tmp_path / "c.nc", engine="netcdf4").items():
            np.testing.assert_array_equal(variable.astype(float), found[name].astype(float))


def objects(*items):
    array = np.empty(len(items), object)
    array[:] = items
    return array


@pytest.mark.parametrize(
    "items, expected",
    [
        ([1, 2], np.array([1, 2])),
        ([1, None], np.array([1, np.nan])),
        ([np.int8(1), pd.NA], np.array([1, np.nan], "f4")),
        ([1.5, None, 2], np.array([1.5, np.nan, 2])),
        ([True, False], np.array([True, False])),
        ([True, None, np.nan], objects(True, np.nan, np.nan)),
        (["a", None, pd.NaT], objects("a", np.nan, np.nan)),
        (["a", ""], objects("a", "")),
        ([None, None], objects(np.nan, np.nan)),
        ([], objects()),
    ],
    ids=str,
)
def test_arrays_of_objects(tmp_path, items, expected):
    to_ds(xr.Dataset({"a": ("x", objects(*items))}), tmp_path / "a.ds")
    found = open_ds(tmp_path / "a.ds")["a"].values
    assert found.dtype == expected.dtype and repr(found.tolist()) == repr(expected.tolist())


@pytest.mark.parametrize(
    "items",
    [[1, "a"], [True, 1], [1.5, 2**60 + 1], [2**64], [__import__("decimal").Decimal(1)], [{}], [[1], [2]], [1j]],
    ids=str,
)
def test_arrays_of_objects_that_ds_cannot_hold(tmp_path, items):
    with pytest.raises(ValueError, match="variable 'a'"):
        to_ds(xr.Dataset({"a": ("x", objects(*items))}), tmp_path / "a.ds")
    assert not (tmp_path / "a.ds").exists()


def test_what_ds_cannot_hold(tmp_path):
    wrong = {
        "variable ''": xr.Dataset({"": ("x", [1])}),
        "variable '1'": xr.Dataset({1: ("x", [1]), "1": ("x", [2])}),
        "variable 'a'": xr.Dataset({"a": ("x", [1j])}),
        "the dataset, attribute 'when'": xr.Dataset(attrs={"when": np.datetime64("2000-01-01", "ns")}),
        "variable 'a', attribute 'b'": xr.Dataset({"a": ("x", [1], {"b": b"text"})}),
    }
    for message, dataset in wrong.items():
        with pytest.raises(ValueError, match=message):
            to_ds(dataset, tmp_path / "a.ds")


def test_a_variable_without_a_name(tmp_path):
    ds.write(tmp_path / "a.ds", {"a": np.arange(3), ".": {"a": {".dims": ["x"], "units": "m"}, ".": {"title": "t"}}})
    data = (tmp_path / "a.ds").read_bytes().replace(b'"a": ', b'"": ', 1)
    found = open_ds(data)
    assert found[""].dims == ("x",) and found[""].values.tolist() == [0, 1, 2] and found[""].attrs == {"units": "m"}


def test_paths_and_buffers(files, monkeypatch):
    expected = open_ds(files / "a.ds").load()
    data = (files / "a.ds").read_bytes()
    for source in (bytearray(data), memoryview(data)):
        xr.testing.assert_identical(pickle.loads(pickle.dumps(open_ds(source))).load(), expected)
    monkeypatch.chdir(files)
    monkeypatch.setenv("HOME", str(files))
    relative, home = open_ds("a.ds"), open_ds("~/a.ds")
    monkeypatch.chdir("/")
    for lazy in (relative, home):
        assert lazy["temperature"].encoding["source"] == str(files / "a.ds")
        xr.testing.assert_identical(pickle.loads(pickle.dumps(lazy)).load(), expected)


def test_variables_of_netcdf_that_are_left_out():
    path = pathlib.Path(__file__).parents[3] / "tests" / "golden" / "netcdf-types" / "types.nc"
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert "stations" not in open_ds(path)
    assert all(issubclass(one.category, LossWarning) for one in caught)
    assert {name for name in ("stations", "wind", "one", "lists") for one in caught if f'variable "{name}" left out' in str(one.message)} == {
        "stations", "wind", "one", "lists"
    }  # fmt: skip


def test_bytes_files_and_pickles(files):
    expected = open_ds(files / "a.ds").load()
    data = (files / "a.ds").read_bytes()
    xr.testing.assert_identical(open_ds(data).load(), expected)
    with open(files / "a.ds", "rb") as file:
        xr.testing.assert_identical(open_ds(file).load(), expected)
    lazy = pickle.loads(pickle.dumps(open_ds(files / "a.ds")))
    xr.testing.assert_identical(lazy.load(), expected)
    entry = WharfBackendEntrypoint()
    assert entry.guess_can_open(files / "a.ds") and entry.guess_can_open(data) and not entry.guess_can_open("none.nc")
    assert entry.guess_can_open("none.ds")
    with pytest.raises(OSError):
        open_ds(files / "none.ds")


def test_is_an_engine_by_entry_point():
    """Declared for the wheel: names the class that exists."""
    import pathlib
    import tomllib

    project = tomllib.loads((pathlib.Path(__file__).parents[1] / "pyproject.toml").read_text())
    assert project["project"]["entry-points"]["xarray.backends"] == {"wharf": "wharf_data.xarray:WharfBackendEntrypoint"}


def test_data_arrays_and_empty_variables(tmp_path):
    array = xr.DataArray(np.zeros((0, 3)), dims=("x", "y"), name="z")
    to_ds(array, tmp_path / "z.ds")
    found = open_ds(tmp_path / "z.ds")
    assert found["z"].shape == (0, 3) and found["z"].isel(y=[1, 2]).load().shape == (0, 2)
    to_ds(xr.DataArray(np.arange(3)), tmp_path / "y.ds")
    assert open_ds(tmp_path / "y.ds")["__xarray_dataarray_variable__"].values.tolist() == [0, 1, 2]


def test_names_of_attributes_that_begin_with_a_dot(tmp_path):
    dataset = xr.Dataset({"a": ("x", [1], {".u": "m"})}, attrs={".q": 1, "\\r": 2, "s": 3})
    to_ds(dataset, tmp_path / "a.ds")
    with xr.open_dataset(tmp_path / "a.ds", engine="wharf") as again:
        assert again.attrs == dataset.attrs and again["a"].attrs == dataset["a"].attrs
