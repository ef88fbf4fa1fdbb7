"""What a run says of itself: results of matches, the table at its end, the picture of its learning."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from coyote_env.arena.stats import wilson


@dataclass(frozen=True)
class Result:
    """One seat of a policy at tables where one opponent holds all others; the seat rotates."""

    opponent: str
    games: int
    wins: float  # a shared win counts in parts
    share: float  # wins / games
    low: float  # 95% interval of the share (Wilson)
    high: float
    fair: float  # 1 / seats

    @classmethod
    def from_wins(cls, opponent: str, games: int, wins: float, num_seats: int) -> Result:
        """The result of `wins` in `games` at tables of `num_seats`."""
        low, high = wilson(wins, games)
        return cls(opponent, games, wins, wins / games, low, high, 1 / num_seats)


def evaluation_table(results: Sequence[Result], num_seats: int) -> str:
    """The results as lines of text."""
    others = num_seats - 1
    rows = [("at a table with", "games", "win rate", "95% interval")]
    for r in results:
        rows.append((f"{others} x {r.opponent}", f"{r.games:,}", f"{r.share:.1%}", f"{r.low:.1%} to {r.high:.1%}"))
    widths = [max(len(row[column]) for row in rows) for column in range(4)]
    lines = [
        f"{row[0]:<{widths[0]}}  {row[1]:>{widths[1]}}  {row[2]:>{widths[2]}}  {row[3]:>{widths[3]}}" for row in rows
    ]
    lines.insert(1, "-" * len(lines[0]))
    return "\n".join([*lines, f"(fair share: {1 / num_seats:.1%}; the policy sits in every seat equally often)"])


def evaluation_json(results: Sequence[Result]) -> list[dict[str, Any]]:
    """The results as JSON can hold them."""
    return [asdict(result) for result in results]


def progress_csv(rows: Sequence[Mapping[str, Any]]) -> str:
    """Rows of named figures as CSV: a column for each name, in order of appearance; empty where a row lacks it."""
    columns = list(dict.fromkeys(name for row in rows for name in row))
    text = io.StringIO()
    writer = csv.DictWriter(text, columns, restval="", lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def learning_curve(
    title: str, measurements: Sequence[tuple[int, Sequence[Result]]], rows: Sequence[Mapping[str, Any]]
) -> bytes:
    """A PNG: win rates over the learner's decisions with 95% bands and the fair share; entropy; length of games.

    Args:
        title: written over it.
        measurements: (steps, results) in order of steps.
        rows: the rows of ``progress_csv``.
    """
    # Drawn on a canvas of our own: pyplot would look for a display and keep the figure in a global list.
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 9), layout="constrained")
    FigureCanvasAgg(figure)
    top, middle, bottom = figure.subplots(3, 1, sharex=True, height_ratios=[2, 1, 1])
    names = list(dict.fromkeys(result.opponent for _, results in measurements for result in results))
    for name in names:
        points = [(steps, r) for steps, results in measurements for r in results if r.opponent == name]
        steps, low, high = ([s for s, _ in points], [r.low for _, r in points], [r.high for _, r in points])
        (line,) = top.plot(steps, [r.share for _, r in points], marker=".", label=f"against {name}")
        top.fill_between(steps, low, high, alpha=0.2, color=line.get_color(), linewidth=0)
    if names:
        fair = measurements[0][1][0].fair
        top.axhline(fair, color="black", linestyle="--", linewidth=1, label=f"fair share ({fair:.0%})")
        top.legend()
    top.set(title=title, ylabel="win rate of one seat", ylim=(0, 1))
    for axes, column, label in (
        (middle, "train/entropy", "entropy of the policy (nats)"),
        (bottom, "rollout/game_length", "moves per game"),
    ):
        known = [row for row in rows if column in row]
        axes.plot([row["steps"] for row in known], [row[column] for row in known])
        axes.set_ylabel(label)
    bottom.set_xlabel("decisions of the learning policy")
    for axes in (top, middle, bottom):
        axes.grid(alpha=0.3)
    image = io.BytesIO()
    figure.savefig(image, format="png", dpi=120)
    return image.getvalue()
