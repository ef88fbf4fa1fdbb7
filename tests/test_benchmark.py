"""The benchmark's protocol is fixed, takes any ONNX policy or callable, and says who failed; exact exploitability."""

from __future__ import annotations

import json
import sys

import numpy as np
import pytest

from coyote_env import benchmark, coyote_v0
from coyote_env.arena.exploit import TooLarge, exploitability
from coyote_env.cli import main
from coyote_env.core.record import parse, verify
from coyote_env.integrations import equilibrium
from coyote_env.policies import CheckpointPolicy, load_policy
from tests import networks

TASK = "mini-2p-plus-one"


def first_legal(observation, action_mask, rng):
    return action_mask.argmax(axis=1)


def test_a_released_protocol_stays_as_it_is():
    """v1. If this fails, the change belongs into another version."""
    assert benchmark.PROTOCOL == "v1"
    assert benchmark.protocol_hash() == "d950f4be81c9c6f4"


def test_another_network_is_another_protocol(monkeypatch):
    before = benchmark.protocol_hash()
    one = benchmark.PUBLISHED["published-scout-4p"]
    monkeypatch.setitem(benchmark.PUBLISHED, "published-scout-4p", one._replace(policy_sha256="0" * 64))
    assert benchmark.protocol_hash() != before
    with pytest.raises(ValueError, match=f"policy_sha256 = '{one.policy_sha256}'; protocol v1 has .* with '0000"):
        benchmark.evaluate("random", "scout-4p-published", deals=1)
    monkeypatch.setattr(benchmark, "PLACES", benchmark.PLACES[:1])
    with pytest.raises(ValueError, match=r"published-coyote-4p is missing: there is neither .*gigamic-2011-4p"):
        benchmark.evaluate("random", "coyote-4p-published", deals=1)
    with pytest.raises(ValueError, match="no published policy 'x'; there are published-coyote-4p, "):
        benchmark.published("x")


def test_published_policies_are_opponents_and_can_be_submitted(capsys):
    command = ["submit", "published-coyote-4p", "--task", "coyote-4p-published", "--task", "coyote-4p-mixed"]
    assert main([*command, "--deals", "2"]) == 0
    rows = capsys.readouterr().out.splitlines()[2:]
    # Four copies: every game is won once by each place at the table.
    assert "| published-coyote-4p | +0.000 |" in rows[0]
    assert "| coyote-4p-mixed | published-coyote-4p |" in rows[1]


def test_every_task_can_be_made_and_its_opponents_exist():
    seeds = [task.seed for task in benchmark.TASKS.values()]
    assert len(set(seeds)) == len(seeds)
    for task in benchmark.TASKS.values():
        game = task.make()
        assert game.num_seats == len(task.opponents) + 1
        for opponent in benchmark.opponents_of(task, game):
            if isinstance(opponent, str):
                load_policy(opponent, game)
            else:
                assert isinstance(opponent, CheckpointPolicy)
    assert {name for task in benchmark.TASKS.values() for name in task.opponents} >= set(benchmark.PUBLISHED)


def test_a_policy_plays_each_deal_from_every_seat():
    seats = []

    def watching(observation, action_mask, rng):
        seats.append(observation.shape)
        return first_legal(observation, action_mask, rng)

    score = benchmark.evaluate(watching, "coyote-3p-mixed", deals=5, name="mine")
    assert (score.games, score.policy, score.protocol) == (15, "mine", "v1 (trial)")
    assert score.low <= score.mean_return <= score.high
    assert seats


def test_the_same_policy_as_the_opponents_comes_out_at_nothing():
    score = benchmark.evaluate("plus-one", TASK, deals=40)
    assert score.mean_return == pytest.approx(0)
    assert score.share == 0.5


def test_faults_lose_games_and_are_told():
    def wrong(observation, action_mask, rng):
        return np.full(len(observation), -1)

    score = benchmark.evaluate(wrong, TASK, deals=10)
    assert score.faults == 20
    assert score.mean_return == -1
    assert score.first_fault is not None
    assert "chose -1, which is no action" in score.first_fault
    assert score.first_fault_record is not None
    assert verify(benchmark.task_of(TASK).make(), parse(json.dumps(score.first_fault_record))) is None


