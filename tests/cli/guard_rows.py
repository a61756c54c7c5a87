"""The private things of the report's final set: what a user's home, repository, client, machine and memd can hold when the report
is made, written from the description of the report alone, before its code was read.

A row is one thing: where it stands, its name, its text. What is private in a text stands in «», all of it where there are none: a
URL's `https://` gives nobody away. Kinds:

- TEXT: looked for in pieces of six characters (of three, where each is a word), in every spelling of guard_search.py;
- SHORT: too short for pieces: as a word of its own;
- PHRASE: of words that memd says itself, so that each passes for memd's own, or of figures, which a report is made of: four of
  them that stand together as they did, or all where there are fewer.

Where a text is put, and that it is there: guard_planted.py.
"""

from typing import Final, NamedTuple

TEXT, SHORT, PHRASE = "text", "short", "phrase"


class Private(NamedTuple):
    """One private thing."""

    place: str
    name: str
    marked: str
    kind: str = TEXT

    @property
    def text(self) -> str:
        """As it is planted."""
        return self.marked.replace("«", "").replace("»", "")

    @property
    def parts(self) -> tuple[str, ...]:
        """What of it is private."""
        if "«" not in self.marked:
            return (self.marked,)
        return tuple(piece.partition("»")[0] for piece in self.marked.split("«")[1:])


