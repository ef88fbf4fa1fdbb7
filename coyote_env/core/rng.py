"""The generator inside every record: SplitMix64 (Steele, Lea & Flood, "Fast splittable pseudorandom number
generators", OOPSLA 2014), 64 bits of state, so that copying a table copies its future."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .compile import int64, njit

_GAMMA = np.uint64(0x9E3779B97F4A7C15)
_M1 = np.uint64(0xBF58476D1CE4E5B9)
_M2 = np.uint64(0x94D049BB133111EB)
_S30, _S27, _S31 = np.uint64(30), np.uint64(27), np.uint64(31)
_S7, _S57 = np.uint64(7), np.uint64(57)


@njit()
def mix(z: Any) -> Any:
    """SplitMix64's output function: a bijection of uint64 whose outputs for neighbouring inputs look unrelated."""
    z = (z ^ (z >> _S30)) * _M1
    z = (z ^ (z >> _S27)) * _M2
    return z ^ (z >> _S31)


@njit()
def key(stream: Any, number: int) -> Any:
    """State of the sub-stream ``number`` of ``stream``: streams of different numbers do not overlap in practice."""
    return mix(stream + _GAMMA * (np.uint64(number) + np.uint64(1)))


_mix_rows = getattr(mix, "py_func", mix)  # the same function on whole arrays; numpy wraps around silently
_ANSWERS = np.uint64(0xA5A3564E3D1F0B27)  # sets the streams of answers apart from those of deals


def answer_keys(seeds: NDArray[np.uint64], numbers: Any) -> NDArray[np.uint64]:
    """Stream ``numbers`` of each base seed, uint64 (n,), for what is drawn at a table besides its cards."""
    return np.asarray(_mix_rows((seeds ^ _ANSWERS) + _GAMMA * (np.asarray(numbers).astype(np.uint64) + np.uint64(1))))


def uniform(keys: NDArray[np.uint64], columns: int = 1, start: int = 0) -> NDArray[np.float64]:
    """Numbers of [0, 1), float64 (n, columns): the ``start``-th and following ones of each stream."""
    steps = np.arange(start + 1, start + 1 + columns, dtype=np.uint64)
    words = _mix_rows(keys[:, None] + _GAMMA * steps)
    return np.asarray((words >> np.uint64(11)) * 2.0**-53)


class RowGenerator(np.random.Generator):
    """What a policy draws from when it answers many rows: each row has a stream of its own.

    ``random(n)`` and ``random((n, ...))``, n the number of rows, give row i numbers that depend on ``keys[i]`` and on
    what was drawn in this call before. So a policy that draws by row answers alike however rows are grouped. Anything
    else comes from one generator seeded by all keys together: repeatable for the same grouping only.
    """

    def __init__(self, keys: NDArray[np.uint64], bits: np.random.Philox | None = None) -> None:
        """``bits``: one to use again, since making one takes longer than most calls draw."""
        both = np.array([np.bitwise_xor.reduce(keys), len(keys)], np.uint64)
        bits = np.random.Philox(0) if bits is None else bits
        nothing = np.zeros(4, np.uint64)
        bits.state = {
            "bit_generator": "Philox", "state": {"counter": nothing, "key": both}, "buffer": nothing, "buffer_pos": 4,
            "has_uint32": 0, "uinteger": 0,
        }  # fmt: skip
        super().__init__(bits)
        self._keys = keys
        self._drawn = 0

    def random(self, size: Any = None, dtype: Any = np.float64, out: Any = None) -> Any:
        """As ``numpy.random.Generator.random``."""
        shape = () if size is None else (int(size),) if isinstance(size, (int, np.integer)) else tuple(size)
        rows = len(self._keys)
        if out is not None or np.dtype(dtype) != np.float64 or (shape[:1] != (rows,) and (shape or rows != 1)):
            return super().random(size, dtype, out)
        columns = int(np.prod(shape[1:]))
        numbers = uniform(self._keys, columns, self._drawn)
        self._drawn += columns
        return numbers.reshape(shape) if shape else float(numbers[0, 0])


@njit()
def below(states: Any, i: int, n: int) -> int:
    """Uniform integer in 0..n-1, n <= 128, from record i's generator, with a bias below n / 2**57.

    The product's upper bits instead of a remainder: a division costs as much as the generator.
    """
    z = states[i]["rng"] + _GAMMA
    states[i]["rng"] = z
    return int64(((mix(z) >> _S7) * np.uint64(n)) >> _S57)


def check_seed(seed: object) -> int | None:
    """``seed`` as a plain int, or None. Raises TypeError / ValueError where it is neither."""
    if seed is None:
        return None
    if isinstance(seed, (bool, np.bool_)):
        raise TypeError(f"seed must be an integer >= 0 or None, not {seed!r}")
    try:
        value = operator.index(seed)  # type: ignore[arg-type]  # any integer type, checked by the call itself
    except TypeError:
        raise TypeError(f"seed must be an integer >= 0 or None, not {seed!r}") from None
    if value < 0:
        raise ValueError(f"seed must be an integer >= 0 or None, not {value}")
    return value


def table_seeds(seed: int | None, num_tables: int) -> NDArray[np.uint64]:
    """One base seed a table, shape (num_tables,). Entry i depends on (seed, i) only, not on the number of tables.

    ``None`` draws entropy from the operating system. numpy's SeedSequence spreads neighbouring seeds apart.
    """
    return np.random.SeedSequence(seed).generate_state(num_tables, np.uint64).astype(np.uint64, copy=False)
