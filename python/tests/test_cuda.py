# SPDX-License-Identifier: MIT
"""Matrices and vectors on a GPU, by CUDA's driver or the one of tests/cuda/fake.c, which computes nothing but knows what it was asked for:
LD_LIBRARY_PATH leads to its libcuda.so.1. Run: python python/tests/test_cuda.py"""
import ctypes
import os
import pickle
import sys
import threading
import types
import unittest

import numpy as np
import scipy.sparse as sparse

import spmv

LEGACY, PER_THREAD = 1, 2
BUFFERS = 3  # FAKE_BUFFERS of tests/cuda/fake.h


class Driver:
    """Memory and streams of a GPU, in the context that the CUDA runtime uses."""

    def __init__(self, device=0):
        self.lib = ctypes.CDLL("libcuda.so.1")
        self.context = ctypes.c_void_p()
        self.fake = hasattr(self.lib, "fake_launches")
        self.call("cuInit", 0)
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(self.context), device)

    def call(self, name, *args):
        error = getattr(self.lib, name)(*args)
        if error:
            raise OSError(f"{name}: error {error}")

    def within(self, name, *args):
        self.call("cuCtxPushCurrent_v2", self.context)
        self.call(name, *args)
        self.call("cuCtxPopCurrent_v2", ctypes.byref(ctypes.c_void_p()))

    def copy(self, name, to, source, size):
        self.within("cuCtxSynchronize")
        if size:
            self.within(name, to, source, ctypes.c_size_t(size), ctypes.c_void_p(LEGACY))
        self.within("cuCtxSynchronize")

    def stream(self):
        out = ctypes.c_void_p()
        self.within("cuStreamCreate", ctypes.byref(out), 0)
        return out.value

    def asked(self, name, *args):
        """What the fake driver counts."""
        function = getattr(self.lib, "fake_" + name)
        function.restype = ctypes.c_void_p if name == "stream" else ctypes.c_int
        return function(*args)


class Array:
    """An array on a GPU with as little of an interface as there can be."""

    def __init__(self, driver, values, **said):
        values = np.asarray(values)
        base = values.base if isinstance(values.base, np.ndarray) else values
        self.driver, self.shape, self.dtype = driver, values.shape, values.dtype
        self.room, at = max(base.nbytes, 1), ctypes.c_ulonglong()
        driver.within("cuMemAlloc_v2", ctypes.byref(at), ctypes.c_size_t(self.room))
        self.at = self.begin = at.value
        driver.copy("cuMemcpyHtoDAsync_v2", at, ctypes.c_void_p(base.ctypes.data), base.nbytes)
        offset = values.ctypes.data - base.ctypes.data if values.size else 0
        self.said = {"shape": self.shape, "typestr": self.dtype.str, "data": (self.at + offset, False), "version": 3, "stream": None}
        if not values.flags.c_contiguous:
            self.said["strides"] = values.strides
        self.said.update(said)

    @property
    def __cuda_array_interface__(self):
        return {key: value for key, value in self.said.items() if value != "absent"}

    @property
    def T(self):
        out = object.__new__(type(self))
        out.__dict__.update(self.__dict__, owner=self, at=0, shape=self.shape[::-1])  # self frees the memory
        strides = self.said.get("strides") or np.empty(self.shape, self.dtype).strides
        out.said = {**self.said, "shape": self.shape[::-1], "strides": strides[::-1]}
        return out

    def get(self):
        there = np.empty(self.room, np.uint8)
        self.driver.copy("cuMemcpyDtoHAsync_v2", ctypes.c_void_p(there.ctypes.data), ctypes.c_ulonglong(self.begin), self.room)
        return np.ndarray(self.shape, self.dtype, there, self.said["data"][0] - self.begin, self.said.get("strides"))

    def __reduce__(self):
        return remake, (self.get(),)

    def __del__(self):
        if getattr(self, "at", 0):
            self.driver.within("cuMemFree_v2", ctypes.c_ulonglong(self.at))


def remake(values):
    return Array(driver, values)


class Csr:
    """A matrix on a GPU, as CuPy has it."""

    format = "csr"

    def __init__(self, driver, A, **other):
        self.shape = A.shape
        self.indptr, self.indices = Array(driver, other.get("indptr", A.indptr)), Array(driver, other.get("indices", A.indices))
        self.data = Array(driver, other.get("data", A.data))

    def tocsr(self):
        return self


try:
    driver = Driver()
except OSError as error:
    driver, missing = None, str(error)


