"""Packs the wheel: wheel.py DIRECTORY VERSION TAG OUT. DIRECTORY holds the package `gangway`; prints the file's name.

Written by hand (Binary distribution format, packaging.python.org): a platform wheel of files that are built already needs no build tools, and the
archive is the same for the same files.
"""

import base64
import hashlib
import os
import sys
import zipfile

NAME = "gangway_omp"
METADATA = """Metadata-Version: 2.1
Name: gangway-omp
Version: {version}
Summary: OpenMP runtime in place of the copies of libgomp and libomp in other wheels
License: MIT OR Apache-2.0
Classifier: Operating System :: POSIX :: Linux
Classifier: Programming Language :: Python :: 3
Requires-Python: >=3.8
Description-Content-Type: text/markdown

    python -m gangway doctor --python          # which OpenMP runtimes this environment has, and whether they conflict
    python -m gangway run script.py            # the script, all of its OpenMP on one runtime
    python -m gangway compare -- python script.py

`gangway.preload_path()` is the library for `LD_PRELOAD`.
"""
WHEEL = "Wheel-Version: 1.0\nGenerator: gangway\nRoot-Is-Purelib: false\nTag: {tag}\n"
ENTRY = "[console_scripts]\ngangway = gangway.__main__:main\n"


def entries(directory, version, tag):
    """(name, bytes, is executable) of every file, sorted."""
    for at, folders, names in sorted(os.walk(directory)):
        folders.sort()
        for name in sorted(names):
            path = os.path.join(at, name)
            with open(path, "rb") as file:
                yield os.path.relpath(path, directory), file.read(), os.access(path, os.X_OK)
    info = f"{NAME}-{version}.dist-info"
    for license in ("LICENSE-MIT", "LICENSE-APACHE"):
        with open(license, "rb") as file:
            yield f"{info}/{license}", file.read(), False
    yield f"{info}/METADATA", METADATA.format(version=version).encode(), False
    yield f"{info}/WHEEL", WHEEL.format(tag=tag).encode(), False
    yield f"{info}/entry_points.txt", ENTRY.encode(), False


def main():
    directory, version, tag, out = sys.argv[1:]
    wheel = os.path.join(out, f"{NAME}-{version}-{tag}.whl")
    record = ""
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as archive:
        def put(name, data, executable):
            entry = zipfile.ZipInfo(name, (2026, 1, 1, 0, 0, 0))
            entry.external_attr = (0o100755 if executable else 0o100644) << 16
            archive.writestr(entry, data, zipfile.ZIP_DEFLATED)

        for name, data, executable in entries(directory, version, tag):
            digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
            record += f"{name},sha256={digest},{len(data)}\n"
            put(name, data, executable)
        place = f"{NAME}-{version}.dist-info/RECORD"
        put(place, (record + f"{place},,\n").encode(), False)
    print(wheel)


main()
