"""Seeded arrays that have the same bits on every machine, and the golden cases built on them.

The whole-network test data does not store parameters and inputs: it stores their names, shapes and
a SHA-256, and this module generates the values. The generator is SplitMix64 run in counter mode:
element ``i`` of the array ``name`` depends on ``(seed, crc32(name), i)`` only. Just integer
arithmetic and correctly rounded float64 operations (add, multiply, square root) are used, hence the
bits depend neither on the NumPy version nor on the platform's mathematical library.

Needs NumPy only (1.23 or newer, 2.x included).
"""

from __future__ import annotations

import hashlib
import json
import math
import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

DEFAULT_SEED = 7
DEFAULT_GAMMA = (0.75, 1.15)
INPUT_BLOCK = 16

_MASK = (1 << 64) - 1
_GOLDEN_GAMMA = 0x9E3779B97F4A7C15
_MIX_1 = 0xBF58476D1CE4E5B9
_MIX_2 = 0x94D049BB133111EB
_UNIFORM_BITS = 24
_CHUNK = 1 << 18


class SeededDataError(RuntimeError):
    """Generated data is not what the golden case was recorded with."""


@dataclass(frozen=True)
class Golden:
    """One whole-network case.

    ``inputs`` maps input names to float32 arrays, ``params`` maps ``arg:name`` / ``aux:name`` (the
    keys of a ``.params`` file) to float32 arrays, ``expected`` holds MXNet's float32 outputs in the
    symbol's output order.
    """

    name: str
    symbol_path: Path
    inputs: dict[str, np.ndarray]
    params: dict[str, np.ndarray]
    expected: list[np.ndarray]


def _mix_int(value: int) -> int:
    """SplitMix64's finaliser on one Python integer, modulo 2**64."""
    value = ((value ^ (value >> 30)) * _MIX_1) & _MASK
    value = ((value ^ (value >> 27)) * _MIX_2) & _MASK
    return value ^ (value >> 31)


def _stream_key(name: str, seed: int) -> int:
    """64-bit start of the stream that belongs to ``name`` and ``seed``."""
    start = zlib.crc32(name.encode("utf-8")) + (seed << 32) + _GOLDEN_GAMMA
    return _mix_int(start & _MASK)


def _hash_range(key: int, first: int, count: int) -> np.ndarray:
    """SplitMix64 outputs ``first .. first+count-1`` of a stream: uint64, shape (count,)."""
    values = np.arange(first + 1, first + count + 1, dtype=np.uint64)
    values *= np.uint64(_GOLDEN_GAMMA)
    values += np.uint64(key)
    values ^= values >> np.uint64(30)
    values *= np.uint64(_MIX_1)
    values ^= values >> np.uint64(27)
    values *= np.uint64(_MIX_2)
    values ^= values >> np.uint64(31)
    return values


def _uniform(name: str, shape: Iterable[int], seed: int, low: float, high: float) -> np.ndarray:
    """Float32 array of ``shape``, uniform in [low, high], with 24 random bits per element."""
    shape = tuple(int(extent) for extent in shape)
    size = math.prod(shape)
    key = _stream_key(name, seed)
    step = (high - low) / (1 << _UNIFORM_BITS)
    flat = np.empty(size, dtype=np.float32)
    for first in range(0, size, _CHUNK):
        count = min(_CHUNK, size - first)
        bits = _hash_range(key, first, count) >> np.uint64(64 - _UNIFORM_BITS)
        scaled = bits.astype(np.float64)
        scaled *= step
        scaled += low
        flat[first : first + count] = scaled
    return flat.reshape(shape)


def _parameter_range(name: str, shape: tuple[int, ...], gamma: tuple[float, float]) -> tuple[float, float]:
    """The interval a parameter is drawn from, chosen by the last part of its name."""
    kind = name.rsplit("_", 1)[-1]
    if kind == "weight" and len(shape) >= 2:
        bound = math.sqrt(6.0 / math.prod(shape[1:]))  # uniform, variance 2 / fan_in
        return -bound, bound
    if kind == "gamma":
        return gamma[0], gamma[1]
    if kind == "var":
        return 0.5, 1.5
    if kind in ("beta", "bias", "mean"):
        return -0.1, 0.1
    raise ValueError(f"no range is defined for the parameter {name!r}")


