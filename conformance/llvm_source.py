"""Where LLVM's tests and tools come from: Debian's packages.

Lives here: fetching and unpacking. May not live here: what is in the tests (`lit`, `offload`), running them (`llvm_suite`).
"""
import shutil
import subprocess
import sys

import lit

# The parts of LLVM that have tests for us: where they are unpacked, where the tests are, what they need besides. The headers of the
# runtime are there because tests include kmp_platform.h.
PARTS = {"runtime": ("", "openmp/runtime/test", ["*/openmp/runtime/test/*", "*/openmp/runtime/src/*.h"]),
         "offload": ("-offload", "offload/test", ["*/offload/test/*"])}


def apt(cache, *command):
    """Runs apt-get in `cache` with lists of its own, among them the sources of this release."""
    state = cache / "apt"
    for sub in ("lists/partial", "archives/partial"):
        (state / sub).mkdir(parents=True, exist_ok=True)
    release = dict(line.rstrip().split("=", 1) for line in open("/etc/os-release") if "=" in line)
    codename = release.get("VERSION_CODENAME", "bookworm").strip('"')
    (state / "both.sources").write_text(
        "Types: deb deb-src\nURIs: http://deb.debian.org/debian\n"
        f"Suites: {codename} {codename}-updates\nComponents: main\n"
        "Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg\n")
    options = [f"Dir::Etc::sourcelist={state}/both.sources", "Dir::Etc::sourceparts=-",
               f"Dir::State::lists={state}/lists", f"Dir::Cache={state}", "APT::Sandbox::User=root"]
    options = [word for option in options for word in ("-o", option)]
    for words in (["update"], command):
        subprocess.run(["apt-get", *options, "-qq", *words], check=True, cwd=cache)


def fetch(cache, version, part):
    """The directory with the tests of a part of LLVM `version`, unpacked below `cache`."""
    package = f"llvm-toolchain-{version}"
    suffix, tests, patterns = PARTS[part]
    root = cache / (package + suffix)
    if not (root / ".complete").exists():
        if not list(cache.glob(f"{package}_*.orig.tar.*")):
            print(f"fetching {package}", file=sys.stderr)
            apt(cache, "source", "--download-only", package)
        tarballs = sorted(cache.glob(f"{package}_*.orig.tar.*"))
        if not tarballs:
            sys.exit(f"llvm_suite: apt left no {package} in {cache}")
        shutil.rmtree(root, ignore_errors=True)
        root.mkdir()
        subprocess.run(["tar", "-xf", tarballs[-1], "-C", root, "--strip-components=1", "--wildcards", *patterns], check=True)
        (root / ".complete").touch()
    return root / tests


def tools(cache, version):
    """Paths of clang, clang++, FileCheck and not; the last two are fetched if need be."""
    extra = cache / "tools"
    if not lit.tool("FileCheck", version, [extra]) or not lit.tool("not", version, [extra]):
        package = f"llvm-{version}-tools"
        print(f"fetching {package}", file=sys.stderr)
        apt(cache, "download", package)
        for archive in cache.glob(f"{package}_*.deb"):
            subprocess.run(["dpkg-deb", "-x", archive, extra], check=True)
    found = {name: lit.tool(name, version, [extra]) for name in ("clang", "clang++", "FileCheck", "not")}
    for name, path in found.items():
        if not path:
            sys.exit(f"llvm_suite: {name} of LLVM {version} is not there; is clang-{version} installed?")
    return found
