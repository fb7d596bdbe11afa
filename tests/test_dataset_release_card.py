from __future__ import annotations

import pytest

from nclue_dataset.aliases import CONDITION_NAMES, FIELDS, FILES, PAGES_NAMES
from nclue_dataset.check import WARNINGS
from nclue_dataset.rows import KNOWN_SOURCES


@pytest.fixture
def card(project_dir):
    return (project_dir / "cards" / "release_format.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("kind", list(FIELDS))
def test_the_card_lists_every_field_with_its_names(card, kind):
    section = card.split(f"### {kind}\n")[1].split("\n\n###")[0].split("\n\nConditions")[0]
    listed = [line for line in section.splitlines() if line.startswith("| `")]
    expected = [
        f"| `{field.name}`{'' if field.required else ' (optional)'} | "
        f"{', '.join(f'`{alias}`' for alias in field.aliases) or '-'} | {field.meaning} |"
        for field in FIELDS[kind]
    ]
    assert listed == expected


def test_the_card_names_files_sources_and_warnings(card):
    names = [*CONDITION_NAMES, *PAGES_NAMES, *KNOWN_SOURCES, *WARNINGS]
    names += [alias for aliases in FILES.values() for alias in aliases]
    assert [name for name in names if f"`{name}`" not in card] == []