def _negate_pairs(weight: np.ndarray) -> None:
    """Make every odd slice along axis 1 (input channels) the negative of the slice before it.

    Activations after a relu have a positive mean, which plain random weights turn into a constant
    that drowns the signal of a deep network: its output would hardly depend on its first layers.
    Pairs of opposite weights cancel that mean. Odd channel counts (one channel per group, the three
    colours of an image) are left alone.
    """
    if weight.shape[1] % 2 == 0:
        np.negative(weight[:, 0::2], out=weight[:, 1::2])


def seeded_array(
    name: str,
    shape: Iterable[int],
    seed: int = DEFAULT_SEED,
    gamma: tuple[float, float] = DEFAULT_GAMMA,
) -> np.ndarray:
    """Values of the parameter ``name`` (without ``arg:``/``aux:``): float32, the given shape.

    ``gamma`` is the interval of batch normalisation's scale factors. Weights have the variance
    2 / fan_in, running variances lie in [0.5, 1.5], biases and means in [-0.1, 0.1].
    """
    shape = tuple(shape)
    low, high = _parameter_range(name, shape, gamma)
    values = _uniform(name, shape, seed, low, high)
    if name.endswith("_weight"):
        _negate_pairs(values)
    return values


def seeded_input(name: str, shape: Iterable[int], seed: int = DEFAULT_SEED) -> np.ndarray:
    """Values of the network input ``name``: float32, the given shape, mean 0, variance about 1.

    Images (four axes, N x C x H x W) are noise on top of 16 x 16 blocks of random colour. Pure
    noise would look the same to a network whatever the seed, once it has been averaged over space.
    """
    shape = tuple(shape)
    bound = math.sqrt(3.0)
    noise = _uniform(name, shape, seed, -bound, bound)
    if len(shape) != 4:
        return noise
    height, width = shape[2:]
    blocks = (*shape[:2], -(-height // INPUT_BLOCK), -(-width // INPUT_BLOCK))
    coarse = _uniform(f"{name}.blocks", blocks, seed, -bound, bound)
    coarse = coarse.repeat(INPUT_BLOCK, axis=2).repeat(INPUT_BLOCK, axis=3)[:, :, :height, :width]
    return noise * np.float32(0.5) + coarse * np.float32(0.875)


def sha256_of(arrays: Iterable[np.ndarray]) -> str:
    """Hex SHA-256 over the raw little-endian float32 bytes of the arrays, in the given order."""
    digest = hashlib.sha256()
    for array in arrays:
        digest.update(np.ascontiguousarray(array, dtype="<f4").data)
    return digest.hexdigest()


def generate(case: dict) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
    """Inputs and parameters a ``case.json`` describes, both in its order."""
    inputs = {name: seeded_input(name, shape) for name, shape in case["inputs"].items()}
    params = {
        key: seeded_array(key.split(":", 1)[1], shape, gamma=case["gamma"]) for key, shape in case["params"].items()
    }
    return inputs, params


def _check_digest(folder: Path, what: str, arrays: Iterable[np.ndarray], recorded: str) -> None:
    actual = sha256_of(arrays)
    if actual != recorded:
        raise SeededDataError(f"{folder.name}: the SHA-256 of the {what} is {actual}, but case.json records {recorded}")


def load_golden(folder: str | Path) -> Golden:
    """Generate and read one golden case; raise SeededDataError where a SHA-256 does not match."""
    folder = Path(folder)
    case = json.loads((folder / "case.json").read_text(encoding="utf-8"))
    inputs, params = generate(case)
    recorded = case["sha256"]
    _check_digest(
        folder,
        "generated inputs and parameters",
        [*inputs.values(), *params.values()],
        recorded["inputs_and_params"],
    )
    with np.load(folder / "expected.npz") as stored:
        expected = [stored[f"out{index}"] for index in range(len(case["outputs"]))]
    _check_digest(folder, "stored outputs", expected, recorded["expected"])
    return Golden(case["model"], folder / "symbol.json", inputs, params, expected)
