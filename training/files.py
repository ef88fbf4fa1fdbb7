"""Files that are either whole or not there: write beside the target, flush to disk, then rename over it."""

from __future__ import annotations

import fcntl
import os
import shutil
import stat
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path


def _sync_folder(folder: Path) -> None:
    """Make a rename inside `folder` durable."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _write_synced(path: Path, data: bytes) -> None:
    with path.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def write_atomic(path: Path, data: bytes | str) -> None:
    """Write `data` (text as UTF-8) to `path`; a reader or a crash sees the old content or the new, never a part.

    Raises OSError as the system does (disk full, no permission); the old content is then untouched.
    """
    raw = data.encode() if isinstance(data, str) else data
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        _write_synced(temporary, raw)
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)
    _sync_folder(path.parent)


def write_folder_atomic(folder: Path, files: Mapping[str, bytes | str], replace: bool = False) -> None:
    """Make `folder` with `files` (name -> content) in it, all of it or nothing.

    With `replace` it takes the place of an older one, which stays until the new one is on disk. Without, raises
    FileExistsError if `folder` is there already.
    """
    if folder.exists() and not replace:
        raise FileExistsError(f"{folder} exists already; a checkpoint is never overwritten, choose another name")
    folder.parent.mkdir(parents=True, exist_ok=True)
    with _temporary_folder(folder) as temporary:
        for name, data in files.items():
            _write_synced(temporary / name, data.encode() if isinstance(data, str) else data)
        _sync_folder(temporary)
        older = _hide(folder) if os.path.lexists(folder) else None
        os.replace(temporary, folder)
    _sync_folder(folder.parent)
    if older is not None:
        _remove(older)


def remove_folder(folder: Path) -> None:
    """Remove a folder so that it is there whole or not at all: under a hidden name, for ``remove_leftovers``."""
    _remove(_hide(folder) if folder.is_dir() and not folder.is_symlink() else folder)


def _remove(path: Path) -> None:
    """A folder with all in it, or what else is in its place; a link, not what it leads to."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink()


def _hide(folder: Path) -> Path:
    """Give a folder a hidden name, which is returned."""
    hidden = folder.with_name(f".{folder.name}.old.tmp")
    if os.path.lexists(hidden):
        _remove(hidden)
    folder.rename(hidden)
    return hidden


def remove_leftovers(folder: Path) -> None:
    """Remove what an earlier process that was killed in these functions left in `folder` and below."""
    for path in folder.rglob(".*.tmp"):
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)


def read_bounded(path: Path, limit: int) -> bytes:
    """A regular file of at most `limit` bytes; links are not followed. Raises ValueError, OSError."""
    # Without O_NONBLOCK a pipe would block for ever.
    handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW)
    with open(handle, "rb") as file:
        status = os.fstat(handle)
        if not stat.S_ISREG(status.st_mode):
            raise ValueError(f"{path}: not a regular file")
        if status.st_size > limit:
            raise ValueError(f"{path}: {status.st_size:,} bytes; allowed: {limit:,}")
        data = file.read(limit + 1)
    if len(data) > limit:  # it grew
        raise ValueError(f"{path}: more than the allowed {limit:,} bytes")
    return data


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """A block in which no other process has `folder` locked. Raises BlockingIOError if one has.

    The lock ends with the process, however that ends.
    """
    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    finally:
        os.close(handle)


@contextmanager
def _temporary_folder(folder: Path) -> Iterator[Path]:
    """A fresh hidden folder beside `folder`, removed afterwards unless it was renamed."""
    temporary = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", suffix=".tmp", dir=folder.parent))
    try:
        temporary.chmod(0o755)  # mkdtemp makes it private to the user; a checkpoint is for everybody
        yield temporary
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
