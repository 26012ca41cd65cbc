"""NetCDF files of more than 4 GiB, by us and by the C library.

    ds_netcdf_large.py CONVERTER WORK

A ds file that is nothing but a header and holes, with a few values, becomes CDF-5 and NetCDF-4 in which the C library must find them;
files of holes that the C library makes are read by CONVERTER (our program) at their ends. The last line is JSON: what was compared.
"""

import json
import os
import subprocess
import sys

import netCDF4
import numpy as np

COUNT = 2_300_000_000


def holes(path, names, count):
    """A ds file of bytes, the last of each variable its number; its variables have two dimensions."""
    header = {}
    for index, name in enumerate(names):
        header[name] = {".dims": [f"x_{name}", f"y_{name}"], ".size": [count // 1000, 1000], ".type": "int8", ".offset": index * count, ".len": count, ".endian": "l"}
    head = b"ds-1.0\n" + json.dumps(header).encode() + b"\n"
    with open(path, "wb") as f:
        f.write(head)
        f.truncate(len(head) + count * len(names))
        for index in range(len(names)):
            f.seek(len(head) + (index + 1) * count - 1)
            f.write(bytes([index + 1]))


def main():
    converter, work = sys.argv[1:]
    compared = 0
    source = os.path.join(work, "large.ds")
    for kind, names, count in (("5", "a", 2 * COUNT), ("4", "ab", COUNT)):
        holes(source, names, count)
        out = os.path.join(work, f"large.{kind}.nc")
        subprocess.run([converter, source, out, kind], check=True, stdout=subprocess.DEVNULL)
        assert os.path.getsize(out) > 4 << 30
        with netCDF4.Dataset(out) as f:
            for index, name in enumerate(names):
                variable = f.variables[name]
                variable.set_auto_mask(False)
                assert variable.shape == (count // 1000, 1000)
                last = variable[-1]
                assert last[-1] == index + 1 and not last[:-1].any(), (kind, name)
                assert not variable[0].any() and not variable[count // 2000].any(), (kind, name)
                compared += 3000
        os.remove(out)
    os.remove(source)
    for kind, sizes in (
        ("NETCDF3_CLASSIC", (1000, 5 << 20)),
        ("NETCDF3_64BIT_OFFSET", (3 << 20, 3 << 20, 5 << 20)),
        ("NETCDF3_64BIT_DATA", (5 << 20, 5 << 20)),
    ):
        path = os.path.join(work, f"large.{kind}.nc")
        with netCDF4.Dataset(path, "w", format=kind) as f:
            f.set_fill_off()
            f.createDimension("y", 1024)
            for index, size in enumerate(sizes):
                f.createDimension(f"x{index}", size)
                variable = f.createVariable(f"v{index}", "i1", (f"x{index}", "y"))
                variable[-1, -3:] = [1, 2, index + 3]
        assert os.path.getsize(path) > 4 << 30
        for index, size in enumerate(sizes):
            told = subprocess.run([converter, path, f"v{index}", str(size - 1)], check=True, capture_output=True, text=True).stdout
            row = np.array(told.split(), int)
            assert len(row) == 1024 and list(row[-3:]) == [1, 2, index + 3] and not row[:-3].any(), (kind, index)
            compared += 1024
        os.remove(path)
    print(json.dumps({"large": compared}))


if __name__ == "__main__":
    sys.exit(main())
