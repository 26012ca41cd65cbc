"""Parts of variables, and long rows: the values that xarray selects from the same files."""

from __future__ import annotations

import datetime
import math
from pathlib import Path
from typing import Any

import pytest

import wharf_data

np = pytest.importorskip("numpy")
pa = pytest.importorskip("pyarrow")
pd = pytest.importorskip("pandas")
xr = pytest.importorskip("xarray")
pytest.importorskip("netCDF4")

from wharf_data.xarray import to_ds  # noqa: E402

TIMES = pd.date_range("2000-01-01", periods=40, freq="36h")
LAT = np.arange(60.0, 29.0, -2.5)
LON = np.arange(0.0, 360.0, 15.0)


@pytest.fixture(scope="module", params=["nc", "ds"])
def file(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Any]:
    """A file, and the same data in xarray."""
    rng = np.random.default_rng(5)
    shape = (len(TIMES), len(LAT), len(LON))
    values = rng.normal(280, 10, shape)
    values[3, 2, 1] = np.nan
    data = xr.Dataset(
        {
            "t2m": (("time", "lat", "lon"), values, {"units": "K"}),
            "rain": (("time", "lat", "lon"), rng.random(shape).astype("f4")),
            "height": (("lat", "lon"), rng.random(shape[1:])),
        },
        {
            "time": TIMES,
            "lat": ("lat", LAT, {"units": "degrees_north"}),
            "lon": ("lon", LON, {"units": "degrees_east"}),
        },
    )
    path = tmp_path_factory.mktemp("regions") / f"a.{request.param}"
    if request.param == "nc":
        data.to_netcdf(path, engine="netcdf4")
    else:
        to_ds(data, path)
    return path, data


def long(container: Any, *columns: str) -> Any:
    """The long rows as a frame with these columns; times, which are text, as times."""
    frame = container.table().to_arrow(list(columns)).to_pandas()
    return frame.assign(time=pd.to_datetime(frame["time"]).astype("M8[us]")) if "time" in columns else frame


def expected(part: Any, *columns: str) -> Any:
    frame = part.to_dataframe().reset_index()[list(columns)]
    return frame.assign(time=frame["time"].astype("M8[us]")) if "time" in columns else frame


def same(found: Any, other: Any) -> None:
    pd.testing.assert_frame_equal(found, other, check_dtype=False, check_exact=True)


COLUMNS = ("time", "lat", "lon", "t2m", "rain")


@pytest.mark.parametrize(
    ("part", "select"),
    [
        ({}, lambda d: d),
        ({"sel": {"time": slice(2, 30, 7), "lon": [3, 1]}}, lambda d: d.isel(time=slice(2, 30, 7), lon=[3, 1])),
        ({"sel": {"lat": slice(None, None, -1), "time": slice(-2, None)}}, lambda d: d.isel(lat=slice(None, None, -1), time=slice(-2, None))),
        ({"between": {"time": ("2000-02", "2000-02")}}, lambda d: d.sel(time="2000-02")),
        ({"between": {"time": (datetime.datetime(2000, 1, 4), None)}}, lambda d: d.sel(time=slice("2000-01-04", None))),
        ({"between": {"time": slice(np.datetime64("2000-01-05"), pd.Timestamp("2000-01-11 12:00"))}}, lambda d: d.sel(time=slice("2000-01-05", "2000-01-11 12:00"))),
        ({"between": {"time": (datetime.date(2000, 1, 4), datetime.date(2000, 1, 4))}}, lambda d: d.sel(time="2000-01-04")),
        ({"between": {"lat": (40, 50)}}, lambda d: d.sel(lat=slice(50, 40))),
        ({"between": {"lat": (None, np.float32(40)), "lon": (30, 75)}}, lambda d: d.sel(lat=slice(40, None), lon=slice(30, 75))),
        ({"at": {"lat": [50, 30], "lon": np.array([45, 15])}}, lambda d: d.sel(lat=[50, 30], lon=[45, 15])),
        ({"at": {"time": [TIMES[5], TIMES[2].to_datetime64()]}}, lambda d: d.isel(time=[5, 2])),
        ({"at": {"lat": [51.1, 30.2]}, "tolerance": 1.5}, lambda d: d.sel(lat=[51.1, 30.2], method="nearest")),
        ({"at": {"lat": [1000.0]}, "tolerance": {"lat": math.inf}}, lambda d: d.sel(lat=[1000.0], method="nearest")),
        ({"at": {"time": ["2000-01-02T10:00"]}, "tolerance": {"time": datetime.timedelta(hours=3)}}, lambda d: d.sel(time=[datetime.datetime(2000, 1, 2, 10)], method="nearest")),
        ({"at": {"time": ["2000-01-02T10:00"]}, "tolerance": np.timedelta64(3, "h")}, lambda d: d.isel(time=[1])),
        ({"sel": {"time": slice(0, 3)}, "between": {"lon": (-30, 15)}}, lambda d: d.isel(time=slice(0, 3), lon=[22, 23, 0, 1])),
    ],
)  # fmt: skip
def test_long_rows_of_a_part(file: tuple[Path, Any], part: dict[str, Any], select: Any) -> None:
    path, data = file
    found = long(wharf_data.open(path, tidy=["t2m", "rain"], time="iso", **part), *COLUMNS)
    other = expected(select(data[["t2m", "rain"]]), *COLUMNS)
    if -30 in part.get("between", {}).get("lon", ()):
        assert sorted(found["lon"].unique()) == [0, 15, 330, 345]
        key = ["time", "lat", "lon"]
        found, other = (frame.sort_values(key, ignore_index=True) for frame in (found, other))
    same(found, other)


