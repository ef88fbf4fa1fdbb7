"""A published policy: a folder with `policy.onnx` and `manifest.json`, from anybody, made by any framework.

The network: inputs `observation` float32[batch, L] and `action_mask` (int8 or another plain type)[batch, A], output
`logits` float32[batch, A], the batch free, standard operators only (`onnx_file.OPERATORS`), all weights in the file.
It need not mask anything itself. Loading executes nothing from the folder: see `manifest` and `onnx_file`.
"""

from __future__ import annotations

import hashlib
import itertools
import math
import os
import stat
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from coyote_env.policies import manifest as manifests
from coyote_env.policies import onnx_file
from coyote_env.policies.policy import PolicyError, drawn

if TYPE_CHECKING:
    from coyote_env.core.game import Game

POLICY_FILE = "policy.onnx"
MANIFEST_FILE = "manifest.json"


class CheckpointPolicy:
    """The network of a checkpoint as a `Policy`: samples from the softmax of its logits over the legal actions.

    The softmax is computed in float64 here and covers legal actions only, whatever the network says of the others. Each
    row takes one number from the generator, in order, so rows answer alike however a batch is cut; `greedy` takes the
    largest logit (the first of equals) and no number. `temperature` divides the logits.

    Attributes: `name`, `path` (of the folder), `manifest`, `greedy`, `temperature`, and `game`, for which it was made:
    it sees with that game's `sight` at any table of the same rules.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        game: Game | None = None,
        *,
        name: str | None = None,
        greedy: bool = False,
        temperature: float = 1.0,
    ) -> None:
        """Load a folder. Raises ValueError for anything in it that is not as it should be, or made for another game
        than `game`, naming the field and both values; ImportError without onnxruntime, saying what to install."""
        if not 0 < temperature < math.inf:
            raise ValueError(f"temperature = {temperature!r}; allowed: a finite number above 0")
        self.path = Path(path)
        self.name = os.fspath(path) if name is None else name
        self.greedy = bool(greedy)
        self.temperature = float(temperature)
        if not self.path.is_dir():
            raise ValueError(f"{self.path}: not a folder; a policy is a folder with {POLICY_FILE} and {MANIFEST_FILE}")
        where = self.path / MANIFEST_FILE
        self.manifest = manifests.read_manifest(_read(self.path, MANIFEST_FILE, manifests.MAX_BYTES), str(where))
        self.game = _check_game(self.manifest, game, str(where))
        network = _read(self.path, POLICY_FILE, onnx_file.MAX_BYTES)
        digest = hashlib.sha256(network).hexdigest()
        if digest != self.manifest.policy_sha256:
            raise ValueError(
                f"{where}: policy_sha256 = {self.manifest.policy_sha256}; {POLICY_FILE} has {digest}: "
                "the file was damaged or exchanged"
            )
        try:
            self._file = onnx_file.OnnxFile(network)
        except ValueError as error:
            raise ValueError(f"{self.path / POLICY_FILE}: {error}") from None
        for field in ("observation_size", "num_actions"):
            stated, found = getattr(self.manifest, field), getattr(self._file, field)
            if stated != found:
                raise ValueError(f"{where}: {field} = {stated}; the network in {POLICY_FILE} has {found}")
        self._session = _session(network, str(self.path / POLICY_FILE))

    @classmethod
    def from_file(
        cls, path: str | os.PathLike[str], game: Game, *, greedy: bool = False, temperature: float = 1.0
    ) -> CheckpointPolicy:
        """A bare `policy.onnx`, without a manifest: that it was made for `game` is for whoever gives it to say, but its
        inputs and outputs must have that game's sizes. Raises as the constructor does."""
        if not 0 < temperature < math.inf:
            raise ValueError(f"temperature = {temperature!r}; allowed: a finite number above 0")
        policy = cls.__new__(cls)
        policy.path = Path(path)
        policy.name = policy.path.name
        policy.greedy, policy.temperature = bool(greedy), float(temperature)
        network = _read(policy.path.parent, policy.path.name, onnx_file.MAX_BYTES)
        try:
            policy._file = onnx_file.OnnxFile(network)
        except ValueError as error:
            raise ValueError(f"{path}: {error}") from None
        # Nothing but the size says what it sees.
        choices = itertools.product((False, True), repeat=len(game.sight))
        games = [game.with_sight(dict(zip(game.sight, flags, strict=True))) for flags in choices]
        found = policy._file.observation_size
        policy.game = next((one for one in games if one.layout.size == found), game)
        facts = _facts(policy.game)
        if found != facts["observation_size"]:
            sizes = " or ".join(str(one.layout.size) for one in games)
            raise ValueError(f"{path}: observation_size = {found}; the game to be played has {sizes}")
        if policy._file.num_actions != facts["num_actions"]:
            stated = policy._file.num_actions
            raise ValueError(f"{path}: num_actions = {stated}; the game to be played has {facts['num_actions']}")
        del facts["edition"]
        policy.manifest = manifests.Manifest(
            format_version=manifests.FORMAT_VERSION, game=game.name, kwargs=dict(policy.game.kwargs), **facts,
            training={}, versions={}, evaluation=None, policy_sha256=hashlib.sha256(network).hexdigest(),
        )  # fmt: skip
        policy._session = _session(network, str(path))
        return policy

    def __repr__(self) -> str:
        return f"CheckpointPolicy({self.name!r})"

    def check_game(self, game: Game) -> None:
        """Raises ValueError, naming the field and both values, if the policy was made for another game than this."""
        _check_game(self.manifest, game, str(self.path / MANIFEST_FILE))

    def act(
        self,
        observation: npt.NDArray[np.float32],
        action_mask: npt.NDArray[np.int8],
        rng: np.random.Generator,
    ) -> npt.NDArray[np.int64]:
        """One legal action a row. Raises PolicyError if the network gives NaN or nothing to choose from."""
        logits = self._masked_logits(observation, action_mask)
        if self.greedy:
            return np.asarray(logits.argmax(axis=1), np.int64)
        return sample(softmax(logits), drawn(rng, len(logits), self.name))

    def probabilities(
        self, observation: npt.NDArray[np.float32], action_mask: npt.NDArray[np.int8]
    ) -> npt.NDArray[np.float64]:
        """What `act` draws from, float64[B, A]: zero where illegal, each row summing to 1."""
        logits = self._masked_logits(observation, action_mask)
        if not self.greedy:
            return softmax(logits)
        chosen = np.zeros_like(logits)
        chosen[np.arange(len(logits)), logits.argmax(axis=1)] = 1.0
        return chosen

    def _masked_logits(
        self, observation: npt.NDArray[np.float32], action_mask: npt.NDArray[np.int8]
    ) -> npt.NDArray[np.float64]:
        """float64[B, A] over the temperature, shifted so that each row's largest is 0; -inf where illegal."""
        observation, legal = np.asarray(observation), np.asarray(action_mask) != 0
        width = self._file.observation_size
        if observation.ndim != 2 or observation.shape[1] != width:
            seen = ", ".join(f"{name}={self.game.kwargs[name]}" for name in self.game.sight)
            made_for = f", what a game made with {seen} shows" if seen else ""
            raise ValueError(
                f"policy {self.name!r}: observation of shape {observation.shape}; needed: (rows, {width}){made_for}"
            )
        needed = (len(observation), self._file.num_actions)
        if legal.shape != needed:
            raise ValueError(f"policy {self.name!r}: action_mask of shape {legal.shape}; needed: {needed}")
        empty = ~legal.any(axis=1)
        if empty.any():
            raise ValueError(f"policy {self.name!r}: row {int(empty.argmax())} of action_mask has no legal action")
        logits = np.empty(legal.shape, np.float64)
        # Cut, so that memory is bounded; each size of batch is checked before it is first run.
        for start in range(0, len(logits), onnx_file.MAX_BATCH):
            part = slice(start, start + onnx_file.MAX_BATCH)
            logits[part] = self._run(observation[part], legal[part])
        bad = np.isnan(logits) | (legal & (logits == math.inf))
        if bad.any():
            row, action = (int(n) for n in np.argwhere(bad)[0])
            raise PolicyError(f"policy {self.name!r}: row {row}: the logit of action {action} is {logits[row, action]}")
        logits = np.where(legal, logits, -math.inf)
        best = logits.max(axis=1, keepdims=True)
        nothing = best[:, 0] == -math.inf
        if nothing.any():
            raise PolicyError(f"policy {self.name!r}: row {int(nothing.argmax())}: all legal logits are -inf")
        with np.errstate(over="ignore"):  # logits beyond 1e308 apart: -inf is the right answer
            return np.asarray((logits - best) / self.temperature)

    def _run(self, observation: npt.NDArray[Any], legal: npt.NDArray[np.bool_]) -> npt.NDArray[Any]:
        try:
            self._file.check_batch(len(observation))
            (logits,) = self._session.run(
                [onnx_file.OUTPUT],
                {
                    "observation": np.ascontiguousarray(observation, np.float32),
                    "action_mask": np.ascontiguousarray(legal, self._file.mask_dtype),
                },
            )
        except Exception as error:  # the runtime has a dozen classes of its own
            raise PolicyError(f"policy {self.name!r} failed on {len(observation)} rows: {error}") from error
        return np.asarray(logits)


