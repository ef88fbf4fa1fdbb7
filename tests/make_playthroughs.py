"""Writes the golden playthroughs, ``tests/playthroughs/*.txt``: ``make playthroughs``.

One whole game a file, every value that the API gives at every state, readable on purpose: a change of rules,
observations, ids, rewards or chance shows up as a diff that a person can judge. ``tests/test_playthroughs.py`` plays
them again and compares.
"""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coyote_env import coyote_v0, scout_v0
from coyote_env.core.game import Game
from coyote_env.coyote.engine import PHASES
from coyote_env.coyote.rules import VARIANTS
from coyote_env.scout import engine as scout_engine

FOLDER = Path(__file__).resolve().parent / "playthroughs"
COMMAND = "make playthroughs"

# File name -> arguments of coyote_v0.env. Fewer lives where there are many seats keep the files short.
PLAYTHROUGHS: dict[str, dict[str, Any]] = {
    "gigamic-2011_2": {"edition": "gigamic-2011", "num_players": 2},
    "gigamic-2011_3": {"edition": "gigamic-2011", "num_players": 3},
    "gigamic-2011_4": {"edition": "gigamic-2011", "num_players": 4},
    "gigamic-2011_6": {"edition": "gigamic-2011", "num_players": 6, "lives": 2, "reward": "placement"},
    "gigamic-2011_10": {"edition": "gigamic-2011", "num_players": 10, "lives": 1, "reward": "round"},
    "gigamic-2011_6_classic-36_plain": {
        "edition": "gigamic-2011", "num_players": 6, "deck": "classic-36", "variants": "none", "lives": 1,
    },
    # So few cards that the pile runs out in the middle of a round, and counting tells what one wears.
    "gigamic-2011_5_short-deck": {
        "edition": "gigamic-2011", "num_players": 5, "lives": 1,
        "deck": {"1": 2, "5": 2, "10": 1, "-5": 1, "?": 1, "x2": 1},
    },
    "animals_2": {"edition": "animals", "num_players": 2, "lives": 2},
    "animals_4": {"edition": "animals", "num_players": 4, "lives": 1},
    "peek_2": {"edition": "peek", "num_players": 2},
    "peek_3": {"edition": "peek", "num_players": 3, "lives": 2},
    "peek_6": {"edition": "peek", "num_players": 6, "lives": 1, "closed_peeks": 0, "reward": "placement"},
    "trickster_2": {"edition": "trickster", "num_players": 2, "lives": 2, "closed_peeks": 1},
    "trickster_3": {"edition": "trickster", "num_players": 3},
    "trickster_4": {"edition": "trickster", "num_players": 4, "lives": 2, "reward": "round"},
    # A house game: two Peek cards lost at once, both by choice; a pile that runs out while the centre card lies there,
    # so that counting tells it and the own card, together.
    "trickster_3_two-at-once": {
        "edition": "trickster", "num_players": 3, "variants": ["double", "reverse"], "closed_peeks": 1,
        "reshuffle": "when_needed",
        "deck": {"-3": 1, "1": 1, "2": 1, "5": 1, "8": 1, "9": 1, "?": 1, "max-": 1},
    },
    "mini_2": {"edition": "mini", "num_players": 2},
    "mini_3": {"edition": "mini", "num_players": 3},
    "mini_2_odds": {"edition": "mini", "num_players": 2, "odds": True, "lives": 2, "game_end": "last_standing"},
}  # fmt: skip

# File name -> arguments of scout_v0.env. A low stall limit keeps the files short.
SCOUT_PLAYTHROUGHS: dict[str, dict[str, Any]] = {
    "scout_2": {"num_players": 2},
    "scout_2_rulebook": {"num_players": 2, "exemption": "rulebook", "reward": "round", "stall_limit": 6},
    "scout_3": {"num_players": 3, "rounds": 1, "reward": "placement"},
    "scout_4": {"num_players": 4, "rounds": 1, "stall_limit": 8},
    "scout_5": {"num_players": 5, "rounds": 2, "stall_limit": 5, "exemption": "rulebook", "reward": "round"},
    "scout_3_fits": {"num_players": 3, "rounds": 1, "stall_limit": 4, "fits": True},
}
ALL = {**PLAYTHROUGHS, **SCOUT_PLAYTHROUGHS}


def number(value: float) -> str:
    """Six digits: enough to see a change, too few to see another machine's rounding."""
    return f"{float(value):.6g}"


def packed(names: Iterable[str]) -> str:
    """Action names; those of bids as ranges: "challenge idem bid_5..7 bid_9"."""
    words: list[str] = []
    bids: list[int] = []
    for name in names:
        if name.startswith("bid_"):
            bids.append(int(name.removeprefix("bid_")))
        else:
            words.append(name)
    while bids:
        size = next((k for k in range(1, len(bids)) if bids[k] != bids[0] + k), len(bids))
        words.append(f"bid_{bids[0]}" if size == 1 else f"bid_{bids[0]}..{bids[size - 1]}")
        del bids[:size]
    return " ".join(words) or "none"


def entries(values: NDArray[np.float32], labels: Sequence[str] | None) -> str:
    """Non-zero entries of a section as index=value, or label=value; a matrix row by row."""
    if values.ndim == 1:
        return " ".join(f"{labels[k] if labels else k}={number(values[k])}" for k in np.flatnonzero(values).tolist())
    rows = [f"[{k}] {entries(row, labels)}" for k, row in enumerate(values) if row.any()]
    return "  ".join(rows)


def phases_of(game: Game) -> Sequence[str]:
    """Names of the phases in the order of the observation."""
    return PHASES if game.name == coyote_v0.game().name else scout_engine.PHASES


