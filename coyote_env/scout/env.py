"""SCOUT's faces: what an observation and an action mean, bound to the engine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ..core.aec import GameEnv
from ..core.arguments import flag, rules_of
from ..core.batch import Batch
from ..core.game import Game
from ..core.layout import Layout, Section
from . import engine, render
from .rules import HIGHER, LOWER, TOKENS, Rules, card_of
from .tally import Tally

NAME = "scout_v0"
# Names of the outcomes of chance: a card and its upper number, in the order of engine.draw.
OUTCOMES = tuple(f"{a}/{b}" for low, high in zip(LOWER, HIGHER, strict=True) for a, b in ((low, high), (high, low)))


def layout_of(rules: Rules, fits: bool) -> Layout:
    """The sections in the order in which ``engine.observe`` writes them."""
    n, hand, show = rules.num_players, rules.max_hand, rules.max_show
    low, high = rules.points_bounds
    two = n == 2
    tokens = TOKENS if two else rules.max_turns
    detail, pairs = engine.DETAIL, "equal, rising by one, falling by one"
    sections = [
        Section("seat_to_move", (n,), 0, 1, "1 for the seat to move; seats are relative here and below: own first"),
        Section("phase", (len(engine.PHASES),), 0, 1, "one-hot: " + ", ".join(engine.PHASES)),
        Section("hand", (hand, 2), 0, 1, "own hand from left to right: each card's upper and lower number / 10"),
        Section("hand_upper", (detail, 10), 0, 1, f"one-hot: the upper numbers of its first {detail} cards"),
        Section("neighbours", (detail - 1, 3), 0, 1, f"of these, each and the next: {pairs}"),
        Section("turned", (rules.deal - 1, 3), 0, 1, "the same upside down, while hands may be turned"),
        Section("active", (show, 2), 0, 1, "active Show from left to right: each card's upper and lower number / 10"),
        Section("active_left", (2, 10), 0, 1, "one-hot: upper and lower number of its left end"),
        Section("active_right", (2, 10), 0, 1, "one-hot: upper and lower number of its right end"),
        Section("active_equal", (1,), 0, 1, "1: its cards, two or more, are equal"),
        Section("owner", (n,), 0, 1, "1 for the seat that made the last Show, also when it is scouted away"),
        Section("hand_size", (n,), 0, hand / 10, "cards in each hand / 10, without the one being inserted"),
        Section("captured", (n,), 0, rules.cards_in_round / 10, "cards captured in this round / 10"),
        Section("tokens", (n,), 0, tokens / 10, f"Scout tokens {'left' if two else 'got in this round'} / 10"),
        Section(
            "points", (n,), rules.rounds * low / 10, rules.rounds * high / 10, "points of the rounds that are over / 10"
        ),
    ]
    if not two:
        sections.append(Section("scout_show", (n,), 0, 1, "1 for seats that still have their scout and show"))
    sections += [
        Section("first", (n,), 0, 1, "1 for the seat that began the round"),
        Section("round", (rules.rounds,), 0, 1, "one-hot: the running round"),
        Section("scouts", (1,), 0, TOKENS if two else 1, "turns since the last Show, all scouts, / seats"),
        Section("turns_left", (1,), 0, 1, "turns left without a capture / stall_limit"),
        Section("inserting", (10,), 0, 1, "both numbers of the card that the seat to move has taken"),
        Section("inserting_upper", (10,), 0, 1, "one-hot: its upper number, if the seat to move is this one"),
        Section(
            "cards",
            (rules.deck_size, n + 2),
            0,
            1,
            "where each card is known to be: with each seat, in the Show, gone; unseen: all 0. Rows: 1/2, 1/3, ...",
        ),
    ]
    if fits:
        most = hand / 10
        sections += [
            Section("best_show", (3,), 0, 1, "best Show of the own hand: cards / 10, 1 if equal, smallest number / 10"),
            Section("stands", (3,), 0, 1, "the same of the active Show"),
            Section("parts", (2,), 0, most, "fewest Shows to part the own hand into / 10; turned, while it may be"),
            Section(
                "fit", (detail + 1, 2), 0, most,
                "by place for the card to insert: cards of the longest Show with it / 10, parts then / 10",
            ),
            Section("scout_fit", (4, 2), 0, most, "by end and way of a scout: the best of either that it can lead to"),
            Section(
                "rest", (rules.max_show * (2 * detail + 1 - rules.max_show) // 2, 2), 0, most,
                f"by Show of the first {detail} cards (length, then place; it need not beat): (1 + fewest Shows to "
                "part the rest into) / 10, fewest of its cards that stand alone / 10; 0 where there is none",
            ),
        ]  # fmt: skip
    return Layout(sections)


def _actions_of(rules: Rules) -> tuple[list[str], dict[str, int]]:
    """Action names by id, and the first id of each kind of action."""
    names = ["keep", "flip"]
    first: dict[str, int] = {}
    for length in range(1, rules.max_show + 1):
        first[f"show_{length}"] = len(names)
        names += [f"show_{start}_{length}" for start in range(rules.max_hand - length + 1)]
    for kind in ("scout", "scout_show") if rules.num_players > 2 else ("scout",):
        first[kind] = len(names)
        names += [f"{kind}_{end}_{way}" for end in engine.ENDS for way in engine.WAYS]
    first["insert"] = len(names)
    names += [f"insert_{position}" for position in range(rules.max_hand)]
    return names, first


def _list(value: Any, what: str, most: int, fewer: bool = False) -> Sequence[Any]:
    """``value`` as a list of ``most`` entries (or ``fewer``); ``what`` names it in the ValueError if it is none."""
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if not isinstance(value, (list, tuple)) or (len(value) < most and not fewer) or len(value) > most:
        raise ValueError(f"{what} must be a list of {'at most ' if fewer else ''}{most}, not {value!r}")
    return value


def _prepare(game: Game, options: Mapping[str, Any], tape: NDArray[np.int8]) -> int:
    """Checks reset's options ``first`` and ``hands``; the hands go onto the tape."""
    rules: Rules = game.config
    first = options.get("first")
    starter = -1 if first is None else game.check_seat(first, "options['first']")
    hands = options.get("hands")
    place = 0
    used: set[int] = set()
    for k, dealt in enumerate(() if hands is None else _list(hands, "options['hands']", rules.rounds, fewer=True)):
        what = f"options['hands'][{k}]"
        if rules.num_players > 2:  # two seats play their second round with the cards left from the first
            used = set()
        for seat, hand in enumerate(_list(dealt, f"{what}, a round's hands by seat,", rules.num_players)):
            for c, pair in enumerate(_list(hand, f"{what}[{seat}], a seat's cards,", rules.deal)):
                where = f"{what}[{seat}][{c}]"
                upper, lower = _list(pair, f"{where}, a card's upper and lower number,", 2)
                for number in (upper, lower):
                    integer = isinstance(number, (int, np.integer)) and not isinstance(number, bool)
                    if not integer or not 1 <= number <= 10:
                        raise ValueError(f"{where}: a card's numbers are integers from 1 to 10, not {number!r}")
                if upper == lower or card_of(upper, lower) >= rules.deck_size:
                    raise ValueError(f"{where}: there is no card {upper}/{lower} in the deck of {game.num_seats} seats")
                card = card_of(upper, lower)
                if card in used:
                    raise ValueError(f"{where}: the card {upper}/{lower} is dealt already")
                used.add(card)
                tape[place] = 2 * card + (upper > lower)
                place += 1
    return starter


