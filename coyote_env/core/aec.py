"""The PettingZoo face, the same for every game: one table, one agent at a time.

PettingZoo's stock wrappers (OrderEnforcing, AssertOutOfBounds, TerminateIllegal) cost more than twenty times the step
they wrap, so this class makes their checks itself, and ``env()`` needs none of them.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray
from pettingzoo import AECEnv

from .batch import check_illegal_action
from .game import RANDOM, Game
from .record import GameRecord, trace
from .rng import check_seed, table_seeds

Observation = dict[str, NDArray[Any]]
_STATE_MAGIC = b"coyote_env state 2\n"


class GameEnv(AECEnv[str, Observation, int]):
    """One table as a PettingZoo AEC environment.

    Agents are ``player_0`` .. ``player_{N-1}``; nobody terminates before the game ends, an eliminated seat is merely
    no longer selected and gets its reward in the step that eliminated it. Observations are
    ``{"observation": float32 (L,), "action_mask": int8 (A,)}``; the mask is zero for a seat that is not to move.

    Args:
        game: the game with its rules.
        illegal_action: "raise" (IllegalAction, nothing changes) or "forfeit" (the game ends, the offender's return
            is -1). Only an id within range can forfeit; anything else raises.
        render_mode: None, "ansi" (render returns a str), "human" (prints it after each step) or "rgb_array"
            (render returns uint8 (H, W, 3)).
    """

    metadata: ClassVar[dict[str, Any]]

    def __init__(self, game: Game, illegal_action: str = "raise", render_mode: str | None = None) -> None:
        super().__init__()
        modes = self.metadata["render_modes"]
        if render_mode is not None and render_mode not in modes:
            allowed = ", ".join(map(repr, (None, *modes)))
            raise ValueError(f"render_mode must be one of {allowed}, not {render_mode!r}")
        self.game = game
        self.layout = game.layout
        self.render_mode = render_mode
        self.illegal_action = illegal_action
        self._forfeits = check_illegal_action(illegal_action)
        self.possible_agents = [f"player_{seat}" for seat in range(game.num_seats)]
        self._seats = {agent: seat for seat, agent in enumerate(self.possible_agents)}
        # A list of pairs keeps the order; a plain dict would be sorted by the space.
        self._observation_space = spaces.Dict(
            [
                ("observation", spaces.Box(game.layout.low, game.layout.high, dtype=np.float32)),
                ("action_mask", spaces.Box(0, 1, (game.num_actions,), np.int8)),
            ]
        )
        self._action_space: spaces.Discrete = spaces.Discrete(game.num_actions)
        self.observation_spaces = dict.fromkeys(self.possible_agents, self._observation_space)
        self.action_spaces = dict.fromkeys(self.possible_agents, self._action_space)
        self.state_space = spaces.Box(game.layout.low, game.layout.high, dtype=np.float32)
        self.agents: list[str] = []
        self._states: NDArray[np.void] = np.zeros(1, game.state_dtype)
        self._tapes = game.blank_tapes(1)  # the chance of this game, as far as it is drawn or fixed
        self._first = -1  # who started it; -1: what led to this table is not known
        self._played: list[int] = []  # the actions of this game in order
        self._started = False
        self._rewards = np.zeros((1, game.num_seats), np.float64)
        self._mover = -1  # seat to move
        self._mask = np.zeros((1, game.num_actions), np.int8)  # its legal actions; nobody outside sees this array
        self._fresh: NDArray[np.float32] | None = None  # its observation, until it is handed out
        self._num_actions, self._size = game.num_actions, game.layout.size
        self._action, self._next = np.zeros(1, np.int64), np.zeros(1, np.int64)  # what the kernel reads and writes
        self._done = np.zeros(1, np.bool_)
        self._no_rewards = dict.fromkeys(self.possible_agents, 0.0)
        self._may_fail = False  # whether a step can fail, by what reset's options have fixed

    # -- spaces and names

    def observation_space(self, agent: str) -> spaces.Space[Any]:
        """The observation space, the same object for every agent and at each call."""
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> spaces.Space[Any]:
        """The action space, the same object for every agent and at each call."""
        return self.action_spaces[agent]

    def action_name(self, action: Any) -> str:
        """Name of an action id. Raises ValueError outside 0..A-1."""
        if (
            isinstance(action, bool)
            or not isinstance(action, (int, np.integer))
            or action not in range(self.game.num_actions)
        ):
            raise ValueError(f"action must be an id from 0 to {self.game.num_actions - 1}, not {action!r}")
        return self.game.action_names[action]

    def action_id(self, name: Any) -> int:
        """Id of an action name. Raises ValueError for a name that this game does not have."""
        if not isinstance(name, str) or name not in self.game.action_id:
            raise ValueError(f"no action {name!r} in this game; there are {', '.join(self.game.action_names)}")
        return self.game.action_id[name]

    # -- playing

    def reset(self, seed: int | None = None, options: Mapping[str, Any] | None = None) -> None:
        """Deals a new game. Without a seed the table goes on with its stream (the first time: from entropy).

        Args:
            seed: integer >= 0; 0 is a seed like any other.
            options: what the game's page lists; unknown keys are ignored, bad values of known keys raise by name.
        """
        seed = check_seed(seed)
        if options is not None and not isinstance(options, Mapping):
            raise TypeError(f"options must be a dict or None, not {options!r}")
        states = self._states.copy()
        if seed is not None or not self._started:
            states[:] = np.zeros(1, self.game.state_dtype)
            states["seed"] = table_seeds(seed, 1)
        tapes = self.game.blank_tapes(1)
        starter = self.game.prepare(self.game, {} if options is None else options, tapes[0])
        code = self.game.deal(self.game.rules, states, tapes, np.array([starter]))
        if code < 0:
            raise self.game.failure(self.game, code)
        self._states, self._tapes = states, tapes
        self._first, self._played = int(states["seat"][0]), []
        self._started = True
        self._begin(bool(options))
        if self.render_mode == "human":
            self.render()

    def _begin(self, may_fail: bool) -> None:
        """All attributes for a running game at ``_states``. ``may_fail``: options can make a step impossible."""
        self.agents = self.possible_agents[:]
        self.rewards = dict.fromkeys(self.agents, 0.0)
        self._cumulative_rewards = dict.fromkeys(self.agents, 0.0)
        self.terminations = dict.fromkeys(self.agents, False)
        self.truncations = dict.fromkeys(self.agents, False)
        self._skip_agent_selection: str | None = None
        self._may_fail = may_fail
        self._show()

    def _show(self) -> None:
        """Brings selection, masks and infos in line with the record."""
        self.game.legal_mask(self.game.rules, self._states, self._mask)
        self._select(int(self._states["seat"][0]), None)

    def _select(self, seat: int, observation: NDArray[np.float32] | None) -> None:
        """``seat`` is to move. ``observation``: its observation, if already made."""
        self.agent_selection = self.possible_agents[seat]
        self._mover = seat
        self._fresh = observation
        masks = np.zeros((len(self.possible_agents), self._num_actions), np.int8)  # fresh: converters write into them
        masks[seat] = self._mask[0]
        self.infos = {agent: {"action_mask": mask} for agent, mask in zip(self.agents, masks, strict=False)}

    def step(self, action: int | None) -> None:
        """Plays an action id of ``agent_selection`` (None once the game is over: PettingZoo's dead step)."""
        if not self.agents:
            what = "the game is over and every agent has left" if self._started else "no game has been dealt"
            raise RuntimeError(f"{what}; call reset() before step()")
        agent = self.agent_selection
        if self.terminations[agent]:
            if action is not None:
                raise ValueError(f"the game is over: the only action that {agent} can take is None, not {action!r}")
            self._was_dead_step(action)
            return
        if type(action) is not int:  # one quick test for what almost every caller gives
            if isinstance(action, (bool, np.bool_)) or not isinstance(action, (int, np.integer)):
                raise TypeError(f"the action of {agent} must be an integer id, not {action!r}")
            action = int(action)
        game, states = self.game, self._states
        if not 0 <= action < self._num_actions:
            raise game.illegal(action, self._mover, self._mask[0])
        # What options have fixed can turn out impossible, and then the step must leave no trace.
        before = states.copy() if self._may_fail else None
        observation = np.empty(self._size, np.float32)
        self._action[0] = action
        code = game.step(
            game.rules, states, self._tapes, self._action, self._forfeits, False,
            self._next, observation[None], self._mask, self._rewards, self._done,
        )  # fmt: skip
        if code == 0:
            raise game.illegal(action, self._mover, self._mask[0])
        if code < -1:
            assert before is not None
            self._states = before
            raise game.failure(game, code)
        self._played.append(action)
        self._select(int(self._next[0]), observation)
        self._cumulative_rewards[agent] = 0.0
        rewards = self._rewards[0].tolist()
        if any(rewards):
            self.rewards = dict(zip(self.agents, rewards, strict=True))
            for name, reward in self.rewards.items():
                self._cumulative_rewards[name] += reward
        else:
            self.rewards = self._no_rewards.copy()
        if self._done[0]:
            self.terminations = dict.fromkeys(self.agents, True)
            self._deads_step_first()
        if self.render_mode == "human":
            self.render()

    def observe(self, agent: Any) -> Observation:
        """What ``agent`` may know now, fresh arrays. Legal for any possible agent at any time after reset."""
        seat = self._seats.get(agent, -1) if isinstance(agent, str) else -1
        if seat < 0 or not self._started:
            self._check_started()
            raise ValueError(f"no agent {agent!r}; there are {', '.join(self.possible_agents)}")
        if seat != self._mover:
            return {"observation": self._view(seat, False), "action_mask": np.zeros(self._num_actions, np.int8)}
        # The step made the mover's observation, since it is nearly always asked for next. It is handed out once.
        observation, self._fresh = self._fresh, None
        if observation is None:
            observation = self._view(seat, False)
        return {"observation": observation, "action_mask": self._mask[0].copy()}

    def _view(self, seat: int, all_seen: bool) -> NDArray[np.float32]:
        observation = np.empty(self._size, np.float32)
        self.game.observe(self.game.rules, self._states, np.array([seat]), all_seen, observation[None])
        return observation

    def last(self, observe: bool = True) -> Any:
        """Observation, reward since its last turn, termination, truncation and info of ``agent_selection``."""
        if not self.agents:
            self._check_started()
            raise RuntimeError("the game is over and every agent has left; call reset() before last()")
        agent = self.agent_selection
        observation = self.observe(agent) if observe else None
        rewards, terminations = self._cumulative_rewards, self.terminations
        return observation, rewards[agent], terminations[agent], self.truncations[agent], self.infos[agent]

    def agent_iter(self, max_iter: int = 2**63) -> Any:
        """Iterates over ``agent_selection``; step once for each. Before reset there is nothing to iterate over."""
        self._check_started()
        return super().agent_iter(max_iter)

    def _check_started(self) -> None:
        if not self._started:
            raise RuntimeError("no game has been dealt; call reset() first")

    def state(self) -> NDArray[np.float32]:
        """The global view, float32 (L,): seat 0's observation with every card seen, its own and the pile included."""
        self._check_started()
        return self._view(0, True)

    # -- saving, copying, searching

    def get_state(self) -> bytes:
        """The running game as bytes: what ``set_state`` of an env with equal arguments takes."""
        self._check_started()
        flags = np.array([self._cumulative_rewards.get(a, np.nan) for a in self.possible_agents], "<f8")
        here = np.array([self.rewards.get(a, np.nan) for a in self.possible_agents], "<f8")
        head = _STATE_MAGIC + self.layout.hash.encode() + flags.tobytes() + here.tobytes()
        played = np.array([self._first, *self._played], "<i2")  # before the record, which comes last
        return head + self._tapes.tobytes() + played.tobytes() + self._states.tobytes()

    def set_state(self, data: Any) -> None:
        """Goes on exactly where ``get_state`` was called. Raises ValueError for bytes of another layout or version."""
        head = _STATE_MAGIC + self.layout.hash.encode()
        n = self.game.num_seats
        fixed = len(head) + 16 * n + self.game.tape_size + self.game.state_dtype.itemsize
        if not isinstance(data, (bytes, bytearray, memoryview)):
            raise TypeError(f"state must be bytes from get_state(), not {type(data).__name__}")
        data = bytes(data)
        # Between the tape and the record: who started and the actions so far, two bytes each.
        size = len(data) - fixed
        if size < 2 or size % 2 or not data.startswith(head):
            raise ValueError(
                f"state must be {fixed + 2} or more bytes from get_state() of an env with the same arguments"
            )
        numbers = np.frombuffer(data, "<f8", 2 * n, len(head)).tolist()
        if np.isinf(numbers).any():
            raise ValueError("state has an infinite reward")
        tape = np.frombuffer(data, np.int8, self.game.tape_size, len(head) + 16 * n).copy()
        if tape.size and not RANDOM <= tape.min() <= tape.max() < len(self.game.outcomes):
            raise ValueError(f"state has a chance outcome that is not from -1 to {len(self.game.outcomes) - 1}")
        first, *played = np.frombuffer(data, "<i2", size // 2, len(head) + 16 * n + tape.size).tolist()
        if not -1 <= first < n or not all(0 <= action < self._num_actions for action in played):
            raise ValueError("state has a first seat or an action that this game has not")
        states = np.frombuffer(data, self.game.state_dtype, 1, fixed - self.game.state_dtype.itemsize + size).copy()
        problem = self.game.check_state(self.game, states)
        if problem is not None:
            raise ValueError(f"state is no table of this game: {problem}")
        if not states["over"][0] and np.isnan(numbers).any():
            raise ValueError("state says that an agent has left a running game")
        self._states, self._tapes = states, tape[None]
        self._first, self._played = first, played
        self._started = True
        self._begin(True)
        self._cumulative_rewards = dict(zip(self.agents, numbers[:n], strict=True))
        self.rewards = dict(zip(self.agents, numbers[n:], strict=True))
        if states["over"][0]:
            self.terminations = dict.fromkeys(self.agents, True)
            for agent, value in zip(self.possible_agents, numbers, strict=False):
                if np.isnan(value):  # it had taken its dead step already
                    self.agents.remove(agent)
                    by_agent: list[dict[str, Any]] = [self.rewards, self._cumulative_rewards, self.infos]
                    for table in (*by_agent, self.terminations, self.truncations):
                        del table[agent]
            if self.agents:
                self._deads_step_first()

    def redeal_hidden(self, seat: int, rng: np.random.Generator) -> GameEnv:
        """A copy in which everything that ``seat`` cannot know is drawn anew from what it knows: its own cards, the
        order of the pile, all later chance. For search; the true future is never among what it shows.

        The copy shares its spaces with this env, and nothing else: copying them would be nearly all of the time.
        """
        self._check_started()
        viewer = np.array([self.game.check_seat(seat, "seat")])
        if not isinstance(rng, np.random.Generator):
            raise TypeError(f"rng must be a numpy.random.Generator, not {rng!r}")
        other = copy.copy(self)
        for name, value in vars(self).items():
            if isinstance(value, (np.ndarray, list, dict)):
                setattr(other, name, value.copy())
        other.infos = {agent: {key: mask.copy() for key, mask in info.items()} for agent, info in self.infos.items()}
        other._tapes[:] = RANDOM  # what is fixed is the true future, what was drawn shows what is hidden
        other._first, other._played = -1, []
        self.game.redeal(self.game.rules, other._states, viewer, rng.integers(2**64, dtype=np.uint64))
        if other.agents and not other._states["over"][0]:
            other._show()
        return other

    def record(self, names: Sequence[str] | None = None) -> GameRecord:
        """The running or finished game, from ``reset`` on, every card that was drawn included.

        ``names``: who sits in each seat, N printable texts; default the agents' names. Raises RuntimeError for a
        copy from ``redeal_hidden``, whose hidden past is made up, and for a state whose history is not its own.
        """
        self._check_started()
        if self._first < 0:
            raise RuntimeError("this table comes from redeal_hidden(): its past is made up, so it has no record")
        return trace(self.game, self._first, self._played, self._tapes[0], self._states, names)

    # -- rendering

    def render(self) -> Any:
        """As ``render_mode`` says: a str ("ansi"), printed and None ("human"), uint8 (H, W, 3) ("rgb_array")."""
        self._check_started()
        if self.render_mode is None:
            modes = ", ".join(map(repr, self.metadata["render_modes"]))
            raise ValueError(f"render() needs an env made with a render_mode: one of {modes}")
        if self.render_mode == "rgb_array":
            return self.game.render_image(self.game, self._states, None)
        text = self.game.render_text(self.game, self._states, None)
        if self.render_mode == "ansi":
            return text
        print(text)
        return None

    def render_from(self, seat: int | None) -> str:
        """The table as text, as ``seat`` sees it; None shows every card."""
        self._check_started()
        viewer = None if seat is None else self.game.check_seat(seat, "seat")
        return self.game.render_text(self.game, self._states, viewer)

    def close(self) -> None:
        """Nothing is held open."""