def observation_lines(game: Game, observation: NDArray[np.float32]) -> list[str]:
    """One line a section that is not all zero."""
    labels: dict[str, Sequence[str]] = {"phase": phases_of(game)}
    if game.name == coyote_v0.game().name:
        labels |= dict.fromkeys(("cards", "unseen", "deduced", "centre", "coyote_card"), game.config.faces)
        labels["used"] = VARIANTS
    parts = ((section.name, game.layout.view(observation, section.name)) for section in game.layout.sections)
    return [f"{name:<16} {entries(values, labels.get(name))}" for name, values in parts if values.any()]


def digest(lines: Iterable[str]) -> str:
    """Twelve digits that change when the lines do."""
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:12]


def choose(names: list[str], rng: random.Random) -> str:
    """Play that reaches everything in a short game: variants often, small raises, challenges soon enough.

    Only ``Random.random`` is used, whose stream Python promises to keep.
    """
    shows = [name for name in names if name.startswith("show_")]
    if shows:  # SCOUT, where most shows make a round short
        others = [name for name in names if not name.startswith("show_")]
        group = shows if not others or rng.random() < 0.6 else others
        return group[int(rng.random() * len(group))]
    bids = [name for name in names if name.startswith("bid_")][:6]
    others = [name for name in names if not name.startswith("bid_") and name != "challenge"]
    groups = [(["challenge"] if "challenge" in names else [], 0.3), (others, 0.35), (bids, 0.35)]
    roll = rng.random() * sum(weight for group, weight in groups if group)
    for group, weight in groups:
        if group and (roll := roll - weight) < 0:
            return group[int(rng.random() * len(group))]
    return names[-1]


def play(name: str) -> str:
    """The text of one playthrough."""
    face = scout_v0 if name in SCOUT_PLAYTHROUGHS else coyote_v0
    env = face.env(**ALL[name])
    layout, game = env.layout, env.game
    agents = env.possible_agents
    rng = random.Random(name)
    seed = int(rng.random() * 1000)
    lines = [
        f"{game.name} {name}: one game, every value of the API. Written by `{COMMAND}`.",
        "Observations: non-zero entries only, as index=value (faces, variants and phases by name), six digits; of the",
        "other seats and of state() a digest. Seats in an observation are relative: 0 is its own, then clockwise.",
        "",
        f"kwargs            {json.dumps(dict(game.kwargs))}",
        f"seed              {seed}",
        f"possible_agents   {' '.join(agents)}",
        f"observation       {layout.size} numbers, layout hash {layout.hash}",
        f"actions           {game.num_actions}: {packed(game.action_names)}",
    ]
    env.reset(seed=seed)
    returns = dict.fromkeys(agents, 0.0)
    state = 0

    def table(label: str, values: dict[str, Any]) -> None:
        lines.append(f"  {label:<16}{' '.join(number(value) for value in values.values())}")

    def seen(agent: str) -> list[str]:
        return observation_lines(game, env.observe(agent)["observation"])

    def show() -> None:
        mover = env.agent_selection
        observation, reward, terminated, truncated, info = env.last()
        phase = phases_of(game)[int(layout.view(observation["observation"], "phase").argmax())]
        lines.extend(["", f"State {state}", f"  {'agent_selection':<16}{mover}", f"  {'phase':<16}{phase}"])
        lines.append(f"  {'last':<16}reward {number(reward)}, terminated {terminated}, truncated {truncated}")
        lines.append(f"  observation of {mover}")
        lines.extend(f"    {line}" for line in observation_lines(game, observation["observation"]))
        others = [agent for agent in agents if agent != mover]
        lines.append(f"  {'others see':<16}{' '.join(f'{agent}:{digest(seen(agent))}' for agent in others)}")
        lines.append(f"  {'state()':<16}{digest(observation_lines(game, env.state()))}")
        legal = [game.action_names[a] for a in np.flatnonzero(observation["action_mask"])]
        lines.append(f"  {'legal':<16}{packed(legal)}")
        for agent in env.agents:  # said once here instead of at each state in the file
            mask = env.observe(agent)["action_mask"]
            assert (env.infos[agent]["action_mask"] == mask).all()
            assert list(env.infos[agent]) == ["action_mask"]
            assert agent == mover or not mask.any()
        assert (info["action_mask"] == observation["action_mask"]).all()
        table("rewards", env.rewards)
        table("cumulative", env._cumulative_rewards)
        table("returns", returns)
        ended = [agent for agent, over in env.terminations.items() if over]
        lines.append(f"  {'terminations':<16}{' '.join(ended) or 'none'}")
        lines.append(f"  {'truncations':<16}{' '.join(a for a, cut in env.truncations.items() if cut) or 'none'}")

    while env.agents:
        show()
        if env.terminations[env.agent_selection]:
            action = None
            lines.append("  action          None")
        else:
            mask = env.observe(env.agent_selection)["action_mask"]
            chosen = choose([game.action_names[a] for a in np.flatnonzero(mask)], rng)
            action = game.action_id[chosen]
            lines.append(f"  action          {chosen} ({action})")
        env.step(action)
        state += 1
        if action is not None:
            for agent in agents:
                returns[agent] += env.rewards[agent]
    lines.extend(["", "No agents are left."])
    return "\n".join(lines) + "\n"


def main() -> None:
    """Entry point."""
    FOLDER.mkdir(exist_ok=True)
    for stale in FOLDER.glob("*.txt"):
        if stale.stem not in ALL:
            stale.unlink()
    for name in ALL:
        (FOLDER / f"{name}.txt").write_text(play(name))


if __name__ == "__main__":
    main()
