"""The benchmark script measures what it says. Its figures are nobody's test."""

from __future__ import annotations

import pytest

from tests.bench import TRAINING_PARTS, training_shares


def test_the_parts_of_training_add_up_to_all_of_it():
    shares = training_shares(1)
    assert tuple(shares) == TRAINING_PARTS
    assert sum(share for (share,) in shares.values()) == pytest.approx(100.0)
    assert min(share for (share,) in shares.values()) > 0.0