def test_one_point_drops_the_dimension(file: tuple[Path, Any]) -> None:
    path, data = file
    found = long(wharf_data.open(path, at={"lat": 50}, sel={"lon": 3}, tidy=["t2m"], time="iso"), "time", "t2m")
    same(found, expected(data[["t2m"]].sel(lat=50).isel(lon=3, drop=True), "time", "t2m"))


def test_tables_of_a_part(file: tuple[Path, Any]) -> None:
    path, data = file
    container = wharf_data.open(path)
    part = container.select(between={"time": ("2000-01-05", "2000-01-09")}, sel={"lon": 2})
    assert (part.format, part.name) == (container.format, container.name)
    table = part["time"].to_arrow(["t2m"])
    other = data["t2m"].sel(time=slice("2000-01-05", "2000-01-09")).isel(lon=2)
    np.testing.assert_array_equal(np.array(table["t2m"].to_pylist(), float), other.values)
    assert part["time"].count() == len(other) and container["time"].count() == len(TIMES)
    with pytest.raises(wharf_data.UsageError, match="shows a part already"):
        part.select(sel={"lat": 0})


@pytest.mark.parametrize("extension", ["ds", "nc", "parquet"])
def test_parts_are_converted(file: tuple[Path, Any], tmp_path: Path, extension: str) -> None:
    path, data = file
    part: dict[str, Any] = {"between": {"lat": (40, 50), "time": ("2000-01", "2000-01")}, "at": {"lon": 45}}
    tidy = ["t2m"] if extension == "parquet" else False
    outputs = [tmp_path / f"{number}.{extension}" for number in range(3)]
    reports = [
        wharf_data.convert(path, outputs[0], tidy=tidy, **part),
        wharf_data.convert(wharf_data.open(path, tidy=tidy, **part), outputs[1]),
        wharf_data.convert(wharf_data.open(path).select(**part, tidy=tidy), outputs[2]),
    ]
    assert len({(report["rows"], report["variables"], report["bytes"]) for report in reports}) == 1
    assert outputs[0].read_bytes() == outputs[1].read_bytes() == outputs[2].read_bytes()
    other = data.sel(lat=slice(50, 40), time="2000-01", lon=45)
    if tidy:
        found = pa.parquet.read_table(outputs[0]) if hasattr(pa, "parquet") else pa.table(wharf_data.open(outputs[0]))
        same(found.to_pandas()[["lat", "t2m"]], expected(other[["t2m"]], "lat", "t2m"))
        return
    from wharf_data import ds

    if extension == "ds":
        np.testing.assert_array_equal(ds.read(outputs[0], "t2m")["t2m"], other["t2m"].values)
    else:
        with xr.open_dataset(outputs[0], engine="netcdf4") as found:
            np.testing.assert_array_equal(found["t2m"].values, other["t2m"].values)
            np.testing.assert_array_equal(found["time"].values, other["time"].values)


def test_columns_select_the_variables_of_long_rows(file: tuple[Path, Any], tmp_path: Path) -> None:
    path, data = file
    wharf_data.convert(path, tmp_path / "x.arrow", columns=["height"], tidy=True, sel={"lat": [0]})
    found = pa.table(wharf_data.open(tmp_path / "x.arrow")).to_pandas()
    same(found, expected(data[["height"]].isel(lat=[0]), "lat", "lon", "height"))
    with pytest.raises(wharf_data.UsageError, match="tidy.*columns"):
        wharf_data.convert(path, tmp_path / "y.arrow", columns=["height"], tidy=["height"])


def test_statistics_of_a_part(file: tuple[Path, Any]) -> None:
    path, data = file
    part = {"between": {"lat": (40, 50)}}
    (found,) = wharf_data.open(path, between={"lat": (40, 50)}).stats(["rain"])
    values = data["rain"].sel(lat=slice(50, 40)).values.astype(float)
    assert (found["column"], found["count"], found["estimates"]) == ("rain", values.size, None)
    np.testing.assert_allclose([found["mean"], found["std"], found["median"]], [values.mean(), values.std(), np.median(values)])
    (long_rows,) = wharf_data.open(path, tidy=["rain"], **part).stats(["rain"])
    np.testing.assert_allclose(long_rows["mean"], values.mean())