def test_any_onnx_file_can_be_submitted(tmp_path, capsys):
    game = benchmark.task_of(TASK).make()
    path = tmp_path / "net.onnx"
    path.write_bytes(networks.network(game.layout.size, game.num_actions).SerializeToString())
    out = tmp_path / "score.json"
    assert main(["submit", str(path), "--task", TASK, "--deals", "20", "--json", str(out), "--name", "linear"]) == 0
    printed = capsys.readouterr().out
    assert "| v1 (trial) | mini-2p-plus-one | linear |" in printed
    (data,) = json.loads(out.read_text())
    assert data["games"] == 40
    assert len(data["policy_sha256"]) == 64
    assert main(["submit", str(path), "--task", "coyote-4p-bayes", "--deals", "2"]) == 2
    assert f"observation_size = {game.layout.size}; the game to be played has " in capsys.readouterr().err
    assert main(["submit", str(path), "--task", "chess"]) == 2
    assert "no task 'chess'; protocol v1 has coyote-2p-bayes, " in capsys.readouterr().err
    assert main(["submit", "random", "--task", TASK, "--deals", "9999"]) == 2
    assert "deals = 9999; allowed: a whole number from 1 to 5,000" in capsys.readouterr().err


def test_a_callable_can_be_submitted(monkeypatch, capsys):
    command = ["submit", "tests.test_benchmark:first_legal", "--python", "--task", TASK, "--deals", "5"]
    assert main(command) == 0
    assert "| first_legal |" in capsys.readouterr().out
    assert main(["submit", "tests.test_benchmark", *command[2:]]) == 2
    assert "with --python it is MODULE:NAME" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("def f(: pass", "importing theirs raised SyntaxError: invalid syntax"),
        ("raise KeyError('boom')", "importing theirs raised KeyError: 'boom'"),
        ("import sys; sys.exit(0)", "importing theirs raised SystemExit: 0"),
        ("import nowhere_at_all", "No module named 'nowhere_at_all'"),
        ("", "theirs has no 'f'"),
        ("f = 3", "theirs:f = 3; needed: a Policy or a callable"),
        ("class f: pass", "theirs:f = <class 'theirs.f'>; needed: a Policy or a callable"),
    ],
)
def test_a_module_that_cannot_be_used_is_told_before_play(source, message, tmp_path, monkeypatch, capsys):
    (tmp_path / "theirs.py").write_text(source)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.delitem(sys.modules, "theirs", raising=False)
    assert main(["submit", "theirs:f", "--python", "--task", TASK, "--deals", "5"]) == 2
    told = capsys.readouterr()
    assert message in told.err
    assert not told.out
    sys.modules.pop("theirs", None)


def test_a_name_may_be_anything(capsys):
    assert main(["submit", "random", "--task", TASK, "--deals", "2", "--name", "a|b\n\x1b[31m" + "c" * 500]) == 0
    (row,) = capsys.readouterr().out.splitlines()[2:]
    assert row.startswith(f"| v1 (trial) | {TASK} | a\\|b ?[31mc")
    assert len(row) < 220


# --- Exploitability ---


def test_an_equilibrium_is_not_exploitable_and_the_scripted_players_are():
    game = coyote_v0.game(edition="mini")
    table = equilibrium.load()
    solution = equilibrium.solve(table, target=0.02)

    class Solved:
        """CFR+'s policy, found again by what the seat sees: mini's observations hold all that was said."""

        name = "solved"

        def __init__(self):
            _, known, look = equilibrium.small_tree(game, 300_000)
            self.rows = {}
            for text, state in known.items():
                seen, _ = look(state)
                row = np.zeros(game.num_actions)
                for action, p in solution.policy[text].items():
                    row[game.action_id[action]] = p
                self.rows[seen.tobytes()] = row

        def probabilities(self, observation, action_mask):
            return np.array([self.rows[row.tobytes()] for row in observation])

    found = exploitability(game, Solved())
    # Not to the digit: CFR+ plays the two seats a little differently, and what they see is the same.
    assert found.nash_conv == pytest.approx(solution.nash_conv, abs=2e-3)
    assert found.nash_conv < 0.02
    assert found.values == pytest.approx(solution.values, abs=2e-3)
    assert exploitability(game, load_policy("random", game)).nash_conv > 0.5


def test_what_exploit_prints(capsys, tmp_path):
    out = tmp_path / "x.json"
    assert main(["exploit", "plus-one", "--set", "edition=mini", "--json", str(out)]) == 0
    assert "NashConv 0.666667, exact" in capsys.readouterr().out
    assert json.loads(out.read_text())["exact"] is True
    assert main(["exploit", "plus-one"]) == 1
    err = capsys.readouterr().err
    assert "far more than 300,000 nodes" in err
    assert "lower bound" in err
    assert "training.best_response" in err


def test_a_policy_that_draws_in_secret_is_refused():
    class Secret:
        name = "secret"

        def act(self, observation, action_mask, rng):
            return np.where(action_mask, rng.random(action_mask.shape), -1).argmax(axis=1)

    game = coyote_v0.game(edition="mini")
    with pytest.raises(ValueError, match="'secret' draws what it does"):
        exploitability(game, Secret())
    with pytest.raises(TooLarge, match="more than 10 nodes"):
        exploitability(game, Secret(), max_nodes=10)
