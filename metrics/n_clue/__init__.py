"""The n-Clue metrics."""
