"""PPO's loss with its gradient, and sampling, in one pass over each row of logits.

At a table of hundreds of actions with a dozen legal ones, most of what autograd does between logits and loss is moving
zeros: a third or more of a gradient step (training/README.md). The gradient of a softmax is short enough to write
down, so these kernels look at the legal actions alone. Tests hold them equal to autograd on sb3-contrib's formulas.

With z the logits, p = softmax(z) over the legal actions, l = log p, H = -sum p l, and d the action in question,

- dl[d]/dz[a] = [a = d] - p[a],
- dH/dz[a] = -p[a] (l[a] + H),
- dK/dz[a] = p[a] (l[a] - m[a] - K) for K = KL(p || m) = sum p (l - m), m the magnet's log probabilities.

Sums are of doubles, in the order of the actions, so a row's result does not depend on the rows around it.
"""

from __future__ import annotations

import math

import numpy as np
from numba import types
from numpy.typing import NDArray

from coyote_env.core.compile import complete, njit

Floats = NDArray[np.float32]
Ints = NDArray[np.int64]

#: What `loss_and_gradient` sums up, in this order: the clipped surrogate (negated), the squared error of the value,
#: the entropy, an estimate of KL(old || new), whether the ratio lies beyond the clip, KL(policy || magnet), exactly,
#: and minus the log probability of the teacher's action.
TERMS = ("surrogate", "value_error", "entropy", "kl", "clipped", "magnet_kl", "teacher_cross_entropy")

_f1, _f2, _i1, _b2 = types.float32[::1], types.float32[:, ::1], types.int64[::1], types.boolean[:, ::1]


@njit()
def _softmax(
    logits: Floats, mask: NDArray[np.bool_], legal: Ints, chances: NDArray[np.float64]
) -> tuple[int, float, float]:
    """Of the n legal actions, in order: their ids, p times a factor. Returns n, the factor, and logits less l."""
    n = 0
    for a in range(len(logits)):  # without a branch, which would be guessed wrong at every other action
        legal[n] = a
        n += mask[a]
    top = -math.inf
    for k in range(n):
        top = max(top, logits[legal[k]])
    total = 0.0
    for k in range(n):
        chances[k] = math.exp(np.float64(logits[legal[k]]) - top)
        total += chances[k]
    return n, total, top + math.log(total)


@njit(types.void(_f2, _b2, _f1, _i1, _f1))
def draw(logits: Floats, masks: NDArray[np.bool_], uniform: Floats, actions: Ints, log_probabilities: Floats) -> None:
    """One legal action a row, by inverting the distribution function at `uniform`, in [0, 1).

    Args:
        logits: float32[B, A], masks: bool[B, A] with at least one legal action a row, uniform: float32[B].
        actions, log_probabilities: int64[B], float32[B], filled in.
    """
    legal, chances = np.empty(logits.shape[1] + 1, np.int64), np.empty(logits.shape[1], np.float64)
    for row in range(len(logits)):
        n, total, shift = _softmax(logits[row], masks[row], legal, chances)
        point, so_far, k = np.float64(uniform[row]) * total, chances[0], 0
        # An action of no probability does not raise the sum, and is never chosen: the point is below the total.
        while so_far <= point and k < n - 1:
            k += 1
            so_far += chances[k]
        actions[row] = legal[k]
        log_probabilities[row] = np.float64(logits[row, legal[k]]) - shift


@njit(
    types.void(
        *(_f2, _f1),
        *(_i1, _b2, _i1, _f1, _f1, _f1, _f2, _i1),
        *(types.float64, types.float64, types.float64, types.float64, types.float64, types.float64),
        *(types.float64[::1], _f2, _f1),
    )
)
def loss_and_gradient(
    logits: Floats,
    values: Floats,
    rows: Ints,
    masks: NDArray[np.bool_],
    actions: Ints,
    old_log_probabilities: Floats,
    advantages: Floats,
    returns: Floats,
    references: Floats,
    teacher_actions: Ints,
    clip_range: float,
    entropy_weight: float,
    value_weight: float,
    magnet_weight: float,
    teacher_weight: float,
    scale: float,
    sums: NDArray[np.float64],
    logit_gradients: Floats,
    value_gradients: Floats,
) -> None:
    """The loss of B decisions of a rollout of R, term by term, and its gradient times `scale`.

    Args:
        logits: float32[B, A], values: float32[B], of the policy as it is.
        rows: int64[B], which decisions of the rollout these are: rows of
        masks: bool[R, A], actions: int64[R], old_log_probabilities, returns: float32[R], references: float32[R, A], the
            magnet's log probabilities of all actions (no rows: no magnet), and teacher_actions: int64[R], a teacher's
            (none: no teacher).
        advantages: float32[B], already standardised.
        clip_range, entropy_weight, value_weight, magnet_weight, teacher_weight: of the loss.
        sums: float64[7]; the sum of each of `TERMS` over the B decisions is filled in, without weights or `scale`.
        logit_gradients, value_gradients: float32[B, A], float32[B], filled in.
    """
    num_actions = logits.shape[1]
    legal, chances, logs = np.empty(num_actions + 1, np.int64), np.empty(num_actions), np.empty(num_actions)
    sums[:] = 0.0
    for i in range(len(rows)):
        row = rows[i]
        n, total, shift = _softmax(logits[i], masks[row], legal, chances)
        entropy = divergence = 0.0
        for k in range(n):
            chances[k] /= total
            logs[k] = np.float64(logits[i, legal[k]]) - shift
            entropy -= chances[k] * logs[k]
        if len(references):
            for k in range(n):
                divergence += chances[k] * (logs[k] - np.float64(references[row, legal[k]]))
        action, advantage = actions[row], np.float64(advantages[i])
        log_ratio = np.float64(logits[i, action]) - shift - np.float64(old_log_probabilities[row])
        ratio = math.exp(log_ratio)
        within = min(max(ratio, 1.0 - clip_range), 1.0 + clip_range)
        error = np.float64(returns[row]) - np.float64(values[i])
        sums[0] -= min(advantage * ratio, advantage * within)
        sums[1] += error * error
        sums[2] += entropy
        sums[3] += ratio - 1.0 - log_ratio
        sums[4] += 1.0 if abs(ratio - 1.0) > clip_range else 0.0
        sums[5] += divergence
        value_gradients[i] = -2.0 * scale * value_weight * error
        # Of the surrogate by the action's logarithm; the clipped one is flat where it is the lesser.
        pull = -advantage * ratio if advantage * ratio <= advantage * within else 0.0
        spread = pull - teacher_weight if len(teacher_actions) else pull
        logit_gradients[i, :] = 0.0
        for k in range(n):
            slope = entropy_weight * (logs[k] + entropy) - spread
            if len(references):
                slope += magnet_weight * (logs[k] - np.float64(references[row, legal[k]]) - divergence)
            logit_gradients[i, legal[k]] = scale * chances[k] * slope
        logit_gradients[i, action] += scale * pull
        if len(teacher_actions):
            lesson = teacher_actions[row]
            sums[6] -= np.float64(logits[i, lesson]) - shift
            logit_gradients[i, lesson] -= scale * teacher_weight


complete(__name__)
