"""Parts of a dataset as xarray's .sel and .isel cut them, and its rows as to_dataframe() has them.

    python tests/reference/python/ds_region.py tests/golden/ds-region

Writes regions.json and tidy.json: the dataset, what is asked, and what xarray returns. The tests of dsfmt make the same dataset, and compare.
"""

import json
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import xarray as xr

TIMES = pd.date_range("2000-01-30", periods=12, freq="6h")
LATS = np.array([75, 45.5, 15.1, 0, -30.3, -90], "float32")
LONS = {"east": np.arange(0, 360, 30.0), "signed": np.arange(-180, 180, 30.0), "west": np.arange(330, -1, -30.0)}
STATIONS = ["Bergen", "Oslo", "Tromsø", "Ørsta"]


def dataset(lon: str) -> xr.Dataset:
    """A dataset whose values count its elements; every seventh is missing."""
    lons = LONS[lon]
    values = np.arange(len(TIMES) * len(LATS) * len(lons), dtype="float64").reshape(len(TIMES), len(LATS), len(lons))
    values[values % 7 == 3] = np.nan
    return xr.Dataset(
        {
            "t": (("time", "lat", "lon"), values),
            "height": (("lat", "lon"), np.arange(len(LATS) * len(lons), dtype="float64").reshape(len(LATS), -1) + 0.5),
            "day": (("time",), np.arange(len(TIMES), dtype="int32") // 4),
            "elevation": (("station",), np.array([12, 94, 8, 31], "int16")),
            "scalar": ((), 7.25),
        },
        coords={"time": TIMES, "lat": LATS, "lon": lons, "station": STATIONS},
    )


def plain(array: xr.DataArray) -> dict:
    """Dimensions and values; times as hours since the first."""
    values = array.values
    if values.dtype.kind == "M":
        values = (values - TIMES[0].to_datetime64()) / np.timedelta64(1, "h")
    flat = [None if isinstance(value, float) and np.isnan(value) else value for value in values.ravel().tolist()]
    return {"dims": list(array.dims), "values": flat}


def wrapped(data: xr.Dataset, *parts: slice) -> xr.Dataset:
    """Parts of the longitudes, one after the other."""
    return data.sel(lon=np.concatenate([data.lon.sel(lon=part).values for part in parts]))


# What is asked, and how xarray says it. Ends are included. Latitudes descend, so that xarray's slices do.
CASES = [
    ("east", [["sel", "time", "-1"]], lambda d: d.isel(time=-1)),
    ("east", [["sel", "time", "2:9:3"], ["sel", "lat", "0,-1,2"]], lambda d: d.isel(time=slice(2, 9, 3), lat=[0, -1, 2])),
    ("east", [["sel", "lon", "::-1"]], lambda d: d.isel(lon=slice(None, None, -1))),
    ("east", [["between", "lat", "-30.3..45.5"]], lambda d: d.sel(lat=slice(45.6, -30.4))),
    ("east", [["between", "lat", "0.."]], lambda d: d.sel(lat=slice(None, 0))),
    ("east", [["between", "lat", "..0"]], lambda d: d.sel(lat=slice(0, None))),
    ("east", [["between", "lon", "30..90"]], lambda d: d.sel(lon=slice(30, 90))),
    ("east", [["between", "lon", "-45..60"]], lambda d: wrapped(d, slice(315, None), slice(0, 60))),
    ("east", [["between", "lon", "300..30"]], lambda d: wrapped(d, slice(300, None), slice(0, 30))),
    ("east", [["between", "lon", "-180..179"]], lambda d: wrapped(d, slice(180, None), slice(0, 179))),
    ("east", [["between", "lon", "-90..-30"]], lambda d: d.sel(lon=slice(270, 330))),
    ("east", [["between", "lon", "330..390"]], lambda d: wrapped(d, slice(330, None), slice(0, 30))),
    ("signed", [["between", "lon", "150..210"]], lambda d: wrapped(d, slice(150, None), slice(-180, -150))),
    ("signed", [["between", "lon", "120..-120"]], lambda d: wrapped(d, slice(120, None), slice(-180, -120))),
    ("signed", [["between", "lon", "190..250"]], lambda d: d.sel(lon=slice(-170, -110))),
    ("signed", [["between", "lon", "0..359"]], lambda d: wrapped(d, slice(0, None), slice(-180, -1))),
    ("west", [["between", "lon", "-45..60"]], lambda d: wrapped(d, slice(60, 0), slice(330, 315))),
    ("west", [["between", "lon", "30..90"]], lambda d: d.sel(lon=slice(90, 30))),
    ("east", [["at", "lat", "0"]], lambda d: d.sel(lat=0)),
    ("east", [["at", "lat", "15.1"]], lambda d: d.sel(lat=np.float32(15.1))),
    ("east", [["at", "lat", "20"], ["tolerance", "lat", "6"]], lambda d: d.sel(lat=20, method="nearest", tolerance=6)),
    ("east", [["at", "lon", "-30"]], lambda d: d.sel(lon=330)),
    ("east", [["at", "lat", "45.5,-90"], ["at", "lon", "60,0,30"]], lambda d: d.sel(lat=[45.5, -90], lon=[60, 0, 30])),
    ("east", [["at", "station", "Oslo"]], lambda d: d.sel(station="Oslo")),
    ("east", [["at", "station", "Ørsta,Bergen"]], lambda d: d.sel(station=["Ørsta", "Bergen"])),
    ("east", [["between", "station", "Oslo..Tromsø"]], lambda d: d.sel(station=slice("Oslo", "Tromsø"))),
    ("east", [["at", "time", "2000-01-31T12:00"]], lambda d: d.sel(time=np.datetime64("2000-01-31T12:00"))),
    (
        "east",
        [["at", "time", "2000-01-31T14:30"], ["tolerance", "time", "3h"]],
        lambda d: d.sel(time=np.datetime64("2000-01-31T14:30"), method="nearest", tolerance=np.timedelta64(3, "h")),
    ),
    ("east", [["between", "time", "2000-01-31..2000-01-31"]], lambda d: d.sel(time=slice("2000-01-31", "2000-01-31"))),
    ("east", [["between", "time", "2000-01..2000-01"]], lambda d: d.sel(time=slice("2000-01", "2000-01"))),
    ("east", [["between", "time", "2000-02.."]], lambda d: d.sel(time=slice("2000-02", None))),
    ("east", [["between", "time", "..2000-01-31T06"]], lambda d: d.sel(time=slice(None, "2000-01-31T06"))),
    (
        "east",
        [["between", "time", "2000-01-31T06:00..2000-02-01"], ["between", "lat", "-40..20"], ["between", "lon", "-60..0"]],
        lambda d: wrapped(d.sel(time=slice("2000-01-31T06:00", "2000-02-01"), lat=slice(20, -40)), slice(300, None), slice(0, 0)),
    ),
]

TIDY = [
    ("east", [], ["t"], lambda d: d[["t"]]),
    ("east", [], ["t", "height", "day", "scalar"], lambda d: d[["t", "height", "day", "scalar"]]),
    ("east", [], ["height", "scalar"], lambda d: d[["height", "scalar"]]),
    ("east", [], ["elevation"], lambda d: d[["elevation"]]),
    (
        "east",
        [["between", "lon", "-45..60"], ["at", "lat", "0"]],
        ["t", "day"],
        lambda d: wrapped(d, slice(315, None), slice(0, 60)).sel(lat=0)[["t", "day"]].drop_vars("lat"),
    ),
    ("east", [["sel", "time", "1"]], ["height", "t"], lambda d: d.isel(time=1)[["height", "t"]].drop_vars("time")),
    ("east", [], ["bare"], lambda d: xr.Dataset({"bare": (("time", "n"), np.arange(36.0).reshape(12, 3))}, {"time": TIMES})),
]


def main(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    regions = [
        {"lon": lon, "asked": asked, "expected": {name: plain(array) for name, array in cut(dataset(lon)).variables.items()}}
        for lon, asked, cut in CASES
    ]
    tidy = []
    for lon, asked, variables, select in TIDY:
        frame = select(dataset(lon)).to_dataframe().reset_index()
        columns = {name: plain(xr.DataArray(column.values))["values"] for name, column in frame.items() if name != "index"}
        tidy.append({"lon": lon, "asked": asked, "variables": variables, "expected": columns})
    for name, cases in (("regions", regions), ("tidy", tidy)):
        lines = ",\n".join(json.dumps(case, ensure_ascii=False) for case in cases)
        (folder / f"{name}.json").write_text(f"[\n{lines}\n]\n", encoding="utf-8")


main(Path(sys.argv[1]))
