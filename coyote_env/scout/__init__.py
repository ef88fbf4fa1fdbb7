"""SCOUT: rules as data, the compiled engine, its faces, its players. Its page is the README.md in this folder."""