@unittest.skipUnless(driver, "" if driver else missing)
class OnGpu(unittest.TestCase):
    A = sparse.random(40, 30, 0.2, format="csr", random_state=1)
    x = np.sin(np.arange(30))

    def setUp(self):
        self.M = spmv.matrix(self.A, "csr", device="cuda", both=True)

    def tearDown(self):
        if driver.fake:
            self.assertEqual(driver.asked("bad"), 0)

    def ran(self, product, wanted, stream, *arrays):
        """Calls product, which returns an array, and sees to it that a kernel got these arrays in this stream."""
        before = driver.asked("launches") if driver.fake else 0
        out = product()
        if driver.fake:
            self.assertGreater(driver.asked("launches"), before)
            self.assertEqual(driver.asked("stream"), stream)
            for array in (out, *arrays):
                self.assertTrue(driver.asked("given", ctypes.c_ulonglong(array.said["data"][0])))
        else:
            self.assertLess(np.abs(out.get() - wanted).max(), 1e-12)
        return out

    def test_host_vectors(self):
        self.assertEqual((self.M.device, self.M.T.device), ("cuda", "cuda"))
        self.assertIn("cuda", repr(self.M))
        for device in ("cuda:0", "CUDA:gpu", "gpu") if driver.fake else ("cuda:0",):
            M = spmv.matrix(self.A, device=device, both=True, updatable=True)
            for matrix in (M, pickle.loads(pickle.dumps(M))):
                for x in (self.x, np.ones((30, 3))):
                    y = matrix @ x
                    self.assertEqual(y.shape, (40, *x.shape[1:]))
                    if not driver.fake:
                        self.assertLess(np.abs(y - self.A @ x).max(), 1e-12)
                self.assertEqual((matrix.T @ np.ones(40)).shape, (30,))
            M.update(self.A.data * 2)
            self.assertIn("csr", M.explain())
        with self.assertRaisesRegex(spmv.Error, "'cuda:99'") as raised:
            spmv.matrix(self.A, device="cuda:99")
        self.assertEqual(raised.exception.name, "SPMV_ERR_NO_DEVICE")

    def test_streams(self):
        own, other = driver.stream(), driver.stream()
        for x_stream, y_stream, stream in ((None, None, LEGACY), ("absent", "absent", LEGACY), (1, 1, 1), (2, None, 2), (None, 2, 2),
                                           (own, own, own), (own, None, own), (other, other, other)):
            x, y = Array(driver, self.x, stream=x_stream), Array(driver, np.ones(40), stream=y_stream)
            self.assertIs(self.ran(lambda: self.M.mul(x, y, 2, 1), 2 * (self.A @ self.x) + 1, stream, x), y)
        with self.assertRaisesRegex(ValueError, f"x is in stream {own} and out in {other}"):
            self.M.mul(Array(driver, self.x, stream=own), Array(driver, np.ones(40), stream=other))
        with self.assertRaisesRegex(ValueError, "stream 0"):
            self.M.mul(Array(driver, self.x, stream=0), Array(driver, np.ones(40)))

    def test_threads(self):
        """The stream of each thread is another one, and so are the sums that products keep in between."""
        x, y, numbers = Array(driver, self.x, stream=PER_THREAD), Array(driver, np.ones(40), stream=PER_THREAD), []
        both = threading.Barrier(2)

        def work(turn):
            for now in range(2):
                both.wait()
                for _ in range(2 * (now == turn)):
                    M.mul(x, y)
                    numbers.append(driver.asked("alive", BUFFERS) if driver.fake else 0)
            both.wait()

        for _ in range(3):
            before, numbers, M = numbers, [], spmv.matrix(self.A, "coo", device="cuda")
            workers = [threading.Thread(target=work, args=(turn,)) for turn in range(2)]
            for worker in workers:
                worker.start()
            for worker in workers:
                worker.join()
            del M
        if driver.fake:
            first, again, second, last = numbers
            self.assertEqual((first, second), (again, last))
            self.assertGreater(second, first)
            self.assertEqual(numbers, before)  # nothing is left of a matrix

    def test_several_vectors(self):
        X = np.random.default_rng(2).random((30, 8))
        Y = np.ones((40, 8))
        for columns in (1, 3, 8):
            for order in "CF":
                x, y = Array(driver, np.array(X[:, :columns], order=order)), Array(driver, np.array(Y[:, :columns], order=order))
                if driver.fake and columns == 3:
                    continue  # a kernel turns them, in other memory
                self.ran(lambda: self.M.mul(x, y), self.A @ X[:, :columns], LEGACY)
        for x, y in ((X[:, 2:4], Y[:, 2:4]), (np.arange(60.0)[::2], np.ones(40))):
            out, before = Array(driver, y), driver.asked("launches") if driver.fake else 0
            self.assertIs(self.M.mul(Array(driver, x), out), out)
            if driver.fake:
                self.assertGreater(driver.asked("launches"), before)
            else:
                self.assertLess(np.abs(out.get() - self.A @ x).max(), 1e-12)
        y = Array(driver, np.ones(30))
        self.ran(lambda: self.M.T.mul(Array(driver, np.ones(40)), y), self.A.T @ np.ones(40), LEGACY)
        empty = spmv.matrix(sparse.csr_matrix((0, 30)), device="cuda")
        y = Array(driver, np.ones(0))
        self.assertIs(empty.mul(Array(driver, self.x), y), y)

    def test_refusals(self):
        x, y = Array(driver, self.x), Array(driver, np.ones(40))
        wide = np.ones((60, 4))
        for error, says, given, out in (
            (TypeError, "out of mul", x, None),
            (TypeError, "x lies in memory of the host", self.x, y),
            (TypeError, "out lies in memory of the host", x, np.ones(40)),
            (TypeError, "float32", Array(driver, self.x.astype(np.float32)), y),
            (TypeError, "complex128", Array(driver, self.x.astype(complex)), y),
            (TypeError, "mask", Array(driver, self.x, mask=x), y),
            (ValueError, "cannot multiply", y, x),
            (ValueError, "cannot multiply", Array(driver, np.ones((30, 1, 1))), x),
            (ValueError, "shape \\(40,\\)", x, Array(driver, np.ones((40, 1)))),
            (ValueError, "float64", x, Array(driver, np.ones(40, np.float32))),
            (ValueError, "out cannot be written", x, Array(driver, np.ones(40), data=(y.at, True))),
            (ValueError, "x must lie", Array(driver, wide[::2, ::2]), None),
            (ValueError, "x must lie", Array(driver, self.x[::-1].copy()[::-1]), y),
            (ValueError, "both lie by rows", Array(driver, np.ones((30, 2))), Array(driver, np.ones((40, 2), order="F"))),
            (spmv.Error, "overlap", Array(driver, self.x, data=(y.at, False)), y),
            (spmv.Error, "40 elements from offset 0 exceed", x, Array(driver, np.ones(20), shape=(40,))),
        ):
            with self.assertRaisesRegex(error, says):
                self.M.mul(given, out)
        with self.assertRaisesRegex(ValueError, "beta"):
            self.M.mul(x, beta=1)
        with self.assertRaisesRegex(TypeError, 'device="cuda"'):
            spmv.matrix(self.A) @ x
        try:
            other = spmv.matrix(self.A, device="opencl:cpu")
        except spmv.Error:
            other = None  # there is no OpenCL
        if other:
            with self.assertRaisesRegex(spmv.Error, "not on a CUDA device"):
                other.mul(x, y)
        with self.assertRaisesRegex(TypeError, "lies in memory of the host"):
            spmv.matrix(self.A, device="cuda", updatable=True).update(Array(driver, self.A.data))
        with self.assertRaisesRegex(spmv.Error, "both"):
            spmv.matrix(self.A, device="cuda").T.mul(y, x)

    @unittest.skipUnless(driver and driver.fake, "one GPU alone")
    def test_another_gpu(self):
        other = Driver(1)
        x, y = Array(other, self.x), Array(driver, np.ones(40))
        with self.assertRaisesRegex(spmv.Error, "x lies on GPU 1, the matrix on GPU 0"):
            self.M.mul(x, y)
        with self.assertRaisesRegex(spmv.Error, "y lies on GPU 1"):
            self.M.T.mul(y, x)
        with self.assertRaisesRegex(spmv.Error, "ptr lies on GPU 0, the matrix on GPU 1"):
            spmv.matrix(Csr(driver, self.A), device="cuda:1")

    @unittest.skipUnless(hasattr(os, "fork"), "there is no fork")
    def test_fork(self):
        """A child may use neither the GPU nor the driver."""
        x, y = Array(driver, self.x), Array(driver, np.ones(40))
        M = spmv.matrix(Csr(driver, self.A), device="cuda", updatable=True)
        M.mul(x, y)
        child = os.fork()
        if not child:
            said = []
            for x.said["stream"], call in ((1, lambda: M.mul(x, y)), (2, lambda: M.mul(x, y)), (1, lambda: M.update(M._given[5]))):
                try:
                    call()
                except spmv.Error as error:
                    said.append(error.name)
            os._exit(said != 3 * ["SPMV_ERR_BACKEND"])
        self.assertEqual(os.waitpid(child, 0)[1], 0)

    def test_libraries(self):
        """New arrays are of the library that x is of."""
        made = []

        def create(shape, dtype=np.float64, order="C"):
            made.append(order)
            return Array(driver, np.zeros(shape, dtype, order))

        class Device:
            def __enter__(self):
                made.append("device")

            __exit__ = lambda *unused: None

        stream = driver.stream()
        current = types.SimpleNamespace(cuda_stream=stream)
        modules = {
            "cupy": {"empty": create},
            "numba": {"cuda": types.SimpleNamespace(device_array=create)},
            "torch": {"cuda": types.SimpleNamespace(current_stream=lambda device: current)},
        }
        for name, members in modules.items():
            kind = type("Array", (Array,), {"__module__": name, "device": Device(), "new_empty": lambda self, shape: create(shape)})
            module, before = types.ModuleType(name), sys.modules.get(name)
            module.__dict__.update(members)
            sys.modules[name] = module
            said = {"stream": "absent" if name == "torch" else stream}
            try:
                for order in "CF":
                    x = kind(driver, np.array(np.ones((30, 2)), order=order), **said)
                    self.ran(lambda: self.M @ x, self.A @ np.ones((30, 2)), stream)
                x = kind(driver, self.x, **said)
                self.ran(lambda: self.M @ x, self.A @ self.x, stream, x)
                self.ran(lambda: self.M.dot(x), self.A @ self.x, stream, x)
                z = kind(driver, np.ones(40), **said)
                self.ran(lambda: self.M.T @ z, self.A.T @ np.ones(40), stream, z)
                self.ran(lambda: z @ self.M, self.A.T @ np.ones(40), stream, z)
                Z = kind(driver, np.ones((2, 40)), **said)
                got = Z @ self.M
                self.assertEqual(got.shape, (2, 30))
                if not driver.fake:
                    self.assertLess(np.abs(got.get() - np.ones((2, 40)) @ self.A).max(), 1e-12)
                current.cuda_stream = 0
                self.ran(lambda: self.M @ x, self.A @ self.x, LEGACY if name == "torch" else stream, x)
                current.cuda_stream = stream
            finally:
                del sys.modules[name]
                if before:
                    sys.modules[name] = before
        orders = list("CFCCCCFC")
        self.assertEqual(made, [word for order in orders for word in ("device", order)] + orders + 8 * ["C"])

    def test_matrix_on_gpu(self):
        for wide in (np.int32, np.int64):
            there = Csr(driver, self.A, indptr=self.A.indptr.astype(wide))
            for options in ({}, {"both": True}, {"updatable": True}, {"type": "f64", "plan": "sell"}):
                if driver.fake and "both" in options:
                    continue  # the GPU makes the transpose
                M = spmv.matrix(there, device="cuda", **options)
                self.assertEqual((M.shape, M.nnz, M.type), ((40, 30), self.A.nnz, "f64"))
                for N in (M, pickle.loads(pickle.dumps(M))):
                    x, y = Array(driver, self.x), Array(driver, np.ones(40))
                    self.ran(lambda: N.mul(x, y), self.A @ self.x, LEGACY, x)
                    self.assertEqual((N @ self.x).shape, (40,))
        self.assertIn("given", spmv.matrix(there, "csr", device="cuda").explain())
        single = Csr(driver, self.A, data=self.A.data.astype(np.float32))
        self.assertEqual(spmv.matrix(single, device="cuda").type, "f32")
        self.assertEqual(spmv.matrix(single, device="cuda", type="mixed").type, "mixed")
        other = self.A.indices.copy()
        begin = int(self.A.indptr[np.argmax(np.diff(self.A.indptr) > 1)])
        other[begin], other[begin + 1] = other[begin + 1], other[begin]
        for error, says, options, arrays in (
            (TypeError, 'device="cuda"', {}, {}),
            (TypeError, "int32", {"device": "cuda"}, {"indices": self.A.indices.astype(np.int64)}),
            (TypeError, "float64", {"device": "cuda"}, {"data": self.A.data.astype(complex)}),
            (ValueError, "A.data must have one dimension", {"device": "cuda"}, {"data": np.repeat(self.A.data, 2)[::2]}),
            (spmv.Error, "type", {"device": "cuda", "type": "f32"}, {}),
            (spmv.Error, "does not exceed", {"device": "cuda", "plan": "csr"}, {"indices": other}),
        )[:5 if driver.fake else 6]:  # it is the GPU that finds the last
            with self.assertRaisesRegex(error, says):
                spmv.matrix(Csr(driver, self.A, **arrays), **options)
        dense = Array(driver, np.ones((3, 3)))
        dense.data = dense  # as of PyTorch
        with self.assertRaisesRegex(TypeError, "dense"):
            spmv.matrix(dense, device="cuda")

    def test_update_on_gpu(self):
        there, values = Csr(driver, self.A), Array(driver, self.A.data * 2)
        before = driver.asked("settled") if driver.fake else 0
        M = spmv.matrix(there, device="cuda", updatable=True)
        M.update(values)
        if driver.fake:
            self.assertEqual(driver.asked("settled"), before + 2)  # both have waited for what is in other streams
        x, y = Array(driver, self.x), Array(driver, np.ones(40))
        self.ran(lambda: M.mul(x, y), 2 * (self.A @ self.x), LEGACY, x)
        self.assertTrue(np.array_equal(pickle.loads(pickle.dumps(M))._given[5].get(), self.A.data * 2))
        with self.assertRaisesRegex(TypeError, "lies in memory of the host"):
            M.update(self.A.data)
        for wrong in (self.A.data[:3], self.A.data.astype(np.float32)):
            with self.assertRaisesRegex(ValueError, "but the matrix has"):
                M.update(Array(driver, wrong))
        with self.assertRaisesRegex(spmv.Error, "updatable"):
            spmv.matrix(Csr(driver, self.A), device="cuda").update(values)


