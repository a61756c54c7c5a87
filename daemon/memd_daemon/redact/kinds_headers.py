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
        r"\s{0,2}=\s{0,2}[\"']?([A-Za-z0-9+/=_.-]{8,}+)",
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
        "curl-password",
        "-u |--user |--proxy-user ",
        r"[\"']?[^\s:\"'/]{1,128}:([^\s\"'/:@$][^\s\"'/:@]{2,255})",
        "curl -u ada:·tr33house https://example.org",
        "docker run -u 1000:1000 img, curl -u $USER:$PASS, git push -u origin main",
        "literal",
    ),
    header(
        "ssh-password",
        "sshpass -p",
        r"\s{0,3}[\"']?([^\s\"']{1,255})",
        "sshpass -p ·tr33house ssh ada@example.org",
        'sshpass -p "$PASS" ssh ada@example.org',
        "value",
    ),
    header(
        "mysql-password",
        "mysql |mysqldump |mysqladmin |mariadb ",
        r"[^\n|;]{0,200}?\s-p([^\s\"'=]{3,255})",
        "mysql -uroot -p·x7Kq2Zt9Lw shop",
        "mysql -u root -p shop, mysql --port=3306 -p$PASS shop, mysql is slow -perhaps",
        "literal",
    ),
    header(
        "login-password",
        "docker login|podman login|helm registry login",
        r"[^\n|;]{0,200}?\s(?:-p|--password)[ =]{1,3}[\"']?([^\s\"']{3,255})",
        "docker login -u ci -p ·x7Kq2Zt9Lw4V ghcr.io",
        "docker login -u ci -p $TOKEN ghcr.io, docker login --password-stdin",
        "literal",
    ),
    header(
        "shell-secret",
        "set -x |set -gx |set -xg |set -ux |set -lx |setenv ",
        r"[A-Za-z0-9_]{0,40}(?:password|passwd|secret|token|api_?key|access_?key|private_?key)[A-Za-z0-9_]{0,20}"
        r"\s{1,4}[\"']?([^\s\"'$(][^\s\"']{5,255})",
        "set -x SECRET_TOKEN ·x7Kq2Zt9Lw4Vn6Rj",
        "set -x SECRET_TOKEN $argv[1], set -x TOKEN (cat file), setenv API_KEY_FILE /etc/key",
        "literal",
    ),
    header(
        "terraform-secret",
        'variable "',
        r"[A-Za-z0-9_-]{0,60}(?:password|passwd|secret|token|key)[A-Za-z0-9_-]{0,20}\"\s{0,4}\{"
        r"[^}]{0,300}?\sdefault\s{0,8}=\s{0,4}\"([^\"\n]{3,256})",
        'variable "db_password" { default = "·x7Kq2Zt9Lw4V" }',
        'variable "kms_key_region" { default = "us-east-1" }, variable "token_ttl" { default = "3600" }',
        "literal",
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
