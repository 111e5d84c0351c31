# SPDX-License-Identifier: MIT
"""Sparse matrix times a vector: in threads, stored as suits the matrix and the machine, with the same bits every time.

    import spmv
    A = spmv.matrix(S)    # S from scipy.sparse, or a dense array
    y = A @ x             # x (n,) or (n, k)

A goes wherever SciPy takes a LinearOperator: scipy.sparse.linalg.eigsh(A), cg(A, b), lsqr(spmv.matrix(S, both=True), b).
"""
from __future__ import annotations

from typing import Any

import numpy as np

from ._core import Error, Operator
from ._core import version as __version__
from ._gpu import GpuArray, common_stream, empty, on_gpu

__all__ = ["Error", "Matrix", "matrix", "__version__"]

_BOTH, _UPDATE, _EXPLAIN, _STRICT, _ON_DEVICE = 1, 2, 4, 8, 1024  # SPMV_WITH_BOTH and the others of spmv_c.h


def matrix(
    A: Any,
    plan: str | None = None,
    type: str | None = None,
    device: str = "host",
    threads: int | None = None,
    *,
    both: bool = False,
    updatable: bool = False,
    strict: bool = False,
    calls: int = 0,
    vectors: int = 0,
) -> Matrix:
    """Prepares a matrix (m, n) for products, which takes as long as some tens of them.

    A          a sparse array or matrix of SciPy in any form, or a dense one (m, n). Values other than float32 are used as float64. Or a
               sparse one of CuPy that lies on the device; it becomes csr, whose columns must rise in each row (A.sum_duplicates())
    plan       how it is stored ("csr", "sell:h=32", ...), or how that is found: "auto", "measure", "cocktail". None: "auto"
    type       what products compute in: "f64", "f32", or "mixed", that is float32 values and float64 vectors. None: as the values are
    device     "host", or where else: "gpu", "cuda", "cuda:1", "opencl:0", or part of a name
    threads    on the host. None: as many as OMP_NUM_THREADS says, or as there are processors
    both       for products with A.T as well, which takes as much memory again
    updatable  for update
    strict     use no format that multiplies fill by x, so that infinities and NaNs of x stay in the rows that use them
    calls      how many products are expected, for which preparing must pay. 0: 1000
    vectors    how many x has most often, that is k. 0: one

    The arrays of A are kept for pickling and for explain, but products do not read them.
    """
    given = _arrays_on_gpu(A, device) if hasattr(A, "tocsr") and on_gpu(getattr(A, "data", None)) else _arrays_of(A)
    if type is None:
        type = "f32" if given[5].dtype == np.float32 else "f64"
    flags = (_BOTH if both else 0) | (_UPDATE if updatable else 0) | (_STRICT if strict else 0)
    return _make(given, (type, plan, calls, vectors, threads or 0, device, flags))


def _values(values: Any) -> np.ndarray:
    """As float32 or float64, one behind another."""
    values = np.asarray(values)
    if values.dtype.kind not in "biuf" or values.dtype.itemsize > 8:
        raise TypeError(f"values of type {values.dtype} are not supported")
    small = values.dtype in (np.float16, np.float32)
    return np.ascontiguousarray(values, np.float32 if small else np.float64).reshape(-1)


def _indices(*arrays: Any) -> list[np.ndarray]:
    """In integers of 32 bits, or of 64 if some array needs them."""
    arrays = tuple(np.asarray(a) for a in arrays)
    width = np.int32 if all(a.dtype == np.int32 for a in arrays) else np.int64
    return [np.ascontiguousarray(a, width) for a in arrays]


def _arrays_of(A: Any) -> tuple:
    """What Operator takes of a matrix: form, shape, ptr, row, col, val, and the shape of a block."""
    if on_gpu(A):
        raise TypeError("A is dense and lies on a GPU: make it sparse there, such as by cupyx.scipy.sparse.csr_matrix(A), or give A.get()")
    if not hasattr(A, "tocsr"):
        return _arrays_of_dense(np.asarray(A))
    form = A.format
    if form not in ("csr", "csc", "coo", "bsr"):
        A, form = A.tocsr(), "csr"
    if len(A.shape) != 2:
        raise ValueError(f"A has {len(A.shape)} dimensions")
    values = _values(A.data)
    if form == "coo":
        row, col = _indices(A.row, A.col)
        return form, A.shape, None, row, col, values, (0, 0)
    ptr, indices = _indices(A.indptr, A.indices)
    if form == "csc":
        return form, A.shape, ptr, indices, None, values, (0, 0)
    return form, A.shape, ptr, None, indices, values, A.blocksize if form == "bsr" else (0, 0)


def _arrays_of_dense(A: np.ndarray) -> tuple:
    if A.ndim != 2:
        raise ValueError(f"A has {A.ndim} dimensions; a matrix has 2")
    row, col = _indices(*np.nonzero(A))
    return "coo", A.shape, None, row, col, _values(A[row, col]), (0, 0)


