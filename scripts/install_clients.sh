#!/bin/sh
# Installs the real clients that the end-to-end tests drive, pinned, into a cache directory.
#
#   scripts/install_clients.sh            install what is missing, print where the client lies
#   scripts/install_clients.sh --where    print the path of the client's binary, install nothing (exit 1 when absent)
#
# The directory is $MEMD_CLIENTS, else $HOME/.cache/memd-clients. Each client has a folder of its own with its version in
# the name, so a new pin never breaks a run that still uses the old one. Running it again costs nothing.
# Exit status: 0 installed, 1 could not (the last line says why; the tests that need a client are then skipped, loudly).
set -eu

# The version that the hook contract was measured on. Its `engines` asks for node 22; the payload is a native binary which
# does not care, but npm on an older node picks an older release unless the version is named.
CLAUDE_VERSION=2.1.332

root=${MEMD_CLIENTS:-$HOME/.cache/memd-clients}
claude_dir=$root/claude-code-$CLAUDE_VERSION
claude=$claude_dir/node_modules/.bin/claude

say() { printf '%s\n' "install_clients: $*" >&2; }

if [ "${1:-}" = --where ]; then
    if [ ! -x "$claude" ]; then
        say "Claude Code $CLAUDE_VERSION is not there; scripts/install_clients.sh installs it"
        exit 1
    fi
    printf '%s\n' "$claude"
    exit 0
fi

works() { [ -x "$claude" ] && "$claude" --version 2>/dev/null | grep -qF "$CLAUDE_VERSION"; }

if works; then
    say "Claude Code $CLAUDE_VERSION is there"
    printf '%s\n' "$claude"
    exit 0
fi
if ! command -v npm >/dev/null 2>&1; then
    say "npm was not found, so Claude Code $CLAUDE_VERSION cannot be installed; install node 20 or newer and run this again"
    exit 1
fi

mkdir -p "$root"
# Into a folder beside the final one, renamed when it works: an interrupted run leaves nothing that looks installed.
fresh=$(mktemp -d "$root/.install-XXXXXX")
trap 'rm -rf "$fresh"' EXIT
say "downloading Claude Code $CLAUDE_VERSION into $claude_dir (about 250 MB, once)"
# Progress only where somebody watches it; a log gets npm's own lines.
if [ -t 2 ]; then progress=true; else progress=false; fi
if ! npm install --prefix "$fresh" --no-fund --no-audit --engine-strict=false --progress=$progress --loglevel=error \
    "@anthropic-ai/claude-code@$CLAUDE_VERSION" >&2; then
    say "npm could not install it (its own message is above)"
    exit 1
fi
rm -rf "$claude_dir"
mv "$fresh" "$claude_dir"
if ! works; then
    say "installed, but '$claude --version' does not answer with $CLAUDE_VERSION: $("$claude" --version 2>&1 | head -n 3)"
    exit 1
fi
say "Claude Code $CLAUDE_VERSION is ready"
printf '%s\n' "$claude"
