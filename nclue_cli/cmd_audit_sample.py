"""``nclue audit-sample``: the same as ``nclue construct audit-sample``."""

from nclue_cli.cmd_construct import audit_sample as command

__all__ = ["command"]
