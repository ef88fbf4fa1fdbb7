"""The loss, its gradient and sampling, against autograd on the formulas as the papers have them."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.distributions import Categorical, kl_divergence

from training.loss import TERMS, draw, loss_and_gradient

ROWS, ACTIONS = 300, 23
CLIP, ENTROPY, VALUE, MAGNET, TEACHER = 0.2, 0.03, 0.5, 0.4, 0.7


class Rollout:
    """Random decisions: ratios on both sides of the clip, rows with one legal action, hopeless and certain actions."""

    def __init__(self, magnet: bool, teacher: bool) -> None:
        make = torch.Generator().manual_seed(5)
        self.logits = torch.randn(ROWS, ACTIONS, generator=make) * 3
        self.logits[::7, 3] = 90.0
        self.masks = torch.rand(ROWS, ACTIONS, generator=make) < 0.4
        self.masks[torch.arange(ROWS), torch.randint(ACTIONS, (ROWS,), generator=make)] = True
        self.masks[:5] = False
        self.masks[:5, 4] = True
        weights = self.masks * (0.1 + torch.rand(ROWS, ACTIONS, generator=make))
        self.actions, self.teacher_actions = (
            torch.multinomial(weights, 1, generator=make).squeeze(1) for _ in range(2)
        )
        self.values, self.returns, self.advantages = (torch.randn(ROWS, generator=make) for _ in range(3))
        with torch.no_grad():
            now = self.policy(self.logits).log_prob(self.actions)
        self.old = now + torch.randn(ROWS, generator=make) * 0.3
        self.references = self.policy(torch.randn(ROWS, ACTIONS, generator=make)).logits
        self.magnet, self.teacher = magnet, teacher

    def policy(self, logits: Tensor) -> Categorical:
        return Categorical(logits=logits.masked_fill(~self.masks, -1e8))

    def by_autograd(self) -> tuple[Tensor, Tensor, Tensor]:
        """The terms of every row, float64[7, R], and the gradients of the sum of the losses."""
        logits, values = self.logits.double().requires_grad_(), self.values.double().requires_grad_()
        policy = self.policy(logits)
        ratio = (policy.log_prob(self.actions) - self.old.double()).exp()
        gain = self.advantages.double()
        zero = torch.zeros(ROWS, dtype=torch.float64)
        terms = {
            "surrogate": -torch.minimum(gain * ratio, gain * ratio.clamp(1 - CLIP, 1 + CLIP)),
            "value_error": (self.returns.double() - values) ** 2,
            "entropy": policy.entropy(),
            "kl": ratio - 1 - ratio.log(),
            "clipped": ((ratio - 1).abs() > CLIP).double(),
            "magnet_kl": zero,
            "teacher_cross_entropy": zero,
        }
        loss = terms["surrogate"] - ENTROPY * terms["entropy"] + VALUE * terms["value_error"]
        if self.magnet:
            terms["magnet_kl"] = kl_divergence(policy, self.policy_of_magnet())
            loss = loss + MAGNET * terms["magnet_kl"]
        if self.teacher:
            terms["teacher_cross_entropy"] = -policy.log_prob(self.teacher_actions)
            loss = loss + TEACHER * terms["teacher_cross_entropy"]
        by_logit, by_value = torch.autograd.grad(loss.sum(), [logits, values])
        return torch.stack([terms[name] for name in TERMS]).detach(), by_logit, by_value

    def policy_of_magnet(self) -> Categorical:
        return Categorical(logits=self.references.double())

    def by_kernel(self, rows: Tensor, scale: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        sums, slopes = np.full(7, np.nan), np.full((len(rows), ACTIONS), np.nan, np.float32)
        value_slopes = np.full(len(rows), np.nan, np.float32)
        loss_and_gradient(
            self.logits[rows].numpy(),
            self.values[rows].numpy(),
            rows.numpy(),
            self.masks.numpy(),
            self.actions.numpy(),
            self.old.numpy(),
            self.advantages[rows].numpy(),
            self.returns.numpy(),
            self.references.numpy() if self.magnet else np.zeros((0, ACTIONS), np.float32),
            self.teacher_actions.numpy() if self.teacher else np.zeros(0, np.int64),
            *(CLIP, ENTROPY, VALUE, MAGNET, TEACHER, scale),
            sums,
            slopes,
            value_slopes,
        )
        return sums, slopes, value_slopes


@pytest.mark.parametrize("teacher", [False, True])
@pytest.mark.parametrize("magnet", [False, True])
def test_terms_and_gradient_are_those_of_autograd(magnet, teacher):
    rollout = Rollout(magnet, teacher)
    terms, by_logit, by_value = rollout.by_autograd()
    assert 0.2 < terms[TERMS.index("clipped")].mean() < 0.8  # both sides are among them
    order = torch.randperm(ROWS, generator=torch.Generator().manual_seed(1))
    for rows in (order, order[:1], torch.arange(5)):
        sums, slopes, value_slopes = rollout.by_kernel(rows, 0.25)
        np.testing.assert_allclose(sums, terms[:, rows].sum(dim=1).numpy(), rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(slopes, 0.25 * by_logit[rows].numpy(), rtol=1e-4, atol=1e-6)
        np.testing.assert_allclose(value_slopes, 0.25 * by_value[rows].numpy(), rtol=1e-5, atol=1e-6)
        assert (slopes[~rollout.masks[rows].numpy()] == 0).all()


def test_a_row_does_not_depend_on_those_around_it():
    rollout = Rollout(magnet=True, teacher=True)
    _, together, values_together = rollout.by_kernel(torch.arange(ROWS), 1.0)
    for row in range(0, ROWS, 17):
        _, alone, value_alone = rollout.by_kernel(torch.tensor([row]), 1.0)
        assert alone.tobytes() == together[row].tobytes()
        assert value_alone[0] == values_together[row]


def drawn(logits: Tensor, masks: Tensor, uniform: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    actions, log_probabilities = np.full(len(logits), -1), np.full(len(logits), np.nan, np.float32)
    draw(logits.numpy(), masks.numpy(), uniform.astype(np.float32), actions, log_probabilities)
    return actions, log_probabilities


def test_sampling_follows_the_distribution_and_is_always_legal():
    torch.manual_seed(0)
    logits, masks = torch.randn(6, 9) * 3, torch.rand(6, 9) < 0.6
    masks[:, 0], masks[:, 8], masks[2] = False, False, False
    masks[2, 4] = True
    logits[3] = 1e-3 * logits[3] - 1e30  # so small that only their differences count
    policy = Categorical(logits=logits.masked_fill(~masks, -np.inf))
    grid = (np.arange(20_000) + 0.5) / 20_000
    for row in range(6):
        actions, log_probabilities = drawn(logits[row].repeat(len(grid), 1), masks[row].repeat(len(grid), 1), grid)
        shares = np.bincount(actions, minlength=9) / len(grid)
        np.testing.assert_allclose(shares, policy.probs[row], atol=2e-4)
        np.testing.assert_allclose(log_probabilities, policy.logits[row, actions], rtol=1e-5, atol=1e-6)
    for extreme in (0.0, np.nextafter(np.float32(1), np.float32(0))):
        actions, _ = drawn(logits, masks, np.full(6, extreme))
        assert masks[torch.arange(6), torch.from_numpy(actions)].all()
