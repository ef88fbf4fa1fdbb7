"""Our games in other libraries' forms. Each module needs its library, named by an extra of this package."""
