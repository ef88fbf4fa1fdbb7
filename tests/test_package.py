"""What is said twice about the package is the same both times."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
import zipfile

import pytest

import coyote_env
from coyote_env import benchmark
from tests.make_docs import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())


def test_one_version():
    assert coyote_env.__version__ == PROJECT["project"]["version"]
    assert f"\n## {coyote_env.__version__} " in (ROOT / "CHANGELOG.md").read_text()


def test_every_dependency_is_pinned_in_the_tested_set():
    pinned = {}
    for line in (ROOT / "constraints.txt").read_text().splitlines():
        if line and not line.startswith("#"):
            assert re.fullmatch(r"[A-Za-z0-9_.-]+==[0-9][0-9a-z.]*", line), f"{line!r} is no plain pin"
            package, version = line.split("==")
            pinned[package.lower().replace("_", "-")] = version
    wanted = [*PROJECT["project"]["dependencies"]]
    for extra in PROJECT["project"]["optional-dependencies"].values():
        wanted += extra
    assert len(wanted) > 10
    for requirement in wanted:
        assert re.split(r"[<>=]", requirement)[0].lower().replace("_", "-") in pinned, requirement


@pytest.mark.slow
def test_the_wheel_holds_the_package_and_its_page_and_nothing_else(tmp_path):
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", str(tmp_path), str(ROOT)]
    subprocess.run(command, check=True, timeout=300)
    (wheel,) = tmp_path.glob("*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    assert {name.split("/")[0] for name in names} == {"coyote_env", f"coyote_env-{coyote_env.__version__}.dist-info"}
    assert {"coyote_env/py.typed", "coyote_env/coyote_v0.py", "coyote_env/coyote/README.md"} <= set(names)
    for one in benchmark.PUBLISHED.values():  # where an installed package looks for them
        assert {f"coyote_env/checkpoints/{one.folder}/{file}" for file in ("policy.onnx", "manifest.json")} <= set(
            names
        )
