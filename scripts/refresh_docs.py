"""Fill the output blocks of the documents with what the commands print, or check them.

A block in a Markdown file is

    <!-- output of: nclue score … -->
    ```text
    what the command printed
    ```

    python scripts/refresh_docs.py            write all blocks anew
    python scripts/refresh_docs.py --check    exit 1 if a block differs from what is printed

Commands run from the project's root with caches of their own and without network, so that the
result does not depend on the machine. Shell syntax is limited to ``&&``.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[1]
DOCUMENTS = ("README.md", "cards/*.md")
BLOCK = re.compile(r"(<!-- output of: (?P<command>.+?) -->\n```text\n)(?P<body>.*?)(```\n)", re.S)


def run(command: str, home: Path) -> str:
    """Standard output of a command line; it must succeed."""
    environment = os.environ | {
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "HF_HOME": str(home / "huggingface"),
        "NCLUE_CACHE": str(home / "nclue"),
        "HF_HUB_OFFLINE": "1",
        "COLUMNS": "100",
        "TERM": "dumb",
    }
    outputs = []
    for part in command.split("&&"):
        done = subprocess.run(
            part.split(), cwd=PROJECT, env=environment, capture_output=True, text=True, check=False
        )
        if done.returncode:
            raise SystemExit(f"`{part.strip()}` failed ({done.returncode}):\n{done.stderr}")
        outputs.append(done.stdout)
    return "".join(outputs)


def refreshed(text: str, home: Path) -> str:
    """The document with every block as its command prints it now."""
    return BLOCK.sub(
        lambda found: found[1] + run(found["command"], home).rstrip("\n") + "\n" + found[4], text
    )


def main(arguments: list[str] | None = None) -> int:
    """Refresh or check all documents; returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args(arguments)
    stale = []
    with tempfile.TemporaryDirectory(prefix="nclue-docs-") as home:
        for path in sorted(p for pattern in DOCUMENTS for p in PROJECT.glob(pattern)):
            text = path.read_text(encoding="utf-8")
            new = refreshed(text, Path(home))
            if new == text:
                continue
            stale.append(str(path.relative_to(PROJECT)))
            if not options.check:
                path.write_text(new, encoding="utf-8")
    for name in stale:
        print(f"{name}: {'differs from what its commands print' if options.check else 'written'}")
    return 1 if options.check and stale else 0


if __name__ == "__main__":
    sys.exit(main())
