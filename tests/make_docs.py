"""Writes the generated parts of the documents anew: ``python -m tests.make_docs``.

In the README and on a game's page every python block is run, in order and in one namespace, and a text block that
follows one with only blank lines between is what it printed. Tables of facts stand between two markers,
``<!-- NAME: written by `make docs` -->`` and ``<!-- end of NAME -->``; ``PARTS`` says what writes them.
``tests/test_documents.py`` and ``tests/test_docs.py`` fail when a document says something else than the code.
"""

from __future__ import annotations

import contextlib
import dataclasses
import io
import json
import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from coyote_env import coyote_v0, scout_v0
from coyote_env.coyote import rules as coyote_rules
from coyote_env.coyote.rules import Rules
from coyote_env.scout import rules as scout_rules

ROOT = Path(__file__).resolve().parent.parent
README = ROOT / "README.md"
COYOTE_PAGE = ROOT / "coyote_env" / "coyote" / "README.md"
SCOUT_PAGE = ROOT / "coyote_env" / "scout" / "README.md"
TRAINING_README = ROOT / "training" / "README.md"
RESULTS = ROOT / "training" / "results"

BLOCK = re.compile(
    r"^```python\n(?P<code>.*?)^```\n(?:(?P<gap>\n*)^```text\n(?P<output>.*?)^```\n)?", re.MULTILINE | re.DOTALL
)


def run_blocks(text: str, path: Path = README) -> tuple[str, int]:
    """Runs the Python blocks of a Markdown text; returns the text with today's outputs, and how many blocks ran."""
    namespace: dict[str, Any] = {"__name__": "readme"}
    count = 0

    def run(match: re.Match[str]) -> str:
        nonlocal count
        count += 1
        printed = io.StringIO()
        line = text[: match.start()].count("\n") + 1
        # Empty lines before the code, so that a traceback names the line of the document.
        code = compile("\n" * line + match["code"], str(path), "exec")
        with contextlib.redirect_stdout(printed):
            exec(code, namespace)
        block = f"```python\n{match['code']}```\n"
        if match["output"] is None:
            if printed.getvalue():
                raise ValueError(f"line {line}: the block prints, but no ```text block with its output follows it")
            return block
        output = "\n".join(row.rstrip() for row in printed.getvalue().splitlines())
        return f"{block}{match['gap']}```text\n{output}\n```\n"

    return BLOCK.sub(run, text), count


# ---------------------------------------------------------------------------------------------------------------
# Tables of COYOTE's page


def table(head: Iterable[str], rows: Iterable[Iterable[object]]) -> str:
    """A Markdown table."""
    head = list(head)
    lines = [f"| {' | '.join(str(cell) for cell in line)} |" for line in (head, *rows)]
    return "\n".join([lines[0], "|---" * len(head) + "|", *lines[1:]])


def facts(face: Any, low: int, high: int) -> str:
    """What a page begins with: of the default table of ``face``, coyote_v0 or scout_v0, which seats low to high."""
    env = face.env()
    game = env.game
    modes = ", ".join(f"`{mode!r}`" for mode in env.metadata["render_modes"])
    rows = [
        ("import", f"`from coyote_env import {game.name}`"),
        ("make", f"`{game.name}.env(...)`, `{game.name}.batch(num_tables, ...)`, or, after `import coyote_env`, "
                 f"`pettingzoo.make(\"aec\", \"coyote_env/{game.name}\", ...)`"),
        ("agents", f"`player_0` .. `player_{{N-1}}`, N from {low} to {high}, default {game.num_seats}"),
        ("actions", f"`Discrete(A)`, masked; A = {game.num_actions} by default"),
        ("observation", "`Dict`: `observation` float32 (L,), `action_mask` int8 (A,)"),
        ("L", f"{game.layout.size} by default; see [sizes](#sizes)"),
        ("state", "`Box(L,)` float32: `state()`, every card shown"),
        ("returns", "sum to 0 over the table; from -1 to 1 with `reward=\"win\"` and `\"placement\"`"),
        ("figures", "`env.unwrapped.game.facts`: the sizes, the longest game, the range of returns"),
        ("interface", f"AEC; `is_parallelizable` {env.metadata['is_parallelizable']}"),
        ("`render_mode`", f"`None`, {modes}"),
    ]  # fmt: skip
    return table(("", ""), rows)


