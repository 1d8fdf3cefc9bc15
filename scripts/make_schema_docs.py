"""Makes docs/schema.md of the heads of the .sql files in schema/.

python scripts/make_schema_docs.py          writes the page
python scripts/make_schema_docs.py --check  says whether it is current
"""

import argparse
import re
import sys
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SCHEMA = ROOT / "schema"
PAGE = ROOT / "docs" / "schema.md"

_COLUMN = re.compile(
    r"^  (?P<name>\w+)  +(?P<type>INTEGER|REAL|TEXT|BLOB)  +(?P<text>.+)$"
)
_CREATE = re.compile(r"^CREATE (?:TABLE|VIEW) (?P<name>\w+)", re.MULTILINE)


@dataclass
class Column:
    """A column as the head of its table or view describes it."""

    name: str
    type: str
    text: str


@dataclass
class Entity:
    """A table or view: the comment above its CREATE."""

    name: str
    summary: str
    text: str = ""
    columns: list[Column] = field(default_factory=list)


def comment_lines(sql: str, end: int) -> list[str]:
    """The comment that ends right before a position, without its dashes.

    :param sql: text of a .sql file
    :param end: where the statement begins that the comment is about
    :returns: its lines
    """
    lines: list[str] = []
    for line in reversed(sql[:end].splitlines()):
        if not line.startswith("--"):
            break
        lines.append(line[2:].removeprefix(" "))
    return lines[::-1]


def parse_head(name: str, lines: list[str]) -> Entity:
    """A head ``name: summary``, prose, and indented columns with their types.

    :param name: what the head must be about
    :param lines: lines of the comment
    :returns: what it says
    """
    text = "\n".join(lines)
    if not text.startswith(f"{name}: "):
        raise ValueError(f"the head of {name} does not begin with '{name}: '")
    entity = Entity(name, "")
    prose: list[str] = []
    for line in text.removeprefix(f"{name}: ").splitlines():
        match = _COLUMN.match(line)
        if match:
            entity.columns.append(Column(**match.groupdict()))
        elif entity.columns and line.startswith("   "):
            entity.columns[-1].text += " " + line.strip()
        elif line.startswith("  "):  # says in words where the columns are described
            prose.append("\n" + line.strip().capitalize() + ".")
        else:
            prose.append(line.strip())
    paragraphs = "\n".join(prose).strip().split("\n\n")
    entity.summary = paragraphs[0].replace("\n", " ")
    entity.text = "\n\n".join(paragraphs[1:])
    return entity


def entities_in(path: Path) -> list[Entity]:
    """All tables and views that a .sql file makes.

    :param path: the file
    :returns: one entity for each, in the order of the file
    """
    sql = path.read_text(encoding="utf-8")
    return [
        parse_head(match["name"], comment_lines(sql, match.start()))
        for match in _CREATE.finditer(sql)
    ]


def tables() -> list[Entity]:
    """The tables that all migrations make."""
    return [
        entity
        for path in sorted((SCHEMA / "migrations").glob("*.sql"))
        for entity in entities_in(path)
    ]


def views() -> list[Entity]:
    """The public views, in the order of views.txt."""
    names = (SCHEMA / "views.txt").read_text(encoding="utf-8").split()
    return [
        entity
        for name in names
        if name.startswith("v_")
        for entity in entities_in(SCHEMA / "views" / f"{name}.sql")
    ]


def markdown(entity: Entity) -> str:
    """A section of the page.

    :param entity: the table or view
    :returns: its heading, what a row is and its columns as a table
    """
    parts = [f"### `{entity.name}`", entity.summary[0].upper() + entity.summary[1:]]
    if entity.text:
        parts.append(entity.text)
    if entity.columns:
        rows = [
            f"| `{column.name}` | {column.type} | {column.text} |"
            for column in entity.columns
        ]
        parts.append("\n".join(["| column | type | meaning |", "|---|---|---|", *rows]))
    return "\n\n".join(parts)


def page() -> str:
    """The whole page."""
    first = sorted((SCHEMA / "migrations").glob("*.sql"))[0].read_text(encoding="utf-8")
    about = "\n".join(
        line[2:].removeprefix(" ")
        for line in first.split("\n\nPRAGMA")[0].splitlines()[2:]
    )
    parts = [
        "# The database",
        "<!-- Made by scripts/make_schema_docs.py of the .sql files in schema/; "
        "do not edit. -->",
        about.strip(),
        "Query the views: they are the stable interface. Tables may grow columns.",
        "## Views",
        *(markdown(entity) for entity in views()),
        "## Tables",
        *(markdown(entity) for entity in tables()),
    ]
    return "\n\n".join(parts) + "\n"


def main() -> int:
    """Writes or checks the page."""
    parser = argparse.ArgumentParser(description="Make docs/schema.md of schema/*.sql.")
    parser.add_argument(
        "--check", action="store_true", help="fail if the page is not current"
    )
    arguments = parser.parse_args()
    if not arguments.check:
        PAGE.write_text(page(), encoding="utf-8")
        return 0
    if PAGE.exists() and PAGE.read_text(encoding="utf-8") == page():
        return 0
    print(f"{PAGE} is not current: run python {sys.argv[0]}", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
