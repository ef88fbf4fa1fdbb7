"""Every mutant of tests/mutants.py still applies to the code (fast), and the fast tests catch it (slow)."""

from __future__ import annotations

import pytest

from tests.mutants import MUTANTS, ROOT, caught


def test_every_mutant_applies_and_has_a_name_of_its_own():
    assert len({mutant.name for mutant in MUTANTS}) == len(MUTANTS) >= 40
    for mutant in MUTANTS:
        source = (ROOT / "coyote_env" / mutant.file).read_text()
        assert (mutant.name, source.count(mutant.old)) == (mutant.name, mutant.times)
        assert mutant.new != mutant.old


@pytest.mark.slow
@pytest.mark.parametrize("mutant", MUTANTS, ids=[mutant.name for mutant in MUTANTS])
def test_the_fast_tests_catch(mutant):
    found, output = caught(mutant)
    assert found, f"no fast test fails when {mutant.old!r} becomes {mutant.new!r}:\n{output}"