def _arrays_on_gpu(A: Any, device: str) -> tuple:
    if device == "host":
        raise TypeError('A lies on a GPU: say device="cuda", or give it in memory of the host, such as A.get()')
    A = A.tocsr()
    if GpuArray(A.indices, "A.indices").dtype != np.int32 or GpuArray(A.data, "A.data").dtype not in (np.float32, np.float64):
        raise TypeError("on a GPU A.indices must be of int32, and A.data of float32 or float64")
    return "csr", A.shape, A.indptr, None, A.indices, A.data, (0, 0)


def _make(given: tuple, options: tuple, plan: str | None = None, transposed: str | None = None) -> Matrix:
    form, shape, ptr, row, col, values, block = given
    nnz = len(values) if form == "coo" else 0
    arrays, flags = (ptr, row, col, values), options[6]
    if on_gpu(values):
        names, flags = ("A.indptr", "", "A.indices", "A.data"), flags | _ON_DEVICE
        arrays = tuple(None if a is None else GpuArray(a, name).flat(name) for a, name in zip(arrays, names))
    out = Matrix(form, *shape, nnz, arrays, tuple(block), options[0], plan or options[1], transposed, *options[2:6], flags)
    out._given, out._options = given, options
    return out


class Matrix(Operator):
    """A matrix (m, n) made by spmv.matrix.

    A @ x multiplies by one vector (n,) or several (n, k); mul can also scale, add, and write into an array. Several threads may multiply
    at the same time on the host, and one on a device, where others get an Error named SPMV_ERR_BUSY; none may beside an update. Arrays on
    the GPU of the matrix (__cuda_array_interface__) stay there: the product is enqueued in their stream. Members of Operator: T, mul, plan,
    shape, dtype, nnz, nbytes.
    """

    ndim = 2
    __array_ufunc__ = None  # so that x @ A comes here

    # ---- products ----

    def dot(self, x: Any) -> Any:
        """A @ x: x (n,) or (n, k), the result (m,) or (m, k)."""
        return self.mul(x)

    matvec = matmat = dot

    def rmatvec(self, y: Any) -> Any:
        """A.T @ y: y (m,) or (m, k), the result (n,) or (n, k). The matrix must be made with both=True."""
        return self.T.mul(y)

    rmatmat = rmatvec

    @property
    def H(self) -> Matrix:
        """The transpose, as values are real."""
        return self.T

    def transpose(self) -> Matrix:
        """A.T"""
        return self.T

    def aslinearoperator(self) -> Any:
        """A scipy.sparse.linalg.LinearOperator (m, n), to be added to others, scaled or composed with them."""
        from scipy.sparse.linalg import LinearOperator

        return LinearOperator(
            self.shape, self.matvec, rmatvec=self.rmatvec, matmat=self.matmat, rmatmat=self.rmatmat, dtype=self.dtype
        )

    def _from_left(self, x: Any) -> Any:
        """x @ A: x (m,) or (k, m)"""
        if on_gpu(x):  # where some warn of a transposed vector
            return self.T.mul(x) if len(x.shape) == 1 else self.T.mul(x.T).T
        return self.T.mul(np.transpose(x)).T

    def _mul(self, x: Any, out: Any, alpha: float, beta: float) -> Any:
        """Products that need other arrays than those given, and several vectors."""
        if out is None and beta:
            raise ValueError("beta is of out, which is not given")
        if on_gpu(x) or on_gpu(out):
            return self._mul_on_gpu(x, out, alpha, beta)
        x = self._vectors(x)
        shape = (self.shape[0], *x.shape[1:])
        if out is None:
            order = "C" if x.ndim == 1 or x.flags.c_contiguous or not x.flags.f_contiguous else "F"
            return self._multiply(x, np.empty(shape, x.dtype, order), alpha, beta)
        if not isinstance(out, np.ndarray) or out.shape != shape or out.dtype != x.dtype:
            raise ValueError(f"out must be an array of {x.dtype} and shape {shape}")
        if not _layout(out):  # it needs one of its own
            out[...] = self._multiply(x, out.copy("C"), alpha, beta)
            return out
        return self._multiply(x, out, alpha, beta)

    def _mul_on_gpu(self, x: Any, out: Any, alpha: float, beta: float) -> Any:
        """Enqueues the product of arrays that lie on the matrix's GPU, in the stream that they name."""
        if self.device == "host":
            raise TypeError('x or out lies on a GPU, but the matrix does not: make it with device="cuda", or give x.get()')
        given = GpuArray(x, "x")
        self._check_shape(given)
        if given.dtype != self.dtype:
            raise TypeError(f"x is of {given.dtype}, but on a GPU the matrix multiplies {self.dtype}")
        shape = (self.shape[0], *given.shape[1:])
        lies = _layout(given)
        if not lies:
            raise ValueError("x must lie by rows or by columns, with a step of 1 within them: copy it on the GPU")
        if out is None:
            out = empty(x, shape, lies[0])
        y = GpuArray(out, "out", writable=True)
        if y.shape != shape or y.dtype != self.dtype:
            raise ValueError(f"out must be an array of {self.dtype} and shape {shape}")
        to = _layout(y)
        lies = to and _layout(given, to[0])
        if not lies:
            raise ValueError("x and out must both lie by rows, or both by columns, with a step of 1 within them")
        count = given.shape[1] if given.ndim == 2 else 1
        self._there(given.address, y.address, count, to[0], lies[1], to[1], alpha, beta, common_stream(given, y))
        return out

    def _check_shape(self, x: Any) -> None:
        if x.ndim not in (1, 2) or x.shape[0] != self.shape[1]:
            raise ValueError(f"A {self.shape} cannot multiply an array of shape {x.shape}")

    def _vectors(self, x: Any) -> np.ndarray:
        """x as an array of a type that the matrix multiplies."""
        if hasattr(x, "tocsr"):
            raise TypeError("products with a sparse matrix are not supported")
        x = np.asarray(x)
        self._check_shape(x)
        if x.dtype == np.result_type(self.dtype, np.complex64):
            return x
        if x.dtype.kind == "c" or not np.can_cast(x.dtype, self.dtype):
            raise TypeError(f"x is of {x.dtype}, but the matrix multiplies {self.dtype} and complex numbers of twice its size")
        return x.astype(self.dtype, copy=False)

    def _multiply(self, x: np.ndarray, y: np.ndarray, alpha: float, beta: float) -> np.ndarray:
        """y = alpha A x + beta y, where y lies so that it can be written."""
        by_rows, ldy = _layout(y)
        if np.iscomplexobj(x):  # two vectors side by side
            if not by_rows:
                y[...] = self._multiply(np.ascontiguousarray(x), y.copy("C"), alpha, beta)
                return y
            self._multiply(_pairs(np.ascontiguousarray(x)), _pairs(y), alpha, beta)
            return y
        layout = _layout(x, by_rows)
        if not layout:
            x = np.array(x, order="C" if by_rows else "F")
            layout = _layout(x, by_rows)
        count = x.shape[1] if x.ndim == 2 else 1
        self._many(x, y, count, by_rows, layout[1], ldy, alpha, beta)
        return y

    # ---- more ----

    def update(self, values: Any) -> None:
        """Replaces the values, also of A.T; the pattern stays.

        values: as many as A.data had, in its order, and on a GPU if that was; for a matrix given as a dense array, those of its nonzeros by
        rows. The matrix must be made with updatable=True. Values on a GPU are kept for pickling, not copied.
        """
        given = self._owner._given
        if on_gpu(values) or on_gpu(given[5]):
            old, new = GpuArray(given[5], "A.data"), GpuArray(values, "values")
            taken = new.flat("values")
        else:
            new = values = taken = np.array(_values(values), given[5].dtype)
            old = given[5]
        if new.shape != old.shape or new.dtype != old.dtype:
            raise ValueError(f"{new.size} values of {new.dtype}, but the matrix has {old.size} of {old.dtype}")
        self._update(taken)
        self._owner._given = (*given[:5], values, given[6])

    @property
    def type(self) -> str:
        """What products compute in: "f64", "f32" or "mixed"."""
        return self._owner._options[0]

    @property
    def device(self) -> str:
        """Where products run, as it was given."""
        return self._owner._options[5]

    @property
    def threads(self) -> int | None:
        """How many threads products on the host may use; None: as many as OpenMP has. It can be set."""
        return self._owner._options[4] or None

    @threads.setter
    def threads(self, number: int | None) -> None:
        self._set_threads(number or 0)
        options = self._owner._options
        self._owner._options = (*options[:4], number or 0, *options[5:])

    def explain(self) -> str:
        """Why the matrix is stored as it is. This prepares it once more."""
        options = self._owner._options
        return _make(self._owner._given, (*options[:6], options[6] | _EXPLAIN))._explanation

    def __reduce__(self) -> tuple:
        owner = self._owner
        if owner is not self:
            return getattr, (owner, "T")
        return _make, (self._given, self._options, self.plan, self.T.plan if self._options[6] & _BOTH else None)

    def __repr__(self) -> str:
        return f"<spmv.Matrix {self.shape[0]} x {self.shape[1]}, {self.nnz} nonzeros, {self.type}, {self.plan} on {self.device}>"


def _layout(array: np.ndarray, by_rows: bool | None = None) -> tuple[bool, int] | None:
    """Whether vectors lie side by side, and the elements from one row, or else from one column, to the next. None: they lie otherwise."""
    size, n, k = array.itemsize, array.shape[0], array.shape[1] if array.ndim == 2 else 1
    down, right = array.strides[0], array.strides[1] if array.ndim == 2 else size
    if by_rows is not False and (right == size or k <= 1) and down % size == 0 and (down >= k * size or n <= 1):
        return True, max(down // size, k)
    if by_rows is not True and (down == size or n <= 1) and right % size == 0 and (right >= n * size or k <= 1):
        return False, max(right // size, n)
    return None


def _pairs(array: np.ndarray) -> np.ndarray:
    """Complex numbers (n,) or (n, k) as reals (n, 2) or (n, 2k), in the same memory."""
    return array.reshape(array.shape[0], -1).view(array.real.dtype)
