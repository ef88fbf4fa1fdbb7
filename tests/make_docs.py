"""Writes the generated parts of the documents anew: ``python -m tests.make_docs``.

In the README every python block is run, in order and in one namespace, and a text block that follows one with only
blank lines between is what it printed. ``tests/test_documents.py`` fails when the two differ.
"""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
README = ROOT / "README.md"

BLOCK = re.compile(
    r"^```python\n(?P<code>.*?)^```\n(?:(?P<gap>\n*)^```text\n(?P<output>.*?)^```\n)?", re.MULTILINE | re.DOTALL
)


def run_blocks(text: str) -> tuple[str, int]:
    """Runs the Python blocks of a Markdown text; returns the text with today's outputs, and how many blocks ran."""
    namespace: dict[str, Any] = {"__name__": "readme"}
    count = 0

    def run(match: re.Match[str]) -> str:
        nonlocal count
        count += 1
        printed = io.StringIO()
        line = text[: match.start()].count("\n") + 1
        # Empty lines before the code, so that a traceback names the line of the document.
        code = compile("\n" * line + match["code"], str(README), "exec")
        with contextlib.redirect_stdout(printed):
            exec(code, namespace)
        block = f"```python\n{match['code']}```\n"
        if match["output"] is None:
            if printed.getvalue():
                raise ValueError(f"line {line}: the block prints, but no ```text block with its output follows it")
            return block
        output = "\n".join(row.rstrip() for row in printed.getvalue().splitlines())
        return f"{block}{match['gap']}```text\n{output}\n```\n"

    return BLOCK.sub(run, text), count


def main() -> None:
    """Entry point."""
    README.write_text(run_blocks(README.read_text())[0])


if __name__ == "__main__":
    main()
