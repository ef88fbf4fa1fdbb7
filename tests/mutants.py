"""Small faults in the rules' code, and whether the fast tests notice: ``python -m tests.mutants [NAME ...]``.

Each mutant is one replacement in one file: a comparison off by one, a variant not marked as used, a step of the count
left out. It is applied to a copy of the package, and the engine's fast tests run on that copy, uncompiled, until the
first that fails. A mutant that none of them catches is printed as a survivor, and somebody has to write the test that
was missing. ``tests/test_mutants.py`` runs all of them (slow).
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
ENGINE, RULES = "coyote/engine.py", "coyote/rules.py"
SCOUT = "scout/engine.py"
# Those that fail soonest first: a mutant runs until one does.
SCOUT_TESTS = ("test_scout_rules.py", "test_scout_information.py", "test_scout_against_reference.py")
TESTS = ("test_worked_cases.py", "test_rules.py", "test_information.py", "test_against_reference.py", "test_batch.py")
LIMIT = 900  # seconds; a fault can make a game endless, and that counts as caught


@dataclass(frozen=True)
class Mutant:
    """``old``, found ``times`` times in ``file`` of the package, becomes ``new`` at every place."""

    name: str
    old: str
    new: str
    file: str = ENGINE
    times: int = 1


MUTANTS = [
    # A: challenge, lives, caps
    Mutant("equal-total-loses", "loser = challenger if total >= s", "loser = challenger if total > s"),
    Mutant("winner-and-loser-swapped", "loser = challenger if total >=", "loser = challenger if total <"),
    Mutant("cap-one-lower", 'cap = int64(r["max_bid"][s["live"]])', 'cap = int64(r["max_bid"][s["live"]]) - 1'),
    Mutant("cap-of-all-seats", 'r["max_bid"][s["live"]])', 'r["max_bid"][n])'),
    Mutant("cap-without-feather", ' + ("extra_feather" in self.variants)', "", RULES),
    Mutant("cap-without-centre", "fewest = live + self.peek", "fewest = live", RULES),
    Mutant("cap-without-coyote-card", "min(fewest + self.trickster", "min(fewest", RULES),
    Mutant("bid-may-be-repeated", "mask[ids[BID] + bid : ids", "mask[ids[BID] + bid - 1 : ids"),
    Mutant("challenge-of-nothing", "if bid > 0 and not declared and phase in", "if not declared and phase in"),
    Mutant("no-elimination", 'if s["lives"][loser] == 0:', 'if s["lives"][loser] == -1:'),
    Mutant("lives-below-zero", 'min(1 + int64(s["double"]), int64(s["lives"][loser]))', '1 + int64(s["double"])'),
    # A: pile and discards
    Mutant("discards-lost", 's["pile"][f] = s["discard"][f]\n', 's["pile"][f] = s["discard"][f] * 0\n'),
    Mutant("discards-stay", 's["discard_size"] = 0\n        # What lies', 's["discard_size"] = 1\n        # What lies'),
    Mutant("told-nothing", 's["old"][seat] = s["num_cards"][seat]\n', 's["old"][seat] = 0\n'),
    Mutant("told-nothing-of-the-middle", '= 1 if s["middle"][place] >= 0 else 0', "= 0"),
    Mutant("told-too-long", '        s["old"][seat] = 0\n        s["peeked"]', '        s["peeked"]'),
    Mutant("first-card-never-drawn", "face += int64(reached <= place)", "face += int64(reached < place)"),
    Mutant("drawn-cards-vanish", 's["discard"][f] += s["drawn"][f]\n', 's["discard"][f] += 0\n'),
    Mutant("middle-vanishes", 's["discard"][s["middle"][place]] += 1', 's["discard"][s["middle"][place]] += 0'),
    # B: the count
    Mutant(
        "second-draw-not-made", 'if face != r["special"][DRAW]:\n            pending', "if True:\n            pending"
    ),
    Mutant(
        "max-minus-before-max0",
        "        hit = min(removed, n)\n        total -= hit * r",
        "        hit = min(negated, n)\n        total -= 2 * hit * r",
    ),
    Mutant("max0-takes-all-equal", "hit = min(removed, n)", "hit = min(removed * n, n)"),
    Mutant("max-minus-hits-the-same-card", "hit = min(negated, n - hit)", "hit = min(negated, n)"),
    Mutant("max-minus-only-removes", "total -= 2 * hit", "total -= hit"),
    Mutant("max0-hits-red-cards", 'and r["value"][f] > 0:  # greens', 'and r["value"][f] > -99:  # greens'),
    Mutant("one-x2-only", "for _ in range(doubles):", "for _ in range(min(doubles, 1)):"),
    Mutant("x2-adds-two", "        total *= 2\n", "        total += 2\n"),
    Mutant("night-does-not-shuffle", 'or (night >= 0 and s["discard"][night] > 0)', ""),
    Mutant("every-round-does-not-shuffle", 'if r["every_round"] or (night', "if (night"),
    Mutant(
        "draw-not-counted", '        s["drawn"][face] += 1\n        table[face] += 1', '        s["drawn"][face] += 1'
    ),
    Mutant("centre-not-counted", 'table[s["middle"][place]] += 1', 'table[s["middle"][place]] += 0'),
    # B: the variants
    Mutant("idem-not-used-up", 's["used"][IDEM] = 1', 's["used"][IDEM] = 0'),
    Mutant("reverse-not-used-up", 's["used"][REVERSE] = 1', 's["used"][REVERSE] = 0'),
    Mutant("again-not-used-up", 's["used"][AGAIN] = 1', 's["used"][AGAIN] = 0'),
    Mutant("double-not-used-up", 's["used"][DOUBLE] = 1', 's["used"][DOUBLE] = 0'),
    Mutant("feather-not-used-up", 's["used"][EXTRA_FEATHER] = 1', 's["used"][EXTRA_FEATHER] = 0'),
    Mutant("next-is-not-used-up", 's["used"][NEXT_IS] = 1', 's["used"][NEXT_IS] = 0'),
    Mutant("used-stays-used", '        s["used"][v] = 0\n', "        pass\n"),
    Mutant("idem-keeps-the-announcer", 'announce(rules, states, i, int64(s["bid"]), int64(1))', "pass"),
    Mutant(
        "direction-stays-turned",
        's["seat"], s["direction"] = TURN, starter, starter, 1',
        's["seat"], s["direction"] = TURN, starter, starter, s["direction"] or 1',
    ),
    Mutant(
        "reverse-asks-the-wrong-seat",
        's["seat"] = s["announcer"]\n        s["phase"] = REVERSE_NUMBER',
        's["phase"] = REVERSE_NUMBER',
    ),
    Mutant("reverse-does-not-turn", 's["direction"] = -s["direction"]', 's["direction"] = s["direction"]'),
    Mutant("reverse-at-the-cap", "and not used[REVERSE] and bid < cap", "and not used[REVERSE]"),
    Mutant("again-must-rise", 's["bid"] = s["bid_before"]\n', "pass\n"),
    Mutant("again-may-repeat", 'if s["refused"] > bid:', "if False:"),
    Mutant("again-without-another-number", "> (1 if bid > s", "> (0 if bid > s"),
    Mutant(
        "again-back-to-the-next-seat",
        's["seat"] = s["waiting"]\n',
        's["seat"] = next_live(rules, states, i, seat, int64(s["direction"]))\n',
    ),
    Mutant("reply-after-again", '            s["phase"] = AFTER_AGAIN\n', '            s["phase"] = TURN\n'),
    Mutant("double-survives-a-raise", 's["double"] = s["declared_double"]', 's["double"] |= s["declared_double"]'),
    Mutant("double-survives-a-reply", '    s["double"] = 0\n    if action == ids[PEEK]', "    if action == ids[PEEK]"),
    Mutant(
        "feather-for-the-wrong-seat",
        "wrap(seat + action - ids[EXTRA_FEATHER] + 1, n)",
        "wrap(seat + action - ids[EXTRA_FEATHER], n)",
    ),
    # `>= 1` there would change nothing: one feather a round, so that nobody wears two while one can be declared.
    Mutant("feather-for-the-dead", '= s["num_cards"][other] == 1  # who', '= s["num_cards"][other] >= 0  # who'),
    Mutant(
        "feather-from-nothing",
        'not used[EXTRA_FEATHER] and s["pile_size"] + s["discard_size"] > 0',
        "not used[EXTRA_FEATHER]",
    ),
    Mutant("next-is-the-natural-next", '(s["out"][other] == 0) & (other != natural)', '(s["out"][other] == 0)'),
    Mutant("next-is-of-the-dead", '(s["out"][other] == 0) & (other != natural)', "(other != natural)"),
    Mutant("next-is-with-again", "and phase != AGAIN_NUMBER and s", "and s"),
    Mutant(
        "modifier-at-the-cap", "if bid >= cap and phase != AGAIN_NUMBER:", "if bid > cap and phase != AGAIN_NUMBER:"
    ),
    Mutant("modifiers-in-any-order", '    if s["declared_feather"] >= 0:\n        return\n', ""),
    # Who starts
    Mutant("winner-starts-never", 'if r["left_if_out"] else winner', "if True else winner"),
    Mutant("loser-always-starts", '    if r["after_loser"]:\n', "    if False:\n"),
    # D and E
    Mutant("no-card-in-the-centre", 'if r["peek"]:  # D: and one', "if False:  # D: and one"),
    Mutant("peek-costs-nothing", '        s["open"][seat] -= 1\n        s["peeked"]', '        s["peeked"]'),
    Mutant("peek-twice", 'and s["peeked"][seat] == 0:', "and True:"),
    Mutant("peek-at-the-opening", 'if bid > 0 and s["open"][seat] > 0', 'if s["open"][seat] > 0'),
    Mutant("peek-at-the-cap", "and not declared and bid < cap:", "and not declared:"),
    Mutant("challenge-after-a-peek", 'declared = declared or s["must_raise"] == 1', "pass"),
    Mutant("peek-remembered-too-long", '        s["peeked"][seat] = 0\n', ""),
    Mutant("winner-turns-no-card", '            s["open"][winner] += 1', '            s["open"][winner] += 0'),
    Mutant("discard-never-asked", "if 0 < opened < lives and owed < lives:", "if False:"),
    Mutant("discard-asked-of-the-dead", "if 0 < opened < lives and owed < lives:", "if 0 < opened < lives:"),
    Mutant("discard-takes-the-other-kind", "if action == ids[DISCARD_OPEN]:\n", "if action == ids[DISCARD_CLOSED]:\n"),
    Mutant("pointing-the-wrong-way", 'right = (s["pointed"][seat] == 1)', 'right = (s["pointed"][seat] == 2)'),
    Mutant(
        "pointing-costs-nothing",
        's["open"][seat] -= 1\n        if s["open"][winner]',
        's["open"][seat] -= 0\n        if s["open"][winner]',
    ),
    Mutant(
        "announcer-points-too",
        '    if seat == s["announcer"]:\n        seat = next_live',
        "    if False:\n        seat = next_live",
    ),
    Mutant("pointing-is-public", 'if all_seen or s["phase"] != POINTING:', "if True:"),
    Mutant("peek-is-public", 'return bool(s["peeked"][viewer] == 1 if', "return bool(True if"),
    Mutant("coyote-card-is-public", 'else s["coyote_by"] == viewer)', 'else s["coyote_by"] >= 0)'),
    Mutant("coyote-card-stays-put", 's["holder"] = -1 if s["out"][loser] else loser', "pass"),
    Mutant("coyote-card-kept-by-the-dead", 's["holder"] = -1 if s["out"][loser] else loser', 's["holder"] = loser'),
    Mutant("coyote-card-twice", 'and s["coyote_by"] < 0 and', "and"),
    # H
    Mutant("round-pays-once", "pay(states, i, rewards, seat, -1.0 * lost)", "pay(states, i, rewards, seat, -1.0)"),
    Mutant("placement-off-by-one", "2.0 * (n - live) / (n - 1) - 1.0", "2.0 * (n - live + 1) / (n - 1) - 1.0"),
    Mutant(
        "forfeit-pays-the-dead",
        'if seat != offender and s["out"][seat] == 0:',
        "if seat != offender:",
        "core/rewards.py",
        2,
    ),
    # What seats see
    Mutant("own-card-seen", "if k > 0 or all_seen:", "if True:"),
    Mutant("odds-of-what-is-seen", "if seat != viewer or all_seen:", "if True:"),
    # G: SCOUT
    Mutant(
        "scout-tie-beats",
        "stop - start > 1 and a == b), min(a, b))",
        "stop - start > 1 and a == b), min(a, b)) - 1",
        SCOUT,
    ),
    Mutant("scout-by-the-highest-number", "and a == b), min(a, b))", "and a == b), max(a, b))", SCOUT),
    Mutant("scout-run-beats-equal", "(length << 5) | (equal << 4) | least", "(length << 5) | least", SCOUT),
    Mutant("scout-captures-nothing", 's["captured"][seat] += captured', 's["captured"][seat] += 0', SCOUT),
    Mutant("scout-no-token", 's["tokens"][s["owner"]] += 1', "pass", SCOUT),
    Mutant("scout-tokens-of-two-for-nothing", 's["tokens"][seat] -= 1  # it', "pass  # it", SCOUT),
    Mutant("scout-token-for-the-wrong-seat", 's["tokens"][s["owner"]] += 1', 's["tokens"][seat] += 1', SCOUT),
    Mutant("scout-turned-as-it-was", "turn(card) if choice & 1 else card\n    if", "card\n    if", SCOUT),
    Mutant(
        "scout-other-end", 's["active"][last if choice >= 2 else 0]', 's["active"][last if choice < 2 else 0]', SCOUT
    ),
    Mutant(
        "scout-flip-does-nothing",
        's["hand"][seat, p] = turn(int64(s["hand"][seat, p]))\n    s["seat"]',
        'pass\n    s["seat"]',
        SCOUT,
    ),
    Mutant("scout-ends-too-soon", 'if s["scouts"] == n - 1:', 'if s["scouts"] == n - 2:', SCOUT),
    Mutant("scout-ends-too-late", 'if s["scouts"] == n - 1:', 'if s["scouts"] == n:', SCOUT),
    Mutant("scout-emptying-ends-nothing", 'if s["hand_len"][seat] == 0:  # (i)', "if False:", SCOUT),
    Mutant("scout-same-seat-never-again", 'if s["scouts"] == 0:  # after', "if True:  # after", SCOUT),
    Mutant("scout-stuck-goes-on", "return best <= active_strength", "return best < 0 * active_strength", SCOUT),
    Mutant("scout-stuck-with-tokens", 's["active_len"] == 0 or s["tokens"][seat] > 0:', 's["active_len"] == 0:', SCOUT),
    Mutant("scout-stall-one-later", 's["stall"] >= r["stall_limit"]', 's["stall"] > r["stall_limit"]', SCOUT),
    Mutant("scout-stall-never-reset", '0 if captured > 0 else s["stall"] + 1', 's["stall"] + 1', SCOUT),
    Mutant("scout-always-spared", 'int64(s["owner"]) if r["rulebook"] else int64(-1)', 'int64(s["owner"])', SCOUT),
    Mutant("scout-never-spared", 'int64(s["owner"]) if r["rulebook"] else int64(-1)', "int64(-1)", SCOUT),
    Mutant("scout-show-again-and-again", 's["scout_show"][seat] = 0\n            take', "take", SCOUT),
    Mutant("scout-show-unmasked", "                legal = best > rest  #", "                legal = True  #", SCOUT),
    Mutant(
        "scout-show-insert-anywhere",
        "max(left, right[p], joined(states, i, seat, p, value, scratch)) > stands",
        "True",
        SCOUT,
    ),
    Mutant(
        "scout-show-may-part-it",
        "max(left, right[p], joined(states, i, seat, p, value, scratch)) > stands",
        "best > stands",
        SCOUT,
    ),
    Mutant("scout-scouts-without-tokens", 'if r["num_players"] > 2 or s["tokens"][seat] > 0:', "if True:", SCOUT),
    Mutant("scout-single-card-has-two-ends", "ends = 1 if shown == 1 else 2", "ends = 2", SCOUT),
    Mutant("scout-same-seat-begins", 'wrap(int64(s["first"]) + 1, n))', 'int64(s["first"]))', SCOUT),
    Mutant("scout-whole-deck-again", 'if not two or s["round"] == 1:', "if True:", SCOUT),
    Mutant("scout-round-over-20", "/ (10.0 * n)", "/ (20.0 * n)", SCOUT),
    Mutant("scout-placement-not-averaged", "(2.0 * more + equal - 1.0)", "(2.0 * more)", SCOUT),
    Mutant("scout-winners-paid-in-full", "1.0 / top if more == 0", "1.0 if more == 0", SCOUT),
    Mutant(
        "scout-way-up-is-public", '        if s["seat"] == viewer:  # which way', "        if True:  # which way", SCOUT
    ),
    Mutant("scout-hands-are-public", "for k in range(n if all_seen else 1):", "for k in range(n):", SCOUT),
    Mutant(
        "scout-spent-of-both",
        '(int64(s["spent"][card]) >> viewer) & 1\n        out',
        'int64(s["spent"][card] > 0)\n        out',
        SCOUT,
    ),
    Mutant(
        "scout-redeal-tells-the-way-up",
        'lay(number_of(int64(s["inserting"])), below(states, i, int64(2)))',
        's["inserting"]',
        SCOUT,
    ),
]


def caught(mutant: Mutant) -> tuple[bool, str]:
    """Whether the fast tests fail on the mutant; and the last lines of what they print."""
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        shutil.copytree(ROOT / "coyote_env", home / "coyote_env", ignore=shutil.ignore_patterns("__pycache__"))
        shutil.copytree(ROOT / "tests", home / "tests", ignore=shutil.ignore_patterns("__pycache__"))
        shutil.copy(ROOT / "pyproject.toml", home)
        path = home / "coyote_env" / mutant.file
        source = path.read_text()
        if source.count(mutant.old) != mutant.times:
            raise ValueError(
                f"mutant {mutant.name}: {mutant.old!r} is {source.count(mutant.old)} times in {mutant.file}, "
                f"not {mutant.times}: the code has changed, and the mutant must follow"
            )
        path.write_text(source.replace(mutant.old, mutant.new))
        command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "-m", "engine and not slow"]
        command += [str(Path("tests") / name) for name in (SCOUT_TESTS if mutant.file == SCOUT else TESTS)]
        environment = os.environ | {"NUMBA_DISABLE_JIT": "1", "PYTHONPATH": str(home), "PYTHONDONTWRITEBYTECODE": "1"}
        try:
            run = subprocess.run(
                command, cwd=home, env=environment, capture_output=True, text=True, timeout=LIMIT, check=False
            )
        except subprocess.TimeoutExpired:
            return True, f"no end after {LIMIT} s"
    # 0: all passed; 1: some failed. Anything else says nothing about the mutant.
    if run.returncode not in (0, 1):
        raise RuntimeError(f"mutant {mutant.name}: pytest ended with {run.returncode}:\n{run.stdout}\n{run.stderr}")
    return run.returncode == 1, "\n".join(run.stdout.strip().splitlines()[-3:])


def main() -> None:
    """Runs the mutants named on the command line, or all; ends with 1 if one survives."""
    chosen = [mutant for mutant in MUTANTS if mutant.name in sys.argv[1:]] if sys.argv[1:] else MUTANTS
    survivors = []
    for mutant in chosen:
        found, output = caught(mutant)
        print(
            f"{'caught  ' if found else 'SURVIVED'} {mutant.name}: {output.splitlines()[-1] if output else ''}",
            flush=True,
        )
        if not found:
            survivors.append(mutant.name)
    print(
        f"{len(chosen) - len(survivors)} of {len(chosen)} caught" + "".join(f"; survived: {name}" for name in survivors)
    )
    raise SystemExit(1 if survivors else 0)


if __name__ == "__main__":
    main()
