# SPDX-License-Identifier: MIT
"""Arrays on a GPU: what __cuda_array_interface__ tells of them, and new ones of the same library."""
from __future__ import annotations

import math
import sys
from typing import Any

import numpy as np

LEGACY = 1  # the default stream of CUDA, in which work is where an array names none


def on_gpu(array: Any) -> bool:
    return hasattr(array, "__cuda_array_interface__")


def _library(array: Any) -> str:
    return type(array).__module__.partition(".")[0]


class GpuArray:
    """Where an array on a GPU lies; the members that arrays of NumPy have as well mean the same."""

    def __init__(self, array: Any, name: str, writable: bool = False) -> None:
        said = getattr(array, "__cuda_array_interface__", None)
        if said is None:
            raise TypeError(f"{name} lies in memory of the host, and what goes with it on a GPU")
        self.address, read_only = said["data"]
        self.shape = tuple(said["shape"])
        self.dtype = np.dtype(said["typestr"])
        self.ndim, self.itemsize, self.size = len(self.shape), self.dtype.itemsize, math.prod(self.shape)
        self.strides = said.get("strides") or tuple(self.itemsize * math.prod(self.shape[i + 1:]) for i in range(self.ndim))
        self.stream = said["stream"] if "stream" in said else _current_stream(array)
        if said.get("mask") is not None:
            raise TypeError(f"{name} has a mask, which is not supported")
        if writable and read_only:
            raise ValueError(f"{name} cannot be written")
        if self.stream == 0:
            raise ValueError(f"{name} names stream 0, which its interface forbids: 1 is the default stream, 2 that of the thread")

    def flat(self, name: str) -> tuple[int, int]:
        """The address and the bits of an element of an array that lies one element behind another."""
        if self.ndim != 1 or (self.size > 1 and self.strides != (self.itemsize,)):
            raise ValueError(f"{name} must have one dimension and lie one element behind another")
        return self.address, 8 * self.itemsize


def _current_stream(array: Any) -> int:
    if _library(array) == "torch":  # which does not tell
        return sys.modules["torch"].cuda.current_stream(array.device).cuda_stream or LEGACY
    return LEGACY


def common_stream(x: GpuArray, out: GpuArray) -> int:
    """The stream in which there may be work on either of them."""
    if x.stream is None or out.stream is None:
        return x.stream or out.stream or LEGACY
    if x.stream != out.stream:
        raise ValueError(f"x is in stream {x.stream} and out in {out.stream}: let one wait for the other")
    return x.stream


def empty(array: Any, shape: tuple[int, ...], by_rows: bool) -> Any:
    """A new array of the library, the type and on the GPU of another one."""
    library = _library(array)
    if library == "cupy":
        with array.device:
            return sys.modules["cupy"].empty(shape, array.dtype, "C" if by_rows else "F")
    if library == "torch":
        return array.new_empty(shape) if by_rows else array.new_empty(shape[::-1]).T
    if library == "numba":
        return sys.modules["numba"].cuda.device_array(shape, array.dtype, order="C" if by_rows else "F")
    raise TypeError(f"how to make a new {type(array).__name__} is not known: give one as out of mul")
