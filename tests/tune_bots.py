"""Measures the numbers that the scripted players of COYOTE are made with. Prints; changes nothing.

    python -m tests.tune_bots thresholds --seats 2 6               # plus-one: THRESHOLDS, by the number of live seats
    python -m tests.tune_bots thresholds --deck classic-36 --seats 2 6
    python -m tests.tune_bots effects --seats 4                    # bayes: what each of PARAMETERS does

How strong a player then is, `coyote match bayes plus-one plus-one plus-one` says. The figures stand in the
players' docstrings. Thresholds need more --games with more seats: the default is enough for two and three.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import Any

import numpy as np

from coyote_env import coyote_v0
from coyote_env.coyote import bots
from coyote_env.policies import Policy


def threshold_games(
    seats: int, thresholds: dict[int, float], centre: float, spread: float, games: int, seed: int, **rules: Any
) -> tuple[np.ndarray, np.ndarray]:
    """Plays games between plus-one players that differ while all seats are live: in centre +- spread, above 0.

    Returns thresholds and wins, float64, each (games, seats).
    """
    batch = coyote_v0.batch(min(1024, games), num_players=seats, **rules)
    game = batch.game
    rng = np.random.default_rng(seed)
    batch.reset(seed)
    by_live = np.zeros(seats + 1)
    for live in range(2, seats):
        by_live[live] = thresholds[live]
    challenge, first = game.action_id["challenge"], game.action_id["bid_1"]
    tables = np.arange(batch.num_tables)
    own = rng.uniform(max(0.0, centre - spread), centre + spread, (batch.num_tables, seats))
    got = np.zeros((batch.num_tables, seats))
    left = np.full(batch.num_tables, games // batch.num_tables)  # the same number at each table: no bias to short games
    drawn: list[Any] = []
    won: list[Any] = []
    while left.any():
        view = bots.View(game, batch.observation)
        odds = bots.standing_odds(game, view)
        live = view.live.sum(axis=1)
        limit = np.where(live == seats, own[tables, batch.seat], by_live[live])
        numbers = batch.action_mask[:, first:]
        actions = first + numbers.argmax(axis=1)
        doubt = (odds < limit) | ~numbers.any(axis=1)
        actions[doubt & (batch.action_mask[:, challenge] == 1)] = challenge
        batch.step(actions)
        got += batch.rewards
        for table in np.flatnonzero(batch.done):
            if left[table]:
                drawn.append(own[table].copy())
                won.append(got[table] == got[table].max())
                left[table] -= 1
            own[table] = rng.uniform(max(0.0, centre - spread), centre + spread, seats)
            got[table] = 0
    return np.array(drawn), np.array(won, float)


def tune_thresholds(
    low: int, high: int, rounds: int, games: int, seed: int, start: Mapping[int, float], **rules: Any
) -> None:
    """Prints, for each number of live seats, the threshold that is best among players that use it.

    Fewer seats first: what happens after a seat is out is then known. Each round of games is played around the best
    threshold so far; it is the top of a quadratic fitted to the own share of wins in all games up to then, and its
    error follows from those of the fit.
    """
    thresholds = dict(start)
    for seats in range(low, high + 1):
        centre = thresholds.get(seats, 0.15)
        tried, shares = np.empty(0), np.empty(0)
        for step in range(rounds):
            x, y = threshold_games(seats, thresholds, centre, 0.15, games, seed + 100 * seats + step, **rules)
            tried, shares = np.append(tried, x), np.append(shares, y)
            design = np.stack([np.ones_like(tried), tried, tried**2], axis=1)
            fit, *_ = np.linalg.lstsq(design, shares, rcond=None)
            covariance = np.linalg.inv(design.T @ design) * shares.var()
            if fit[2] >= 0:
                print(f"{seats} seats: no best threshold within {centre:.3f} +- 0.15", flush=True)
                continue
            top = -fit[1] / (2 * fit[2])
            slope = np.array([0.0, -1 / (2 * fit[2]), fit[1] / (2 * fit[2] ** 2)])
            error = 1.96 * np.sqrt(slope @ covariance @ slope)
            now = start.get(seats, centre)
            loss = fit[2] * (now - top) ** 2
            print(f"{seats} seats: best {top:.3f} +- {error:.3f}; {now:.3f} gives {loss:+.4f} of wins", flush=True)
            centre = float(np.clip(top, 0.02, 0.5))
        thresholds[seats] = round(centre, 3)
    print(thresholds)


def effects(
    seats: int, levels: dict[str, tuple[float, float]], plus_ones: float, games: int, seed: int, **rules: Any
) -> None:
    """Prints what each parameter of bayes does to its share of wins, low against high, all at once.

    16 players, one for each row of a Hadamard matrix: every parameter is low in half of them and high in half, and so
    is every other parameter in either half. Each game draws its seats from them, or takes plus-one (``plus_ones`` of
    all seats).
    """
    names = list(levels)
    assert len(names) <= 15, "a Hadamard matrix of order 16 has room for 15 parameters"
    signs = np.array([[1]])
    for _ in range(4):
        signs = np.block([[signs, signs], [signs, -signs]])
    signs = signs[:, 1:]
    batch = coyote_v0.batch(min(1024, games), num_players=seats, **rules)
    game = batch.game
    players: list[Policy] = [
        bots.Bayes(
            game, bots.THRESHOLDS, **{name: levels[name][int(signs[row, i] > 0)] for i, name in enumerate(names)}
        )
        for row in range(16)
    ]
    players.append(bots.PlusOne(game))
    rng = np.random.default_rng(seed)
    batch.reset(seed)
    tables = np.arange(batch.num_tables)

    def draw(size: int) -> np.ndarray:
        return np.where(rng.random((size, seats)) < plus_ones, 16, rng.integers(0, 16, (size, seats)))

    who = draw(batch.num_tables)
    got = np.zeros((batch.num_tables, seats))
    left = np.full(batch.num_tables, games // batch.num_tables)
    sat, won = np.zeros(17), np.zeros(17)
    while left.any():
        actions = np.zeros(batch.num_tables, np.int64)
        mover = who[tables, batch.seat]
        for number, player in enumerate(players):
            mine = np.flatnonzero(mover == number)
            if mine.size:
                actions[mine] = player.act(batch.observation[mine], batch.action_mask[mine], rng)
        batch.step(actions)
        got += batch.rewards
        for table in np.flatnonzero(batch.done):
            if left[table]:
                np.add.at(sat, who[table], 1)
                won[who[table, got[table].argmax()]] += 1
                left[table] -= 1
            who[table] = draw(1)[0]
            got[table] = 0
    share = won / np.maximum(sat, 1)
    bayes = won[:16].sum() / sat[:16].sum()
    print(
        f"{seats} seats, {games} games, plus-one {plus_ones:.0%}, {rules}: bayes {bayes:.3f}, plus-one {share[16]:.3f}"
    )
    error = np.sqrt((share[:16] * (1 - share[:16]) / sat[:16]).sum()) / 8
    for i, name in enumerate(names):
        change = (signs[:, i] * share[:16]).sum() / 8
        low, high = levels[name]
        print(f"  {name:10} {low:7.3f} -> {high:7.3f}: {change:+.4f} +- {1.96 * error:.4f}", flush=True)


# What is tried of each parameter of bayes.
LEVELS = {
    "tau": (0.2, 0.4),
    "eps": (0.01, 0.05),
    "scale": (0.7, 1.3),
    "evidence": (0.6, 0.95),
    "floor": (0.05, 0.3),
    "jump": (0.1, 0.5),
    "sure": (0.8, 0.95),
    "cost": (0.005, 0.02),
}


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    command = commands.add_parser("thresholds", help="of plus-one")
    command.add_argument("--seats", type=int, nargs=2, default=(2, 10))
    command.add_argument("--games", type=int, default=2048, help="of each round")
    command.add_argument("--rounds", type=int, default=2)
    command.add_argument("--variants", default="none")
    command = commands.add_parser("effects", help="of the parameters of bayes")
    command.add_argument("--seats", type=int, default=4)
    command.add_argument("--games", type=int, default=10_240)
    command.add_argument("--variants", default="all")
    command.add_argument("--plus-ones", type=float, default=0.3, help="share of the seats that plus-one takes")
    command.add_argument("--set", nargs=3, action="append", default=[], metavar=("NAME", "LOW", "HIGH"))
    for command in commands.choices.values():
        command.add_argument("--seed", type=int, default=0)
        command.add_argument("--deck", default=None)
    args = parser.parse_args()
    rules = {"deck": args.deck, "variants": args.variants}
    if args.command == "effects":
        levels = LEVELS | {name: (float(low), float(high)) for name, low, high in args.set}
        effects(args.seats, levels, args.plus_ones, args.games, args.seed, **rules)
    else:
        tune_thresholds(args.seats[0], args.seats[1], args.rounds, args.games, args.seed, bots.THRESHOLDS, **rules)


if __name__ == "__main__":
    main()
