"""What COYOTE's observations and action ids mean."""

from __future__ import annotations

from collections.abc import Mapping

from ..core.layout import ActionRows, Layout, Section
from . import engine
from .rules import VARIANTS, Rules


def layout_of(rules: Rules, odds: bool) -> Layout:
    """The sections in the order in which ``engine.observe`` writes them."""
    n, faces, top = rules.num_players, len(rules.faces), rules.max_bid()
    scale = f"/ {top}, the largest number of the game"
    relative = "seats are relative here and below: own first, then clockwise"
    how = ", ".join(engine.KINDS)
    phases = engine.PHASES if rules.peek else engine.PHASES[: engine.OVER + 1]
    hidden = "the seat's own, hidden" if not rules.peek else "hidden from the seat: its own, in the middle"
    deduced = "card on it" if not rules.peek else "cards on it or in the middle"
    sections = [
        Section("seat_to_move", (n,), 0, 1, f"1 for the seat to move; {relative}"),
        Section("live", (n,), 0, 1, "1 for seats not eliminated"),
        Section("lives", (n,), 0, 1, "lives left / lives at the start"),
        Section("cards", (n, faces), 0, 2, "cards of each face that a seat wears; own ones once all lies open"),
        Section("num_cards", (n,), 0, 2, "how many cards a seat wears, its own included"),
        Section("unseen", (faces,), 0, 1, f"part of each face's cards that are in the pile or {hidden}"),
        Section(
            "deduced",
            (faces,),
            0,
            4 if rules.peek else 2,
            f"hidden {deduced}, told by counting: from before the pile ran out",
        ),
        Section("pile_size", (1,), 0, 1, "cards left to draw / cards in the deck"),
        Section("bid", (1,), 0, 1, f"standing number {scale}; 0: none"),
        Section("bid_before", (1,), 0, 1, "the number that stood before it"),
        Section("refused", (1,), 0, 1, "number refused by `again`, while its replacement is awaited"),
        Section("announcer", (n,), 0, 1, "1 for the announcer of the standing number"),
        Section("last_bid", (n,), 0, 1, "last number that each seat announced this round"),
        Section("double", (1,), 0, 1, "1: `double` hangs on the standing number"),
        Section("waiting", (n,), 0, 1, "1 for the seat that demanded a number (`again`, `reverse`), until it is given"),
        Section("direction", (1,), -1, 1, "1 clockwise, -1 after `reverse`"),
        Section("phase", (len(phases),), 0, 1, "one-hot: " + ", ".join(phases)),
        Section("used", (len(VARIANTS),), 0, 1, "variants used this round: " + ", ".join(VARIANTS)),
        Section("declared_double", (1,), 0, 1, "1: declared in this turn, number to come"),
        Section("declared_feather", (n,), 0, 1, "1 for the seat that will draw a second card"),
        Section("declared_next", (n,), 0, 1, "1 for the seat that will have to answer"),
        Section("max_bid", (1,), 0, 1, "largest legal number of this round"),
        Section("history", (engine.HISTORY, n + 5), 0, 1, f"announcements, oldest first: seat, how ({how}), number"),
        Section("reveal_known", (1,), 0, 1, "1: there was a reveal in this game; the last one follows"),
        Section("reveal_total", (1,), -1, 1, "its total, clipped"),
        Section("reveal_bid", (1,), 0, 1, "its number"),
        Section("reveal_loser", (n,), 0, 1, "1 for the seat that lost it"),
        Section("reveal_lives", (1,), 0, 1, "lives lost / 2"),
    ]
    if rules.peek:
        sections += [
            Section("open_peeks", (n,), 0, 1, "open Peek cards / lives at the start"),
            Section("peeked", (n,), 0, 1, "1 for seats that have seen the centre card in this round"),
            Section("must_raise", (1,), 0, 1, "1: the seat to move has peeked or used the Coyote card in this turn"),
            Section("owed", (1,), 0, 1, "lives that the loser still has to give / 2"),
            Section("centre", (faces,), 0, 1, "one-hot: the centre card, if this seat has seen it or all lies open"),
        ]
    if rules.trickster:
        sections += [
            Section("holder", (n,), 0, 1, "1 for the seat that holds the Coyote card"),
            Section("coyote_by", (n,), 0, 1, "1 for the seat that used it in this round"),
            Section("challenger", (n,), 0, 1, "1 for the seat that has challenged"),
            Section("pointed", (n,), -1, 1, "the last pointing, if public: 1 at the announcer, -1 at the challenger"),
            Section(
                "coyote_card", (faces,), 0, 1, "one-hot: the card put down with it, for this seat if it did, or open"
            ),
        ]
    if odds:
        sections.append(Section("odds", (top,), 0, 1, "P(total >= b) for b = 1, 2, ..., exact, from what it sees"))
    return Layout(sections)


def actions_of(rules: Rules) -> tuple[list[str], dict[str, int]]:
    """Action names by id, and the first id of each kind of action."""
    names: list[str] = []
    first: dict[str, int] = {}
    others = range(1, rules.num_players)
    used = {"challenge", *rules.variants}
    used |= {"peek", "discard_open", "discard_closed"} if rules.peek else set()
    used |= {"coyote", "point_announcer", "point_challenger"} if rules.trickster else set()
    for kind in ("challenge", *VARIANTS, *engine.ACTIONS[engine.PEEK : engine.BID]):
        if kind in used:
            first[kind] = len(names)
            names += [f"{kind}+{k}" for k in others] if kind in ("extra_feather", "next_is") else [kind]
    first["bid"] = len(names)
    names += [f"bid_{number}" for number in range(1, rules.max_bid() + 1)]
    return names, first


def action_rows_of(rules: Rules, odds: bool, first: Mapping[str, int]) -> tuple[ActionRows, ...]:
    """The odds are of announcing each number, which is known beside them."""
    if not odds:
        return ()
    top = rules.max_bid()
    bids = tuple(range(first["bid"], first["bid"] + top))
    return (ActionRows("odds", bids, tuple((number / top,) for number in range(1, top + 1))),)
