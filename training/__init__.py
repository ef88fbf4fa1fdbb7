"""Self-play training, run from a checkout: ``python -m training.selfplay configs/quickstart.toml``.

Not part of the installed package. ``training`` knows no game: it reaches them by name through ``coyote_env``'s faces.
"""