def test_packed_numbers(tmp_path: Path) -> None:
    values = np.linspace(0, 10, 12).round(2)
    data = xr.Dataset({"x": ("t", values)}, {"t": np.arange(12.0)})
    data.to_netcdf(tmp_path / "a.nc", engine="netcdf4", encoding={"x": {"dtype": "i2", "scale_factor": 0.01}})
    unpacked = wharf_data.open(tmp_path / "a.nc", sel={"t": slice(3, 5)}).table().to_arrow(["x"])
    np.testing.assert_allclose(unpacked["x"].to_numpy(), values[3:5])
    packed = wharf_data.open(tmp_path / "a.nc", sel={"t": slice(3, 5)}, packed=True).table().to_arrow(["x"])
    assert packed["x"].to_pylist() == [round(value * 100) for value in values[3:5]]
    (tmp_path / "a.csv").write_text("a,b\n1,2\n")
    with pytest.raises(wharf_data.UsageError, match="packed"):
        wharf_data.open(tmp_path / "a.csv", packed=True)


def test_times_as_text(file: tuple[Path, Any]) -> None:
    path, _ = file
    row = wharf_data.open(path, sel={"time": slice(1, 2), "lat": 0, "lon": 0}, time="iso")["time"][0]
    assert row["time"].startswith("2000-01-02T12")


@pytest.mark.parametrize(
    ("part", "error", "message"),
    [
        ({"at": {"lat": 51.1}}, wharf_data.UsageError, "51.1"),
        ({"at": {"nothing": 1}}, wharf_data.UsageError, "nothing"),
        ({"between": {"lat": (50, 40)}}, wharf_data.UsageError, "before its start"),
        ({"between": {"lat": (10, 20)}}, wharf_data.UsageError, "lat"),
        ({"between": {"lat": 3}}, TypeError, "pair"),
        ({"sel": {"depth": 1}}, wharf_data.UsageError, "unknown dimension"),
        ({"sel": {"lat": 99}}, wharf_data.UsageError, "99"),
        ({"at": {"lat": True}}, TypeError, "coordinate"),
        ({"at": {"lat": None}}, TypeError, "coordinate"),
        ({"tolerance": 1}, wharf_data.UsageError, "tolerance.*at selects points"),
        ({"tidy": ["nothing"]}, wharf_data.UsageError, "nothing"),
        ({"time": "julian"}, wharf_data.UsageError, "time must be iso or jd"),
    ],
)
def test_errors_say_what_is_wrong(file: tuple[Path, Any], part: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        wharf_data.open(file[0], **part)


def test_other_formats_have_no_variables(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("a,b\n1,2\n")
    with pytest.raises(wharf_data.UsageError, match="variables of ds and NetCDF"):
        wharf_data.open(tmp_path / "a.csv", sel={"a": 1})
    with pytest.raises(wharf_data.UsageError, match="tidy"):
        wharf_data.open(tmp_path / "a.csv", tidy=True)


def test_parts_of_bytes_and_files(file: tuple[Path, Any]) -> None:
    path, data = file
    other = expected(data[["rain"]].isel(time=[4]), "rain")
    same(long(wharf_data.open(path.read_bytes(), sel={"time": [4]}, tidy=["rain"]), "rain"), other)
    with path.open("rb") as opened:
        same(long(wharf_data.open(opened, sel={"time": [4]}, tidy=["rain"]), "rain"), other)


def test_bools_are_no_indices(golden: Path) -> None:
    path = golden / "ds" / "from-netcdf.ds"
    for sel, found in ((True, "bool"), ([True, False], "a list of bools"), (np.array([True, False]), "ndarray")):
        with pytest.raises(TypeError, match=f"expected an index, a slice, or a list of indices, found {found}"):
            wharf_data.open(path, sel={"time": sel})
    assert len(wharf_data.open(path, sel={"time": [1]})["time"]) == 1


def test_times_of_numpy_are_instants(golden: Path) -> None:
    path = golden / "ds" / "from-netcdf.ds"

    def count(first: Any, last: Any) -> int:
        return len(wharf_data.open(path, between={"time": (first, last)})["time"])

    assert count("2000-01-01", "2000-01-01") == count(datetime.date(2000, 1, 1), datetime.date(2000, 1, 1)) == 2
    assert count(datetime.datetime(2000, 1, 1), datetime.datetime(2000, 1, 1)) == 1
    for unit in ("Y", "M", "D", "s", "us", "ns"):
        day = np.datetime64("2000-01-01", unit)
        assert count(day, day) == 1
