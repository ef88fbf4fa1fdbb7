"""The arena: what a match says about policies, with intervals. See `play_match`."""

from coyote_env.arena.match import MatchResult, PolicyResult, SeatResult, play_match
from coyote_env.arena.stats import wilson

__all__ = ["MatchResult", "PolicyResult", "SeatResult", "play_match", "wilson"]