def _failure(game: Game, code: int) -> Exception:
    return ValueError(f"the card {OUTCOMES[-2 - code]} is to be dealt now, but is not left; nothing has changed")


def _potential(game: Game, states: NDArray[np.void]) -> NDArray[np.float64]:
    """With ``reward="round"``, the running round as it would be scored now, with nobody spared."""
    n = game.num_seats
    if game.config.reward != "round":
        return np.zeros((len(states), n))
    cards = states["hand_len"][:, :n].astype(np.float64)
    taken = states["inserting"] > 0
    cards[taken, states["seat"][taken]] += 1
    points = states["captured"][:, :n] + states["tokens"][:, :n] - cards
    points[states["over"] == 1] = 0.0
    ahead: NDArray[np.float64] = (points - points.mean(axis=1, keepdims=True)) / 10
    return ahead


def game(*, fits: bool = False, **rules: Any) -> Game:
    """SCOUT with rules chosen: ``fits`` adds the sections about what fits together, the rest goes to ``Rules``."""
    fits = flag("fits", fits)
    chosen = rules_of(Rules, rules, ["fits"])
    names, first = _actions_of(chosen)
    return Game(
        name=NAME,
        maker=game,
        kwargs=chosen.as_dict() | {"fits": fits},
        sight=("fits",),
        config=chosen,
        rules=engine.pack(chosen, fits, first),
        num_seats=chosen.num_players,
        layout=layout_of(chosen, fits),
        action_names=tuple(names),
        action_id={name: a for a, name in enumerate(names)},
        state_dtype=engine.STATE,
        tape_size=chosen.max_draws,
        outcomes=OUTCOMES[: 2 * chosen.deck_size],
        longest_game=chosen.longest_game,
        return_bounds=chosen.return_bounds,
        deal=engine.deal_many,
        step=engine.step_many,
        legal_mask=engine.legal_mask_many,
        observe=engine.observe_many,
        redeal=engine.redeal_many,
        prepare=_prepare,
        failure=_failure,
        potential=_potential,
        check_state=engine.check_state,
        tally=Tally,
        render_text=render.text,
        render_image=render.image,
    )


class ScoutEnv(GameEnv):
    """SCOUT as a PettingZoo AEC environment; arguments are those of ``Rules``, and ``fits``."""

    metadata: ClassVar[dict[str, Any]] = {
        "name": NAME, "render_modes": ["ansi", "human", "rgb_array"], "is_parallelizable": False, "render_fps": 1,
    }  # fmt: skip

    def __init__(self, *, illegal_action: str = "raise", render_mode: str | None = None, **kwargs: Any) -> None:
        super().__init__(game(**kwargs), illegal_action, render_mode)


def batch(num_tables: int, *, illegal_action: str = "raise", **kwargs: Any) -> Batch:
    """``num_tables`` tables at once; the same arguments as ``env``, without rendering."""
    return Batch(game(**kwargs), num_tables, illegal_action)
