"""What a run says of itself: results of matches, the table at its end, the picture of its learning, the report."""

from __future__ import annotations

import base64
import csv
import html
import io
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from coyote_env.arena.stats import wilson
from coyote_env.core.record import GameRecord, replay
from coyote_env.core.tally import Chart, Tally

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from coyote_env.arena import PolicyResult
    from coyote_env.core.game import Game


@dataclass(frozen=True)
class Result:
    """One seat of a policy at tables where one opponent holds all others; the seat rotates."""

    opponent: str
    games: int
    wins: float  # a shared win counts in parts
    share: float  # wins / games
    low: float  # 95% interval of the share, as of arena.PolicyResult
    high: float
    fair: float  # 1 / seats
    seats: Sequence[tuple[int, float]] = ()  # games and wins in each seat

    @classmethod
    def of(cls, opponent: str, found: PolicyResult) -> Result:
        """What a match found of the policy."""
        seats = tuple((seat.games, seat.wins) for seat in found.seats)
        return cls(opponent, found.games, found.wins, found.share, found.low, found.high, 1 / len(seats), seats)


class Described:
    """Takes records of games of one game, and has them counted by its tally.

    With a `RecordWriter`'s ``write``, so that a match can be asked to give its games here.
    """

    def __init__(self, game: Game) -> None:
        self.game = game
        self.tally: Tally = game.tally(game)

    def write(self, record: GameRecord) -> None:
        """Count one game."""
        for frame in replay(self.game, record):
            self.tally.add(frame)


@dataclass(frozen=True)
class Matrix:
    """How often one seat of each policy wins at a table of each other one, [row][column]; None where it is itself."""

    names: Sequence[str]
    shares: Sequence[Sequence[float | None]]
    games: int  # of each entry


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
    figure = new_figure(8, 9)
    top, middle, bottom = figure.subplots(3, 1, sharex=True, height_ratios=[2, 1, 1])
    names = list(dict.fromkeys(result.opponent for _, results in measurements for result in results))
    for name in names:
        points = [(steps, r) for steps, results in measurements for r in results if r.opponent == name]
        steps, low, high = ([s for s, _ in points], [r.low for _, r in points], [r.high for _, r in points])
        (line,) = top.plot(steps, [r.share for _, r in points], marker=".", label=literal(f"against {name}"))
        top.fill_between(steps, low, high, alpha=0.2, color=line.get_color(), linewidth=0)
    if names:
        fair = measurements[0][1][0].fair
        top.axhline(fair, color="black", linestyle="--", linewidth=1, label=f"fair share ({fair:.0%})")
        top.legend()
    top.set(title=literal(title), ylabel="win rate of one seat", ylim=(0, 1))
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
    return png(figure)


def new_figure(width: float, height: float) -> Figure:
    """An empty picture, in inches."""
    # On a canvas of our own: pyplot would look for a display and keep the figure in a global list.
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def literal(text: str) -> str:
    """A text that matplotlib shows as it is: between two dollars it would read a formula."""
    return text.replace("$", r"\$")


def png(figure: Figure) -> bytes:
    """The figure as a PNG."""
    image = io.BytesIO()
    figure.savefig(image, format="png", dpi=120)
    return image.getvalue()


def draw(chart: Chart) -> bytes:
    """A PNG of a chart."""
    figure = new_figure(6, 4)
    axes = figure.subplots()
    for name, xs, ys in chart.series:
        if chart.kind == "bars":
            axes.bar([str(x) for x in xs], ys)
            axes.tick_params(axis="x", rotation=30 if any(isinstance(x, str) for x in xs) else 0)
        elif len(xs) > 50:  # a cloud
            axes.scatter(xs, ys, s=4, alpha=0.3, label=name)
        else:
            axes.plot(xs, ys, marker="o", label=name)
    if chart.diagonal:
        values = [v for _, xs, ys in chart.series for v in (*xs, *ys)]
        axes.plot([min(values), max(values)], [min(values), max(values)], color="black", linestyle="--", linewidth=1)
    if any(name for name, _, _ in chart.series):
        axes.legend()
    axes.set(title=literal(chart.title), xlabel=chart.x_label, ylabel=chart.y_label)
    axes.grid(alpha=0.3)
    return png(figure)


