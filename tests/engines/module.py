"""The Python module of the wheel with a program that was built, without making a wheel."""
import os
import shutil

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def own_module(daemon, folder):
    """Makes it in `folder`, which is what PYTHONPATH needs."""
    shutil.copytree(os.path.join(ROOT, "packaging", "wheel", "zarrfs"), f"{folder}/zarrfs", ignore=shutil.ignore_patterns("__pycache__"))
    os.makedirs(f"{folder}/zarrfs/bin")
    shutil.copy(daemon, f"{folder}/zarrfs/bin/zarrfs")
    return folder
