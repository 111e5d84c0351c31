# SPDX-License-Identifier: MIT
"""Compiles the library and _core.c into one extension module. In a checkout the headers are copied from the folder above to lib, which
the source distribution has as well. CFLAGS come last: CFLAGS=-O0 compiles in a tenth of the time."""
import os
import re
import shutil
import tempfile
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

here = Path(__file__).resolve().parent
lib = here / "lib"


def copy_library() -> None:
    """Brings lib up to date, where there is a checkout."""
    above = here.parent
    if not (above / "spmv_c.c").exists():
        return
    shutil.rmtree(lib, ignore_errors=True)
    lib.mkdir()
    for file in [*above.glob("spmv*.h"), above / "spmv_c.c", above / "LICENSE"]:
        shutil.copy(file, lib)
    shutil.copytree(above / "spmv", lib / "spmv")


class build(build_ext):
    def build_extensions(self) -> None:
        """With OpenMP, if the compiler has it."""
        if self.has_openmp():
            for extension in self.extensions:
                extension.extra_compile_args.insert(0, "-fopenmp")
                extension.extra_link_args.append("-fopenmp")
        super().build_extensions()

    def has_openmp(self) -> bool:
        with tempfile.TemporaryDirectory() as folder:
            source = Path(folder, "a.c")
            source.write_text("#include <omp.h>\nint main(void) { return omp_get_max_threads() < 1; }\n")
            try:
                objects = self.compiler.compile([str(source)], folder, extra_postargs=["-fopenmp"])
                self.compiler.link_executable(objects, str(Path(folder, "a")), extra_postargs=["-fopenmp"])
            except Exception:  # of the compiler, which has another class in every version of setuptools
                print("the compiler has no OpenMP: products run in one thread")
                return False
        return True


copy_library()
version = re.search(r'^#define SPMV_VERSION "(.*)"$', (lib / "spmv.h").read_text(), re.M).group(1)
extension = Extension(
    "spmv._core",
    ["spmv/_core.c", "lib/spmv_c.c"],
    include_dirs=["lib"],
    define_macros=[("SPMV_C_API", "")],
    extra_compile_args=["-O2", "-g0", "-fvisibility=hidden", *os.environ.get("CFLAGS", "").split()],
    libraries=["dl"] if os.uname().sysname == "Linux" else [],
    py_limited_api=True,
)
setup(version=version, ext_modules=[extension], cmdclass={"build_ext": build}, options={"bdist_wheel": {"py_limited_api": "cp311"}})
