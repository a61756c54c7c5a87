"""Of a report: the last run of `memd bench all` in this home, its figures alone."""

from typing import TYPE_CHECKING

from memd_client.cli.bundle_clean import GONE, version
from memd_client.cli.bundle_scene import Scene, Section

if TYPE_CHECKING:
    from memd_client.cli.bench_all_rows import Line

FOLDER = "bench"
VERDICTS = ("ok", "missed", "unmeasured", "")


def bench(scene: Scene) -> Section:
    """When and of which memd, and a line for each row: value, its quartiles, ratio to its base, bar and verdict."""
    from memd_client.cli import bench_all, bench_compare  # here, since these bring every bench along

    if scene.home is None:
        return {"last run": "no home"}
    run = bench_compare.read(scene.home / FOLDER / bench_all.LAST)
    if isinstance(run, str):
        return {"last run": "none that can be read"}
    return {
        "at": scene.clean.at(run.machine.at),
        "memd": version(run.machine.memd),
        "notes": run.parameters.notes,
        "rounds": run.parameters.rounds,
        "rows": [_row(scene, line) for line in run.rows],
    }


def _row(scene: Scene, line: "Line") -> str:
    value = "not measured" if line.value is None else f"{line.value:g} {scene.clean.name(line.unit)}".rstrip()
    spread = "" if line.low is None or line.high is None else f" ({line.low:g} to {line.high:g})"
    ratio = "" if line.ratio is None else f", {line.ratio:g} of its base"
    bar = "" if line.bar is None else f", bar {line.bar:g}"
    verdict = f", {line.verdict if line.verdict in VERDICTS else GONE}" if line.verdict else ""
    return f"{scene.clean.name(line.name)}: {value}{spread}{ratio}{bar}{verdict}"
