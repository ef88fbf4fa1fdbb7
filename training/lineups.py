"""A policy against everybody together: ``python -m training.lineups POLICY [--games N] [--write]``.

The policy has one seat, and the scripted players of its game all others, in every combination: some tables of one kind,
most of several. A policy can win from three of a player and lose to one of them between two others, where less of the
table behaves as it has learnt to expect; so the weakest line-up says more than the mean. It is the lowest of many
figures, and lower by luck than it is: with 21 line-ups by about two standard errors.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from itertools import combinations_with_replacement
from pathlib import Path

from .checkpoint import read_manifest, write_manifest
from .config import ConfigError
from .interrupts import interruptible
from .report import Result


@interruptible
def main(arguments: Sequence[str] | None = None) -> int:
    """The command. Returns 0, 1 where a policy fails or figures cannot be written, 2 for what is refused."""
    from coyote_env.arena.match import MOST_GAMES, play_match
    from coyote_env.policies import CheckpointPolicy, PolicyError, scripted_names

    parser = argparse.ArgumentParser(
        prog="python -m training.lineups", description="One seat of a policy against every line-up of scripted players."
    )
    parser.add_argument("policy", type=Path, help="folder of a checkpoint")
    parser.add_argument("--games", type=int, default=2000, help="games with each line-up")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--write", action="store_true", help="put the figures into the policy's manifest.json")
    options = parser.parse_args(arguments)
    try:
        if not 1 <= options.games <= MOST_GAMES:
            raise ConfigError(f"--games {options.games} is not allowed; allowed: 1 to {MOST_GAMES:,}")
        if options.seed < 0:
            raise ConfigError(f"--seed {options.seed} is not allowed; allowed: at least 0")
        manifest = read_manifest(options.policy)
        policy = CheckpointPolicy(options.policy)
    except (ConfigError, OSError, ValueError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    game = policy.game
    found: list[Result] = []
    try:
        for others in combinations_with_replacement(scripted_names(game.name), game.num_seats - 1):
            match = play_match(game, [policy, *others], options.games, options.seed)
            found.append(Result.of(in_words(others), match.policies[0]))
            print(statement(found[-1]), flush=True)
        print(f"\nthe weakest of {len(found)}, a fair share being {found[0].fair:.1%}:")
        print(statement(min(found, key=lambda result: result.share)))
        if options.write:
            manifest["training"]["lineups"] = [
                {key: value for key, value in asdict(result).items() if key != "seats"} for result in found
            ]
            write_manifest(options.policy, manifest)
    except (PolicyError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


def in_words(players: Sequence[str]) -> str:
    """Those at a table: "2 bayes, plus-one"."""
    return ", ".join(f"{count} {name}" if count > 1 else name for name, count in Counter(players).items())


def statement(result: Result) -> str:
    """A line of the table."""
    return f"{result.share:>6.1%}  ({result.low:.1%} to {result.high:.1%})  {result.opponent}"


if __name__ == "__main__":
    sys.exit(main())
