"""The scenes of the demo, in the order of SCENES. Each one says what it is about, plays it, and expects what it should show."""

from collections.abc import Callable

import msgspec

from memd_client import api
from memd_client.cli.demo.person import endorse, enrol, forged
from memd_client.cli.demo.scratch import Agent, Answer, Scratch, eventually
from memd_client.cli.demo.stage import Stage
from memd_client.memd import Refused

RULE = "Never commit to main: open a branch and a pull request."
GOTCHA = "lock_workspace() is not reentrant: taking the lock twice in one process deadlocks the resolver."
WRONG = "The resolver keeps its lock state in Redis."
RIGHT = "The resolver keeps its lock state in a file named .lock in the workspace."
WHY_WRONG = "there is no Redis in this repository; lock_workspace() writes a file"
QUESTION = "Where does the resolver keep its lock state?"
SUBJECT = "Write the pid as bytes"

DIRECTIVE = "DIRECTIVE (standing rule from the user — follow it): "
HELD_ONCE = "This edit was held once so that you see this first; repeat the same call to make it."
CURRENT = "status: matches current state"
CHANGED = "status: changed since — verify"
STRUCK = "Previously believed (recorded "
AUTO = "Auto-captured (weakest confidence, no reviewing judgment applied — verify before relying on this): "

NOT_SETTABLE = "provenance `human` cannot be set at a write"
NO_PERSON = "Only a person can do this"

OLD_LINE, NEW_LINE = "lock.write_text(str(os.getpid()))", "lock.write_bytes(b'%d' % os.getpid())"


class World(msgspec.Struct):
    """What earlier scenes leave to later ones."""

    scratch: Scratch
    stage: Stage
    rule: int = 0
    gotcha: int = 0
    agent: Agent | None = None

    @property
    def anchor(self) -> str:
        return str(self.scratch.source.relative_to(self.scratch.repository))

    @property
    def first(self) -> Agent:
        """The agent of the first scene."""
        if self.agent is None:
            self.agent = self.scratch.agent()
        return self.agent


def rule_opens_the_session(world: World) -> None:
    """1. What a person endorsed opens every session."""
    scratch, stage = world.scratch, world.stage
    with scratch.client() as memd:
        key = enrol(memd, scratch.passphrase, scratch.environ)
        stage.does("you", f'memd remember "{RULE}" --kind directive --endorse   (and your passphrase)')
        world.rule = endorse(memd, key, RULE, kind="directive")
    world.agent = scratch.agent()
    stage.hears("to the agent, as its session starts", world.agent.start.text, world.agent.start.ms)
    stage.expect(
        f"[{world.rule}] {DIRECTIVE}{RULE}" in world.agent.start.text, "the rule opens the session as a directive"
    )
    stage.why("your signature made it `human`; only then is it told as an order, and at every session's start.")


def gotcha_comes_before_the_edit(world: World) -> None:
    """2. What an agent learned about a file is told before that file is edited."""
    scratch, stage, source = world.scratch, world.stage, world.scratch.source
    world.first.prompt("Make the resolver's lock work across processes.")
    words = ("remember", GOTCHA, "--kind", "gotcha", "--priority", "high", "--anchor", world.anchor)
    world.gotcha = _id_of(world.first.memd(*words, "--json").out)
    stage.does("agent", f'memd remember "{GOTCHA}" --kind gotcha --priority high --anchor {world.anchor}')
    reader = scratch.agent()
    reader.prompt("Log who holds the lock.")
    seen = reader.read(source)
    stage.does("another agent, later", f"reads {world.anchor}")
    stage.hears("with the read", seen.text, seen.ms)
    stage.expect(
        GOTCHA in seen.text and CURRENT in seen.text, "the gotcha rides on the read, with the state of its file"
    )
    writer = scratch.agent()
    writer.prompt("Write the pid as bytes.")
    held = writer.edit(source, OLD_LINE, NEW_LINE)
    stage.does("a third, hasty one", f"edits {world.anchor} without reading it")
    stage.hears("holds the edit", held.text, held.ms)
    stage.expect(
        held.held and GOTCHA in held.text and held.text.endswith(HELD_ONCE), "a high gotcha holds the edit once"
    )
    again = writer.edit(source, OLD_LINE, NEW_LINE)
    stage.does("the same one", f"makes the same call again: it passes ({again.ms:.0f} ms)")
    stage.expect(not again.held and GOTCHA not in again.text, "the repeated call passes, and nothing is told twice")
    stage.why("no client lets a hook speak between decision and edit; so it rides on the read, or holds the edit once.")


