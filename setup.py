"""Builds the Python package by CMake: `pip install .`"""
import pathlib
import subprocess
import sys

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

ROOT = pathlib.Path(__file__).resolve().parent


class CMakeBuild(build_ext):
    """Builds the module in build/release, and installs it and the data into the package."""

    def build_extension(self, extension):
        package = pathlib.Path(self.get_ext_fullpath(extension.name)).resolve().parent
        build = ROOT / "build/release"
        options = ["-DCOLLSIM_PYTHON=ON", f"-DPYTHON_EXECUTABLE={sys.executable}"]
        if not (build / "CMakeCache.txt").exists():  # a build that is there keeps its tests
            options += ["-DCOLLSIM_BUILD_TESTS=OFF", "-DCOLLSIM_BUILD_BENCHMARKS=OFF", "-DCOLLSIM_BUILD_RECORDER=OFF"]
        subprocess.run(["cmake", "--preset", "release", *options], cwd=ROOT, check=True)
        try:
            subprocess.run(["cmake", "--build", build, "--target", "collsim-python"], check=True)
            subprocess.run(["cmake", "--install", build, "--component", "python", "--prefix", package], check=True)
        finally:
            # This Python may be gone when the folder is configured again, with its environment.
            subprocess.run(["cmake", "-DCOLLSIM_PYTHON=OFF", "-U", "PYTHON*", build], check=True)


setup(ext_modules=[Extension("collsim._collsim", sources=[])], cmdclass={"build_ext": CMakeBuild})
