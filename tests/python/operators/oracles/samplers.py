"""Images seen through grids of positions."""

import numpy as np

from .core import Case, Expected, operator, wide

# Of positions, in units of the arithmetic's roundoff: images are at most 8 wide, elements at most 4.
ERROR = 4096.0


def along(size):
    return -1 + 2 * np.arange(size) / (size - 1)


def affine(matrices, shape):
    """Grids (N, 2, H, W)."""
    down, across = np.meshgrid(*map(along, shape), indexing="ij")
    points = np.stack([across, down, np.ones_like(across)])
    return np.einsum("nij,jhw->nihw", wide(matrices).reshape(-1, 2, 3), points)


def grid_generator(attrs, x):
    if attrs["transform_type"] == "affine":
        return Expected(affine(x, attrs["target_shape"]), x.dtype, 256.0)
    height, width = x.shape[2:]
    down, across = np.meshgrid(np.arange(height), np.arange(width), indexing="ij")
    half = np.array([width - 1, height - 1])[:, None, None] / 2
    return Expected((wide(x) + np.stack([across, down])) / half - 1, x.dtype, 256.0)


def draw_grid_generator(d):
    if d.flag():
        attrs = {"transform_type": "affine", "target_shape": d.ints(2, 2, 6)}
        return Case(attrs, [d.array((d.int(1, 3), 6), d.dtype())])
    return Case({"transform_type": "warp"}, [d.array((d.int(1, 3), 2, d.int(2, 6), d.int(2, 6)), d.dtype())])


operator("GridGenerator", grid_generator, draw_grid_generator)


def sampled(x, grid):
    height, width = x.shape[2:]
    y = np.zeros((*x.shape[:2], *grid.shape[2:]))
    for n, i, j in np.ndindex(x.shape[0], *grid.shape[2:]):
        across, down = (grid[n, :, i, j] + 1) * [width - 1, height - 1] / 2
        left, top = int(np.floor(across)), int(np.floor(down))
        for row, column in ((top, left), (top, left + 1), (top + 1, left), (top + 1, left + 1)):
            if 0 <= row < height and 0 <= column < width:
                y[n, :, i, j] += wide(x)[n, :, row, column] * (1 - abs(down - row)) * (1 - abs(across - column))
    return y


def draw_images(d):
    return d.array((d.int(1, 2), d.int(1, 3), d.int(1, 6), d.int(1, 6)), d.dtype())


def draw_bilinear_sampler(d):
    x = draw_images(d)
    return Case({}, [x, d.array((len(x), 2, d.int(1, 5), d.int(1, 5)), x.dtype, -2.0, 2.0)])


operator(
    "BilinearSampler", lambda attrs, x, grid: Expected(sampled(x, wide(grid)), x.dtype, ERROR), draw_bilinear_sampler
)


def spatial_transformer(attrs, x, matrices):
    return Expected(sampled(x, affine(matrices, attrs["target_shape"])), x.dtype, ERROR)


def draw_spatial_transformer(d):
    x = draw_images(d)
    attrs = {"target_shape": d.ints(2, 2, 6), "transform_type": "affine", "sampler_type": "bilinear"}
    return Case(attrs, [x, d.array((len(x), 6), x.dtype, -2.0, 2.0)])


operator("SpatialTransformer", spatial_transformer, draw_spatial_transformer)
