# SPDX-License-Identifier: MIT
"""Every public call of the package against SciPy. Run: python -m unittest discover python/tests; SPMV_MATRICES=DIRECTORY adds its .mtx.gz
files to the generated matrices."""
import copy
import glob
import os
import pickle
import sys
import threading
import unittest
import warnings

import numpy as np
import scipy.io
import scipy.sparse as sparse
import scipy.sparse.linalg as linalg

import spmv

FORMS = ("csr", "csc", "coo", "bsr", "lil")


def square(n: int, of_row: int) -> sparse.csr_matrix:
    """n x n, so many nonzeros in most rows."""
    random = np.random.default_rng(11)
    column = random.integers(0, n, n * of_row)
    return sparse.csr_matrix((random.random(n * of_row), (np.repeat(np.arange(n), of_row), column)), (n, n))


def generated() -> dict:
    random = np.random.default_rng(5)
    shuffled = sparse.random(300, 200, 0.05, format="csr", random_state=1)
    shuffled.indices[shuffled.indptr[0] : shuffled.indptr[1]] = shuffled.indices[shuffled.indptr[0] : shuffled.indptr[1]][::-1]
    twice = sparse.coo_matrix((random.random(500), (random.integers(0, 30, 500), random.integers(0, 40, 500))), (30, 40))
    blocks = sparse.kron(sparse.random(40, 40, 0.1, random_state=2), np.arange(1, 10).reshape(3, 3)).tobsr((3, 3))
    return {
        "random": sparse.random(1000, 700, 0.01, format="csr", random_state=3),
        "unsorted": shuffled,
        "duplicates": twice,
        "blocks": blocks,
        "band": sparse.diags([1.0, -2.0, 1.0], [-1, 0, 1], (5000, 5000)),
        "empty rows": sparse.csr_matrix((50, 60)),
        "one": sparse.csr_matrix([[3.0]]),
        "no rows": sparse.csr_matrix((0, 4)),
    }


def files() -> dict:
    found = sorted(glob.glob(os.path.join(os.environ.get("SPMV_MATRICES", ""), "*.mtx.gz"))) if os.environ.get("SPMV_MATRICES") else []
    small = [name for name in found if os.path.getsize(name) < 300e3]
    return {os.path.basename(name): sparse.csr_matrix(scipy.io.mmread(name)) for name in small}