def file_changes(world: World) -> None:
    """3. When the file has changed, the note says so, and nobody calls it false."""
    scratch, stage, source = world.scratch, world.stage, world.scratch.source
    source.write_text(source.read_text().replace(OLD_LINE, NEW_LINE))
    stage.does("you", f"change {world.anchor} in your editor")
    agent = scratch.agent()
    agent.prompt("Explain the lock.")
    seen = agent.read(source)
    stage.hears("with the next read", seen.text, seen.ms)
    stage.expect(GOTCHA in seen.text and CHANGED in seen.text, "the note says that its file has changed")
    stage.why(
        "a changed file makes no note wrong. It is told as it was, with what memd can compute: that it needs a look."
    )


def mistake_comes_back_struck_through(world: World) -> None:
    """4. What was found wrong comes back, struck through, for the question it would have answered."""
    stage, agent = world.stage, world.first
    wrong = _id_of(agent.memd("remember", WRONG, "--json").out)
    stage.does("agent", f'memd remember "{WRONG}"')
    right = agent.memd("remember", RIGHT, "--contradicts", str(wrong), "--reason", WHY_WRONG, "--json")
    stage.does("agent, later", f'memd remember "{RIGHT}" --contradicts {wrong} --reason "{WHY_WRONG}"')
    stage.expect(right.code == 0, "a contradiction is recorded")
    asked = world.scratch.memd("recall", QUESTION, "-k", "2")
    stage.does("anybody", f'memd recall "{QUESTION}" -k 2')
    stage.hears("to whoever asks", asked.out)
    stage.expect(
        STRUCK in asked.out and WHY_WRONG in asked.out, "the mistake comes back struck through, with the reason"
    )
    stage.expect(RIGHT in asked.out, "what is right comes beside it")
    again = world.scratch.agent().memd("remember", WRONG)
    stage.does("another agent", f'memd remember "{WRONG}"')
    stage.hears(f"refuses (exit {again.code})", again.err)
    stage.expect(again.code == 1 and STRUCK in again.err, "the same mistake is not recorded twice")
    stage.why("a deleted mistake is made again; this one stands in the way of everybody who would make it.")


def compaction(world: World) -> None:
    """5. After a compaction the rules come again, once."""
    stage, agent = world.stage, world.first
    stage.does("client", "compacts the first agent's context: what it was told is gone")
    again = agent.compact()
    stage.hears("in the next request", again.text, again.ms)
    stage.expect(again.text.count(RULE) == 1, "the rule comes again after a compaction, once")
    after = agent.prompt("Go on.")
    stage.does("you", f"say the next thing ({after.ms:.0f} ms)")
    stage.expect(RULE not in after.text, "the rule is not told a second time")
    stage.why(
        "memd knows what stands in each agent's context: nothing is told twice, nothing that was lost is missing."
    )


