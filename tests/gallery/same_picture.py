"""same_picture.py A B [COLOURS]: whether two screenshots show the same, and more than so many colours (150)."""
import sys

import numpy as np
from PIL import Image

first, second = (np.asarray(Image.open(name).convert("RGB")).astype(int) for name in sys.argv[1:3])
assert first.shape == second.shape, (first.shape, second.shape)
assert len(np.unique(first.reshape(-1, 3), axis=0)) > int((sys.argv[3:] or [150])[0]), "a picture of few colours"
different = np.abs(first - second).max(axis=2) > 8
assert different.mean() < 0.001, f"{different.mean():.2%} of the picture differs"
print(f"the mount and the sharded store look the same: {different.sum()} of {different.size} pixels differ")
