"""The lines below a note: what one kind of them may take, and where the rest is told."""

import pytest

from memd_daemon import limits
from memd_daemon.frames.lines import standing_lines
from memd_daemon.frames.show import shown
from memd_daemon.model.note import Reinstatement
from memd_daemon.model.view import FullView, NotedNote
from tests.frames.make import MARCH_4, TAGS, make_view

MANY = range(100, 400)


@pytest.mark.parametrize("kind", ["conflicts", "fallen_sources"])
@pytest.mark.parametrize("count", [1, limits.WARNINGS_ALIKE_MAX, limits.WARNINGS_ALIKE_MAX + 1, len(MANY)])
def test_lines_that_are_alike_are_told_or_counted(kind: str, count: int) -> None:
    """None is lost: those that are told and those that are counted are all of them, and no line counts a single one."""
    ids = MANY[:count]
    alike = {"conflicts": tuple(ids), "fallen_sources": tuple(NotedNote(id=i, what="revoked", at=MARCH_4) for i in ids)}
    lines = standing_lines(make_view(**{kind: alike[kind]}), TAGS)
    assert len(lines) == (count if count <= limits.WARNINGS_ALIKE_MAX + 1 else limits.WARNINGS_ALIKE_MAX + 1)
    if len(lines) < count:
        assert f" {count - limits.WARNINGS_ALIKE_MAX} more notes" in lines[-1]


def test_what_a_person_said_is_told_beside_any_number_of_conflicts() -> None:
    """Whoever writes contradictions without end takes no other line's room; `show` has each of them."""
    back = Reinstatement(at=MARCH_4, actor="agent", revoked_by_person_at=MARCH_4)
    view = make_view(provenance="human", frame_class="human", conflicts=tuple(MANY), reinstated=back)
    lines = standing_lines(view, TAGS)
    assert "revoked by the user" in lines[0]
    assert sum(len(line) for line in lines) < limits.LINE_MAX_CHARS * (limits.WARNINGS_ALIKE_MAX + 2)
    text = shown(FullView(view=view), MARCH_4, TAGS)
    assert all(f"in conflict with [{id_}]," in text for id_ in MANY)
