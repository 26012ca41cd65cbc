"""Runs the test suite of the package simplebloom against `wharf_data.simplebloom`.

    python tests/original_simplebloom.py [FOLDER]

FOLDER is a checkout of https://github.com/jfolz/simplebloom. Without it the source distribution is fetched from PyPI; that of 1.1.0 has no tests,
so that then nothing but this is reported. Without a network it says so and does nothing.

`test_pybloom` runs, too: it is the suite of the original's implementation in Python, which here is the same class.
"""

from __future__ import annotations

import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

DISTRIBUTION = "simplebloom==1.1.0"

#: Puts our module in place of the original before the tests import it. They ask which of its two implementations is in use.
CONFTEST = """
import importlib, os, sys, types
from wharf_data import simplebloom

package = types.ModuleType("simplebloom")
package.__path__ = []
package.BloomFilter = simplebloom.BloomFilter
package.bloom = types.ModuleType("simplebloom.bloom")
package.bloom.BloomFilter = simplebloom.BloomFilter
sys.modules["simplebloom"], sys.modules["simplebloom.bloom"] = package, package.bloom

def reload(module):
    package.bloom.PURE_PYTHON = os.environ["SIMPLEBLOOM_USEPY"] == "1"
    return module

importlib.reload = reload
"""


def fetch(folder: Path) -> Path | None:
    pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-binary", ":all:", "-d", folder, DISTRIBUTION]
    if subprocess.run(pip).returncode != 0:
        return None
    (archive,) = folder.glob("*.tar.gz")
    with tarfile.open(archive) as tar:
        tar.extractall(folder, filter="data")
    return next(path for path in folder.iterdir() if path.is_dir())


def main() -> int:
    with tempfile.TemporaryDirectory() as scratch:
        source = Path(sys.argv[1]) if len(sys.argv) > 1 else fetch(Path(scratch))
        if source is None:
            print(f"SKIPPED: {DISTRIBUTION} cannot be fetched: no network?", file=sys.stderr)
            return 0
        tests = sorted(source.glob("test*/test_*.py"))
        if not tests:
            print(f"SKIPPED: {source.name} contains no tests: give the path of a checkout", file=sys.stderr)
            return 0
        code = 0
        for test in tests:
            # One process each, as each selects an implementation when it is imported.
            plugin = Path(scratch) / "plugin"
            plugin.mkdir(exist_ok=True)
            (plugin / "instead_of_simplebloom.py").write_text(CONFTEST)
            run = f"import sys; sys.path[:0] = [{str(plugin)!r}, {str(test.parent)!r}]; import pytest; " + (
                f"sys.exit(pytest.main(['-q', '-p', 'instead_of_simplebloom', '-p', 'no:cacheprovider', {str(test)!r}]))"
            )
            code |= subprocess.run([sys.executable, "-c", run], cwd=scratch).returncode
        return code


if __name__ == "__main__":
    sys.exit(main())
