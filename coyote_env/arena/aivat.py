"""Control variates: mean returns with luck subtracted, as far as a critic can tell it, without bias.

After Burch, Schmid, Moravcik, Morrill and Bowling, "AIVAT: a new variance reduction technique for agent evaluation in
imperfect information games" (AAAI 2018). A critic guesses what a position is worth to a seat. At each decision the
guess for the position that came of it is held against its mean over what could have come of it:

- over the player's own choice, where it says with what probabilities it chooses (`probabilities(observation, mask)`);
- over chance, by dealing anew: the next round's cards, and the first ones (`seed` in the table's record decides those;
  what is drawn within a round stays as it was).

Each difference has the mean 0, whatever the critic says, since chance drawn again is as likely as what was drawn. So
adding them up changes no expectation; and the better the critic, the more of the spread they take away. The mean over
chance is one over a few samples, which is unbiased too, and leaves that part of the spread over `SAMPLES`.

A poor critic's differences are noise, though, and there are hundreds in a game. So the kinds of them (`PARTS`) get
factors, which are fitted on other deals than those that they are used for (`weighed`): 1 for a critic that is right, 0
for one that knows nothing. (Plain sums made results worse than no correction in 4-seat games, where no critic here can
tell much.)

How much is gained depends on what a critic can tell from open cards. The gain of a mean return over 1,000 games by
`fit_critic`: COYOTE mini (plus-one, random) 1.5; two seats (bayes, plus-one) 1.2; four networks 1.2; a network and
bayes x3, or bayes and plus-one x2, 1.05; SCOUT (a network, planner, greedy-show x2) 1.00. More games, bootstrapped
targets, a network of two layers as the critic, and showing it odds moved four seats by 0.03 at most: how the others
will answer decides there, more than the cards. It costs ten times what play costs, which pays where the policies are
slow.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from coyote_env.arena.match import game_seeds, seat_order
from coyote_env.arena.play import play_games
from coyote_env.core.arguments import shortened
from coyote_env.core.players import PolicyError, name_of
from coyote_env.core.rng import answer_keys, table_seeds, uniform

if TYPE_CHECKING:
    from coyote_env.core.batch import Batch
    from coyote_env.core.game import Game

# (open view of a seat float32 (n, L), which policy sits in each seat, clockwise from that one, int (n, N)) -> what the
# rest of the game will pay to that seat, float (n,). Frozen: it must not learn from the games that are judged with it.
Critic = Callable[[npt.NDArray[np.float32], npt.NDArray[np.intp]], npt.NDArray[np.float64]]

SAMPLES = 8  # of chance, for each mean
ROWS = 4_096  # positions looked at together
PARTS = ("first deal", "later deals", "own choices", "others' choices")
LIKELY = 0.02  # choices below are not all looked at, but one of them for all
MIN_DEALS = 50  # fewer tell nothing of the factors
FOLDS = 5
_AGAIN = np.uint64(0x5851F42D4C957F2D)


class Corrections:
    """What is to be added to each seat's return. A `Watcher` of `play_games`.

    Attributes: `parts`, float64 (len(PARTS), games, seats): each has the mean 0 in every game, and so has their sum
    with any factors that do not come from the game itself (see `weighed`).
    """

    def __init__(
        self, game: Game, players: Sequence[Any], seating: npt.NDArray[np.intp], critic: Critic, seed: int
    ) -> None:
        self.game, self.seating, self.critic = game, seating, critic
        self.parts = np.zeros((len(PARTS), *seating.shape))
        # Of the chance that is drawn again at each decision of each game.
        base = np.random.SeedSequence(seed, spawn_key=(3,)).generate_state(1, np.uint64)
        self._keys = answer_keys(np.broadcast_to(base, len(seating)) ^ _AGAIN, np.arange(len(seating)))
        self._count = np.zeros(len(seating), np.int64)
        self._chances = [getattr(player, "probabilities", None) for player in players]
        self._names = [name_of(player) for player in players]
        self._views = [game.seen_as_by(player) for player in players]

    def begin(self, seeds: npt.NDArray[np.int64]) -> None:
        """The first deals, of games that `seeds` (games,) deal."""
        different, place = np.unique(seeds, return_inverse=True)
        drawn = np.array([table_seeds(int(s), 1)[0] for s in different], np.uint64)[place]
        numbers = np.arange(len(seeds))
        keys = self._next_keys(numbers)
        mean = np.zeros(self.seating.shape)
        for k in range(SAMPLES):
            mean += self._worth(self._dealt(answer_keys(keys, np.array([k]))), self.seating) / SAMPLES
        self.parts[0] += mean - self._worth(self._dealt(drawn), self.seating)

    def _dealt(self, seeds: npt.NDArray[np.uint64]) -> npt.NDArray[np.void]:
        states = np.zeros(len(seeds), self.game.state_dtype)
        states["seed"] = seeds
        tapes = np.empty((len(seeds), 0), np.int8)
        self.game.deal(self.game.rules, states, tapes, np.full(len(seeds), -1, np.int64))
        return states

    def _next_keys(self, numbers: npt.NDArray[np.intp]) -> npt.NDArray[np.uint64]:
        keys = answer_keys(self._keys[numbers], self._count[numbers])
        self._count[numbers] += 1
        return keys

    def __call__(
        self,
        batch: Batch,
        tables: npt.NDArray[np.intp],
        numbers: npt.NDArray[np.intp],
        actions: npt.NDArray[np.int64],
    ) -> None:
        """A step is about to be made."""
        states, masks, seats = batch.states[tables], batch.action_mask[tables], batch.seat[tables]
        keys = self._next_keys(numbers)
        entries = self.seating[numbers, seats]
        # What each could have chosen: rows of the step, actions, their probabilities; first what it did choose.
        everyone = np.arange(len(tables))
        rows, choices, weights = [everyone], [actions], [np.zeros(len(tables))]
        for entry, chances in enumerate(self._chances):
            mine = np.flatnonzero(entries == entry)
            if not mine.size or chances is None:
                continue
            table = _said(
                chances(batch.seen(self._views[entry], tables[mine]), masks[mine]), masks[mine], self._names[entry]
            )
            which, choice, weight = some_of(table, uniform(answer_keys(keys[mine], np.array([SAMPLES])))[:, 0])
            rows.append(mine[which])
            choices.append(choice)
            weights.append(weight)
        row, choice, weight = np.concatenate(rows), np.concatenate(choices), np.concatenate(weights)
        seated = self.seating[numbers[row]]
        after = self._after(states[row], masks[row], choice, states["seed"][row])
        again = self._after(states[row], masks[row], choice, answer_keys(keys[row], np.array([0])))
        again["seed"] = after["seed"]
        by_chance = after != again
        # Where neither choice nor chance was at work nothing is to be corrected.
        chosen = np.bincount(row, minlength=len(tables)) > 1
        use = np.flatnonzero(by_chance | chosen[row])
        if not use.size:
            return
        chance = np.flatnonzero(by_chance)
        worth = np.zeros((len(row), self.game.num_seats))
        worth[use] = self._worth(after[use], seated[use])
        actual = worth[everyone]
        if chance.size:
            mean = self._worth(again[chance], seated[chance]) / SAMPLES
            for k in range(1, SAMPLES):
                drawn = answer_keys(keys[row[chance]], np.array([k]))
                other = self._after(states[row[chance]], masks[row[chance]], choice[chance], drawn)
                mean += self._worth(other, seated[chance]) / SAMPLES
            worth[chance] = mean
        # What came of the choice that was made, and the choice itself: the mover's own for its return, or another's.
        self.parts[1][numbers] += worth[everyone] - actual
        if chosen.any():
            expected = np.zeros_like(actual)
            np.add.at(expected, row[use], weight[use, None] * worth[use])
            choice_part = np.where(chosen[:, None], expected - worth[everyone], 0.0)
            own = np.arange(self.game.num_seats) == seats[:, None]
            self.parts[2][numbers] += np.where(own, choice_part, 0.0)
            self.parts[3][numbers] += np.where(own, 0.0, choice_part)

    def _after(
        self,
        states: npt.NDArray[np.void],
        masks: npt.NDArray[np.int8],
        actions: npt.NDArray[np.int64],
        seeds: npt.NDArray[np.uint64],
    ) -> npt.NDArray[np.void]:
        """The tables after these actions, with the chance of other seeds."""
        game, n = self.game, len(states)
        states = states.copy()
        states["seed"] = seeds
        game.step(
            game.rules, states, np.empty((n, 0), np.int8), np.ascontiguousarray(actions, np.int64), True, False,
            np.empty(n, np.int64), np.empty((n, game.layout.size), np.float32), masks.copy(),
            np.empty((n, game.num_seats)), np.empty(n, np.bool_),
        )  # fmt: skip
        return states

    def _worth(self, states: npt.NDArray[np.void], seated: npt.NDArray[np.intp]) -> npt.NDArray[np.float64]:
        """What each seat will have been paid at the end, as the critic guesses, float64 (n, N)."""
        return worth(self.game, states, seated, self.critic)


def _said(table: Any, masks: npt.NDArray[np.int8], name: str) -> npt.NDArray[np.float64]:
    """The probabilities that a policy says it chose with. PolicyError where they can be none: they would bias."""
    try:
        found = np.asarray(table, np.float64)
    except (TypeError, ValueError):
        found = np.empty(0)
    good = found.shape == masks.shape and (found >= 0).all() and not found[masks == 0].any()  # NaN is not >= 0
    if not good or not np.allclose(found.sum(axis=1), 1, rtol=0, atol=1e-6):
        raise PolicyError(
            f"policy {shortened(name, 200)!r}: probabilities(observation, action_mask) must give float (rows, "
            "actions), 0 where illegal, each row adding up to 1"
        )
    return found


def some_of(
    table: npt.NDArray[np.float64], draws: npt.NDArray[np.float64]
) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp], npt.NDArray[np.float64]]:
    """Rows, actions and weights that stand for the probabilities `table` (n, A): all actions from `LIKELY` on, and of
    the others one, drawn by their probabilities with `draws` (n,), that has the weight of them all. A mean with these
    weights has the expectation that it has with all; most of a network's hundred bids are next to impossible.
    """
    likely = table >= LIKELY
    which, choice = np.nonzero(likely)
    sums = np.cumsum(np.where(likely, 0.0, table), axis=1)
    rest = np.flatnonzero(sums[:, -1] > 0)
    # As in `policies.checkpoint.sample`: never one of probability 0.
    drawn = (sums[rest] > draws[rest, None] * sums[rest, -1:]).argmax(axis=1)
    return (
        np.concatenate([which, rest]),
        np.concatenate([choice, drawn]),
        np.concatenate([table[which, choice], sums[rest, -1]]),
    )


def weighed(
    parts: npt.NDArray[np.float64], paid: npt.NDArray[np.float64], deals: npt.NDArray[np.intp]
) -> npt.NDArray[np.float64]:
    """What to add to `paid` (n,), returns of one policy in games of `deals` (n,), from its `parts` (len(PARTS), n).

    Each part gets the factor that is best in other deals than the one that is corrected: the deals are cut into
    `FOLDS`, and the factors for each are fitted by least squares in the others. So a factor does not depend on the game
    that it is for, and the mean stays what it is; and a critic that knows nothing gets factors about 0 and does no
    harm. With fewer than `MIN_DEALS` nothing is added.
    """
    number = np.unique(deals, return_inverse=True)[1]
    count = int(number.max()) + 1
    added = np.zeros(len(paid))
    if count < MIN_DEALS:
        return added
    sums = np.array([np.bincount(number, part, count) for part in parts]).T
    target = np.bincount(number, paid, count)
    for fold in range(FOLDS):
        here = np.arange(count) % FOLDS == fold
        known = sums[~here]
        factors = np.linalg.lstsq(known - known.mean(axis=0), target[~here].mean() - target[~here], rcond=1e-9)[0]
        mine = here[number]
        added[mine] = factors @ parts[:, mine]
    return added


def worth(
    game: Game, states: npt.NDArray[np.void], seated: npt.NDArray[np.intp], critic: Critic
) -> npt.NDArray[np.float64]:
    """What each seat has been paid and will be, as a critic guesses, float64 (n, N); no guess where that is settled.

    Raises ValueError for a critic that gives anything but one finite number a row.
    """
    n = game.num_seats
    total = states["returns"][:, :n].astype(np.float64)
    for start in range(0, len(states), ROWS):
        part = np.ascontiguousarray(states[start : start + ROWS])
        for seat in range(n):
            views, entries = open_views(game, part, seat, seated[start : start + ROWS])
            open_still = (part["over"] == 0) & (part["out"][:, seat] == 0)
            if open_still.any():
                guess = np.asarray(critic(views[open_still], entries[open_still]))
                if guess.shape != (int(open_still.sum()),) or not np.isfinite(guess).all():
                    raise ValueError("critic: must give one finite number a row")
                total[start : start + ROWS, seat][open_still] += guess
    return total


def open_views(
    game: Game, states: npt.NDArray[np.void], seat: int, seated: npt.NDArray[np.intp]
) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.intp]]:
    """What a critic is shown for a seat of these tables."""
    views = np.empty((len(states), game.layout.size), np.float32)
    game.observe(game.rules, states, np.full(len(states), seat, np.int64), True, views)
    return views, np.roll(seated, -seat, axis=1)


class FittedCritic:
    """A linear model on the view, who sits where, and fixed random features of both, fitted by least squares."""

    FEATURES = 256

    def __init__(
        self,
        views: npt.NDArray[np.float32],
        entries: npt.NDArray[np.intp],
        paid: npt.NDArray[np.float64],
        seed: int,
        penalty: float = 0.02,
    ) -> None:
        """From positions and what was paid after them, float (n,). `penalty`: on squared weights, for each position;
        positions of one game are much alike, so a small one would fit their luck."""
        self._kinds = int(entries.max()) + 1
        inputs = self._inputs(views, entries)
        self._mean, self._scale = inputs.mean(axis=0), np.maximum(inputs.std(axis=0), 1e-3)
        rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(4,)))
        size = inputs.shape[1]
        self._matrix = rng.normal(0, 1 / np.sqrt(size), (size, self.FEATURES)).astype(np.float32)
        self._bias = rng.normal(0, 1, self.FEATURES).astype(np.float32)
        features = self._features(inputs).astype(np.float64)
        square = features.T @ features + penalty * len(features) * np.eye(features.shape[1])
        self._weights = np.linalg.solve(square, features.T @ paid)

    def _inputs(self, views: npt.NDArray[np.float32], entries: npt.NDArray[np.intp]) -> npt.NDArray[np.float32]:
        who = (entries[:, :, None] == np.arange(self._kinds)).reshape(len(entries), -1)
        return np.concatenate([views, who.astype(np.float32)], axis=1)

    def _features(self, inputs: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
        scaled = np.clip((inputs - self._mean) / self._scale, -5, 5)
        random = np.maximum(scaled @ self._matrix + self._bias, 0)
        return np.concatenate([scaled, random, np.ones((len(inputs), 1), np.float32)], axis=1)

    def __call__(self, views: npt.NDArray[np.float32], entries: npt.NDArray[np.intp]) -> npt.NDArray[np.float64]:
        """See `Critic`."""
        return np.asarray(self._features(self._inputs(views, entries)) @ self._weights)


def fit_critic(game: Game, players: Sequence[Any], seed: int, num_games: int = 600) -> FittedCritic:
    """A critic for a match of these players, from games of their own, whose deals are none of the match's."""
    own_seed = int(np.random.SeedSequence(seed, spawn_key=(6,)).generate_state(1, np.uint64)[0] >> np.uint64(1))
    seats = game.num_seats
    seating = seat_order(seats, num_games, own_seed)
    kept: list[tuple[Any, ...]] = []
    rng = np.random.default_rng(own_seed)

    def look(
        batch: Batch,
        tables: npt.NDArray[np.intp],
        numbers: npt.NDArray[np.intp],
        actions: npt.NDArray[np.int64],
    ) -> None:
        some = rng.random(len(tables)) < 0.2  # positions of one game are much alike
        if some.any():
            kept.append((batch.states[tables[some]], numbers[some]))

    played = play_games(game, players, game_seeds(own_seed, num_games), seating, on_error="forfeit", watcher=look)
    states = np.concatenate([s for s, _ in kept])
    numbers = np.concatenate([g for _, g in kept])
    views, entries, paid = [], [], []
    for seat in range(seats):
        live = states["out"][:, seat] == 0
        seen, who = open_views(game, np.ascontiguousarray(states[live]), seat, seating[numbers[live]])
        views.append(seen)
        entries.append(who)
        paid.append(played.returns[numbers[live], seat] - states["returns"][live, seat])
    return FittedCritic(np.concatenate(views), np.concatenate(entries), np.concatenate(paid), seed)
