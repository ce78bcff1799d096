"""Vectors of what is to be seen: descriptors of patches of the photographs that scikit-image brings along.

    python vectors.py FOLDER

writes FOLDER/rows.f32, a million vectors of 128 numbers in random order, and FOLDER/queries.f32, a thousand of another
photograph: the left one of a stereo pair of which the right one is among the rows.

A descriptor is what SIFT's is (Lowe 2004) without its search for keypoints: a patch of 16 x 16 pixels, in each of its
4 x 4 cells the gradients by eight directions, at length one, cut off at 0.2, at length one again. Patches without any
gradient are left out.
"""

import pathlib
import sys

import numpy as np
import skimage
from PIL import Image

ROWS, QUERIES, DIMENSIONS = 1_000_000, 1_000, 128
CELLS, CELL, DIRECTIONS = 4, 4, 8
STEP = 2
ROW_IMAGES = (
    "astronaut.png brick.png camera.png cell.png chelsea.png coffee.png coins.png grass.png gravel.png "
    "hubble_deep_field.jpg ihc.png moon.png motorcycle_right.png retina.jpg rocket.jpg"
).split()
QUERY_IMAGE = "motorcycle_left.png"


def descriptors(name, step):
    path = pathlib.Path(skimage.__file__).parent / "data" / name
    image = np.asarray(Image.open(path).convert("L"), dtype=np.float32) / 255
    down, right = np.gradient(image)
    strength = np.hypot(down, right)
    direction = np.arctan2(down, right) / (2 * np.pi) * DIRECTIONS % DIRECTIONS
    low = np.floor(direction).astype(int) % DIRECTIONS
    rest = direction - np.floor(direction)
    by_direction = np.zeros((*image.shape, DIRECTIONS), dtype=np.float32)
    y, x = np.indices(image.shape)
    by_direction[y, x, low] += strength * (1 - rest)
    by_direction[y, x, (low + 1) % DIRECTIONS] += strength * rest

    sums = np.pad(by_direction.cumsum(0, dtype=np.float64).cumsum(1), ((1, 0), (1, 0), (0, 0)))
    cells = sums[CELL:, CELL:] - sums[:-CELL, CELL:] - sums[CELL:, :-CELL] + sums[:-CELL, :-CELL]
    patch = CELLS * CELL
    height, width = image.shape[0] - patch + 1, image.shape[1] - patch + 1
    parts = [
        cells[i * CELL : i * CELL + height : step, j * CELL : j * CELL + width : step]
        for i in range(CELLS)
        for j in range(CELLS)
    ]
    found = np.concatenate(parts, axis=2).reshape(-1, DIMENSIONS)
    found = found[np.linalg.norm(found, axis=1) > 0.1]
    for _ in range(2):
        found /= np.linalg.norm(found, axis=1, keepdims=True)
        found = np.minimum(found, 0.2)
    found /= np.linalg.norm(found, axis=1, keepdims=True)
    return found.astype("<f4")


def main(folder):
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    random = np.random.default_rng(7)
    rows = np.concatenate([descriptors(name, STEP) for name in ROW_IMAGES])
    assert len(rows) >= ROWS, len(rows)
    rows[random.permutation(len(rows))[:ROWS]].tofile(folder / "rows.f32")
    queries = descriptors(QUERY_IMAGE, STEP)
    queries[random.permutation(len(queries))[:QUERIES]].tofile(folder / "queries.f32")


main(sys.argv[1])
