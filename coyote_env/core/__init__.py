"""Machinery that knows no game: compilation, layouts, the PettingZoo and batch faces."""