class Products(unittest.TestCase):
    def close(self, got, wanted, dtype=np.float64):
        self.assertEqual(got.dtype, dtype)
        self.assertEqual(got.shape, wanted.shape)
        scale = max(1.0, float(np.max(np.abs(wanted), initial=0)))
        self.assertLess(np.max(np.abs(got - wanted), initial=0) / scale, 1e-12 if dtype == np.float64 else 1e-5)

    def test_against_scipy(self):
        for name, A in {**generated(), **files()}.items():
            if np.iscomplexobj(A) or not np.isfinite(A.data).all():
                continue
            A = A.astype(np.float64)
            x, z = np.sin(np.arange(A.shape[1])), np.cos(np.arange(A.shape[0]))
            for form in (A.format,) if name.endswith(".gz") else FORMS:
                with self.subTest(name, form=form):
                    given = A.asformat(form)
                    M = spmv.matrix(given, both=True)
                    self.close(M @ x, A @ x)
                    self.close(M.T @ z, A.T @ z)
                    self.assertEqual((M.shape, M.T.shape), (A.shape, A.shape[::-1]))

    def test_forms_of_matrices(self):
        A = sparse.random(60, 40, 0.2, format="csr", random_state=4)
        x = np.ones(40)
        self.close(spmv.matrix(A.toarray()) @ x, A @ x)
        self.close(spmv.matrix(A.toarray().tolist()) @ x, A @ x)
        self.close(spmv.matrix(sparse.csr_array(A)) @ x, A @ x)
        self.close(spmv.matrix(A > 0.5) @ x, (A > 0.5) @ x)
        self.close(spmv.matrix(sparse.csr_matrix(A * 9, dtype=np.int16)) @ x, sparse.csr_matrix(A * 9, dtype=np.int16) @ x)
        wide = sparse.csr_matrix((A.data, A.indices.astype(np.int64), A.indptr.astype(np.int64)), A.shape)
        self.close(spmv.matrix(wide) @ x, A @ x)
        for wrong, error in ((A.astype(complex), TypeError), (np.ones(3), ValueError), (np.ones((2, 2), object), TypeError)):
            self.assertRaises(error, spmv.matrix, wrong)

    def test_types(self):
        A = sparse.random(100, 80, 0.1, format="csr", random_state=5)
        single = A.astype(np.float32)
        x = np.linspace(0, 1, 80)
        M = spmv.matrix(single)
        self.assertEqual((M.type, M.dtype), ("f32", np.float32))
        self.close(M @ x.astype(np.float32), single @ x.astype(np.float32), np.float32)
        with self.assertRaisesRegex(TypeError, "float64"):
            M @ x
        self.close(spmv.matrix(single, type="f64") @ x, single.astype(np.float64) @ x)
        self.close(spmv.matrix(A, type="mixed") @ x, single.astype(np.float64) @ x)
        self.assertEqual(spmv.matrix(A, type="mixed").dtype, np.float64)
        self.close(spmv.matrix(A) @ np.arange(80), A @ np.arange(80.0))

    def test_several_vectors(self):
        A = sparse.random(90, 70, 0.1, format="csr", random_state=6)
        M = spmv.matrix(A, both=True, vectors=4)
        wide = np.random.default_rng(7).random((140, 12))
        for X in (wide[:70, :1], wide[:70, :4].copy(), np.asfortranarray(wide[:70, :5]), wide[:70, 3:9], wide[:140:2, ::2], wide[69::-1],
                  wide[:70, :0], wide.T[:, :70].T, wide[:70, 0]):
            self.close(M @ X, A @ X)
            self.close(M.matmat(X), A @ X)
        X = np.asfortranarray(wide[:70, :5])
        self.assertTrue((M @ X).flags.f_contiguous)
        self.close(M.rmatmat(wide[:90, :3]), A.T @ wide[:90, :3])
        self.close(wide[:90, 1] @ M, A.T @ wide[:90, 1])
        self.close(wide.T[:5, :90] @ M, wide.T[:5, :90] @ A)

    def test_complex_vectors(self):
        A = sparse.random(50, 40, 0.2, format="csr", random_state=8)
        M = spmv.matrix(A)
        for x in (np.exp(1j * np.arange(40)), np.exp(1j * np.arange(80))[::2], np.exp(1j * np.arange(120)).reshape(40, 3),
                  np.asfortranarray(np.exp(1j * np.arange(120)).reshape(40, 3))):
            self.close(M @ x, A @ x, np.complex128)
        x, out = np.exp(1j * np.arange(40)), np.ones(100, complex)[::2]
        self.assertIs(M.mul(x, out=out), out)
        self.close(out, A @ x, np.complex128)
        with self.assertRaises(TypeError):
            spmv.matrix(A.astype(np.float32)) @ x

    def test_into_arrays(self):
        A = sparse.random(50, 40, 0.2, format="csr", random_state=9)
        M = spmv.matrix(A)
        x, y = np.arange(40.0), np.arange(50.0)
        wanted = 2 * (A @ x) - 3 * y
        self.assertIs(M.mul(x, y, 2, beta=-3), y)
        self.close(y, wanted)
        self.close(M.mul(x, alpha=0.5), 0.5 * (A @ x))
        X = np.ones((40, 3))
        for out in (np.ones((50, 3)), np.ones((50, 3), order="F"), np.ones((50, 6))[:, ::2], np.ones((50, 8))[:, 2:5],
                    np.ones((60, 3))[:50]):
            self.assertIs(M.mul(X, out=out, beta=1), out)
            self.close(out, A @ X + 1)
        strided = np.full(100, 7.0)
        M.mul(x, out=strided[::2])
        self.close(strided[::2], A @ x)
        self.assertTrue((strided[1::2] == 7).all())
        fixed = np.ones(50)
        fixed.flags.writeable = False
        for wrong in (np.ones(49), np.ones(50, np.float32), np.ones((50, 1)), [0.0] * 50, fixed):
            self.assertRaises(ValueError, M.mul, x, wrong)
        self.assertRaises(ValueError, M.mul, x, beta=1)
        self.assertRaises(TypeError, M.mul)
        self.assertRaises(TypeError, M.mul, x, gamma=1)
        self.assertRaises(TypeError, M.mul, x, None, 1, 0, 5)
        self.assertRaises(TypeError, M.mul, x, alpha="a")
        square = spmv.matrix(np.eye(3))
        same = np.ones(3)
        with self.assertRaisesRegex(spmv.Error, "overlap"):
            square.mul(same, out=same)

    def test_wrong_vectors(self):
        M = spmv.matrix(np.eye(3))
        for x in (np.ones(4), np.ones((4, 2)), np.ones((3, 1, 1)), 2.0):
            self.assertRaises(ValueError, lambda: M @ x)
        self.assertRaises(TypeError, lambda: M @ sparse.eye(3).tocsr())
        self.assertRaises(TypeError, lambda: M @ np.array(["a"] * 3))
        self.close(M @ [1, 2, 3], np.array([1.0, 2, 3]))
        read_only = np.ones(3)
        read_only.flags.writeable = False
        self.close(M @ read_only, np.ones(3))
        self.close(M @ np.ones(3, ">f8"), np.ones(3))

    def test_arrays_of_a_gpu_are_refused(self):
        class Array:
            __cuda_array_interface__ = {}

        class Sparse:
            format, data, shape = "csr", Array(), (3, 3)

            def tocsr(self):
                return self

        M = spmv.matrix(np.eye(3), updatable=True)
        for call in (lambda: spmv.matrix(Sparse()), lambda: M @ Array(), lambda: M.mul(np.ones(3), Array()), lambda: M.update(Array())):
            with self.assertRaisesRegex(TypeError, "GPU"):
                call()


