"""Passwords that are given on the command line. What a row means: rule.py.

Only options that say nothing but a password for the command they stand behind: `-p` is a port, a path or a parent for most
(`ssh -p`, `docker run -p`, `mkdir -p`). The long ones (`--password …`, `--token=…`) are found by their name, in assignments.py.
"""

from memd_daemon.redact.rule import Rule, header

# The other arguments of a command, which may go on in the next line.
ARGUMENTS = r"(?:\\\n|[^\n|;&]){0,200}?\s"
# In quotes, escaped or not, up to the second one; else up to white space.
VALUE = r"\\{0,2}[\"']?((?<=')[^'\n]{1,255}|(?<=\")[^\"\n\\]{1,255}|[^\s\"'`]{1,255})"

COMMANDS: tuple[Rule, ...] = (
    header(
        "curl-password",
        "-u |--user |--proxy-user |--auth ",
        r"[\"']?[^\s:\"'/]{1,128}:([^\s\"'/:@$][^\s\"'/:@]{2,255})",
        "curl -u ada:·tr33house https://example.org",
        "docker run -u 1000:1000 img, curl -u $USER:$PASS, git push -u origin main",
        "literal",
    ),
    header(
        "ssh-password",
        "sshpass -p",
        r"\s{0,3}" + VALUE,
        "sshpass -p ·tr33house ssh ada@example.org",
        'sshpass -p "$PASS" ssh ada@example.org',
        "value",
    ),
    header(
        "mysql-password",
        "mysql |mysqldump |mysqladmin |mysqlimport |mysqlshow |mariadb |mariadb-dump ",
        rf"(?:{ARGUMENTS})?(?-i:-p){VALUE}",
        "mysql -uroot -p·x7Kq2Zt9Lw shop",
        "mysql -u root -p shop, mysql -P3306x --port=3306 -p$PASS shop, mysql is slow -perhaps, mysql -psecret",
        "literal",
    ),
    header(
        "login-password",
        "docker login |podman login |buildah login |skopeo login |nerdctl login |oras login |registry login |az login "
        "|oc login |cf login |mongo |mongosh |mongodump |mongorestore |mongoexport |mongoimport ",
        rf"(?:{ARGUMENTS})?(?-i:-p)[ =]{{1,3}}{VALUE}",
        "docker login -u ci -p ·x7Kq2Zt9Lw4V ghcr.io",
        "docker login -u ci -p $TOKEN ghcr.io, docker login --password-stdin, docker login; docker run -p 127.0.0.1:80:80",
        "literal",
    ),
    header(
        "redis-password",
        "redis-cli ",
        rf"(?:{ARGUMENTS})?(?-i:-a)[ ]{VALUE}",
        "redis-cli -h cache -a ·x7Kq2Zt9Lw4V PING",
        "redis-cli -h cache -a $PASS PING, redis-cli -p 6379",
        "literal",
    ),
    header(
        "sql-password",
        "sqlcmd |bcp ",
        rf"(?:{ARGUMENTS})?(?-i:-P)[ ]{{0,2}}{VALUE}",
        "sqlcmd -S db -U sa -P ·x7Kq2Zt9Lw4V",
        'sqlcmd -S db -U sa -P "$PASS", sqlcmd -p1',
        "literal",
    ),
    header(
        "ldap-password",
        "ldapsearch |ldapmodify |ldapadd |ldapdelete |ldapwhoami |ldappasswd ",
        rf"(?:{ARGUMENTS})?(?-i:-w)[ ]{VALUE}",
        "ldapsearch -x -D cn=admin -w ·x7Kq2Zt9Lw4V -b dc=example",
        "ldapsearch -x -D cn=admin -W -b dc1=example",
        "literal",
    ),
    header(
        "keystore-password",
        "-storepass |-keypass |-srcstorepass |-deststorepass |-srckeypass |-destkeypass ",
        VALUE,
        "keytool -list -storepass ·x7Kq2Zt9Lw4V",
        "keytool -list -storepass $PASS, -storepass changeit",
        "literal",
    ),
    header(
        "powershell-password",
        "convertto-securestring ",
        r"(?:-String )?(?=[\\\"'])" + VALUE,
        'ConvertTo-SecureString "·x7Kq2Zt9Lw4V" -AsPlainText -Force',
        "ConvertTo-SecureString $env:PASS1 -AsPlainText, ConvertTo-SecureString -AsPlainText",
        "literal",
    ),
)
