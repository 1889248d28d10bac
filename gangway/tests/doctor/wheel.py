"""Packs a directory as a wheel, the kind that carries a library of its own: wheel.py DIRECTORY NAME OUT."""
import os, sys, sysconfig, zipfile

directory, name, out = sys.argv[1:]
tag = "py3-none-" + sysconfig.get_platform().replace("-", "_").replace(".", "_")
info = f"{name}-1.0.dist-info"
with zipfile.ZipFile(os.path.join(out, f"{name}-1.0-{tag}.whl"), "w") as wheel:
    files = [os.path.relpath(os.path.join(at, f), directory) for at, _, names in os.walk(directory) for f in names]
    for file in files:
        wheel.write(os.path.join(directory, file), file)
    texts = {"METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n", "WHEEL": f"Wheel-Version: 1.0\nRoot-Is-Purelib: false\nTag: {tag}\n"}
    for file, text in texts.items():
        wheel.writestr(f"{info}/{file}", text)
    record = "".join(f"{file},,\n" for file in files + [f"{info}/{file}" for file in (*texts, "RECORD")])
    wheel.writestr(f"{info}/RECORD", record)
