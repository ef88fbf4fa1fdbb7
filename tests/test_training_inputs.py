"""What a network is given: standardised numbers and the mask."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from coyote_env import coyote_v0
from tests.test_training_ppo import SMALL, collect, learner
from tests.toy_games import Knockout
from training.config import parse_config
from training.inputs import LEAST_DEVIATION, Inputs
from training.selfplay import make_learner


@pytest.mark.parametrize("sees_mask", [True, False])
def test_moments_are_those_of_all_rows_counted(sees_mask):
    rng = np.random.default_rng(0)
    given = Inputs(4, 3, sees_mask=sees_mask, standardise=True)
    scales, parts = np.array([1, 0.01, 30, 0]), []
    for rows in (5, 1, 200, 40):
        seen = (rng.normal(size=(rows, 4)) * scales + [0, 0.5, -7, 2]).astype(np.float32)
        mask = (rng.random((rows, 3)) < 0.7).astype(np.int8)
        before = given(seen, mask)
        given.count_in(before)
        parts.append(np.concatenate([seen, mask], axis=1) if sees_mask else seen)
    every = np.concatenate(parts).astype(float)
    assert given.count == len(every)
    np.testing.assert_allclose(given.mean, every.mean(axis=0), rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(given.deviation, every.std(axis=0), rtol=1e-3, atol=1e-5)
    expected = (every - every.mean(axis=0)) / np.maximum(every.std(axis=0), LEAST_DEVIATION)
    found = given(every[:, :4].astype(np.float32), every[:, 4:])
    np.testing.assert_allclose(found.numpy(), expected, rtol=1e-3, atol=1e-4)


def test_plain_inputs_are_the_observations():
    given = Inputs(4, 3)
    seen = np.random.default_rng(0).random((6, 4), np.float32)
    assert given.plain
    assert given.size == 4
    np.testing.assert_array_equal(given(seen, np.ones((6, 3))).numpy(), seen)
    given.count_in(given(seen, np.ones((6, 3))))
    assert given.count == 0


def test_the_mask_comes_last():
    given = Inputs(2, 3, sees_mask=True)
    np.testing.assert_array_equal(given(np.ones((1, 2), np.float32), np.array([[0, 5, 1]])).numpy(), [[1, 1, 0, 1, 1]])


def test_a_rollout_and_its_update_see_the_same_and_the_next_one_by_what_was_seen():
    model = learner(Knockout(24), replace(SMALL, sees_mask=True, standardise=True))
    buffer = model.rollout_buffer
    collect(model)
    rows = slice(0, buffer.size())
    seen, masks = buffer.observation_rows[rows].clone(), buffer.mask_rows[rows].clone()
    first = torch.cat([seen, masks.float()], dim=1)
    torch.testing.assert_close(buffer.input_rows[rows], first)
    model.train()
    np.testing.assert_allclose(model.inputs.mean, first.double().mean(dim=0), rtol=1e-5, atol=1e-6)
    collect(model)
    rows = slice(0, buffer.size())
    second = torch.cat([buffer.observation_rows[rows], buffer.mask_rows[rows].float()], dim=1).double()
    expected = (second - first.double().mean(dim=0)) / first.double().std(dim=0, correction=0).clamp(
        min=LEAST_DEVIATION
    )
    torch.testing.assert_close(buffer.input_rows[rows].double(), expected, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("network", [{}, {"sees_mask": False}, {"standardise": False}])
def test_settings_reach_the_learner(network):
    game = coyote_v0.game(edition="mini", num_players=2)
    ppo = {"magnet": "ema", "magnet_decay": 0.9, "magnet_decay_end": 0.96}
    run = {"tables": 4, "threads": 1}
    model = make_learner(parse_config({"run": run, "network": network, "ppo": ppo, "opponents": {"share": 0.0}}), game)
    assert model.inputs.sees_mask == network.get("sees_mask", True)
    assert model.inputs.standardise == network.get("standardise", True)
    assert [model.magnet_decay(remaining) for remaining in (1.0, 0.5, 0.0)] == pytest.approx([0.9, 0.93, 0.96])
