"""A NetCDF-4 file with groups, and its variables as netCDF4 reads them.

    python tests/reference/python/netcdf_groups.py tests/golden/netcdf-groups

Writes groups.nc and groups.json: the dimensions with the paths of their groups, the values, and the attributes of groups. HDF5 writes the padding of
structures uninitialized, so that groups.nc has other bytes in every run.
"""

import json
import sys
from pathlib import Path

import netCDF4
import numpy as np


def write(path: Path) -> None:
    with netCDF4.Dataset(path, "w") as file:
        file.title = "stations"
        file.createDimension("time", None)
        file.createDimension("x", 3)
        time = file.createVariable("time", "i4", ("time",))
        time.units = "days since 2000-01-01"
        time[:] = [0, 1, 2, 3]
        file.createVariable("x", "f8", ("x",))[:] = [10, 20, 30]
        north = file.createGroup("north")
        north.note = "above 60"
        north.count = np.int16(7)
        north.createDimension("x", 2)  # hides that of the file
        north.createVariable("x", "f4", ("x",))[:] = [1.5, 2.5]
        packed = north.createVariable("t2m", "i2", ("time", "x"), fill_value=-999, zlib=True)
        packed.scale_factor = 0.5
        packed.units = "K"
        packed[:] = np.ma.masked_equal(np.arange(8).reshape(4, 2) / 2 - 1, 1.5)
        inner = north.createGroup("inner")
        inner.createDimension("record", None)
        inner.createVariable("grown", "i8", ("record", "x"))[:] = np.arange(6).reshape(3, 2) * 10**12
        inner.createVariable("names", str, ("x",))[:] = np.array(["eins", "zwei ü"], dtype=object)
        inner.createVariable("scalar", "f8", ())[...] = 2.25
        south = file.createGroup("south")
        south.createVariable("wide", "u1", ("x",))[:] = [1, 2, 3]
        file.createGroup("empty")


def path_of(group: netCDF4.Group) -> str:
    return group.path.strip("/")


def dimension_path(group: netCDF4.Group, name: str) -> str:
    """The path of a dimension: that of the innermost group around that has it."""
    while name not in group.dimensions:
        group = group.parent
    return f"{path_of(group)}/{name}".lstrip("/")


def read(group: netCDF4.Group, out: dict) -> None:
    for name in group.ncattrs():
        value = group.getncattr(name)
        out["attributes"][f"{path_of(group)}/{name}".lstrip("/")] = value.item() if hasattr(value, "item") else value
    for name, variable in group.variables.items():
        variable.set_auto_maskandscale(True)
        values = variable[...]
        out["variables"][f"{path_of(group)}/{name}".lstrip("/")] = {
            "dimensions": [dimension_path(group, dimension) for dimension in variable.dimensions],
            "shape": list(variable.shape),
            "values": np.ma.asarray(values).ravel().tolist(),
        }
    for inner in group.groups.values():
        read(inner, out)


def main(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    write(folder / "groups.nc")
    out: dict = {"attributes": {}, "variables": {}}
    with netCDF4.Dataset(folder / "groups.nc") as file:
        read(file, out)
    (folder / "groups.json").write_text(json.dumps(out, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")


main(Path(sys.argv[1]))
