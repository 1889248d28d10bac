"""Gangway: an OpenMP runtime in place of the copies of libgomp and libomp that wheels bring along.

A library takes another's place only when a process starts, so programs are started on it:

    python -m gangway run script.py
    LD_PRELOAD=$(python -m gangway preload-path) python script.py

`gangway doctor --python` says which copies an environment has.
"""

import os

__version__ = "@VERSION@"
__all__ = ["command_path", "is_active", "preload_path"]

_HERE = os.path.dirname(os.path.abspath(__file__))


def preload_path():
    """The library's file, for LD_PRELOAD of a process that is to be started."""
    return os.path.join(_HERE, "lib", "gangway", "libomp-libgangway.so")


def command_path():
    """The command's file."""
    return os.path.join(_HERE, "bin", "gangway")


def is_active():
    """Whether OpenMP calls of this process reach Gangway."""
    import ctypes

    return hasattr(ctypes.CDLL(None), "ompx_describe")
