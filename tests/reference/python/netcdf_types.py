"""A NetCDF-4 file with enumerations and compound types, and its rows as netCDF4 reads them.

    python tests/reference/python/netcdf_types.py tests/golden/netcdf-types

Writes types.nc and types.json: for each table its rows, with names of enumerations, objects for compounds, and objects of lists for compounds of more than
one dimension. HDF5 writes the padding of structures uninitialized, so that types.nc has other bytes in every run.
"""

import json
import sys
from pathlib import Path

import netCDF4
import numpy as np

CLOUDS = {"clear": 0, "cumulus": 1, "stratus": 2, "missing": 127}


def write(path: Path) -> None:
    with netCDF4.Dataset(path, "w") as file:
        file.createDimension("station", 4)
        file.createDimension("level", 2)
        clouds = file.createEnumType(np.int8, "clouds", CLOUDS)
        sky = file.createVariable("sky", clouds, ("station",), fill_value=127)
        sky[:] = [1, 0, 127, 2]
        wide = file.createVariable("wide", clouds, ("station", "level"))
        wide[:] = [[0, 1], [2, 0], [1, 1], [0, 2]]
        position = np.dtype([("lat", "f4"), ("lon", "f8")])
        # Python's package wants the types of members to be defined first.
        file.createCompoundType(position, "position")
        station = np.dtype([("id", "i4"), ("where", position), ("range", "i2", (2,)), ("name", "S1", (6,)), ("flag", "u1")])
        station = file.createCompoundType(station, "station_t")
        stations = file.createVariable("stations", station, ("station",))
        data = np.zeros(4, station.dtype_view)  # characters as text
        data["id"] = [1, -2, 3, 2**31 - 1]
        data["where"]["lat"] = [50.5, -0.25, 1e10, 0]
        data["where"]["lon"] = [8.25, -179.125, 0.1, 1e-300]
        data["range"] = [[1, 2], [3, 4], [-5, 6], [7, 32767]]
        data["name"] = [b"north", b"", "\u00fcber".encode(), b"sixsix"]
        data["flag"] = [0, 1, 2, 255]
        stations[:] = data
        pair = np.dtype([("u", "f4"), ("v", "f4")])
        wind = file.createVariable("wind", file.createCompoundType(pair, "pair"), ("station", "level"))
        data = np.zeros((4, 2), pair)
        data["u"], data["v"] = np.arange(8).reshape(4, 2), -np.arange(8).reshape(4, 2) / 4
        wind[:] = data
        file.createVariable("height", "f4", ("station",))[:] = [1, 2, 3, 4]
        one = file.createVariable("one", file.cmptypes["pair"], ())
        one[...] = np.array((1.5, 2.5), pair)
        lists = file.createVLType(np.int32, "list")
        file.createVariable("lists", lists, ("station",))[0] = np.array([1, 2], "i4")


def plain(value):
    if isinstance(value, bytes):
        return value.decode()
    if getattr(value, "dtype", None) is not None and value.dtype.names:
        return {name: member(value[name]) for name in value.dtype.names}
    return value.tolist() if hasattr(value, "tolist") else value


def member(value):
    """A member of one element, or of several as lists."""
    if getattr(value, "dtype", None) is not None and value.dtype.kind == "S":
        return value.tobytes().rstrip(b"\0").decode()
    return plain(value)


def named(values):
    names = {number: name for name, number in CLOUDS.items()}
    values = np.ma.asarray(values)
    found = [None if missing else names[int(number)] for number, missing in zip(values.data.ravel(), np.ma.getmaskarray(values).ravel())]
    return np.array(found, dtype=object).reshape(values.shape).tolist()


def read(path: Path) -> dict:
    with netCDF4.Dataset(path) as file:
        file.set_auto_mask(True)
        sky, wide = named(file["sky"][:]), named(file["wide"][:])
        stations, wind, height = (np.ma.getdata(file[name][:]) for name in ("stations", "wind", "height"))
        rows = [
            {
                "sky": sky[row],
                "wide": wide[row],
                "stations": plain(stations[row]),
                "wind": plain(wind[row]),
                "height": float(height[row]),
            }
            for row in range(4)
        ]
        return {"station": rows, "scalars": [{"one": plain(np.ma.getdata(file["one"][...])[()])}]}


def main() -> None:
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "types.nc"
    write(path)
    (folder / "types.json").write_text(json.dumps(read(path), indent=1, ensure_ascii=False) + "\n")
    print("| `types` | enumerations and compounds, and the rows that netCDF4 reads of them |")


if __name__ == "__main__":
    main()
