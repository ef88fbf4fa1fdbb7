"""The configuration: what is read, what is refused and how, what is written."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from training import config as c

ROOT = Path(__file__).parent.parent


def written(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "run.toml"
    path.write_text(text)
    return path


def test_an_empty_file_is_all_defaults(tmp_path):
    assert c.load_config(written(tmp_path, "")) == c.Config()


def test_values_of_every_type(tmp_path):
    text = """
    [game]
    kwargs = {num_players = 3, variants = ["idem"], odds = true}
    [run]
    seed = 7
    [ppo]
    learning_rate = 1  # a whole number serves as a number
    normalize_advantage = false
    [network]
    shared = []
    policy = [64, 32]
    activation = "tanh"
    """
    config = c.load_config(written(tmp_path, text))
    assert config.game.kwargs == {"num_players": 3, "variants": ["idem"], "odds": True}
    assert config.run.seed == 7
    assert config.ppo.learning_rate == 1.0
    assert isinstance(config.ppo.learning_rate, float)
    assert config.ppo.normalize_advantage is False
    assert config.network == c.NetworkConfig(shared=(), policy=(64, 32), activation="tanh")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[ppp]", r"ppp is not a section; there are: game, run, ppo, network, teacher, opponents, evaluation"),
        ("ppo = 3", r"ppo = 3 is not allowed: ppo is a section, write \[ppo\]"),
        ("[ppo]\nclipp = 0.1", r"ppo\.clipp is not a setting; \[ppo\] has: rollout_steps, .*clip"),
        ("[ppo]\nclip = 0", r"ppo\.clip = 0 is not allowed; allowed: a number above 0 and at most 1"),
        ("[ppo]\nclip = 1.5", r"ppo\.clip = 1\.5 is not allowed"),
        ("[ppo]\nclip = nan", r"ppo\.clip = nan is not allowed"),
        ("[ppo]\nclip = true", r"ppo\.clip = True is not allowed"),
        ("[ppo]\nclip = '0.1'", r"ppo\.clip = '0.1' is not allowed"),
        ("[ppo]\nepochs = 2.0", r"ppo\.epochs = 2\.0 is not allowed; allowed: a whole number from 1 to 1000"),
        ("[ppo]\nepochs = true", r"ppo\.epochs = True is not allowed"),
        ("[ppo]\nnormalize_advantage = 1", r"ppo\.normalize_advantage = 1 is not allowed; allowed: true or false"),
        ("[ppo]\ngamma = 1.01", r"ppo\.gamma = 1\.01 is not allowed; allowed: a number from 0 to 1"),
        ("[ppo]\nlearning_rate_end = 1", r"ppo\.learning_rate_end = 1\.0 is not allowed; allowed: at most ppo\.l"),
        ("[ppo]\nentropy = 0", r"ppo\.entropy_end = .* is not allowed; allowed: at most ppo\.entropy, which is 0\.0"),
        ("[run]\nseed = -1", r"run\.seed = -1 is not allowed; allowed: a whole number from 0 to 4294967295"),
        ("[run]\nthreads = 65", r"run\.threads = 65 is not allowed; allowed: a whole number from 1 to 64"),
        ("[game]\nname = 3", r"game\.name = 3 is not allowed; allowed: a text"),
        ("[game]\nkwargs = 3", r"game\.kwargs = 3 is not allowed; allowed: a table"),
        ("[network]\nshared = [64, 0]", r"network\.shared = \[64, 0\] is not allowed; allowed: a list of whole"),
        ("[network]\nshared = 64", r"network\.shared = 64 is not allowed"),
        ("[network]\nactivation = 'gelu'", r"network\.activation = 'gelu' is not allowed; allowed: \"relu\" or"),
        ("[opponents]\nscripted = ['bayes', 1]", r"opponents\.scripted = \['bayes', 1\] is not allowed"),
        ("[opponents]\nsnapshots = false", r"opponents\.share = 0\.8 is not allowed with opponents\.scripted = \[\]"),
        ("[evaluation]\nopponents = []", r"evaluation\.opponents = \[\] is not allowed; allowed: a list of texts, not"),
        ("[run\nseed = 1", r"run\.toml is not a TOML file"),
        ("[run]\nsteps = " + "9" * 5000, r"run\.toml is not a TOML file: .*digits"),
        ("[game.kwargs]\ndeck = " + "[" * 50_000, r"run\.toml is not a TOML file"),
        (
            "[run]\nsteps = " + "9" * 30,
            r"run\.steps = 9+ is not allowed; allowed: a whole number from 1 to 1000000000000",
        ),
        ("[ppo]\nlearning_rate = " + "9" * 400, r"ppo\.learning_rate = 9+ is not allowed; allowed: a number above 0"),
        ("[teacher]\nweight = 1e40", r"teacher\.weight = 1e\+40 is not allowed; allowed: a number above 0"),
        ("[network]\nshared = [1000000]", r"network\.shared = \[1000000\] is not allowed"),
        ("[run.seed" + ".x" * 20_000 + "]", r"tables within tables within tables; allowed: those of the settings"),
        ('[run]\nseed = "' + "a" * 9_000 + '"', r"run\.seed = 'a{499}\.\.\. is not allowed; allowed: a whole number"),
        ("[evaluation]\ngames = 100000000000000000000", r"evaluation\.games = 1\d+ is not allowed"),
    ],
)
def test_what_is_refused_is_named_with_what_is_allowed(tmp_path, text, message):
    with pytest.raises(c.ConfigError, match=message):
        c.load_config(written(tmp_path, text))


def test_a_link_to_a_file_is_as_good_and_a_link_to_itself_is_refused(tmp_path):
    (tmp_path / "link.toml").symlink_to(written(tmp_path, "[run]\nseed = 7"))
    assert c.load_config(tmp_path / "link.toml").run.seed == 7
    (tmp_path / "loop.toml").symlink_to(tmp_path / "loop.toml")
    with pytest.raises(OSError, match="symbolic links"):
        c.load_config(tmp_path / "loop.toml")


def test_set_changes_single_settings(tmp_path):
    path = written(tmp_path, "[run]\nseed = 1\nsteps = 5\n[game]\nkwargs = {odds = true}")
    config = c.load_config(
        path,
        [
            "run.seed=9",
            "network.policy=[8, 8]",
            "network.activation=tanh",
            "game.kwargs.num_players=2",
            "game.kwargs.edition = mini",
        ],
    )
    assert (config.run.seed, config.run.steps) == (9, 5)
    assert config.network.policy == (8, 8)
    assert config.network.activation == "tanh"
    assert config.game.kwargs == {"odds": True, "num_players": 2, "edition": "mini"}


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("run.seed", r"--set 'run\.seed' is not allowed; allowed: section\.key=value"),
        ("seed=1", r"--set 'seed=1' is not allowed"),
        (".seed=1", r"--set '\.seed=1' is not allowed"),
        ("run.sede=1", r"run\.sede is not a setting"),
        ("run.seed.x=1", r"--set 'run\.seed\.x=1' is not allowed: run\.seed is not a table"),
        ("run.seed=many", r"run\.seed = 'many' is not allowed"),
    ],
)
def test_set_refuses_by_name(tmp_path, override, message):
    with pytest.raises(c.ConfigError, match=message):
        c.load_config(written(tmp_path, "[run]\nseed = 1"), [override])


def test_what_is_written_reads_back_the_same(tmp_path):
    deck = {"-5": 2, "max0": 1, "?": 1}
    kwargs = {"deck": deck, "variants": ["idem"], "odds": True, 'a "b"\\\n': "\t\x7fé", "lives": 3}
    config = c.Config(
        game=c.GameConfig(kwargs=kwargs),
        ppo=c.PPOConfig(learning_rate=1e-7, learning_rate_end=0.0),
        network=c.NetworkConfig(shared=(), policy=(3, 4)),
        opponents=c.OpponentsConfig(scripted=("bayes", "a/b")),
    )
    assert c.load_config(written(tmp_path, c.dump_config(config))) == config
    assert c.load_config(written(tmp_path, c.dump_config(c.Config()))) == c.Config()


def test_every_setting_is_documented_and_its_default_allowed():
    for section, kind in c.SECTIONS.items():
        assert kind.__doc__
        for item in dataclasses.fields(kind):
            assert item.metadata["doc"].endswith("."), f"{section}.{item.name}"
    defaults = {s: dataclasses.asdict(getattr(c.Config(), s)) for s in c.SECTIONS}
    assert c.parse_config(defaults) == c.Config()


def test_a_rollout_has_an_end():
    with pytest.raises(
        c.ConfigError, match=r"run.tables = 2000 is not allowed .*; allowed: rollouts of at most 10,000,"
    ):
        c.parse_config({"run": {"tables": 2000}, "ppo": {"rollout_steps": 10_000}})


@pytest.mark.parametrize(
    ("opponents", "message"),
    [
        ({"scripted_share": 1.0}, "opponents.scripted_share = 1.0 is not allowed with opponents.scripted = "),
        (
            {"scripted": ["random"], "scripted_share": 0.0, "snapshots": False},
            "opponents.scripted_share = 0.0 is not allowed with opponents.snapshots = false",
        ),
    ],
)
def test_opponents_of_whom_there_are_none_are_refused(opponents, message):
    with pytest.raises(c.ConfigError, match=message):
        c.parse_config({"opponents": opponents})


def test_help_and_readme_name_every_setting():
    readme = (ROOT / "training" / "README.md").read_text()
    for section, kind in c.SECTIONS.items():
        for item in dataclasses.fields(kind):
            assert f"{section}.{item.name} = " in c.help_text()
            assert f"`{section}.{item.name}`" in readme


def test_published_configs_are_valid():
    paths = sorted((ROOT / "configs").glob("*.toml"))
    assert paths
    for path in paths:
        c.load_config(path)