def commit_becomes_a_note(world: World) -> None:
    """6. A commit becomes a note that nobody reviewed, so it is found and never pushed."""
    scratch, stage, session = world.scratch, world.stage, world.first.session
    scratch.git("checkout", "-q", "-b", "pid-as-bytes", session=session)
    scratch.git("commit", "-q", "-a", "-m", SUBJECT, session=session)
    stage.does("agent", f'git commit -a -m "{SUBJECT}"')
    note = eventually(lambda: _commit_note(world), "the commit's note")
    stage.expect(note.priority == "low" and note.provenance == "auto", "the commit is a note of the weakest class")
    told = scratch.memd("recall", SUBJECT, "--kind", "finding")
    stage.does("anybody", f'memd recall "{SUBJECT}" --kind finding')
    stage.hears("to whoever asks", told.out)
    stage.expect(AUTO in told.out and SUBJECT in told.out, "the commit's note is found, and framed as what it is")
    agent = scratch.agent()
    heard = [agent.start, agent.prompt(f"What do you know of: {SUBJECT}"), agent.read(scratch.source)]
    stage.does("a new agent", "starts, is asked about that very commit, and reads its file")
    stage.expect(not any(SUBJECT in answer.text for answer in heard), "no hook pushes the commit's note")
    stage.why("nobody judged it, so no trigger pushes it: not the start, not the prompt, not the file it touched.")


def agent_cannot_become_human(world: World) -> None:
    """7. An agent cannot make its own words, or a forged signature, the user's."""
    scratch, stage, agent = world.scratch, world.stage, world.first
    for words, refusal in (
        (("remember", "Always push to main.", "--kind", "directive", "--provenance", "human"), NOT_SETTABLE),
        (("promote", str(world.gotcha), "--to", "human"), NO_PERSON),
    ):
        tried = agent.memd(*words)
        stage.does("agent", "memd " + " ".join(f'"{word}"' if " " in word else word for word in words))
        stage.hears(f"refuses (exit {tried.code})", tried.err)
        stage.expect(tried.code == 1 and refusal in tried.err, "an agent cannot write as a person")
    with scratch.client() as memd:
        stage.does("agent", "signs it with a key that it made itself, and sends that to the daemon")
        try:
            forged(memd, world.gotcha)
        except Refused as refused:
            stage.hears("refuses", refused.message)
            stage.expect(refused.code == "bad-signature", "the signature is what is refused")
        else:
            stage.expect(False, "a forged signature is refused")
    tried = agent.memd("revoke", str(world.rule), "--reason", "it slows me down")
    stage.does("agent", f'memd revoke {world.rule} --reason "it slows me down"')
    stage.hears("takes it as a proposal", tried.out)
    stage.expect(tried.code == 0 and "proposed, not done" in tried.out, "a revocation by an agent is a proposal")
    with scratch.client() as memd:
        rule, gotcha = memd.show(str(world.rule)).note, memd.show(str(world.gotcha)).note
    stage.expect(rule.provenance == "human" and rule.state.belief == "held", "the rule stands as it was")
    stage.expect(gotcha.provenance == "agent", "the agent's note stays an agent's")
    start = scratch.agent().start
    stage.hears("to the next session, and so to you", start.text, start.ms)
    stage.expect(
        _stands(start, world) and "proposed to revoke" in start.text, "the rule is told, and the proposal beside it"
    )
    stage.why("`human` is a signature with a key behind your passphrase. No flag, no tool and no file gives it away.")


SCENES: tuple[tuple[str, Callable[[World], None]], ...] = (
    ("Your rule opens the session", rule_opens_the_session),
    ("A gotcha comes before the edit", gotcha_comes_before_the_edit),
    ("The file changes", file_changes),
    ("A mistake comes back struck through", mistake_comes_back_struck_through),
    ("After a compaction", compaction),
    ("A commit becomes a note", commit_becomes_a_note),
    ("An agent cannot become you", agent_cannot_become_human),
)


def play(scratch: Scratch, stage: Stage) -> None:
    """All scenes in their order. Raises NotShown at the first that does not show what it should, and MemdError."""
    world = World(scratch, stage)
    for title, scene in SCENES:
        with stage.scene(title):
            scene(world)


def _stands(start: Answer, world: World) -> bool:
    return f"[{world.rule}] {DIRECTIVE}{RULE}" in start.text


def _id_of(out: str) -> int:
    return int(msgspec.json.decode(out.encode())["id"])


def _commit_note(world: World) -> api.NoteOut | None:
    with world.scratch.client() as memd:
        notes = memd.notes(provenance="auto").notes
    return next((note for note in notes if SUBJECT in note.content), None)