ROWS: Final[tuple[Private, ...]] = (
    # --- what was said and noted
    Private("note", "note.finding", "«Vrelmuk Ostapzin» signs the «quarnifex» contract in «Plojberg»"),
    Private("note", "note.directive", "Never tell «Zdzisława Kwiecińska» about «projekt Żółwiowisko»"),
    Private("note", "note.unicode", "«Ærøskøbingsvingstrup» 🦫 «秘密開発計画壱号機»"),
    Private("note", "note.lines", "«krozzlepime»\n«glumbefratz»\n\t«ohwyndirex»"),
    Private("note", "note.encoded", "cXVhZHJvdmVsbGljIHNwcm9ja2V0"),
    Private("tag", "tag", "hadrefulk-mopsen"),
    Private("tag", "tag.short", "zq", SHORT),
    Private("reason", "reason.revoke", "because «Thorvendik» was sacked by «Ulmerstadt»"),
    Private("reason", "reason.supersede", "«Bexhollow» bought «Cravintry»"),
    Private("slug", "slug", "wumbaleth-abbey"),
    Private("why", "why", "the «Snorridane» audit of «Yttervaag»"),
    Private("scope", "scope.under", "services/«frobnitzkeller»"),
    Private("source", "source.ref", "tool:«mcp__vaultkrapp__peek»"),
    Private("anchor", "anchor.path", "src/«pelmenhofer geheim».py"),
    Private("anchor", "anchor.symbol", "unlock_«zwiebelturmtresor»"),
    Private("anchor", "anchor.claim", "«SALTGROVE_PINCODE»"),
    Private("anchor", "anchor.proxy", "«brontolikotafel».json"),
    Private("turn", "turn.prompt", "please ring «Mrs Abernackle» about the «gallenspiegel» biopsy"),
    Private("turn", "turn.secret", "the door code is «kx-vombat-99-lurch»"),
    Private("turn", "turn.rtl", "«سرية مشروع زمردة» today"),
    Private("evidence", "evidence", "«drottningzola» never pays «Hemmerlyk» invoices twice"),
    Private("session", "session.id", "f3a9c1d7-«5be20c84d9e6»-vellichor"),
    Private("session", "session.short", "yk", SHORT),
    Private("session", "session.named", "«marjolaine-divorce-papers»"),
    Private("agent", "agent.type", "«bramblewick-lawyer»"),
    Private("agent", "agent.id", "a-«ozkurtlejer»"),
    Private("transcript", "transcript.folder", "-home-«frau-ochsenknecht»-«steuer-akte»"),
    Private("transcript", "transcript.text", "and then «Pfeffernuss AG» lost the «Trautenwald» suit"),
    Private("tool call", "tool.input", "curl https://intranet.«quabbleford».example/«payrollzz»"),
    Private("tool call", "tool.name", "mcp__«cryptwhale»__«sweepfunds»"),
    Private("tool call", "tool.result", "balance of «Ignatz Wolkenbruch»: «overdrawnish»"),
    Private("tool call", "tool.file", "«Scheidungsvertrag Entwurf».docx"),
    # --- what waits
    Private("spool", "spool.prompt", "remind me of the «paternity quibstest» on «Freydagsmorgon»"),
    Private("spool", "spool.cwd", "/srv/«klientel-Zumbrechtler»"),
    Private("spool", "spool.session", "«spoolnixe-7-garibaldo»"),
    Private("spool file", "spool.wrong", "«Gurkenbrühe Nachtigallenweg» 14"),
    Private("spool file", "spool.name", "«chocolatl-deadname».spool"),
    Private("spool file", "spool.half", ".«vorlesungsfieber»"),
    # --- the repository
    Private("repository", "repo.folder", "«Kundenprojekt Drachenfels» & Söhne"),
    Private("repository", "repo.short", "wq", SHORT),
    Private("repository", "repo.vocabulary", "ledger redactor doctrine", PHRASE),
    Private("branch", "branch", "feature/«layoffs-Q3-gnatterby»"),
    Private("branch", "branch.short", "kx7", SHORT),
    Private("remote", "remote.host", "git.«umbrastone-corp».example"),
    Private("remote", "remote.user", "«svc-peregrilla»"),
    Private("remote", "remote.password", "«hunkeredDown%21Zephyr»"),
    Private("remote", "remote.path", "«black-budgie»/«mergerwatch».git"),
    Private("remote", "remote.name", "«auftraggeberin»"),
    Private("git person", "git.name", "«Wilhelmin Fürchtenicht»"),
    Private("git person", "git.email", "«w.fuerchtenicht»@«mandelkrone».example"),
    Private("git person", "git.signingkey", "«0xDEADQUOKKA77»"),
    Private("history", "commit.message", "hide the «Larkspurgate» numbers from «Treuhandelmann»"),
    Private("history", "commit.tag", "v-«pre-ipo-whisperfen»"),
    Private("history", "commit.author", "«Ansgar Pumpernickelsen»"),
    Private("history", "commit.id", "«{head}»"),
    Private("git config", "git.alias", "yolo«ausrollkrake»"),
    Private("git config", "git.insteadof", "https://oauth2:glpat-«Zx9vQuillon44»@gitlab.example"),
    Private("git config", "git.include", "~/«nebenjob-gitmaskerade»"),
    Private("git config", "git.hook", "# «fremdhaken von Lödderitz»"),
    Private("file", "file.spaced", "«Gehaltsliste  Aufsichtsrunde» 2026.xlsx"),
    Private("file", "file.newline", "«zeilen\numbruchkobold».txt"),
    Private("file", "file.bytes", "«qualleersatz».bin"),
    Private("file", "file.short", "火", SHORT),
    Private("folder", "folder.ignored", "«tagebuchgeheimfach»"),
    Private("worktree", "worktree", "«hotfix-for-Bundesdruckerling»"),
    # --- the account and the machine
    Private("account", "login", "vexkalynd"),
    Private("account", "full name", "Rosalindgard Eichenwaldow"),
    Private("account", "shell", "/opt/«zauberschellack»/sh"),
    Private("account", "home.folder", "«hjördis-kühnemund»"),
    Private("host", "host.name", "«macbook-von-philippine»"),
    Private("host", "host.domain", "«lohengrinwerft».internal"),
    Private("host", "machine id", "«9d41e77a0b5c48f2b6a3e1f0c7d2958e»"),
    Private("mount", "mount.point", "«Sicherung Tresorraum»"),
    Private("mount", "mount.source", "«nas-schnepfenthal»:/«lohnausfuhr»"),
    Private("kernel line", "cmdline", "cryptdevice=UUID=«quuxolantern-luks» rd.spoon=«Vanillekipferl»"),
    Private("system name", "os.pretty", "«Krautwickelix» Hardened Desktop"),
    Private("system name", "os.id", "«krautwickelid»"),
    Private("processor", "cpu", "«Hypervisorius Maximilius» vCPU"),
    Private("control group", "cgroup", "/docker/«mieterobstgartenallee»"),
    # --- the environment
    Private("variable", "env.token", "ghp_«aXqZ81mNbVt7LkPwYr2Dh5»"),
    Private("variable", "env.aws", "«" + "AKIA" + "QX7ZOLTANWUMPUS9»"),
    Private("variable", "env.proxy", "http://«vermittlerle:Rumpelstilz9»@«torwächterin».example:3128"),
    Private("variable", "env.editor", "/usr/local/bin/«schreibknechtvim»"),
    Private("variable", "env.memd", "«MemdOffValueKnurrhahn»"),
    Private("variable", "env.path", "/opt/«werkzeugkistenprinz»/bin"),
    Private("variable", "env.pythonpath", "/opt/«schlangenbeschwör»/lib"),
    Private("variable", "env.xdg", "/run/«ungewöhnlichlaufdir»"),
    Private("variable", "env.display", "«fernseherwohnzimmer»:0"),
    Private("variable", "env.ssh", "/tmp/ssh-«agentenkoffer»/agent.7"),
    Private("variable", "env.virtualenv", "/data/«venvetterlingen»"),
    Private("variable", "env.claude", "«einstiegshalunke»"),
    Private("variable", "env.term", "«xtermkuckuck»"),
    Private("variable name", "env.name", "«GRUNDELWALDER»_API_KEY"),
    Private("place on earth", "env.tz", "Antarctica/«Trollstigenzeit»"),
    Private("place on earth", "env.lang", "«xh_ZWLUMBO».UTF-8"),
    # --- clients
    Private("client variable", "claude.env", "sk-ant-«QuetzalcoatlusRex-33»"),
    Private("client variable", "claude.env.name", "«MUTTERSCHIFF»_PASSWORT"),
    Private("foreign hook", "claude.hook", "/home/«tüftlerwerkstatt»/bin/notify --chat «dachbodenrunde»"),
    Private("foreign hook", "claude.matcher", "«Matchmakerino|Fidibusla»"),
    Private("foreign hook", "claude.event", "«OnSchabernack»"),
    Private("permission", "claude.allow", "Bash(ssh «root@bastionkröte»:*)"),
    Private("permission", "claude.deny", "Read(«~/steuererklärungsordner»/**)"),
    Private("client setting", "claude.status", "«zeilenkasperle».sh"),
    Private("client setting", "claude.helper", "/usr/bin/«losungsholerix» --vault «kellerregal»"),
    Private("client setting", "claude.unknown", "«nochniegesehenerschlüssel»"),
    Private("client server", "mcp.name", "«notizfamilienrat»"),
    Private("client server", "mcp.token", "Bearer «xoxb-71-Knallfroschkönig»"),
    Private("client server", "mcp.url", "https://«mcpwolkenkuckuck».example/sse?key=«Ulkfisch77»"),
    Private("client server", "mcp.memd", "/opt/«fälscherwerkstatt»/memd-server"),
    Private("client account", "claude.email", "«hildegund.xanthippus»@example.org"),
    Private("client account", "claude.project", "/home/x/«ahnenforschungsprojekt»"),
    Private("project setting", "project.env", "«projektgeheimnisträger»"),
    Private("broken setting", "broken.json", '{"«zerbrocheneklammer»": «tollpatschigerweise», '),
    Private("client folder", "claude.folder", "«klausurenmappe»"),
    Private("managed setting", "managed", "«betriebsratsverordnung»"),
    # --- policy, keys, settings
    Private("policy", "policy.name", "«kuendigungswelle»-team.toml"),
    Private("policy", "policy.text", "Never mention «Walnussknacker» to «Uffelmanns»"),
    Private("policy", "policy.repo", "github.com/«zinnoberlin»/«apothekenapp»"),
    Private("policy", "policy.key", "«unbekannterschalter»"),
    Private("policy", "policy.wrong", "«unsinnspolitikum».toml"),
    Private("system policy", "policy.system", "«werkschutzrichtlinie».toml"),
    Private("key", "passphrase", "korrekt «pferdestaerke» «heftklammerix»"),
    Private("key", "recovery code", "«{recovery}»"),
    Private("key", "fingerprint", "«{fingerprint}»"),
    Private("key file", "key.stray", "«schluesselkopie-von-Oma-Liesl».key"),
    Private("setting", "setting.ignore", "«verschwiegenheitsklausel»"),
    Private("setting", "setting.only", "«nurhierbeiantonia»"),
    Private("setting", "setting.foreign", "«geheimnisvollgatter»"),
    # --- log and mark
    Private("log", "log.say", "could not open «Liebesbriefchen für Xaveria»"),
    Private("log", "log.path", "/home/«jongleurin»/«doktorarbeit»/kapitel 3"),
    Private("log", "log.vocabulary", "person revoked passphrase harness doctrine", PHRASE),
    Private("log", "log.name", "Mark Page", PHRASE),
    Private("log", "log.phone", "«+49 170 5550173»", PHRASE),
    Private("log", "log.birthday", "1984-03-17", PHRASE),
    Private("log", "log.card", "4929 1177 2034 8851", PHRASE),
    Private("log", "log.card.joined", "4929117720348851", PHRASE),
    Private("log", "log.address", "10.77.31.204", PHRASE),
    Private("log", "log.mac", "de:ad:31:c0:ff:77", PHRASE),
    Private("log", "log.hex", "«7f3ab09c55d1e8»", PHRASE),
    Private("log", "log.version", "«acmeluftschloss»-2.41.7"),
    Private("log", "log.short", "ŵ", SHORT),
    Private("log", "log.percent", "%C3%96zg%C3%BCrlükten"),
    Private("log", "log.escaped", "«\\u004b\\u0072\\u00e4henbussard»"),
    Private("log", "log.base64", "«U2Now7ZuaGVpdHNjaGlydXJn»"),
    Private("log", "log.reversed", "«nenikcenrepmuproF»"),
    Private("log", "log.ansi", "\x1b[31m«leuchtreklamefuchs»\x1b[0m"),
    Private("log", "log.dotted", "s.t.a.t.u.e.«-w.i.n.d.h.o.s.e»"),
    Private("log", "log.mail", "«bettina.zwirbel»@«postfachkröte».example"),
    Private("log", "log.url", "https://«wiki.zechenhaus».example/x?token=«Zz8qwErTy4»"),
    Private("log field", "log.level", "«errorbärchen»"),
    Private("log field", "log.from", "memd.«quallenpest»"),
    Private("log field", "log.at", "«vorgesternabend»T10:00:00Z"),
    Private("log field", "log.trace", "«Wertkümmerling» at «meineinsteckmodul».py:12 «berechne_gehaltszettel»"),
    Private("log field", "log.key", "«zusatzfeldnase»"),
    Private("log line", "log.plain", "Traceback: «unlesbareszeugs im logbuch»"),
    Private("log line", "log.nested", "«tiefverschachtelterunfug»"),
    Private("fault mark", "fault", "Fatal Python error: «Segelfliegersturz»"),
    Private(
        "fault mark",
        "fault.file",
        '  File "/home/«unglücksrabe»/lib/python3.11/«absturzstelle».py", line 7 in «kaputtmacher»',
    ),
    # --- real failures
    Private("wrong verb", "verb", "«dropgoldesel»"),
    Private("wrong verb", "verb.body", "«körperfresserchen»"),
    Private("hostile frame", "frame.harness", "«haarnetzgeschirr»"),
    Private("hostile frame", "frame.event", "«ereignishorizontx»"),
    Private("hostile frame", "frame.stdin", "{«halbesobjektil»"),
    Private("hostile frame", "frame.raw", "«rohbytesgespenst»"),
    Private("MCP client", "mcp.client", "«Klonschreiber-Siebenschläfer»"),
    Private("MCP client", "mcp.tool", "«werkzeuglosigkeit»"),
    Private("MCP client", "mcp.argument", "«Quittenbegründung»"),
    Private("failing git", "git.error", "fatal: unable to «Klabautermann»"),
    Private("failing command", "restore.path", "/nowhere/«sicherungskopiebelinda».backup"),
    Private("failing command", "import.line", "«einfuhrquatsch»"),
    Private("failing command", "ref", "«unauffindbarereintrag»"),
    # --- how memd is installed and called
    Private("install folder", "install.folder", "Meine «Dornröschenwerke»"),
    Private("install folder", "install.version", "0.1.0+«werksausgabekiel»"),
    Private("install folder", "install.link", "«memdverknüpfung»"),
    Private("interpreter", "python.folder", "«schlangengrubenvenv»"),
    Private("interpreter", "python.build", "«selbstgebackeneschlange»"),
    Private("kernel name", "kernel.release", "6.1.55-«flurfunkkern»-prod"),
    Private("caller", "argv0", "«gedächtnisstütze»"),
    Private("caller", "caller.command", "«aufruferskript --mandant Bärlauch»"),
    Private("caller", "parent", "«elternprozessa»"),
    Private("caller", "report.folder", "«Berichte für Herrn Zipfelklatsch»"),
    # --- memd's home
    Private("memd's home", "home.name", "«gehirnersatzteil»"),
    Private("memd's home", "home.vocabulary", "human passphrase daemon", PHRASE),
    Private("memd's home", "home.figures", "4915550173", PHRASE),
    Private("file in home", "stray.home", "«notizen-therapiestunde».md"),
    Private("file in home", "stray.run", "«laufzeitgeheimnis»"),
    Private("file in home", "stray.store", "«datenbankdump-lotte».mdb"),
    Private("file in home", "stray.logs", "«logbuchabschrift».log"),
    Private("file in home", "stray.bin", "«binsenweisheit»"),
    Private("file in home", "stray.replaced", "«vorweihnachtsstand»"),
    Private("file in home", "stray.short", "ß8", SHORT),
    Private("symlink", "link.target", "/mnt/«stickvonxaver»/store"),
    Private("symlink", "link.name", "«abkürzungshase»"),
    Private("symlink", "home.link", "«umleitungsschild»"),
    # --- files of memd's, edited
    Private("bench", "bench.cpu", "«Rechenknechtulus 9000»"),
    Private("bench", "bench.system", "Linux «gartenzwergkern»"),
    Private("bench", "bench.python", "3.11-«schlangemitsenf»"),
    Private("bench", "bench.memd", "0.1.0-«hausmarkenmemd»"),
    Private("bench", "bench.at", "«letztensabends»"),
    Private("bench", "bench.row", "hooks/«zeilenspringer»"),
    Private("bench", "bench.says", "what «Haushalt Unruhig» found"),
    Private("bench", "bench.why", "«ausredensammlung»"),
    Private("bench", "bench.unit", "«gigaquäntchen»"),
    Private("bench", "bench.verdict", "«urteilsspruchreif»"),
    Private("bench", "bench.file", "/home/«messknecht»/«laborbuch».json"),
    Private("bench", "bench.history", "«c0ffee77ab15ea7d»"),
    Private("bench", "bench.changed", "«umgekrempelterweise»"),
    Private("address", "address.socket", "/tmp/«sockenschublade»/memd.sock"),
    Private("address", "address.protocol", "«plauderprotokoll»/9"),
    Private("address", "status.json", "«zuständigkeitsgerangel von Karlsson»"),
    Private("stop mark", "stopped", "«sitzungsabbrecher-44»"),
    Private("breaker", "breaker", "«sicherungskastenbrand»"),
    Private("registry", "registry.harness", "«pferdegeschirrle»"),
    Private("registry", "registry.path", "/home/«einbauort»/«zettelwirtschaft».json"),
    Private("registry", "registry.level", "«erdgeschossebene»"),
    Private("launcher", "launcher.python", "/home/«abgeräumteschlange»/bin/python3"),
    # --- a daemon of another version
    Private("peer's version", "peer.version", "9.9.9+«fremdlingsbuild»"),
    Private("peer's version", "peer.protocol", "memd/«jenseitsfluss»"),
    Private("peer's ping", "peer.home", "/home/«fremdeshaus»/memd"),
    Private("peer's ping", "peer.store", "«lagerhallenkennung»"),
    Private("peer's status", "peer.key", "«lageschlüsselbund»"),
    Private("peer's status", "peer.value", "«lagewertpapier»"),
    Private("peer's status", "peer.number", "«zahlenschwindelei»"),
    Private("peer's status", "peer.kind", "«gattungswesenheit»"),
    Private("peer's status", "peer.model", "«modelleisenbahnerin»"),
    Private("peer's status", "peer.problem", "«bärbrunowitsch» ate the disk"),
    Private("peer's status", "peer.problem.code", "«fehlercodeknacker»"),
    Private("peer's status", "peer.fix", "«flickanleitung Schorsch»"),
    Private("peer's status", "peer.hook", "claude «hakenschlagend»"),
    Private("peer's status", "peer.session", "«sitzfleischkennung»"),
    Private("peer's status", "peer.policy", "/etc/«obrigkeitsakte».toml"),
    Private("peer's status", "peer.setting", "«einstellungssache»"),
    Private("peer's status", "peer.time", "«gesternvormittag um Acht»"),
    Private("peer's status", "peer.phrase", "another person forgot the settings harness doctrine", PHRASE),
    Private("peer's error", "peer.code", "«ablehnungsgrundlos»"),
    Private("peer's error", "peer.message", "refused since «Kunigunde» said so to «Eberhardtsen»"),
    Private("peer's verify", "peer.fault", "commit of «Prüfungsangst» is gone"),
    Private("peer's verify", "peer.where", "«fundortbeschreibung»"),
    Private("peer's verify", "peer.remedy", "«heilmittelchen» from «Tante Käthchen»"),
    Private("peer's hook", "peer.stdout", "«antwortgebrabbel»"),
    # --- a damaged store
    Private("damaged store", "damage.file", "«überschriebenerdatensatz»"),
    Private("damaged store", "damage.text", "«vertauschterabschnittblock»"),
    Private("damaged store", "damage.ledger", "«kassenbuchfälschung»"),
    Private("damaged store", "damage.meta", "«metablattgekritzel»"),
)

BY_NAME: Final = {row.name: row for row in ROWS}


def text_of(name: str) -> str:
    """The text of a row."""
    return BY_NAME[name].text
