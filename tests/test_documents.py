"""The README says what the code does."""

from __future__ import annotations

import re

import pytest

from tests.make_docs import PARTS, README, ROOT, run_blocks, with_parts


def test_the_readmes_examples_run_and_print_what_it_shows():
    text = README.read_text()
    now, count = run_blocks(text)
    assert count == text.count("```python") >= 3
    assert now == text, "the README's examples print something else now: run `make docs` and read the diff"


def test_the_readmes_tables_say_what_the_data_says():
    text = README.read_text(encoding="utf-8")
    assert with_parts(text, PARTS[README]) == text, "the README has drifted: run `make docs` and read the diff"


def test_a_changed_output_is_noticed():
    block = "```python\nprint(1 + 1)\n```\n\n```text\n3\n```\n"
    assert run_blocks(block) == (block.replace("3", "2"), 1)
    with pytest.raises(ValueError, match="line 1"):
        run_blocks("```python\nprint(1)\n```\n")


def test_the_readmes_links_lead_somewhere():
    links = re.findall(r"\]\((?!https?:)([^)#]+)[^)]*\)", README.read_text())
    assert len(links) >= 3
    for link in links:
        assert (ROOT / link).exists(), link
