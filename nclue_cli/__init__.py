"""The command ``nclue``."""
