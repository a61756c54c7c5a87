"""Secrets made up at random in the shapes that their issuers give them, the places they stand in, and what looks like one.

No secret is written down here: each is drawn from a seeded generator. A secret is a text and its *core*, the part of it that
must be gone; what stands around it must stay.
"""

import base64
import json
import random
import string
from collections.abc import Callable
from typing import Final, NamedTuple

ALNUM: Final = string.ascii_letters + string.digits
LOWER: Final = string.ascii_lowercase + string.digits
UPPER: Final = string.ascii_uppercase + string.digits
HEX: Final = "0123456789abcdef"
URL64: Final = ALNUM + "-_"
B64: Final = ALNUM + "+/"
B32: Final = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"


class Secret(NamedTuple):
    """``text`` as it would be pasted, ``core`` the stretch of it that is the secret."""

    text: str
    core: str


class Dice:
    """Random letters by alphabet; never two secrets alike, always the same ones."""

    def __init__(self, seed: str) -> None:
        self._random = random.Random(seed)

    def of(self, alphabet: str, length: int) -> str:
        """``length`` characters; with letters and digits among the first where the alphabet has both."""
        drawn = [self._random.choice(alphabet) for _ in range(length)]
        for at, kind in enumerate((string.ascii_lowercase, string.ascii_uppercase, string.digits)):
            if length > at + 4 and (common := sorted(set(kind) & set(alphabet))):
                drawn[at + 1] = self._random.choice(common)
        return "".join(drawn)

    def bytes(self, length: int) -> bytes:
        return self._random.randbytes(length)


def _b64url(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).decode().rstrip("=")


def _prefixed(prefix: str, alphabet: str, length: int, tail: str = "") -> Callable[[Dice], Secret]:
    def make(dice: Dice) -> Secret:
        core = dice.of(alphabet, length)
        return Secret(prefix + core + tail, core)

    return make


def _jwt(dice: Dice) -> Secret:
    head = _b64url(json.dumps({"alg": "HS256", "typ": "JWT"}, separators=(",", ":")).encode())
    body = _b64url(json.dumps({"sub": dice.of(ALNUM, 12), "iat": 1770000000}).encode())
    signature = _b64url(dice.bytes(32))
    return Secret(f"{head}.{body}.{signature}", signature)


def _two(form: str, first: tuple[str, int], second: tuple[str, int]) -> Callable[[Dice], Secret]:
    """A token with two random parts; the second is the core."""

    def make(dice: Dice) -> Secret:
        core = dice.of(*second)
        return Secret(form.format(dice.of(*first), core), core)

    return make


def _openai(dice: Dice) -> Secret:
    core = dice.of(ALNUM, 20)
    return Secret(f"sk-{core}T3BlbkFJ{dice.of(ALNUM, 20)}", core)


def _discord(dice: Dice) -> Secret:
    """The first part is the bot's number in base64."""
    number = base64.b64encode(b"1" + dice.of(string.digits, 17).encode()).decode()
    core = dice.of(URL64, 38)
    return Secret(f"{number}.{dice.of(ALNUM, 6)}.{core}", core)