def coyote_facts() -> str:
    """COYOTE's."""
    bounds = coyote_rules.SEATS.values()
    return facts(coyote_v0, min(low for low, _ in bounds), max(high for _, high in bounds))


def scout_facts() -> str:
    """SCOUT's."""
    return facts(scout_v0, min(scout_rules.DEALS), max(scout_rules.DEALS))


def scout_sizes() -> str:
    """Sizes by number of seats."""
    rows = []
    for seats in scout_rules.DEALS:
        plain, fits = (scout_v0.game(num_players=seats, fits=fits) for fits in (False, True))
        rules = plain.config
        rows.append(
            (seats, rules.deck_size, rules.deal, plain.layout.size, fits.layout.size, plain.num_actions,
             rules.max_hand, rules.max_show, plain.facts.longest_game)
        )  # fmt: skip
    head = ("seats", "deck", "cards dealt", "L", "with fits", "A", "largest hand", "longest Show", "longest game")
    return table(head, rows)


def scout_arguments() -> str:
    """Every argument with its meaning and default."""
    defaults = scout_rules.Rules().as_dict()
    fits = {"fits": ("the observation ends with sections about what fits together", "`False`")}
    rows = [(f"`{field}`", meaning, f"`{defaults[field]!r}`".replace("'", '"'))
            for field, meaning in field_meanings(scout_rules.Rules).items()]  # fmt: skip
    others = fits | {name: text for name, text in FACE_ARGUMENTS.items() if name != "odds"}
    return table(("argument", "meaning", "default"), [*rows, *((f"`{name}`", *text) for name, text in others.items())])


def scout_observation() -> str:
    """The default table's layout, with ``fits``."""
    return scout_v0.game(fits=True).layout.markdown()


def sizes() -> str:
    """Sizes by edition and number of seats."""
    rows = []
    for edition, (low, high) in coyote_rules.SEATS.items():
        for seats in range(low, high + 1):
            plain = coyote_v0.game(edition=edition, num_players=seats)
            odds = coyote_v0.game(edition=edition, num_players=seats, odds=True)
            rows.append(
                (f"`{edition}`", seats, plain.layout.size, odds.layout.size, plain.num_actions,
                 plain.config.max_bid(), plain.facts.longest_game)
            )  # fmt: skip
    return table(("edition", "seats", "L", "with odds", "A", "largest number", "longest game"), rows)


# The arguments that are no fields of Rules.
FACE_ARGUMENTS = {
    "odds": ("the observation ends with the section `odds`", "`False`"),
    "illegal_action": ('`"raise"` or `"forfeit"`; not of `game`', '`"raise"`'),
    "render_mode": ("see [rendering](#rendering); `env` only", "`None`"),
}


def field_meanings(rules: Any) -> dict[str, str]:
    """What the docstring of a game's Rules says of each of its fields."""
    text = (rules.__doc__ or "").partition("Fields:\n")[2].partition("\n\n")[0]
    lines = re.sub(r"\n {12,}", " ", text)  # a field's further lines stand deeper
    meanings = dict(re.findall(r"^ +(\w+): (.+)\.$", lines, re.MULTILINE))
    fields = [field.name for field in dataclasses.fields(rules)]
    if list(meanings) != fields:
        raise ValueError(f"the docstring of Rules describes {list(meanings)}; its fields are {fields}")
    return meanings


def arguments() -> str:
    """Every argument with its meaning and what it is by default, in each edition."""

    def shown(field: str, value: Any) -> str:
        if field == "variants":
            return '`"all"`' if len(value) == len(coyote_rules.VARIANTS) else f"`{value}`" if value else '`"none"`'
        return f'`"{value}"`' if isinstance(value, str) else f"`{value}`"

    editions = {name: Rules(name).as_dict() for name in coyote_rules.EDITIONS}
    rows: list[list[str]] = []
    for field, meaning in field_meanings(Rules).items():
        meaning = re.sub(r'"([^"]+)"', r'`"\1"`', meaning.replace("``", "`"))
        if field == "edition":
            rows.append(["`edition`", meaning, *(f'`"{name}"`' for name in editions)])
        else:
            rows.append([f"`{field}`", meaning, *(shown(field, values[field]) for values in editions.values())])
    for name, (meaning, default) in FACE_ARGUMENTS.items():
        rows.append([f"`{name}`", meaning, *([default] * len(editions))])
    return table(("argument", "meaning", *(f"`{name}`" for name in editions)), rows)