def report_html(
    title: str, curve: bytes, results: Sequence[Result], matrix: Matrix | None, tally: Tally | None, self_games: int
) -> str:
    """One page with all of it, pictures included: it needs no other file.

    Args:
        title: its heading.
        curve: the PNG of ``learning_curve``.
        results: of the closing evaluation.
        matrix: snapshots against each other, oldest first, or None.
        tally: of `self_games` games of the policy with itself, or None.
    """
    parts = [f"<h1>{html.escape(title)}</h1>", _image(curve, "Learning curve"), "<h2>Win rate of one seat</h2>"]
    rows = [["at a table of", "games", "win rate", "95% interval", "fair"]]
    rows += [
        [r.opponent, f"{r.games:,}", f"{r.share:.1%}", f"{r.low:.1%} to {r.high:.1%}", f"{r.fair:.1%}"] for r in results
    ]
    parts.append(_table(rows))
    if all(r.seats for r in results):
        parts.append("<h2>Win rate by seat</h2>")
        rows = [["at a table of", *(f"seat {k}" for k in range(len(results[0].seats)))]]
        for r in results:
            cells = []
            for games, wins in r.seats:
                low, high = wilson(min(wins, games), games) if games else (0.0, 1.0)
                cells.append(f"{wins / games:.1%} ({low:.1%} to {high:.1%})" if games else "-")
            rows.append([r.opponent, *cells])
        parts.append(_table(rows))
    if matrix is not None:
        fair = round(matrix.games * results[0].fair)
        margin = max(abs(end - fair / matrix.games) for end in wilson(fair, matrix.games))
        parts.append("<h2>Snapshots against each other</h2>")
        parts.append(
            f"<p>Win rate of one seat of the row at a table of the column, {matrix.games:,} games each: within "
            f"{100 * margin:.0f} points. One that wins less than its fair share from a younger self, by more than "
            "that, has forgotten something; where many do, learning goes round in circles.</p>"
        )
        shares = [["-" if share is None else f"{share:.1%}" for share in row] for row in matrix.shares]
        parts.append(_table([["", *matrix.names], *([n, *row] for n, row in zip(matrix.names, shares, strict=True))]))
    if tally is not None:
        parts.append(f"<h2>{self_games:,} games with itself</h2>")
        parts.append("<pre>" + html.escape("\n".join(tally.lines())) + "</pre>")
        parts += [_image(draw(chart), chart.title) for chart in tally.charts()]
    style = (
        "body{font-family:sans-serif;max-width:60em;margin:2em auto;padding:0 1em}table{border-collapse:collapse}"
        "td,th{border:1px solid #ccc;padding:.3em .6em;text-align:right}td:first-child,th:first-child{text-align:left}"
        "img{max-width:100%}"
    )
    body = "\n".join(parts)
    return (
        f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>{html.escape(title)}</title>'
        f"<style>{style}</style></head><body>\n{body}\n</body></html>\n"
    )


def _image(png: bytes, text: str) -> str:
    return f'<p><img alt="{html.escape(text)}" src="data:image/png;base64,{base64.b64encode(png).decode()}"></p>'


def _table(rows: Sequence[Sequence[str]]) -> str:
    """The first row is the heading."""
    lines = []
    for number, row in enumerate(rows):
        tag = "td" if number else "th"
        lines.append("<tr>" + "".join(f"<{tag}>{html.escape(cell)}</{tag}>" for cell in row) + "</tr>")
    return "<table>\n" + "\n".join(lines) + "\n</table>"
