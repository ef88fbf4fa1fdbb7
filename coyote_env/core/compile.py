"""Our ``njit``: compiled once per version of our sources, cached on disk, announced when it takes long.

Numba's own ``cache=True`` looks at the file of the decorated function only. A kernel that calls a changed kernel of
another file would silently run the old code. Every kernel of ours is therefore cached in a folder whose name is a
hash of the sources of every folder that holds kernels, of the versions of numba and numpy, and of the settings that
change generated code.
"""

from __future__ import annotations

import gc
import hashlib
import os
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar, cast

import numba
import numpy as np

F = TypeVar("F", bound=Callable[..., Any])

# numpy's int64 as type checkers should see it in a kernel: it makes an int. (numba keeps the width of record fields,
# and int8 arithmetic on a seat would overflow or be slow.)
int64 = cast(Callable[[Any], int], np.int64)

_config: Any = numba.config  # its attributes are made at run time
_jit: Any = numba.njit  # its stubs leave out `_nrt`
_PACKAGE = Path(__file__).resolve().parent.parent


def _source_hash() -> str:
    sources = {path: path.read_bytes() for path in sorted(_PACKAGE.rglob("*.py"))}
    # Kernels take constants and kernels from their own folder and from core, which has kernels too.
    folders = {path.parent for path, text in sources.items() if b"@njit(" in text}
    digest = hashlib.sha256()
    for path, text in sources.items():
        if path.parent in folders:
            digest.update(str(path.relative_to(_PACKAGE)).encode() + text)
    digest.update(f"{numba.__version__} {np.__version__} {sys.version}".encode())
    # Bounds checks change the machine code, but numba's cache does not tell the two apart.
    digest.update(f"boundscheck={_config.BOUNDSCHECK}".encode())
    return digest.hexdigest()[:16]


def cache_dir() -> Path:
    """Folder of compiled kernels: ``$COYOTE_CACHE_DIR``, else ``$XDG_CACHE_HOME/coyote_env``, and in it the hash."""
    root = os.environ.get("COYOTE_CACHE_DIR")
    if root is None:
        root = str(Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "coyote_env")
    return Path(root) / _source_hash()


_CACHE_DIR = cache_dir()
# numba keeps what it compiles by the place of the source: a second installation compiles for itself, and says so.
_HOME = hashlib.sha256(str(_PACKAGE).encode()).hexdigest()[:8]
_announced = False


def njit(signature: Any = None, *, allocates: bool = False, inline: bool = False) -> Callable[[F], F]:
    """Decorator: ``numba.njit`` with our cache; releases the GIL; no fast math, so results do not depend on the CPU.

    With a ``signature`` the kernel is compiled (or loaded) at once: a call with other types is then an error instead
    of a second, slow compilation. Kernels without one are compiled into their callers. These count no references,
    which takes a fifth off a batch's step (each row or slice of an array would cost two atomic operations), and can
    make no arrays; ``allocates`` is for one that must. ``inline``: no call is left of it, which is worth a third of the
    step where arguments are arrays, since each is passed as seven numbers.
    """

    def decorate(function: F) -> F:
        # The folder is looked up when a function is decorated. It is put back afterwards: other users of numba in
        # this process keep theirs.
        before = _config.CACHE_DIR
        _config.CACHE_DIR = str(_CACHE_DIR)
        # Looking for garbage among the millions of objects that a compilation makes takes an eighth of its time.
        collects = gc.isenabled()
        gc.disable()
        try:
            if signature is None:
                return cast(F, _jit(cache=True, nogil=True, _nrt=allocates, forceinline=inline)(function))
            _announce(function.__module__)
            return cast(F, _jit(signature, cache=True, nogil=True)(function))
        finally:
            _config.CACHE_DIR = before
            if collects:
                gc.enable()

    return decorate


def _announce(module: str) -> None:
    global _announced
    if not _announced and not _config.DISABLE_JIT and not _marker(module).exists():
        print("coyote_env: compiling the rules engine, once (up to a minute) ...", file=sys.stderr, flush=True)
        _announced = True


def _marker(module: str) -> Path:
    return _CACHE_DIR / f"{module}.{_HOME}.complete"


def complete(module: str) -> None:
    """Called at the end of a file with kernels, with its ``__name__``: from now on they load from disk, and nothing is
    announced."""
    if not _config.DISABLE_JIT and _CACHE_DIR.is_dir():
        with suppress(OSError):  # a read-only cache still serves
            _marker(module).touch()


if _config.DISABLE_JIT:
    # Our generator wraps around on purpose; compiled code does so silently, numpy scalars warn about it.
    np.seterr(over="ignore")