DECK_SOURCES = {
    "feathers-30": "22 green, 3 red, 5 blue: the 2011 box. **The split of the greens is assumed**",
    "classic-36": "documented: the editions of 2003 and of Japan",
    "animals-110": "four animals (turkey 1, fox 2, wolf 4, bear 6), about 110 cards. **The counts are assumed**",
    "peek-17": "the edition's rulebook",
    "mini-4": "ours",
}


def decks() -> str:
    """The decks that ship."""
    rows = []
    for name, deck in coyote_rules.DECKS.items():
        cards = Rules(deck=name, num_players=2).cards
        faces = ", ".join(f"`{face}`" + (f" x{count}" if count > 1 else "") for face, count in cards)
        rows.append((f"`{name}`", sum(deck.values()), faces, DECK_SOURCES[name]))
    return table(("deck", "cards", "faces", "where from"), rows)


def caps() -> str:
    """Largest legal number by live seats."""
    live = range(2, coyote_rules.MAX_SEATS + 1)
    rows = []
    for deck, cards in coyote_rules.DECKS.items():
        kinds: list[dict[str, Any]] = [{"variants": "none"}, {"variants": "all"}]
        if deck == coyote_rules.EDITIONS["peek"]["deck"]:
            kinds = [{"peek": True, "trickster": trickster} | kind for trickster in (False, True) for kind in kinds]
        for kind in kinds:
            most = min(coyote_rules.MAX_SEATS, sum(cards.values()) - kind.get("peek", False))
            chosen = Rules(**({"deck": deck, "num_players": most} | kind))
            caps = (chosen.max_bid(k) if k <= most else "" for k in live)
            features = [f"`{feature}`" for feature in ("peek", "trickster") if kind.get(feature)]
            rows.append((f"`{deck}`", ", ".join(features), f'`"{kind["variants"]}"`', *caps))
    return table(("deck", "with", "variants", *(f"{k} live" for k in live)), rows)


def observation() -> str:
    """The default table's layout."""
    return coyote_v0.game().layout.markdown()


def more_observation() -> str:
    """What Peek cards, then ``trickster``, then ``odds`` change and add, four seats."""
    rules: dict[str, Any] = {"deck": "peek-17"}
    before = coyote_v0.game(**rules).layout.sections
    rows = []
    for feature in ("peek", "trickster", "odds"):
        rules[feature] = True
        after = coyote_v0.game(**rules).layout.sections

        def said(sections: Iterable[Any]) -> set[tuple[Any, ...]]:
            # But for the largest number, by which numbers are divided: every feature may move it.
            return {(s.name, s.shape, s.low, s.high, re.sub(r"/ \d+", "", s.meaning)) for s in sections}

        known = said(before)
        for section in after:
            if not said([section]) <= known:
                shape = " x ".join(map(str, section.shape))
                bounds = f"{section.low:g}..{section.high:g}"
                new = section.name not in {s.name for s in before}
                rows.append(
                    (f"`{feature}`", "new" if new else "changed", f"`{section.name}`", shape, bounds, section.meaning)
                )
        before = after
    return table(("with", "", "section", "shape", "bounds", "meaning"), rows)


# Kind of action -> what it does, and when it is legal ("no demand": no number is demanded by `again` or `reverse`, or
# due after `peek` or `coyote`).
ACTIONS = {
    "challenge": (
        'call "Coyote!": the cards are counted',
        "a number stands, nothing is declared, no demand",
    ),
    "idem": (
        "take the standing number over",
        "as `challenge`, unused this round, not right after an `again` of one's own",
    ),
    "reverse": ("turn the order; the announcer must raise", "as `idem`, and the number is below the cap"),
    "again": ("refuse the standing number", "as `idem`, and another number exists"),
    "double": (
        "the number to come costs two lives",
        "unused this round, a number can be announced, nothing is declared",
    ),
    "extra_feather": (
        "that seat draws a second card after the number",
        "unused this round, a number can be announced, `next_is` is not declared, something can be drawn, the seat is "
        "live and wears one card",
    ),
    "next_is": (
        "that seat must answer the number to come",
        "unused this round, a number can be announced that `again` does not demand, the seat is live and not the next "
        "in order, three seats are live",
    ),
    "peek": (
        "close an open Peek card, see the centre card; a number must follow",
        "as `challenge`, not right after an `again` of one's own, the number is below the cap, the seat has an open "
        "Peek card and has not peeked this round",
    ),
    "coyote": (
        "draw a card, see it, put it face down in the middle; a number must follow",
        "nothing is declared, no demand, not right after an `again` of one's own, the number is below the cap, the "
        "seat holds the Coyote card, it is unused this round, something can be drawn",
    ),
    "point_announcer": ("point at the announcer as the one who will win", "a challenge is made; once by each seat"),
    "point_challenger": ("point at the challenger as the one who will win", "as `point_announcer`"),
    "discard_open": ("give an open Peek card for a life", "the seat has lost and has a choice left (D)"),
    "discard_closed": ("give a closed one", "as `discard_open`"),
    "bid": ("announce this number", "it is higher than the standing one, at most the cap, and not the refused one"),
}