class Matrices(unittest.TestCase):
    A = sparse.random(400, 300, 0.02, format="csr", random_state=10)
    x = np.sin(np.arange(300))

    def test_names(self):
        M = spmv.matrix(self.A, "sell:h=8", threads=2, both=True)
        self.assertEqual((M.plan, M.T.plan, M.shape, M.ndim, M.nnz), ("sell:h=8", "sell:h=8", (400, 300), 2, self.A.nnz))
        self.assertEqual((M.device, M.threads, M.type), ("host", 2, "f64"))
        self.assertGreater(M.nbytes, 8 * M.nnz)
        self.assertIn("400 x 300", repr(M))
        self.assertIs(M.T.T, M)
        self.assertEqual(M.H.shape, M.transpose().shape)
        M.threads = None
        self.assertIsNone(M.T.threads)
        self.assertRaises(spmv.Error, setattr, M, "threads", -1)
        self.assertRegex(spmv.__version__, r"^\d+\.\d+\.\d+$")
        self.assertTrue(issubclass(spmv.Error, ValueError))
        self.assertRaises(TypeError, M.__init__)

    def test_same_bits_with_any_number_of_threads(self):
        M = spmv.matrix(square(30000, 15))
        x = np.random.default_rng(12).random(30000)
        y = M @ x
        for M.threads in (1, 2, 3):
            self.assertTrue(np.array_equal(M @ x, y))

    def test_explain(self):
        self.assertIn("csr", spmv.matrix(self.A).explain())
        self.assertIn("given", spmv.matrix(self.A, "coo").explain())

    def test_update(self):
        for form in ("csr", "csc", "coo", "bsr"):
            A = self.A.asformat(form)
            M = spmv.matrix(A, both=True, updatable=True)
            B = A.copy()
            B.data = B.data * 2 + 1
            M.T.update(B.data)
            self.assertLess(np.abs(M @ self.x - B @ self.x).max(), 1e-12)
            self.assertLess(np.abs(M.T @ np.ones(400) - B.T @ np.ones(400)).max(), 1e-11)
            self.assertTrue(np.array_equal(pickle.loads(pickle.dumps(M)) @ self.x, M @ self.x))
            self.assertRaises(ValueError, M.update, B.data[:1])
        with self.assertRaisesRegex(spmv.Error, "updatable") as raised:
            spmv.matrix(self.A).update(self.A.data)
        self.assertEqual(raised.exception.name, "SPMV_ERR_FIXED")
        D = np.array([[0, 2.0], [3, 0]])
        M = spmv.matrix(D, updatable=True)
        M.update(np.array([5, 7]))
        self.assertEqual((M @ np.array([1.0, 10])).tolist(), [50, 7])
        for values in (np.array([1, 2], np.float32), np.array([1.0, 2])):
            M.update(values)
            values[:] = 0
            self.assertEqual((pickle.loads(pickle.dumps(M)) @ np.array([1.0, 10])).tolist(), [10, 2])
            self.assertEqual((M @ np.array([1.0, 10])).tolist(), [10, 2])

    def test_errors(self):
        A = self.A.copy()
        A.indices = A.indices.copy()
        A.indices[5] = 9999
        with self.assertRaisesRegex(spmv.Error, "9999") as raised:
            spmv.matrix(A)
        self.assertEqual(raised.exception.name, "SPMV_ERR_INDEX")
        self.assertRaises(spmv.Error, spmv.matrix, self.A, "no plan")
        self.assertRaises(spmv.Error, spmv.matrix, self.A, type="f16")
        with self.assertRaisesRegex(spmv.Error, "both"):
            spmv.matrix(self.A).T @ np.ones(400)
        with self.assertRaisesRegex(spmv.Error, "both"):
            np.ones(400) @ spmv.matrix(self.A)

    def test_device(self):
        try:
            M = spmv.matrix(self.A, "csr", device="opencl:0", both=True, updatable=True)
        except spmv.Error as error:
            self.assertEqual(error.name, "SPMV_ERR_NO_DEVICE")
            self.skipTest(str(error))
        N = spmv.matrix(self.A, "csr", device="opencl")
        for matrix in (M, N, pickle.loads(pickle.dumps(M)), copy.copy(N)):
            self.assertLess(np.abs(matrix @ self.x - self.A @ self.x).max(), 1e-12)
        self.assertLess(np.abs(M.T @ np.ones((400, 2)) - self.A.T @ np.ones((400, 2))).max(), 1e-12)
        out = np.ones(400)
        self.assertIs(M.mul(self.x, out, 2, 3), out)
        self.assertLess(np.abs(out - 2 * (self.A @ self.x) - 3).max(), 1e-12)
        M.update(self.A.data * 2)
        del N
        self.assertLess(np.abs(M @ self.x - 2 * (self.A @ self.x)).max(), 1e-12)
        self.assertEqual((M.device, M.T.device), ("opencl:0", "opencl:0"))
        self.assertIn("given", M.explain())

    def test_device_that_is_missing(self):
        """A matrix whose device is not here is refused, also one that was pickled elsewhere."""
        make, (given, options, *plans) = spmv.matrix(self.A).__reduce__()
        for device, says in (("cuda:9", "CUDA|cuda:9"), ("opencl:9", "OpenCL|opencl:9"), ("no such device", "no such device|no device")):
            for call in (lambda: spmv.matrix(self.A, device=device), lambda: make(given, (*options[:5], device, options[6]), *plans)):
                with self.assertRaisesRegex(spmv.Error, says) as raised:
                    call()
                self.assertEqual(raised.exception.name, "SPMV_ERR_NO_DEVICE")

    def test_busy(self):
        """An update is refused while another thread multiplies, or the other way round, and neither is wrong."""
        A = square(200000, 5)
        M = spmv.matrix(A, "csr", updatable=True, threads=1)
        x, refused, wrong = np.ones(200000), [], []
        allowed = [M @ x, 2 * (M @ x)]

        def work(call):
            for _ in range(50):
                try:
                    y = call()
                    if y is not None and not any(np.allclose(y, a) for a in allowed):
                        wrong.append(y)
                except spmv.Error as error:
                    refused.append(str(error))

        calls = (lambda: M @ x, lambda: M.update(A.data * 2))
        workers = [threading.Thread(target=work, args=(call,)) for call in calls]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        self.assertFalse(wrong)
        self.assertTrue(all("another thread" in text for text in refused))

    def test_copies(self):
        for given in (self.A, self.A.tocsc(), self.A.tocoo(), self.A.toarray()):
            M = spmv.matrix(given, "measure", both=True, threads=1)
            for N in (pickle.loads(pickle.dumps(M)), copy.copy(M), copy.deepcopy(M)):
                self.assertEqual((N.plan, N.T.plan, N.threads), (M.plan, M.T.plan, M.threads))
                self.assertTrue(np.array_equal(N @ self.x, M @ self.x))
                self.assertTrue(np.array_equal(N.T @ np.ones(400), M.T @ np.ones(400)))
            self.assertEqual(pickle.loads(pickle.dumps(M.T)).shape, (300, 400))
        N = pickle.loads(pickle.dumps(spmv._make(M._given, M._options, "csr", "ell")))  # where the plans of both differ
        self.assertEqual((N.plan, N.T.plan), ("csr", "ell"))

    def test_strict(self):
        x = self.x.copy()
        x[7] = np.inf
        for plan in (None, "csr"):
            y = spmv.matrix(self.A, plan, strict=True, calls=100000) @ x
            self.assertTrue(np.array_equal(np.isfinite(y), np.isfinite(self.A @ x)))
        self.assertRaises(spmv.Error, spmv.matrix, self.A, "dense", strict=True)

    def test_lifetime(self):
        T = spmv.matrix(self.A.copy(), both=True).T
        self.assertLess(np.abs(T @ np.ones(400) - self.A.T @ np.ones(400)).max(), 1e-12)
        M = spmv.matrix(self.A)
        before = sys.getrefcount(self.x)
        for _ in range(1000):
            M @ self.x
            M.mul(self.x, out=np.empty(400))
            M @ self.x[:, None]
        self.assertEqual(sys.getrefcount(self.x), before)

    def test_threads_of_python(self):
        M = spmv.matrix(self.A, threads=1)
        y, wrong = M @ self.x, []

        def work():
            for _ in range(300):
                if not np.array_equal(M @ self.x, y):
                    wrong.append(1)

        workers = [threading.Thread(target=work) for _ in range(3)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        self.assertFalse(wrong)

    @unittest.skipUnless(hasattr(os, "fork"), "there is no fork")
    def test_fork(self):
        """A child of a process that has multiplied in threads multiplies as well."""
        M = spmv.matrix(square(50000, 10), threads=2)
        x = np.ones(50000)
        y = M @ x
        child = os.fork()
        if not child:
            os._exit(0 if np.array_equal(M @ x, y) and np.allclose(spmv.matrix(self.A, "csr") @ self.x, self.A @ self.x) else 1)
        self.assertEqual(os.waitpid(child, 0)[1], 0)


class Solvers(unittest.TestCase):
    n = 400
    A = sparse.diags([-1.0, 2.5, -1.0], [-1, 0, 1], (n, n), format="csr")

    def test_symmetric(self):
        M, b = spmv.matrix(self.A), np.ones(self.n)
        x, failed = linalg.cg(M, b, atol=1e-8)
        self.assertEqual(failed, 0)
        self.assertLess(np.linalg.norm(self.A @ x - b), 1e-4 * np.linalg.norm(b))
        wanted = linalg.eigsh(self.A, 3, which="LA", return_eigenvectors=False)
        self.assertLess(np.abs(linalg.eigsh(M, 3, which="LA", return_eigenvectors=False) - wanted).max(), 1e-8)
        start = np.random.default_rng(14).random((self.n, 3))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the accuracy is not reached
            got = linalg.lobpcg(M, start, maxiter=100)[0]
        self.assertLess(np.abs(np.sort(got) - np.sort(wanted)).max(), 1e-3)

    def test_both_directions(self):
        B = sparse.random(300, 100, 0.05, format="csr", random_state=15) + sparse.eye(300, 100)
        M = spmv.matrix(B, both=True)
        b = np.ones(300)
        self.assertLess(np.abs(linalg.lsqr(M, b, atol=1e-12, btol=1e-12)[0] - linalg.lsqr(B, b, atol=1e-12, btol=1e-12)[0]).max(), 1e-7)
        wanted = linalg.svds(B, 2, return_singular_vectors=False)
        self.assertLess(np.abs(linalg.svds(M, 2, return_singular_vectors=False) - wanted).max(), 1e-8)

    def test_operator(self):
        B = sparse.random(30, 20, 0.3, format="csr", random_state=16)
        M = spmv.matrix(B, both=True)
        operator = (2 * M.aslinearoperator()).H @ M.aslinearoperator()
        x = np.arange(20.0)
        self.assertLess(np.abs(operator @ x - 2 * (B.T @ (B @ x))).max(), 1e-10)
        self.assertLess(np.abs(M.dot(x) - M.matvec(x)).max(), 1e-15)
        self.assertLess(np.abs(M.rmatvec(np.ones(30)) - B.T @ np.ones(30)).max(), 1e-12)
        self.assertEqual((M.aslinearoperator() @ np.ones((20, 2))).shape, (30, 2))


if __name__ == "__main__":
    unittest.main()