def softmax(logits: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Along the last axis, in float64; -inf gives 0. Each row needs a finite entry and no +inf."""
    weights = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return np.asarray(weights / weights.sum(axis=-1, keepdims=True))


def sample(probabilities: npt.NDArray[np.float64], uniform: npt.NDArray[np.float64]) -> npt.NDArray[np.int64]:
    """One index a row of float64[B, A] by inversion, from one number of [0, 1) a row. Never one of probability 0.

    The first index whose running sum is *above* uniform * sum: there the sum has just grown, so its probability is
    positive. One exists: uniform is at most 1 - 2**-53, and that times the sum rounds to less than the sum unless the
    sum is subnormal; a softmax sums to 1.
    """
    sums = np.cumsum(probabilities, axis=1)
    return np.asarray((sums > uniform[:, None] * sums[:, -1:]).argmax(axis=1), np.int64)


def _read(folder: Path, name: str, limit: int) -> bytes:
    """A regular file of the folder, at most `limit` bytes. A link may not lead out of the folder."""
    path = folder / name
    if not os.path.lexists(path):
        raise ValueError(f"{folder}: {name} is missing; a policy is a folder with {POLICY_FILE} and {MANIFEST_FILE}")
    # Without O_NONBLOCK a pipe would block for ever; O_NOFOLLOW in case the file is exchanged for a link just now.
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
    try:
        real = path.resolve()
        if folder.resolve() not in real.parents:
            raise ValueError(f"{path}: a link to {real}, outside the folder")
        descriptor = os.open(real, flags)
    except (OSError, RuntimeError) as error:  # links in a circle are a RuntimeError before Python 3.13
        raise ValueError(f"{path}: cannot be read: {error}") from None
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise ValueError(f"{path}: not a regular file")
        if status.st_size > limit:
            raise ValueError(f"{path}: {status.st_size:,} bytes; allowed: {limit:,}")
        with open(descriptor, "rb", closefd=False) as file:
            data = file.read(limit + 1)
    finally:
        os.close(descriptor)
    if len(data) > limit:  # it grew
        raise ValueError(f"{path}: more than the allowed {limit:,} bytes")
    return data


def _check_game(manifest: manifests.Manifest, game: Game | None, where: str) -> Game:
    """That the manifest is right about the game it names, and that this is the game to be played, whatever of it the
    policy sees. Returns the manifest's game."""
    from coyote_env.policies.registry import make_game

    if game is not None and manifest.game != game.name:
        raise ValueError(f"{where}: game = {manifest.game!r}; the game to be played is {game.name!r}")
    try:
        own = make_game(manifest.game, dict(manifest.kwargs))
    except (ValueError, TypeError) as error:
        raise ValueError(f"{where}: {str(error)[:500]}") from None
    found = _facts(own)
    for field, value in found.items():
        if field != "edition" and getattr(manifest, field) != value:
            stated = getattr(manifest, field)
            raise ValueError(f"{where}: {field} = {stated!r}; {manifest.game} with its kwargs has {value!r}")
    if game is not None:
        for field, value in _facts(game.with_sight(own.kwargs)).items():
            if found[field] != value:
                made_for = ", ".join(f"{key}={argument!r}" for key, argument in own.kwargs.items())
                raise ValueError(
                    f"{where}: {field} = {found[field]!r}; the game to be played has {value!r} "
                    f"(the policy was made for {own.name} with {made_for[:500]})"
                )
    return own


def _facts(game: Game) -> dict[str, Any]:
    """What must agree, under the manifest's names. Other arguments may differ: policies can be tried elsewhere."""
    return {
        "edition": game.kwargs.get("edition"),
        "num_seats": game.num_seats,
        "num_actions": game.num_actions,
        "observation_size": game.layout.size,
        "layout_hash": game.layout.hash,
    }


def _session(network: bytes, where: str) -> Any:
    try:
        import onnxruntime
    except ImportError:
        raise ImportError(f"{where} needs onnxruntime to run: pip install 'coyote-env[arena]'") from None
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1  # batches are small; and sums in one order give the same bits everywhere
    options.inter_op_num_threads = 1
    options.enable_mem_pattern = False  # it keeps a plan for every size of batch it has seen
    options.log_severity_level = 4  # what goes wrong is raised
    options.add_session_config_entry("session.load_model_format", "ONNX")  # the format that was checked, no other
    try:
        return onnxruntime.InferenceSession(network, options, providers=["CPUExecutionProvider"])
    except Exception as error:  # the runtime has a dozen classes of its own
        raise ValueError(f"{where}: onnxruntime does not take it: {error}") from None