SCOUT_ACTIONS = {
    "keep": ("keep the hand as it was dealt", "orientations are chosen"),
    "flip": ("turn all of it upside down", "orientations are chosen"),
    "show": (
        "show so many cards from that place of the hand on, 0 being the leftmost",
        "they are equal, or a run, and beat the active Show",
    ),
    "scout": (
        "take that end of the active Show, that way up; an `insert` follows",
        "a Show is active (of a single card: `left`); two seats: a token is left",
    ),
    "scout_show": (
        "the same, and after the `insert` a `show`",
        "three seats or more, once a round, and some place for the card leaves a legal Show",
    ),
    "insert": (
        "put the card so that it stands at that place of the hand",
        "a card was taken; in a scout and show only places that leave a legal Show",
    ),
}


def scout_kind(name: str) -> str:
    """Kind of a SCOUT action."""
    return re.sub(r"(_\d+)+$|_(left|right)_\w+$", "", name)


def action_table(names: Iterable[str], kind_of: Callable[[str], str], meanings: Mapping[str, tuple[str, str]]) -> str:
    """Action ids, a line for each run of ids of one kind."""
    ids: dict[str, list[tuple[int, str]]] = {}
    for action, name in enumerate(names):
        ids.setdefault(kind_of(name), []).append((action, name))
    rows = []
    for kind, own in ids.items():
        (first, first_name), (last, last_name) = own[0], own[-1]
        span = str(first) if len(own) == 1 else f"{first}..{last}"
        shown = f"`{first_name}`" + (f" .. `{last_name}`" if len(own) > 1 else "")
        rows.append((span, shown, *meanings[kind]))
    return table(("id", "name", "what it does", "legal when"), rows)


def actions(**kwargs: Any) -> str:
    """A COYOTE table's action ids."""
    names = coyote_v0.game(**kwargs).action_names
    return action_table(names, lambda name: re.sub(r"[+_]\d+$", "", name), ACTIONS)


def scout_actions() -> str:
    """The default SCOUT table's action ids."""
    return action_table(scout_v0.game().action_names, scout_kind, SCOUT_ACTIONS)


def trickster_actions() -> str:
    """The action ids of the edition with most kinds."""
    return actions(edition="trickster")


# ---------------------------------------------------------------------------------------------------------------
# Policies


def published() -> str:
    """The policies in checkpoints/, by what their manifests say."""
    rows = []
    for path in sorted((ROOT / "checkpoints").glob("*/*/manifest.json")):
        manifest = json.loads(path.read_text(encoding="utf-8"))
        wins = [f"{r['opponent']} {r['share']:.1%} ({r['low']:.1%} to {r['high']:.1%})" for r in manifest["evaluation"]]
        found = manifest["training"].get("best_response")
        bound = "not measured"
        if found is not None:
            above = [f"{100 * (found[key] - found['fair']):+.1f}" for key in ("share", "low", "high")]
            bound = f"{above[0]} ({above[1]} to {above[2]}) points after {found['steps'] / 1e6:.1f} million decisions"
        lineups = manifest["training"].get("lineups")
        weakest = "not measured"
        if lineups:
            least = min(lineups, key=lambda found: found["share"])
            weakest = f"{least['opponent']}: {least['share']:.1%} ({least['low']:.1%} to {least['high']:.1%})"
        fair = f"{1 / manifest['num_seats']:.1%}"
        trained = f"{manifest['training']['steps'] / 1e6:.1f} million"
        rows.append((f"`{path.parent.relative_to(ROOT)}`", fair, "<br>".join(wins), weakest, trained, bound))
    head = (
        "policy",
        "fair share",
        "wins at a table of",
        "fewest wins at any line-up of scripted players",
        "decisions",
        "how far a learner of its weaknesses got above the fair share: it can be beaten by as much, or more",
    )
    return table(head, rows)


