"""Learners of other libraries on the benchmark's tasks. See README.md beside this file."""
