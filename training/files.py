"""Files that are either whole or not there: write beside the target, flush to disk, then rename over it."""

from __future__ import annotations

import os
import shutil
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


def write_folder_atomic(folder: Path, files: Mapping[str, bytes | str]) -> None:
    """Make `folder` with `files` (name -> content) in it, all of it or nothing.

    Raises FileExistsError if `folder` is there already: what others may be reading is never replaced.
    """
    if folder.exists():
        raise FileExistsError(f"{folder} exists already; a checkpoint is never overwritten, choose another name")
    folder.parent.mkdir(parents=True, exist_ok=True)
    with _temporary_folder(folder) as temporary:
        for name, data in files.items():
            _write_synced(temporary / name, data.encode() if isinstance(data, str) else data)
        _sync_folder(temporary)
        os.replace(temporary, folder)
    _sync_folder(folder.parent)


@contextmanager
def _temporary_folder(folder: Path) -> Iterator[Path]:
    """A fresh hidden folder beside `folder`, removed afterwards unless it was renamed."""
    temporary = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", suffix=".tmp", dir=folder.parent))
    try:
        temporary.chmod(0o755)  # mkdtemp makes it private to the user; a checkpoint is for everybody
        yield temporary
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