# Tokens that say by themselves what they are: they must go wherever they stand.
TOKENS: Final[dict[str, Callable[[Dice], Secret]]] = {
    "AWS access key": _prefixed("AKIA", B32, 16),
    "AWS session key": _prefixed("ASIA", B32, 16),
    "GitHub personal": _prefixed("ghp_", ALNUM, 36),
    "GitHub OAuth": _prefixed("gho_", ALNUM, 36),
    "GitHub user": _prefixed("ghu_", ALNUM, 36),
    "GitHub server": _prefixed("ghs_", ALNUM, 36),
    "GitHub refresh": _prefixed("ghr_", ALNUM, 36),
    "GitHub fine-grained": _two("github_pat_{}_{}", (ALNUM, 22), (ALNUM, 59)),
    "GitLab personal": _prefixed("glpat-", URL64[:62], 20),
    "GitLab runner": _prefixed("glrt-", ALNUM, 20),
    "Slack bot": _two("xoxb-{}-4412345678901-{}", (string.digits, 12), (ALNUM, 24)),
    "Slack user": _two("xoxp-{}-4412345678901-5512345678901-{}", (string.digits, 12), (HEX, 32)),
    "Slack app": _two("xapp-1-A0{}-5512345678901-{}", (UPPER, 9), (HEX, 64)),
    "Slack webhook": _two("https://hooks.slack.com/services/T0{0}/B0{0}/{1}", (UPPER, 9), (ALNUM, 24)),
    "Stripe live": _prefixed("sk_live_", ALNUM, 24),
    "Stripe restricted": _prefixed("rk_live_", ALNUM, 24),
    "Stripe webhook": _prefixed("whsec_", ALNUM, 32),
    "OpenAI old": _openai,
    "OpenAI project": _prefixed("sk-proj-", ALNUM, 48),
    "OpenAI long project": _two("sk-proj-{}T3BlbkFJ{}", (URL64[:62], 74), (URL64[:62], 74)),
    "Anthropic": _prefixed("sk-ant-api03-", ALNUM, 93, "AA"),
    "OpenRouter": _prefixed("sk-or-v1-", HEX, 64),
    "Google API": _prefixed("AIza", ALNUM, 35),
    "Google OAuth secret": _prefixed("GOCSPX-", ALNUM, 28),
    "Google access token": _prefixed("ya29.a0", URL64[:62], 120),
    "JWT": _jwt,
    "SendGrid": _two("SG.{}.{}", (ALNUM, 22), (ALNUM, 43)),
    "Mailgun": _prefixed("key-", HEX, 32),
    "npm": _prefixed("npm_", ALNUM, 36),
    "PyPI": _prefixed("pypi-AgEIcHlwaS5vcmc", ALNUM, 120),
    "RubyGems": _prefixed("rubygems_", HEX, 48),
    "Hugging Face": _prefixed("hf_", string.ascii_letters, 34),
    "DigitalOcean": _prefixed("dop_v1_", HEX, 64),
    "Databricks": _prefixed("dapi", HEX, 32),
    "Discord bot": _discord,
    "Discord webhook": _two("https://discord.com/api/webhooks/{}/{}", (string.digits, 18), (ALNUM, 68)),
    "Telegram bot": _two("7{}:AA{}", (string.digits, 9), (ALNUM, 33)),
    "Shopify": _prefixed("shpat_", HEX, 32),
    "Linear": _prefixed("lin_api_", ALNUM, 40),
    "Notion": _prefixed("ntn_", ALNUM, 46),
    "Vault": _prefixed("hvs.", ALNUM, 92),
    "Terraform Cloud": _two("{}.atlasv1.{}", (ALNUM, 14), (ALNUM, 67)),
    "Grafana": _prefixed("glsa_", ALNUM, 32, "_1a2b3c4d"),
    "New Relic": _prefixed("NRAK-", UPPER, 27),
    "Postman": _two("PMAK-{}-{}", (HEX, 24), (HEX, 34)),
    "Pulumi": _prefixed("pul-", HEX, 40),
    "Doppler": _prefixed("dp.pt.", ALNUM, 43),
    "age": _prefixed("AGE-SECRET-KEY-1", "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L", 58),
    "Airtable": _two("pat{}.{}", (ALNUM, 14), (HEX, 64)),
    "Figma": _prefixed("figd_", ALNUM, 40),
    "Supabase": _prefixed("sbp_", HEX, 40),
    "PlanetScale": _prefixed("pscale_tkn_", ALNUM, 43),
    "Groq": _prefixed("gsk_", ALNUM, 52),
    "Replicate": _prefixed("r8_", ALNUM, 37),
    "xAI": _prefixed("xai-", ALNUM, 80),
    "Perplexity": _prefixed("pplx-", ALNUM, 48),
    "Docker Hub": _prefixed("dckr_pat_", ALNUM, 27),
    "Atlassian": _prefixed("ATATT3xFfGF0", ALNUM, 170, "=1A2B3C4D"),
    "Tailscale": _two("tskey-auth-{}CNTRL-{}", (ALNUM, 8), (ALNUM, 32)),
    "Sentry": _prefixed("sntryu_", HEX, 64),
    "crates.io": _prefixed("cio", ALNUM, 32),
    "Square": _prefixed("sq0csp-", ALNUM, 43),
    "Brevo": _prefixed("xkeysib-", HEX, 64, "-Ab1Cd2Ef3Gh4Ij5K"),
    "Mapbox": _two("sk.eyJ1Ijoi{}.{}", (ALNUM, 60), (ALNUM, 22)),
    "Fly": _prefixed("FlyV1 fm2_", B64, 160),
    "Netlify": _prefixed("nfp_", ALNUM, 36),
    "Facebook": _prefixed("EAACEdEose0cBA", ALNUM, 120),
    "1Password": _prefixed("ops_eyJ", ALNUM, 240),
    "NuGet": _prefixed("oy2", LOWER, 43),
    "Azure AD": _two("{}8Q~{}", (ALNUM, 3), (ALNUM, 34)),
}


