"""The tests of tests/vm stand on those of tests/mounted: what is there is there for them, too."""
import os
import sys

MOUNTED = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "mounted")
sys.path.insert(0, MOUNTED)