def baselines() -> str:
    """Learners of other libraries, scripted players and ours at the benchmark, by baselines/results.json."""
    data = json.loads((ROOT / "baselines" / "results.json").read_text(encoding="utf-8"))
    rows = []
    for row in data["rows"]:
        scores = {score["task"]: score for score in row["scores"]}
        returns = ["{mean_return:+.3f}<br>({low:+.3f} to {high:+.3f})".format(**scores[name]) for name in data["tasks"]]
        steps = f"{row['steps']:,}" if row["steps"] else ""
        minutes = f"{row['minutes']:.1f}" if row["minutes"] else ""
        if row["processor_minutes"]:
            minutes += f" ({row['processor_minutes']:.1f})"
        rows.append((row["who"], row["library"], steps, minutes, *returns, f"`{row['command']}`"))
    tasks = (f"return at `{name}`" for name in data["tasks"])
    return table(("who, learning from", "library", "decisions", "minutes", *tasks, "command"), rows)


# ---------------------------------------------------------------------------------------------------------------
# Training


def settings() -> str:
    """Every setting of a training run, by ``training.config``."""
    from training.config import markdown

    return markdown()


def equilibrium() -> str:
    """How near an equilibrium self-play comes, by the figures of ``training.nash_proof`` in training/results."""
    rows = []
    for path in sorted(RESULTS.glob("mini-*.json")):
        data = json.loads(path.read_text(encoding="utf-8"))
        for name, points in data["curves"].items():
            decisions, seconds, found = points[-1]
            millions, least = f"{decisions / 1e6:,.0f} million", min(point[2] for point in points)
            rows.append((f"`{path.stem}`", name, millions, f"{seconds:.0f}", f"{found:.4f}", f"{least:.4f}"))
    head = ("table", "run", "decisions (CFR+: nodes)", "seconds", "NashConv at the end", "least on the way")
    return table(head, rows)


def ablation() -> str:
    """One setting changed at a time, by the figures of ``training.ablation`` in training/results."""
    from training.ablation import markdown, read_runs

    return markdown(read_runs(RESULTS / "ablation.json"))


# ---------------------------------------------------------------------------------------------------------------
# Documents

PARTS: dict[Path, Mapping[str, Callable[[], str]]] = {
    README: {"published": published, "baselines": baselines},
    COYOTE_PAGE: {
        "facts": coyote_facts, "sizes": sizes, "arguments": arguments, "decks": decks, "caps": caps,
        "observation": observation, "more_observation": more_observation, "actions": actions,
        "trickster_actions": trickster_actions,
    },
    SCOUT_PAGE: {
        "facts": scout_facts, "sizes": scout_sizes, "arguments": scout_arguments, "observation": scout_observation,
        "actions": scout_actions,
    },
    TRAINING_README: {"settings": settings, "equilibrium": equilibrium, "ablation": ablation},
}  # fmt: skip

MARKED = re.compile(
    r"^<!-- (?P<name>\w+): written by `make docs` -->\n(?P<body>.*?)^<!-- end of (?P=name) -->$",
    re.MULTILINE | re.DOTALL,
)


def with_parts(text: str, parts: Mapping[str, Callable[[], str]]) -> str:
    """The text with its generated parts as they should be. ValueError if its markers and ``parts`` do not agree."""
    found = [match["name"] for match in MARKED.finditer(text)]
    if sorted(found) != sorted(parts) or text.count("written by `make docs`") != len(found):
        raise ValueError(f"the document marks the generated parts {found}; to be written are {sorted(parts)}")

    def write(match: re.Match[str]) -> str:
        name = match["name"]
        return f"<!-- {name}: written by `make docs` -->\n{parts[name]()}\n<!-- end of {name} -->"

    return MARKED.sub(write, text)


def updated(path: Path) -> str:
    """What a document should say today."""
    text = path.read_text(encoding="utf-8")
    if path in PARTS:
        text = with_parts(text, PARTS[path])
    return run_blocks(text, path)[0]


DOCUMENTS = (README, COYOTE_PAGE, SCOUT_PAGE, TRAINING_README)


def main() -> None:
    """Entry point."""
    for path in DOCUMENTS:
        path.write_text(updated(path), encoding="utf-8")


if __name__ == "__main__":
    main()