def _named(form: str, alphabet: str, length: int) -> Callable[[Dice], Secret]:
    """A secret that only its surroundings tell: ``form`` with ``{}`` for it, braces doubled."""

    def make(dice: Dice) -> Secret:
        core = dice.of(alphabet, length)
        return Secret(form.format(core), core)

    return make


def _armour(label: str, lines: int, form: str = "{}") -> Callable[[Dice], Secret]:
    def make(dice: Dice) -> Secret:
        body = [dice.of(B64, 64) for _ in range(lines)]
        text = "\n".join((f"-----BEGIN {label}-----", *body, f"-----END {label}-----"))
        return Secret(form.format(text), "\n".join(body))

    return make


def _armour_in_json(dice: Dice) -> Secret:
    secret = _armour("PRIVATE KEY", 26)(dice)
    return Secret(json.dumps({"type": "service_account", "private_key": secret.text + "\n"}), secret.core)


def _armour_indented(dice: Dice) -> Secret:
    secret = _armour("EC PRIVATE KEY", 3)(dice)
    return Secret("tls:\n  key: |\n" + "\n".join("    " + line for line in secret.text.splitlines()), secret.core)


def _armour_in_diff(dice: Dice) -> Secret:
    secret = _armour("RSA PRIVATE KEY", 10)(dice)
    return Secret("\n".join("+" + line for line in secret.text.splitlines()), secret.core)


def _armour_crlf(dice: Dice) -> Secret:
    secret = _armour("PRIVATE KEY", 8)(dice)
    return Secret(secret.text.replace("\n", "\r\n"), secret.core)


def _armour_cut(dice: Dice) -> Secret:
    secret = _armour("OPENSSH PRIVATE KEY", 12)(dice)
    return Secret(secret.text.rpartition("\n")[0], secret.core)


def _basic(dice: Dice) -> Secret:
    core = base64.b64encode(b"deploy:" + dice.of(ALNUM, 20).encode()).decode()
    return Secret(f"Authorization: Basic {core}", core)


def _docker_config(dice: Dice) -> Secret:
    core = base64.b64encode(b"ci-bot:" + dice.of(ALNUM, 24).encode()).decode()
    return Secret(f'{{"auths": {{"ghcr.io": {{"auth": "{core}"}}}}}}', core)


