"""Credentials known by what stands before them: headers, flags, tags, fields. What a row means: rule.py.

The anchors are looked for in the whole text, in any case; the group goes.
"""

from memd_daemon.redact.rule import QUOTE, Rule, header

HEADERS: tuple[Rule, ...] = (
    header(
        "authorization",
        "authorization",
        QUOTE + r"\]?\s{0,3}[:=,]\s{0,3}" + QUOTE + r"(?:(?:Bearer|Basic|Token|ApiKey|Bot|SSWS|GenieKey)\s{1,3})?"
        r"([A-Za-z0-9._~+/=:-]{8,}+)",
        "Authorization: Basic ·YWNtZTpzM2NyZXQh",
        "Authorization: Bearer <token>, authorization: required, Authorization: Bearer ${TOKEN}",
        "literal",
    ),
    header(
        "bearer-token",
        "bearer ",
        r"\s{0,2}([A-Za-z0-9._~+/=-]{16,}+)",
        "-H 'x: Bearer ·x7Kq2Zt9Lw4Vn6Rj1Pd8'",
        "bearer authentication-scheme",
        "mixed",
    ),
    header(
        "session-cookie",
        "sessionid=|session_id=|session=|phpsessid=|jsessionid=|connect.sid=|sid=",
        r"([A-Za-z0-9%._-]{16,}+)",
        "Cookie: theme=dark; sessionid=·x7kq2zt9lw4vn6rj1pd8gf3hs5ym0bc",
        "session=requests.Session(), session=database_session_for_tests",
        "mixed",
    ),
    header(
        "netrc-password",
        "machine ",
        r"\s{0,4}\S{1,255}\s{1,8}login\s{1,8}\S{1,255}\s{1,8}password\s{1,8}(\S{1,255})",
        "machine api.example.org login ada password ·tr33house",
        "machine learning login page",
    ),
    header(
        "npm-auth",
        ":_authtoken|:_auth|:_password",
        r"(?:\s{0,2}=\s{0,2}| )[\"']?([A-Za-z0-9+/=_.-]{8,}+)",
        "//registry.example.org/:_authToken=·4f3c9a7b-1e8d-4065-af49-b7c3e1d80526",
        "//registry.example.org/:_authToken=${NPM_TOKEN}",
        "literal",
    ),
    header(
        "docker-auth",
        '"auth"',
        r"\s{0,4}:\s{0,4}\"([A-Za-z0-9+/=]{16,}+)",
        '{"auths":{"example.org":{"auth":"·YWRhOnRyMzNob3VzZSE="}}}',
        '"auth": "authentication"',
        "mixed",
    ),
    header(
        "xml-secret",
        "<password>|<passwd>|<secret>|<token>|<apikey>|<api_key>|<accesskey>|<secretkey>",
        r"\s{0,8}([^<>\s@:/\"'][^<>\s\"']{3,255})(?=\s{0,8}</)",
        "<password>·tr33house</password>",
        "<password>${db.password}</password>, <token>string</token>",
        "literal",
    ),
    header(
        "url-signature",
        "x-amz-signature=|x-goog-signature=",
        r"([0-9a-f]{32,}+)",
        "?X-Amz-Signature=·4f3c9a7b1e8d20654f3c9a7b1e8d20654f3c9a7b1e8d20654f3c9a7b1e8d2065",
        "X-Amz-Signature={signature}",
    ),
    header(
        "aws-session-token",
        "x-amz-security-token=|x-amz-security-token: ",
        r"([A-Za-z0-9%/+=]{40,}+)",
        "X-Amz-Security-Token=·IQoJb3JpZ2luX2VjEJz7Kq2Zt9Lw4Vn6Rj1Pd8Gf3Hs5Ym0Bc",
        "X-Amz-Security-Token=%SESSION%",
    ),
    header(
        "private-jwk",
        '"d"',
        r"\s{0,4}:\s{0,4}\"([A-Za-z0-9_-]{32,}+)",
        '{"kty":"OKP","d":"·nWGxne_9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A"}',
        '{"d": "a value of one letter"}',
        "mixed",
    ),
    header(
        "gcp-key-id",
        "private_key_id",
        QUOTE + r"\s{0,4}:\s{0,4}" + QUOTE + r"([0-9a-f]{40})",
        '"private_key_id": "·4f3c9a7b1e8d2065af49b7c3e1d80526f4a9c7b3"',
        '"private_key_id": "..."',
    ),
    header(
        "putty-key",
        "private-lines:",
        r"\s{0,3}\d{1,3}\s{1,2}([A-Za-z0-9+/=\r\n]{40,}+)",
        "Private-Lines: 1\n·AAAAIEx7Kq2Zt9Lw4Vn6Rj1Pd8Gf3Hs5Ym0BcXe2UaWq7TkMz3Dx8IvQb6\n",
        "Private-Lines: 14 follow",
    ),
    header(
        "url-password",
        "://",
        r"[^\s:/?#@\"'<>]{0,128}:(?!\[redacted:)([^\s/?#\"'<>]{1,255})@(?=[A-Za-z0-9\[$%{<])",
        "postgres://ada:·tr33house@db.example.org:5432/app",
        "postgres://ada:${DB_PASSWORD}@db/app, http://localhost:8080/@scope/name, https://example.org:443, ssh://git@example.org",
        "value",
    ),
)
