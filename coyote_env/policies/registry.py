"""Names: which games exist, and which scripted players each has.

Policies know no game. The two modules of each are looked up in the table below when first needed, and only there: a
name from a file or a command line is a key, never a thing to import.
"""

from __future__ import annotations

import difflib
import importlib
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from coyote_env.core.arguments import shown
from coyote_env.core.players import Answer, answer_of, name_of
from coyote_env.policies.checkpoint import MANIFEST_FILE, POLICY_FILE, CheckpointPolicy
from coyote_env.policies.policy import Policy

if TYPE_CHECKING:
    from coyote_env.core.game import Game


# What users may give as a player: a name or a folder (see `load_policy`), a policy, or a function.
Player = Policy | Answer | str | os.PathLike[str]


class _Modules(NamedTuple):
    face: str  # has game(**kwargs)
    bots: str  # has SCRIPTED: name -> callable that takes the Game and gives a Policy
    anchor: str  # the scripted player that ratings put at 1000
    duplicates: bool = True  # whether duplicate deals tell more than separate ones; measured, see `arena.match`


GAMES: dict[str, _Modules] = {
    "coyote_v0": _Modules("coyote_env.coyote_v0", "coyote_env.coyote.bots", "bayes", duplicates=False),
    "scout_v0": _Modules("coyote_env.scout_v0", "coyote_env.scout.bots", "planner"),
}
DEFAULT_GAME = "coyote_v0"


def make_game(name: str, kwargs: Mapping[str, Any] | None = None) -> Game:
    """The game of that name with these arguments. ValueError for an unknown name; the game's own for bad arguments."""
    game: Game = importlib.import_module(_modules(name).face).game(**(kwargs or {}))
    return game


def scripted_names(game: str) -> tuple[str, ...]:
    """Short names of the scripted players of a game, sorted. ValueError for an unknown game."""
    return tuple(sorted(importlib.import_module(_modules(game).bots).SCRIPTED))


def load_policy(
    name_or_path: str | os.PathLike[str],
    game: Game | None = None,
    *,
    greedy: bool = False,
    temperature: float = 1.0,
) -> Policy:
    """A policy by the short name of a scripted player, or by the folder of a checkpoint.

    A string that is a scripted player's name means that player (write `./random` for a folder called so); anything
    else is a path. `game` is the game to be played; without it a scripted player gets the default table of
    `coyote_v0`, and a checkpoint the game in its manifest. `greedy` and `temperature` are for checkpoints: see
    `CheckpointPolicy`.

    Raises ValueError: an unknown name (lists what exists), a folder that is not as it should be, a policy made for
    another game than `game` (names the field and both values). ImportError if a checkpoint needs onnxruntime.
    """
    table = DEFAULT_GAME if game is None else game.name
    name = name_or_path if isinstance(name_or_path, str) else None
    if name is not None and table in GAMES and name in scripted_names(table):
        if greedy or temperature != 1.0:
            raise ValueError(f"{name!r} is a scripted player; greedy and temperature are for checkpoints")
        scripted = importlib.import_module(GAMES[table].bots).SCRIPTED[name]
        policy: Policy = scripted(make_game(table) if game is None else game)
        return policy
    if name != "" and _is_folder(name_or_path):
        return CheckpointPolicy(name_or_path, game, greedy=greedy, temperature=temperature)
    names = scripted_names(table) if table in GAMES else ()
    near = difflib.get_close_matches(name or "", names, 1)
    hint = f" (did you mean {near[0]!r}?)" if near else ""
    raise ValueError(
        f"no policy {shown(os.fspath(name_or_path))}{hint}: scripted players of {table} are "
        f"{', '.join(names) or 'none'}; and there is no folder of that name (with {POLICY_FILE} and {MANIFEST_FILE})"
    )


def resolve(players: Sequence[Player], game: Game, where: str) -> list[Policy | Answer]:
    """The players with names and folders loaded, each once, all of them for `game`.

    Raises what `load_policy` raises, and ValueError for what is no player and for a policy that was made for another
    game; it begins with `where` and the place in the list.
    """
    loaded: dict[str | os.PathLike[str], Policy] = {}
    result: list[Policy | Answer] = []
    for place, player in enumerate(players):
        if isinstance(player, (str, os.PathLike)):
            if player not in loaded:
                loaded[player] = load_policy(player, game)
            result.append(loaded[player])
            continue
        answer_of(player, f"{where}[{place}]")
        if isinstance(player, CheckpointPolicy):
            player.check_game(game)
        own = getattr(player, "game", None)  # scripted players have the game that they were made for
        facts = (("name", "game"), ("num_seats", "num_seats"), ("num_actions", "num_actions"))
        for attribute, field in facts if type(own) is type(game) else ():
            made_for, played = getattr(own, attribute), getattr(game, attribute)
            if made_for != played:
                raise ValueError(
                    f"{where}[{place}]: {name_of(player)!r} was made for {field} = {made_for!r}; the game to be played "
                    f"has {played!r}"
                )
        try:
            game.seen_as_by(player)
        except ValueError as error:
            raise ValueError(f"{where}[{place}]: {name_of(player)!r} was {error}") from None
        result.append(player)
    return result


def _is_folder(path: str | os.PathLike[str]) -> bool:
    try:
        return Path(path).is_dir()
    except (OSError, ValueError):  # too long, or with a zero byte, to be the name of anything
        return False


def _modules(game: str) -> _Modules:
    if game not in GAMES:
        raise ValueError(f"no game {shown(game)}; there are: {', '.join(sorted(GAMES))}")
    return GAMES[game]
