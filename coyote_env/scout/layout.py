"""What SCOUT's observations and action ids mean."""

from __future__ import annotations

from collections.abc import Mapping

from ..core.layout import ActionRows, Layout, Section
from . import engine
from .rules import TOKENS, Rules


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


def actions_of(rules: Rules) -> tuple[list[str], dict[str, int]]:
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


def action_rows_of(rules: Rules, fits: bool, first: Mapping[str, int]) -> tuple[ActionRows, ...]:
    """The sections of ``fits`` that speak of Shows (how many cards is known), of places to insert, and of scouts."""
    if not fits:
        return ()
    detail, hand = engine.DETAIL, rules.max_hand  # hands of two seats are smaller than the sections allow for
    shows = [(length, start) for length in range(1, rules.max_show + 1) for start in range(detail + 1 - length)]
    found = [
        ActionRows(
            "rest",
            tuple(first[f"show_{length}"] + start if start + length <= hand else -1 for length, start in shows),
            tuple((length / 10,) for length, _ in shows),
        ),
        ActionRows(
            "fit",
            tuple(first["insert"] + place if place < hand else -1 for place in range(detail + 1)),
            ((),) * (detail + 1),
        ),
    ]
    for kind in ("scout", "scout_show") if rules.num_players > 2 else ("scout",):
        found.append(ActionRows("scout_fit", tuple(range(first[kind], first[kind] + 4)), ((),) * 4))
    return tuple(found)