# Secrets that their surroundings tell: each is a whole text by itself.
NAMED: Final[dict[str, Callable[[Dice], Secret]]] = {
    "AWS secret in env": _named("AWS_SECRET_ACCESS_KEY={}", B64, 40),
    "AWS secret in credentials file": _named("[default]\naws_secret_access_key = {}\nregion = eu-west-1", B64, 40),
    "AWS secret in JSON": _named('{{"SecretAccessKey": "{}"}}', ALNUM, 40),
    "AWS secret in Python": _named("boto3.client('s3', aws_secret_access_key='{}')", ALNUM, 40),
    "AWS session token": _named("export AWS_SESSION_TOKEN={}", B64, 200),
    "Postgres URL": _named("postgres://app:{}@db.internal:5432/prod", ALNUM, 18),
    "Postgres URL in env": _named('DATABASE_URL="postgresql://app:{}@db.internal/prod?sslmode=require"', ALNUM, 18),
    "MySQL URL": _named("mysql+pymysql://root:{}@127.0.0.1/shop", ALNUM, 14),
    "MongoDB URL": _named("mongodb+srv://admin:{}@cluster0.ab1cd.mongodb.net/test", ALNUM, 16),
    "Redis URL without a user": _named("redis://:{}@cache:6379/0", ALNUM, 24),
    "AMQP URL": _named("amqps://worker:{}@mq.internal:5671/vhost", ALNUM, 20),
    "URL with a token for a user": _named("git clone https://oauth2:{}@gitlab.internal/a/b.git", ALNUM, 20),
    "URL in a remote": _named("origin\thttps://ci:{}@git.example.org/x.git (fetch)", ALNUM, 20),
    "URL with an encoded password": _named("postgres://app:p%40{}%21@db/prod", ALNUM, 12),
    "SMTP URL": _named("smtp://mailer%40example.org:{}@smtp.example.org:587", ALNUM, 16),
    "URL in a stack trace": _named(
        'File "db.py", line 3, in connect\nsqlalchemy.exc.OperationalError: (mysql://root:{}@db/x) refused', ALNUM, 16
    ),
    "bearer header": _named("Authorization: Bearer {}", ALNUM, 40),
    "bearer in curl": _named("curl -H 'Authorization: Bearer {}' https://api.example.org/v1/me", ALNUM, 43),
    "bearer in JSON": _named('{{"headers": {{"Authorization": "Bearer {}"}}}}', HEX, 64),
    "bearer in a fetch": _named("fetch(url, {{ headers: {{ Authorization: 'Bearer {}' }} }})", ALNUM, 32),
    "token header": _named("Authorization: token {}", HEX, 40),
    "API key header": _named("X-Api-Key: {}", ALNUM, 32),
    "basic header": _basic,
    "curl user": _named("curl -u deploy:{} https://repo.example.org/upload", ALNUM, 20),
    "password in env": _named("DB_PASSWORD={}", ALNUM, 16),
    "quoted password in env": _named('export ADMIN_PASSWORD="{}"', ALNUM + "!%&", 20),
    "single-quoted password": _named("export PGPASSWORD='{}'", ALNUM, 14),
    "password in YAML": _named("database:\n  user: app\n  password: {}\n  host: db", ALNUM, 16),
    "quoted password in YAML": _named('  password: "{}"', ALNUM, 16),
    "password in JSON": _named('{{"user": "app", "password": "{}"}}', ALNUM, 16),
    "password in TOML": _named('[db]\npassword = "{}"', ALNUM, 16),
    "password in Python": _named('connect(host="db", password="{}")', ALNUM, 16),
    "password in a dictionary": _named("config = {{'password': '{}'}}", ALNUM, 16),
    "password in JavaScript": _named("const dbPassword = '{}';", ALNUM, 16),
    "password in Java properties": _named("spring.datasource.password={}", ALNUM, 16),
    "password in a diff": _named("-  password: changeme\n+  password: {}", ALNUM, 20),
    "password in a DSN": _named("host=db user=app password={} dbname=prod", ALNUM, 16),
    "password in ADO": _named("Server=db;User Id=sa;Password={};Encrypt=true", ALNUM, 16),
    "API key in code": _named('api_key = "{}"', ALNUM, 32),
    "API key in camel case": _named("apiKey: '{}',", ALNUM, 32),
    "API key in a query": _named("GET https://api.example.org/v1/x?api_key={}&q=1", HEX, 32),
    "token in a query": _named("https://example.org/hook?access_token={}", ALNUM, 40),
    "client secret": _named("client_secret={}", ALNUM, 32),
    "client secret in JSON": _named('{{"clientSecret": "{}"}}', ALNUM, 40),
    "secret key of Django": _named("SECRET_KEY = '{}'", ALNUM + "#$&*", 50),
    "JWT secret": _named("JWT_SECRET={}", HEX, 64),
    "auth token of Twilio": _named("TWILIO_AUTH_TOKEN={}", HEX, 32),
    "Datadog key": _named("DD_API_KEY={}", HEX, 32),
    "Cloudflare token": _named("CLOUDFLARE_API_TOKEN={}", ALNUM, 40),
    "npmrc": _named("//registry.example.org/:_authToken={}", ALNUM, 36),
    "npmrc password": _named("//registry.example.org/:_password={}", B64, 24),
    "netrc": _named("machine api.example.org login ci password {}", ALNUM, 20),
    "Azure storage": _named(
        "DefaultEndpointsProtocol=https;AccountName=shop;AccountKey={}==;EndpointSuffix=core.windows.net", B64, 86
    ),
    "Azure SAS": _named("https://shop.blob.core.windows.net/c?sv=2022-11-02&sp=r&sig={}%3D", ALNUM, 43),
    "Docker config": _docker_config,
    "kubeconfig": _named("users:\n- name: admin\n  user:\n    token: {}", ALNUM, 40),
    "kubeconfig key": _named("    client-key-data: LS0tLS1CRUdJTiBSU0EgUFJJVkFURSBLRVk{}", B64, 400),
    "Terraform": _named('variable "db_password" {{\n  default = "{}"\n}}', ALNUM, 20),
    "Terraform assignment": _named('  master_password   = "{}"', ALNUM, 20),
    "sshpass": _named("sshpass -p '{}' ssh root@host", ALNUM, 16),
    "mysql on the command line": _named("mysql -uroot -p{} shop", ALNUM, 16),
    "long option": _named("./deploy.sh --password {} --env prod", ALNUM, 18),
    "long option by an equals sign": _named("tool --api-key={}", ALNUM, 32),
    "docker login": _named("docker login -u ci -p {} ghcr.io", ALNUM, 24),
    "XML": _named("<server><username>ci</username><password>{}</password></server>", ALNUM, 20),
    "PowerShell": _named('$env:GITHUB_TOKEN = "{}"', ALNUM, 40),
    "fish": _named("set -x SECRET_TOKEN {}", ALNUM, 40),
    "RSA key": _armour("RSA PRIVATE KEY", 24),
    "PKCS8 key": _armour("PRIVATE KEY", 26),
    "encrypted key": _armour("ENCRYPTED PRIVATE KEY", 28),
    "EC key": _armour("EC PRIVATE KEY", 3),
    "DSA key": _armour("DSA PRIVATE KEY", 10),
    "OpenSSH key": _armour("OPENSSH PRIVATE KEY", 36),
    "PGP key": _armour("PGP PRIVATE KEY BLOCK", 30),
    "key in JSON": _armour_in_json,
    "key in YAML": _armour_indented,
    "key in a diff": _armour_in_diff,
    "key with CRLF": _armour_crlf,
    "key without an end": _armour_cut,
    "key in prose": _armour("RSA PRIVATE KEY", 14, "here is the key\n{}\nput it on the server"),
    "PuTTY key": _named("PuTTY-User-Key-File-3: ssh-ed25519\nPrivate-Lines: 1\n{}=\nPrivate-MAC: 00ff", B64, 47),
}

