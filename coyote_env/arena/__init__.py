"""The arena: what matches, leagues and benchmarks say about policies, with intervals."""

from coyote_env.arena.match import MatchResult, MatchStopped, PolicyResult, SeatResult, play_match
from coyote_env.arena.play import GameFault
from coyote_env.arena.stats import wilson

__all__ = ["GameFault", "MatchResult", "MatchStopped", "PolicyResult", "SeatResult", "play_match", "wilson"]
