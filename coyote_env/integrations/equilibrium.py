"""Solves small tables of COYOTE with OpenSpiel: ``coyote solve``, or ``solve`` and ``exact_value`` from Python."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

try:
    import pyspiel
    from scipy.optimize import linprog
    from scipy.sparse import coo_matrix, csr_matrix, hstack
except ImportError as error:
    raise ImportError("this needs OpenSpiel and scipy: pip install 'coyote-env[equilibrium]'") from error

from ..core.game import Game
from ..coyote.rules import Rules
from .open_spiel import NAME, CoyoteGame, parameters_of


@dataclass(frozen=True)
class Solution:
    """What CFR+ has found.

    Fields:
        game: the table, in OpenSpiel's text form.
        iterations: of CFR+.
        seconds: all of it took.
        nash_conv: what all seats could win together, each by its best response to the others. 0 is an equilibrium;
            with three or more seats CFR+ need not approach one.
        values: expected return of each seat. With two seats that of the game is at most ``nash_conv`` away.
        policy: information state -> probability of each legal action, by name.
    """

    game: str
    iterations: int
    seconds: float
    nash_conv: float
    values: tuple[float, ...]
    policy: Mapping[str, Mapping[str, float]]

    def __str__(self) -> str:
        values = "  ".join(f"seat {seat} {value:+.6f}" for seat, value in enumerate(self.values))
        return (
            f"{len(self.policy):,} information states; {self.iterations:,} iterations of CFR+; {self.seconds:.0f} s\n"
            f"NashConv {self.nash_conv:.6f}\n"
            f"expected returns  {values}"
        )


def load(first_seat: int = -1, **rules: Any) -> CoyoteGame:
    """The OpenSpiel game for keyword arguments of ``Rules`` (``edition="mini"`` where none is given).

    ``first_seat`` starts the first round; -1: chance decides. Raises as ``Rules`` does.
    """
    # Before they become OpenSpiel's parameters, in which -1 stands for what comes from the edition. Texts may be in
    # OpenSpiel's form and are refused later.
    Rules(**({"edition": "mini"} | {name: value for name, value in rules.items() if not isinstance(value, str)}))
    game: CoyoteGame = pyspiel.load_game(NAME, parameters_of(**rules) | {"first_seat": first_seat})
    return game


def solve(game: CoyoteGame, target: float = 1e-3, max_iterations: int = 5_000, max_nodes: int = 300_000) -> Solution:
    """CFR+ until NashConv is below ``target``, at most ``max_iterations``.

    NashConv is looked at after 100 iterations and then each time that they have grown by a quarter: it costs as much
    as several of them. Raises ValueError for a tree of more than ``max_nodes``: all of it is kept in memory, at about
    10 kB a node.
    """
    if max_iterations < 1:
        raise ValueError(f"max_iterations must be at least 1, not {max_iterations!r}")
    began = time.perf_counter()
    tree, known = _tree(game, max_nodes)
    solver = pyspiel.CFRPlusSolver(tree)
    done, look = 0, min(100, max_iterations)
    while True:
        while done < look:
            solver.evaluate_and_update_policy()
            done += 1
        policy = solver.average_policy()
        nash_conv = float(pyspiel.nash_conv(tree, policy))
        if nash_conv < target or done >= max_iterations:
            break
        look = min(max_iterations, done + max(25, done // 4))
    values = pyspiel.expected_returns(tree.new_initial_state(), policy, -1, True)
    names = game.coyote.action_names
    table = {
        text: {names[action]: float(p) for action, p in policy.action_probabilities(state).items()}
        for text, state in known.items()
    }
    seconds = time.perf_counter() - began
    return Solution(str(game), done, seconds, nash_conv, tuple(float(value) for value in values), table)


def _tree(game: CoyoteGame, max_nodes: int) -> tuple[Any, dict[str, Any]]:
    """OpenSpiel's own copy of the tree, for which the rules are asked once a node, and a state of each information
    state."""
    tree = pyspiel.convert_to_cached_tree(game)
    known: dict[str, Any] = {}
    todo = [tree.new_initial_state()]
    nodes = 1
    while todo:
        state = todo.pop()
        if state.is_terminal():
            continue
        if not state.is_chance_node():
            known.setdefault(state.information_state_string(), state)
        actions = state.legal_actions()
        nodes += len(actions)  # before they are made: each takes memory from then on
        if nodes > max_nodes:
            raise ValueError(f"{game} has more than {max_nodes:,} nodes; choose a smaller table, or raise max_nodes")
        todo += [state.child(action) for action in actions]
    return tree, known


def small_tree(game: Game, max_nodes: int) -> tuple[Any, dict[str, Any], Callable[[Any], tuple[Any, Any]]]:
    """See ``arena.exploit.EXACT``. Raises ValueError for a tree of more than ``max_nodes``, before it is in memory."""
    rules = {name: value for name, value in game.kwargs.items() if name != "odds"}
    whole: CoyoteGame = pyspiel.load_game(NAME, parameters_of(**rules))
    # Most tables are larger by orders of magnitude, which a few random plays tell sooner than counting does (Knuth,
    # 1975: the product of the branches along one is an unbiased estimate of the leaves).
    rng = np.random.default_rng(0)
    guesses = []
    for _ in range(10):
        state, guess = whole.new_initial_state(), 1.0
        while not state.is_terminal():
            actions = state.legal_actions()
            guess *= len(actions)
            state.apply_action(int(rng.choice(actions)))
        guesses.append(guess)
    if min(guesses) > max_nodes or sum(guesses) / len(guesses) > 1000 * max_nodes:
        raise ValueError(f"{whole} has far more than {max_nodes:,} nodes")
    known: dict[str, Any] = {}
    todo = [whole.new_initial_state()]
    nodes = 1
    while todo:
        state = todo.pop()
        if state.is_terminal():
            continue
        if not state.is_chance_node():
            known.setdefault(state.information_state_string(), state)
        actions = state.legal_actions()
        nodes += len(actions)
        if nodes > max_nodes:
            raise ValueError(f"{whole} has more than {max_nodes:,} nodes")
        todo += [state.child(action) for action in actions]

    def look(state: Any) -> tuple[Any, Any]:
        """As ``game`` shows it, which may have more sections."""
        record = state.position.record
        seen, mask = np.empty((1, game.layout.size), np.float32), np.zeros((1, game.num_actions), np.int8)
        game.observe(game.rules, record, np.array([state.position.seat]), False, seen)
        game.legal_mask(game.rules, record, mask)
        return seen[0], mask[0]

    return pyspiel.convert_to_cached_tree(whole), known, look


def exact_value(game: CoyoteGame) -> float:
    """The value of a game of two for seat 0, exact but for rounding, by linear programming over sequences.

    Koller, Megiddo, von Stengel (1994), "Fast algorithms for finding randomized strategies in game trees". Raises
    ValueError for more seats, whose game has no value.
    """
    if game.num_players() != 2:
        raise ValueError(f"a game of {game.num_players()} seats has no value; this is for two")
    # By seat: number of each sequence (information state, action), 0 the empty one; and of each information state.
    sequences: list[dict[tuple[str, int], int]] = [{}, {}]
    states: list[dict[str, tuple[int, list[int]]]] = [{}, {}]  # information state -> parent sequence, its sequences
    payoff: list[tuple[int, int, float]] = []
    todo = [(game.new_initial_state(), (0, 0), 1.0)]
    while todo:
        state, reached, chance = todo.pop()
        if state.is_terminal():
            payoff.append((*reached, chance * state.returns()[0]))
        elif state.is_chance_node():
            todo += [(state.child(outcome), reached, chance * p) for outcome, p in state.chance_outcomes()]
        else:
            seat = state.current_player()
            known = state.information_state_string()
            actions = state.legal_actions()
            if known not in states[seat]:
                own = []
                for action in actions:
                    sequences[seat][known, action] = len(sequences[seat]) + 1
                    own.append(len(sequences[seat]))
                states[seat][known] = reached[seat], own
            parent, own = states[seat][known]
            if parent != reached[seat]:
                raise ValueError(f"imperfect recall at {known!r}")
            for action, sequence in zip(actions, own, strict=True):
                moved = (sequence, reached[1]) if seat == 0 else (reached[0], sequence)
                todo.append((state.child(action), moved, chance))

    def flow(seat: int) -> csr_matrix:
        """Row 0: the empty sequence has weight 1. Each other row: what reaches an information state leaves it."""
        rows, columns, entries = [0], [0], [1.0]
        for row, (parent, own) in enumerate(states[seat].values(), start=1):
            rows += [row] * (1 + len(own))
            columns += [parent, *own]
            entries += [-1.0, *([1.0] * len(own))]
        shape = (len(states[seat]) + 1, len(sequences[seat]) + 1)
        return coo_matrix((entries, (rows, columns)), shape=shape).tocsr()

    mine, theirs = flow(0), flow(1)
    first, second, amounts = zip(*payoff, strict=True)
    won = coo_matrix((amounts, (first, second)), shape=(mine.shape[1], theirs.shape[1])).tocsr()
    # Seat 0's plan x >= 0 and prices q of seat 1's information states: maximise q_0 with theirs' q <= won' x.
    size = mine.shape[1]
    objective = np.zeros(size + theirs.shape[0])
    objective[size] = -1.0
    start = np.zeros(mine.shape[0])
    start[0] = 1.0
    result = linprog(
        objective,
        A_ub=hstack([-won.T, theirs.T]),
        b_ub=np.zeros(theirs.shape[1]),
        A_eq=hstack([mine, csr_matrix((mine.shape[0], theirs.shape[0]))]),
        b_eq=start,
        bounds=[(0, None)] * size + [(None, None)] * theirs.shape[0],
        method="highs",
    )
    if not result.success:
        raise RuntimeError(f"the linear program failed: {result.message}")
    return -float(result.fun)