# Where a token may stand; {} is the token.
SHAPES: Final[dict[str, str]] = {
    "alone": "{}",
    "prose": "please use {} for the staging calls, it expires on Friday",
    "end of a sentence": "the key is {}.",
    "in brackets": "(it was {})",
    "Python": 'client = Client(key="{}", timeout=3)',
    "JavaScript": "const c = new Client({{ key: '{}' }});",
    "JSON": '{{"name": "ci", "value": "{}", "n": 1}}',
    "escaped JSON": '{{\\"value\\": \\"{}\\"}}',
    "YAML": "env:\n  - name: VALUE\n    value: {}\n",
    "env file": "PORT=80\nSERVICE_VALUE={}\nDEBUG=1",
    "URL query": "https://api.example.org/v1?k={}&page=2",
    "shell history": " 1042  curl -s -H 'X-Service: {}' https://api.example.org",
    "stack trace": 'File "a.py", line 7, in call\n    raise Denied("bad credential {}")\na.Denied: bad credential {}',
    "diff line": "@@ -1 +1 @@\n-VALUE=old\n+VALUE={}\n context",
    "backticks": "set `{}` and retry",
    "fence": "```\n{}\n```\nthat is it",
    "markdown table": "| name | value |\n|---|---|\n| key | {} |",
    "after an equals sign": "x={};",
    "log line": "2026-02-02T10:00:00Z INFO auth key={} status=401",
    "XML": "<v>{}</v>",
    "CSV": "ci,{},2026",
    "two of them": "{}\n{}",
    "colon": "key:{}",
    "non-ASCII neighbours": "Schlüssel „{}“ geprüft",
}

MISSES_AT_FIRST_RUN: Final[tuple[str, ...]] = (
    "Discord bot",  # passes in every shape without a word such as `key` beside it
    "kubeconfig key",  # a private key in base64
    "Terraform",  # the name stands a line above the default
    "mysql on the command line",
    "docker login",
    "fish",
    "GitLab personal",  # from here on: gone, but with the full stop or, for Fly, the next column
    "GitLab runner",
    "JWT",
    "Doppler",
    "PlanetScale",
    "Azure AD",
    "Fly",
)