@unittest.skipUnless(driver and not driver.fake, "there is no GPU")
class Libraries(unittest.TestCase):
    """The libraries themselves, where they are."""

    A = sparse.random(3000, 2000, 0.01, format="csr", random_state=3)
    x = np.sin(np.arange(2000))

    def load(self, name):
        try:
            return __import__(name, fromlist=["x"])
        except ImportError as error:
            self.skipTest(str(error))

    def products(self, M, convert, back):
        """Products of all kinds with arrays that convert makes and back brings to the host."""
        X = np.random.default_rng(4).random((2000, 3))
        y = convert(np.ones(3000))
        for x in (self.x, X, np.asfortranarray(X)):
            got = M @ convert(x)
            self.assertIs(type(got), type(y))
            self.assertLess(np.abs(back(got) - self.A @ x).max(), 1e-11)
        self.assertIs(M.mul(convert(self.x), y, 2, 3), y)
        self.assertLess(np.abs(back(y) - 2 * (self.A @ self.x) - 3).max(), 1e-11)
        self.assertLess(np.abs(back(M.T @ convert(np.ones(3000))) - self.A.T @ np.ones(3000)).max(), 1e-11)

    def test_cupy(self):
        cupy, there = self.load("cupy"), self.load("cupyx.scipy.sparse")
        for given in (self.A, there.csr_matrix(self.A), there.csc_matrix(self.A)):
            M = spmv.matrix(given, device="cuda", both=True, updatable=True)
            self.products(M, cupy.asarray, cupy.asnumpy)
            with cupy.cuda.Stream(non_blocking=True):
                self.products(M, cupy.asarray, cupy.asnumpy)
        N = pickle.loads(pickle.dumps(M))
        values = N._given[5] * 2
        N.update(values)
        self.assertLess(np.abs(cupy.asnumpy(N @ cupy.asarray(self.x)) - 2 * (self.A @ self.x)).max(), 1e-11)
        self.assertLess(np.abs(cupy.asnumpy(cupy.ones(3000) @ M) - self.A.T @ np.ones(3000)).max(), 1e-11)

    def test_torch(self):
        torch = self.load("torch")
        M = spmv.matrix(self.A, device="cuda", both=True)
        self.products(M, lambda a: torch.tensor(a, device="cuda"), lambda a: a.cpu().numpy())
        with torch.cuda.stream(torch.cuda.Stream()):
            self.products(M, lambda a: torch.tensor(a, device="cuda"), lambda a: a.cpu().numpy())

    def test_numba(self):
        cuda = self.load("numba.cuda")
        self.products(spmv.matrix(self.A, device="cuda", both=True), cuda.to_device, lambda a: a.copy_to_host())


if __name__ == "__main__":
    unittest.main()
