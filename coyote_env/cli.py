"""The `coyote` command; also `python -m coyote_env`. Each subcommand imports what it needs when it is run."""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command line (default: this process's). Returns the exit status: 0; 1 where a command that checks has found
    something; 2 for a usage error; 130 for Ctrl-C."""
    parser = argparse.ArgumentParser(
        prog="coyote",
        description="Matches, leagues and benchmarks of policies at tables of COYOTE and SCOUT, records of games, "
        "small tables solved.",
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    _add_match(commands)
    _add_league(commands)
    _add_exploit(commands)
    _add_submit(commands)
    _add_records(commands)
    _add_solve(commands)
    arguments = parser.parse_args(argv)
    try:
        status: int | None = arguments.run(arguments)
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return 130
    except BrokenPipeError:  # whoever read our output has left, as `head` does
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # or the interpreter complains as it ends
        return 141
    except (ValueError, TypeError, ImportError, OSError, RuntimeError) as error:  # PolicyError is a RuntimeError
        text = str(error)
        if len(text) > 2_000:  # whatever was handed in, a terminal can show it
            text = f"{text[:1_000]} ... {text[-900:]}"
        print(f"coyote {arguments.command}: error: {text}", file=sys.stderr)
        for fault in getattr(error, "faults", [])[:1]:
            _show_game(fault)
        return 2
    return status or 0


def _show_game(fault: Any) -> None:
    """The game in which a policy failed, as a record."""
    print(f"the game until then: {fault.record.line()}", file=sys.stderr)


def _add_records(commands: Any) -> None:
    parser = commands.add_parser(
        "records",
        help="verify, show and count recorded games, and import logs",
        description="Recorded games, one JSON line a game: the page of each game tells the form.",
    )
    kinds = parser.add_subparsers(dest="kind", required=True, metavar="COMMAND")

    def add(name: str, text: str) -> argparse.ArgumentParser:
        parser: argparse.ArgumentParser = kinds.add_parser(name, help=text, description=f"{text[0].upper()}{text[1:]}.")
        parser.set_defaults(run=_records)
        return parser

    for name, text in (
        ("verify", "replay every game of a file and say where it departs from the rules"),
        ("show", "step through a game as text"),
        ("stats", "count lengths, wins, announcements and challenges"),
    ):
        parser = add(name, text)
        parser.add_argument("file", type=Path, metavar="FILE", help="records, one game a line")
        if name == "show":
            parser.add_argument("--game", type=int, default=1, metavar="K", help="its line; default: %(default)s")
            parser.add_argument("--seat", type=int, metavar="S", help="what this seat sees; default: every card")
    parser = add("import-log", "make records of another program's log and say where that departs from the rules")
    parser.add_argument("log", type=Path, metavar="LOG", help="JSON: rounds with players, pile and turns")
    parser.add_argument("--records", type=Path, metavar="FILE", help="append the records there")
    parser.add_argument(
        "--next-card", choices=("first", "last"), help="end of the pile that is drawn from, if the log does not tell"
    )


def _records(arguments: argparse.Namespace) -> int:
    from coyote_env import cli_records

    command = {
        "verify": cli_records.verify,
        "show": cli_records.show,
        "stats": cli_records.stats,
        "import-log": cli_records.import_log,
    }
    return command[arguments.kind](arguments)


def _add_match(commands: Any) -> None:
    parser = commands.add_parser(
        "match",
        help="play policies against each other and print how often each wins",
        description="Plays games between policies, one a seat and each in every seat equally often, and prints how "
        "often each wins. num_players is the number of policies.",
    )
    parser.add_argument("policies", nargs="+", metavar="POLICY", help="a scripted player's name or a checkpoint folder")
    _add_game(parser)
    parser.add_argument("--games", type=int, default=2_000, metavar="N", help="default: %(default)s")
    parser.add_argument("--seed", type=int, default=0, metavar="S", help="same seed, same result; default: %(default)s")
    parser.add_argument("--greedy", action="store_true", help="checkpoints take their best action instead of sampling")
    parser.add_argument(
        "--duplicates",
        action=argparse.BooleanOptionalAction,
        help="each deal once with each policy in each seat, or separate deals; default: what tells more, duplicates "
        "for scout_v0 and separate deals for coyote_v0",
    )
    parser.add_argument(
        "--control-variates", action="store_true", help="also the mean return with luck subtracted as far as a critic, "
        "fitted on games of its own, can tell it; slow"
    )  # fmt: skip
    _add_play(parser)
    parser.add_argument("--records", type=Path, metavar="FILE", help="append a record of each game there")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the result there too; the file must not exist")
    parser.set_defaults(run=_match)


def _add_play(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--on-error",
        choices=("stop", "forfeit"),
        default="stop",
        help="what a policy without a legal answer does to the match, or to its game; default: %(default)s",
    )
    parser.add_argument(
        "--threads",
        type=int,
        default=os.cpu_count() or 1,
        metavar="N",
        help="same result with any number; default: one for each processor, here %(default)s",
    )


def _load(arguments: argparse.Namespace, game: Any) -> list[Any]:
    """The policies of a command line. A name given twice is one policy: it is loaded once, and asked once a step."""
    from coyote_env.policies import load_policy, scripted_names

    scripted = scripted_names(game.name)
    loaded = {
        name: load_policy(name, game, greedy=arguments.greedy and name not in scripted)
        for name in dict.fromkeys(arguments.policies)
    }
    return [loaded[name] for name in arguments.policies]


def _match(arguments: argparse.Namespace) -> int:
    from coyote_env.arena import MatchStopped, play_match
    from coyote_env.policies import make_game

    game = make_game(arguments.game, {"num_players": len(arguments.policies), **dict(arguments.set)})
    policies = _load(arguments, game)
    _check_new(arguments.json)
    if arguments.json is not None and arguments.records is not None:
        if arguments.json.resolve() == arguments.records.resolve():
            raise ValueError(f"--json and --records are both {str(arguments.json)!r}; each needs a file of its own")
    critic = None
    if arguments.control_variates:
        from coyote_env.arena.aivat import fit_critic

        print("fitting a critic ...", file=sys.stderr, flush=True)
        critic = fit_critic(game, policies, arguments.seed)
    stopped: MatchStopped | None = None
    with contextlib.ExitStack() as stack:
        writer = None
        if arguments.records is not None:
            from coyote_env.cli_records import open_writer

            writer = stack.enter_context(open_writer(arguments.records))
        show = stack.enter_context(_progress())
        try:
            result = play_match(
                game, policies, arguments.games, arguments.seed, duplicates=arguments.duplicates, critic=critic,
                threads=arguments.threads, on_error=arguments.on_error, progress=show, records=writer,
            )  # fmt: skip
        except MatchStopped as error:
            if error.result is None:
                raise
            stopped, result = error, error.result
    print(result.table())
    if arguments.json is not None:
        _write_new(arguments.json, result.to_json())
    if stopped is not None:
        kept = f"; what was finished until then is above: {result.num_games:,} of {arguments.games:,} games"
        print(f"coyote match: error: {stopped}{kept}", file=sys.stderr)
    for fault in result.faults[:1] if stopped is None else stopped.faults[:1]:
        if stopped is None:
            print(f"first fault: {fault.what}", file=sys.stderr)
        _show_game(fault)
    return 0 if stopped is None else 2


def _add_league(commands: Any) -> None:
    parser = commands.add_parser(
        "league",
        help="rate many policies by all-play-all",
        description="Plays all line-ups of the policies, and of `random` and the anchor, and rates them. What a folder "
        "holds already is not played again: an interrupted league goes on, and policies can join.",
    )
    parser.add_argument(
        "policies", nargs="*", metavar="POLICY", help="scripted players, checkpoint folders, folders of such folders"
    )
    parser.add_argument("--out", type=Path, required=True, metavar="DIR", help="the league's folder, made if missing")
    _add_game(parser)
    parser.add_argument("--games", type=int, default=400, metavar="N", help="for each line-up; default: %(default)s")
    parser.add_argument("--per-policy", type=int, metavar="K", help="only so many line-ups of each; default: all")
    parser.add_argument("--anchor", metavar="NAME", help="is rated 1000; default: the game's strongest scripted player")
    parser.add_argument("--seed", type=int, default=0, metavar="S", help="same seed, same result; default: %(default)s")
    parser.add_argument("--greedy", action="store_true", help="checkpoints take their best action instead of sampling")
    _add_play(parser)
    parser.set_defaults(run=_league)


def _league(arguments: argparse.Namespace) -> None:
    from coyote_env.arena.league import entrants_of, play_league
    from coyote_env.policies import GAMES, make_game

    game = make_game(arguments.game, dict(arguments.set))
    anchor = GAMES[arguments.game].anchor if arguments.anchor is None else arguments.anchor
    entrants = entrants_of(arguments.policies, game, anchor, arguments.greedy)
    with _progress() as show:
        result = play_league(
            game, entrants, arguments.out, arguments.games, arguments.seed, anchor=anchor,
            per_policy=arguments.per_policy, threads=arguments.threads, on_error=arguments.on_error, progress=show,
            note=lambda text: print(text, file=sys.stderr),
        )  # fmt: skip
    text = result.markdown()
    (arguments.out / "league.md").write_text(text + "\n", encoding="utf-8")
    (arguments.out / "league.json").write_text(json.dumps(result.as_dict(), indent=1) + "\n", encoding="utf-8")
    result.heatmap(arguments.out / "heatmap.png")
    print(text)


def _add_exploit(commands: Any) -> None:
    parser = commands.add_parser(
        "exploit",
        help="how much a policy can lose: exactly, on small tables",
        description="Prints the NashConv of a policy in all seats, exactly, where the table is small enough; else says "
        "how a lower bound is found.",
    )
    parser.add_argument("policy", metavar="POLICY", help="a scripted player's name or a checkpoint folder")
    _add_game(parser)
    parser.add_argument("--greedy", action="store_true", help="a checkpoint takes its best action instead of sampling")
    parser.add_argument("--max-nodes", type=int, default=300_000, metavar="N", help="default: %(default)s")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the result there too; the file must not exist")
    parser.set_defaults(run=_exploit)


def _exploit(arguments: argparse.Namespace) -> int:
    from coyote_env.arena.exploit import LOWER_BOUND, TooLarge, exploitability
    from coyote_env.policies import load_policy, make_game, scripted_names

    _check_new(arguments.json)
    game = make_game(arguments.game, dict(arguments.set))
    greedy = arguments.greedy and arguments.policy not in scripted_names(arguments.game)
    policy = load_policy(arguments.policy, game, greedy=greedy)
    try:
        result = exploitability(game.seen_as_by(policy), policy, arguments.max_nodes)
    except TooLarge as error:
        print(
            f"no exact figure: {error}\nA best response that is learnt gives a lower bound of what the policy can lose "
            f"(no more: a better one may exist). From a checkout: {LOWER_BOUND} --help",
            file=sys.stderr,
        )
        return 1
    print(result)
    if arguments.json is not None:
        _write_new(arguments.json, json.dumps({"policy": arguments.policy, **result.as_dict()}, indent=1))
    return 0


def _add_submit(commands: Any) -> None:
    parser = commands.add_parser(
        "submit",
        help="evaluate a policy by the benchmark's protocol",
        description="Plays tasks of the benchmark and prints the rows of the results table. An unknown task lists all.",
    )
    parser.add_argument(
        "policy",
        metavar="POLICY",
        help="an ONNX file, a checkpoint folder, or the name of a scripted player or published policy",
    )
    parser.add_argument("--task", action="append", metavar="T", help="repeatable; default: all", dest="tasks")
    parser.add_argument(
        "--python", action="store_true", help="POLICY is MODULE:NAME, a callable of yours: imports and runs it"
    )
    parser.add_argument("--name", metavar="TEXT", help="what to call it in the table")
    parser.add_argument("--greedy", action="store_true", help="a network takes its best action instead of sampling")
    parser.add_argument("--deals", type=int, metavar="N", help="fewer deals than the task's, for a trial")
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 1, metavar="N", help="default: %(default)s")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the scores there too; the file must not exist")
    parser.set_defaults(run=_submit)


def _submit(arguments: argparse.Namespace) -> None:
    from coyote_env import benchmark

    _check_new(arguments.json)
    tasks = [benchmark.task_of(name) for name in arguments.tasks or benchmark.TASKS]
    # All is refused before anything is played.
    policies = []
    for task in tasks:
        try:
            policies.append(_submitted(arguments, task.make()))
        except ValueError as error:
            raise ValueError(f"task {task.name}: {error}; --task names those to play") from None
    for task in tasks:
        benchmark.check_deals(task, arguments.deals)
        benchmark.opponents_of(task, task.make())
    scores = []
    print(benchmark.Score.HEADER)
    for task, policy in zip(tasks, policies, strict=True):
        with _progress() as show:
            score = benchmark.evaluate(
                policy, task, deals=arguments.deals, name=arguments.name, threads=arguments.threads, progress=show
            )
        print(score.row(), flush=True)
        if score.first_fault is not None:
            game = json.dumps(score.first_fault_record)
            print(f"first fault: {score.first_fault}\nthe game until then: {game}", file=sys.stderr)
        scores.append(json.loads(score.to_json()))
    if arguments.json is not None:
        _write_new(arguments.json, json.dumps(scores, indent=1))


def _submitted(arguments: argparse.Namespace, game: Any) -> Any:
    from coyote_env import benchmark

    if not arguments.python:
        return benchmark.load(arguments.policy, game, greedy=arguments.greedy)
    module, colon, name = arguments.policy.partition(":")
    if not module or not colon or not name:
        raise ValueError(f"POLICY = {arguments.policy!r}; with --python it is MODULE:NAME")
    import importlib

    from coyote_env.core.players import answer_of

    sys.path.insert(0, os.getcwd())
    try:
        found = importlib.import_module(module)
    except ImportError:
        raise
    except (Exception, SystemExit) as error:  # whatever somebody's module does when it is run
        raise ValueError(f"importing {module} raised {type(error).__name__}: {error}") from error
    if not hasattr(found, name):
        raise ValueError(f"{module} has no {name!r}")
    answer_of(getattr(found, name), arguments.policy)
    return getattr(found, name)


def _add_game(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--game", default="coyote_v0", metavar="NAME", help="default: %(default)s")
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        type=_assignment,
        metavar="KEY=VALUE",
        help="an argument of the game, the value as JSON or plain text, such as edition=mini; repeatable",
    )


def _add_solve(commands: Any) -> None:
    parser = commands.add_parser(
        "solve",
        help="find an equilibrium of a small table with OpenSpiel",
        description="Runs OpenSpiel's CFR+ on a small table (default: mini) and prints how far from an equilibrium the "
        "result is; for two seats also the value of the game, by linear programming.",
    )
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        type=_assignment,
        metavar="KEY=VALUE",
        help="an argument of coyote_v0's rules, the value as JSON or plain text, such as num_players=3; repeatable",
    )
    parser.add_argument("--first-seat", type=int, default=-1, metavar="S", help="who starts; default: chance decides")
    parser.add_argument(
        "--target", type=float, default=1e-3, metavar="X", help="stop when NashConv is below; default: %(default)s"
    )
    parser.add_argument(
        "--max-iterations", type=int, default=5_000, metavar="N", help="stop then anyway; default: %(default)s"
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the policy there; the file must not exist")
    parser.set_defaults(run=_solve)


def _solve(arguments: argparse.Namespace) -> None:
    _check_new(arguments.json)
    if not arguments.target > 0:  # NaN is not
        raise ValueError(f"--target must be above 0, not {arguments.target}")
    rules = dict(arguments.set)
    if "first_seat" in rules:
        raise ValueError("--set first_seat: there is --first-seat for it")
    from coyote_env.integrations import equilibrium

    game = equilibrium.load(arguments.first_seat, **rules)
    solution = equilibrium.solve(game, arguments.target, arguments.max_iterations)
    print(solution)
    if game.num_players() == 2:
        value = round(equilibrium.exact_value(game), 9) + 0.0  # no minus before a zero
        print(f"value for seat 0  {value:+.9f}, by linear programming")
    if arguments.json is not None:
        _write_new(arguments.json, json.dumps(solution.policy, indent=1))


def _check_new(path: Path | None) -> None:
    """Refuses a --json file that cannot be made: before the work, not when it is done."""
    if path is not None and path.exists():
        raise ValueError(f"--json {path}: exists already")
    if path is not None and not path.parent.is_dir():
        raise ValueError(f"--json {path}: there is no folder {path.parent}")


def _write_new(path: Path, text: str) -> None:
    """Writes a --json file, whole or not at all."""
    part = path.with_name(path.name + ".part")
    part.write_text(text + "\n", encoding="utf-8")
    part.replace(path)


def _assignment(text: str) -> tuple[str, Any]:
    """`key=value` with the value as JSON where it is JSON (4, true, ["idem"]), else as text."""
    key, equals, value = text.partition("=")
    if not key or not equals:
        raise argparse.ArgumentTypeError(f"{text!r} is not KEY=VALUE")
    try:
        return key, json.loads(value)
    except RecursionError:
        raise argparse.ArgumentTypeError(f"{key}=...: brackets within brackets, too deep to be an argument") from None
    except ValueError:
        return key, value


@contextlib.contextmanager
def _progress() -> Iterator[Callable[[int, int], None] | None]:
    """A bar on the terminal, if errors go to one, for a function to report (done, total) to."""
    if not sys.stderr.isatty():
        yield None
        return
    began = last = time.monotonic()

    def show(done: int, total: int) -> None:
        nonlocal last
        now = time.monotonic()
        if done < total and now - last < 0.1:
            return
        last = now
        rate = done / max(now - began, 1e-9)
        bar = ("#" * (20 * done // total)).ljust(20, ".")
        left = f", {(total - done) / rate:,.0f} s left" if done < total else ""
        print(f"\r{done:,} of {total:,} games [{bar}] {rate:,.0f}/s{left}\033[K", end="", file=sys.stderr, flush=True)

    try:
        yield show
    finally:
        print("\r\033[K", end="", file=sys.stderr)
