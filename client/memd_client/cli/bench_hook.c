/* What a compiled hook would be: memd_hooks/carry.py in C, measured by `memd bench all` and shipped to nobody as a program
 * (docs/adr/0005-compiled-hook.md). The wire is memd_client/wire.py's; its numbers and names come from there as wire.h,
 * which bench_all_compiled.py writes beside this file before it is compiled.
 *
 *     memd-hook EVENT HARNESS
 *
 * It promises what carry.py promises: exit 0, nothing on stderr, the whole answer of the daemon on stdout or nothing, back within
 * the deadline. One thing it adds: where it cannot do the whole of it (nobody listens, an event that may have to start a
 * daemon and wait for it), it ends with NOT_MINE, having read nothing of its stdin and written nothing, and the launcher runs
 * the script instead. So starting a daemon is written once, in Python: one that dies between the connection and its answer is
 * replaced by the next session's start, or by the first hook that finds nobody.
 *
 * Nothing is allocated: buffers are static, and pages that nobody touches cost nothing. Whatever waits does so in poll, by an
 * absolute CLOCK_MONOTONIC deadline; an alarm ends the process where something hangs all the same. */

#define _GNU_SOURCE
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "wire.h"

#define NS_PER_MS 1000000LL
#define NS_PER_S 1000000000LL
#define PATH_BYTES 4200
#define HEAD_BYTES (CWD_MAX_BYTES + ENVIRONMENT_MAX_BYTES + 1024)
#define GREETING_BYTES 64

enum { MORE = 1, LONG = 2, COMMAND = 4 };
enum { NOBODY = -1, BUSY = -2 }; /* in place of a connection */
enum outcome { ANSWERED, REFUSED, LATE, UNREACHABLE, UNASKED };

typedef struct {
    const unsigned char *at;
    size_t size;
} bytes;

static unsigned char stdin_bytes[STDIN_MAX_BYTES];
static unsigned char received[MESSAGE_MAX_BYTES + COMMAND_MAX_BYTES];
static unsigned char head[HEAD_BYTES];
static char environment[ENVIRONMENT_MAX_BYTES];

static int64_t started_ns, answer_ns;
static char home[PATH_BYTES];
static size_t stdin_size, head_size, environment_size;
static unsigned char request_id[REQUEST_ID_BYTES];
static const char *event, *harness;
static bool is_probe;

/* --- time */

static int64_t now_ns(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return now.tv_sec * NS_PER_S + now.tv_nsec;
}

static void ring(int number)
{
    (void)number;
    _exit(0);
}

/* Whatever hangs, the process ends then: a repeated alarm, since one that falls just before a blocking call would be lost. */
static void end_by(int64_t end_ns)
{
    int64_t left_ns = end_ns - now_ns(CLOCK_MONOTONIC);
    if (left_ns < NS_PER_MS)
        left_ns = NS_PER_MS;
    struct itimerval timer = {{0, TICK_MS * 1000}, {left_ns / NS_PER_S, left_ns % NS_PER_S / 1000}};
    struct sigaction action = {.sa_handler = ring};
    sigset_t alarms;
    sigemptyset(&alarms);
    sigaddset(&alarms, SIGALRM);
    sigaction(SIGALRM, &action, NULL);
    sigprocmask(SIG_UNBLOCK, &alarms, NULL); /* a mask is inherited */
    setitimer(ITIMER_REAL, &timer, NULL);
}

/* Waits until the descriptor is ready; false at the deadline. */
static bool ready(int descriptor, short events, int64_t until_ns)
{
    for (;;) {
        int64_t left_ns = until_ns - now_ns(CLOCK_MONOTONIC);
        if (left_ns <= 0)
            return false;
        struct pollfd one = {descriptor, events, 0};
        int count = poll(&one, 1, (int)(left_ns / NS_PER_MS) + 1);
        if (count > 0)
            return true;
        if (count < 0 && errno != EINTR)
            return true; /* the call that follows says what is wrong */
    }
}

/* --- small files */

static bool path_in(char *path, const char *name)
{
    return (size_t)snprintf(path, PATH_BYTES, "%s/%s", home, name) < PATH_BYTES;
}

/* The beginning of a small file, ended with a NUL; -1 where it cannot be read. A FIFO in its place is empty. */
static ssize_t read_file(const char *path, char *into, size_t room)
{
    int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (descriptor < 0)
        return -1;
    ssize_t size = read(descriptor, into, room - 1);
    close(descriptor);
    if (size >= 0)
        into[size] = 0;
    return size;
}

static bool write_all(int descriptor, const void *content, size_t size)
{
    const unsigned char *at = content;
    while (size) {
        ssize_t written = write(descriptor, at, size);
        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            return false;
        at += written;
        size -= (size_t)written;
    }
    return true;
}

static bool is_decimal(const char *text, size_t size)
{
    if (size == 0 || size > DECIMAL_MAX_BYTES)
        return false;
    for (size_t i = 0; i < size; i++)
        if (!isdigit((unsigned char)text[i]))
            return false;
    return true;
}

/* --- the address */

struct address {
    long long pid;
    unsigned long long start_time;
    struct sockaddr_un socket;
};

/* Reads run/address: "protocol pid start-time path\n". */
static bool read_address(struct address *found)
{
    char path[PATH_BYTES], line[ADDRESS_MAX_BYTES + 1];
    if (!path_in(path, "run/address"))
        return false;
    ssize_t size = read_file(path, line, sizeof line);
    if (size <= 0 || line[size - 1] != '\n' || memchr(line, '\n', (size_t)size) != line + size - 1)
        return false;
    line[size - 1] = 0;
    char *field[4] = {line};
    for (int i = 1; i < 4; i++) {
        char *blank = strchr(field[i - 1], ' ');
        if (!blank)
            return false;
        *blank = 0;
        field[i] = blank + 1;
    }
    size_t length = strlen(field[3]);
    if (!is_decimal(field[1], strlen(field[1])) || !is_decimal(field[2], strlen(field[2])) || field[3][0] != '/' ||
        length >= sizeof found->socket.sun_path || field[3] + length != line + size - 1)
        return false;
    found->pid = strtoll(field[1], NULL, 10);
    found->start_time = strtoull(field[2], NULL, 10);
    found->socket.sun_family = AF_UNIX;
    memcpy(found->socket.sun_path, field[3], length + 1);
    return true;
}

/* Whether the very process that wrote the address still runs: a silent daemon is late, a dead one unreachable. */
static bool is_alive(const struct address *found)
{
    char path[64], stat[1024];
    snprintf(path, sizeof path, "/proc/%lld/stat", found->pid);
    if (found->start_time == 0 || access("/proc/self/stat", F_OK) != 0)
        return kill((pid_t)found->pid, 0) == 0 || errno == EPERM;
    if (read_file(path, stat, sizeof stat) <= 0)
        return false;
    char *at = strrchr(stat, ')');
    if (!at || at[1] != ' ' || at[2] == 'Z' || at[2] == 'X')
        return false;
    at += 2;
    for (int field = 0; field < 19; field++) {
        at = strchr(at, ' ');
        if (!at)
            return false;
        at++;
    }
    return strtoull(at, NULL, 10) == found->start_time;
}

static bool is_mine(int connection)
{
#ifdef SO_PEERCRED
    struct ucred peer;
    socklen_t size = sizeof peer;
    return getsockopt(connection, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 && peer.uid == geteuid();
#else
    uid_t uid;
    gid_t gid;
    return getpeereid(connection, &uid, &gid) == 0 && uid == geteuid();
#endif
}

/* A connection to the daemon, NOBODY or BUSY. A Unix socket whose backlog is full says so at once instead of waiting. */
static int connected(const struct address *found)
{
    int connection = socket(AF_UNIX, SOCK_STREAM, 0);
    if (connection < 0)
        return NOBODY;
    fcntl(connection, F_SETFD, FD_CLOEXEC);
    fcntl(connection, F_SETFL, O_NONBLOCK);
    while (connect(connection, (const struct sockaddr *)&found->socket, sizeof found->socket) != 0) {
        struct timespec pause = {0, POLL_MS * NS_PER_MS};
        if (errno != EAGAIN)
            return NOBODY;
        if (now_ns(CLOCK_MONOTONIC) >= answer_ns)
            return BUSY;
        nanosleep(&pause, NULL);
    }
    return is_mine(connection) ? connection : NOBODY;
}

/* --- ZMTP 3.0, a DEALER with NULL (memd_client/zmtp.py) */

static const unsigned char GREETING[GREETING_BYTES] = {0xFF, [9] = 0x7F, 3, 0, 'N', 'U', 'L', 'L'};
static const unsigned char READY[] = "\x04\x29\x05READY\x0bSocket-Type\0\0\0\x06" "DEALER\x08Identity\0\0\0";

static size_t frame_head(unsigned char *into, int flags, size_t size)
{
    if (size < 256) {
        into[0] = (unsigned char)flags;
        into[1] = (unsigned char)size;
        return 2;
    }
    into[0] = (unsigned char)(flags | LONG);
    for (int i = 0; i < 8; i++)
        into[1 + i] = (unsigned char)((uint64_t)size >> (56 - 8 * i));
    return 9;
}

/* One more frame of the message in `head`; every one of them is bounded before. */
static void add_frame(const void *body, size_t size)
{
    head_size += frame_head(head + head_size, MORE, size);
    memcpy(head + head_size, body, size);
    head_size += size;
}

static bool send_all(int connection, const unsigned char *at, size_t size, int64_t until_ns)
{
    while (size) {
        ssize_t sent = send(connection, at, size, MSG_NOSIGNAL);
        if (sent < 0 && (errno == EAGAIN || errno == EINTR)) {
            if (!ready(connection, POLLOUT, until_ns))
                return false;
            continue;
        }
        if (sent <= 0)
            return false;
        at += sent;
        size -= (size_t)sent;
    }
    return true;
}

struct peer {
    int connection;
    size_t size, at; /* of `received`: how much is there, how much of it is read */
    bool has_greeted, is_ready;
    bytes frames[FRAMES_MAX];
    size_t count, total;
};

enum step { MORE_NEEDED, ONE_READ, WHOLE, BROKEN };

/* Each field is judged as soon as it is there: a peer that talks something else may never send 64 bytes. */
static enum step greet(struct peer *peer)
{
    if ((peer->size > 0 && received[0] != 0xFF) || (peer->size > 9 && !(received[9] & 1)) ||
        (peer->size > 10 && received[10] < 3))
        return BROKEN;
    if (peer->size < GREETING_BYTES)
        return MORE_NEEDED;
    if (memcmp(received + 12, GREETING + 12, 20) != 0)
        return BROKEN;
    peer->has_greeted = true;
    peer->at = GREETING_BYTES;
    return ONE_READ;
}

static enum step obey(struct peer *peer, const unsigned char *body, size_t size)
{
    size_t name = size ? body[0] : 0;
    if (name + 1 > size)
        name = size ? size - 1 : 0;
    if (name == 5 && memcmp(body + 1, "READY", 5) == 0)
        peer->is_ready = true;
    else if (name == 5 && memcmp(body + 1, "ERROR", 5) == 0)
        return BROKEN;
    else if (!peer->is_ready)
        return BROKEN;
    else if (name == 4 && memcmp(body + 1, "PING", 4) == 0) {
        /* after the name a TTL of 2 bytes, then a context of at most 16 that comes back */
        unsigned char pong[2 + 5 + 16] = {COMMAND, 5, 4, 'P', 'O', 'N', 'G'};
        size_t context = size > 7 ? size - 7 : 0;
        if (context > 16)
            context = 16;
        if (context)
            memcpy(pong + 7, body + 7, context);
        pong[1] = (unsigned char)(5 + context);
        if (!send_all(peer->connection, pong, 7 + context, answer_ns))
            return BROKEN;
    }
    return ONE_READ;
}

/* Reads one frame of what is there. WHOLE: with it a message is. */
static enum step next_frame(struct peer *peer)
{
    const unsigned char *at = received + peer->at;
    size_t there = peer->size - peer->at;
    if (there == 0)
        return MORE_NEEDED;
    int flags = at[0];
    size_t start = flags & LONG ? 9 : 2;
    if (flags > 7 || (flags & COMMAND && flags & MORE))
        return BROKEN;
    if (there < start)
        return MORE_NEEDED;
    uint64_t size = 0;
    for (size_t i = 1; i < start; i++)
        size = size << 8 | at[i];
    if (flags & COMMAND ? size > COMMAND_MAX_BYTES
                        : !peer->is_ready || size > FRAME_MAX_BYTES || peer->total + size > MESSAGE_MAX_BYTES ||
                              peer->count == FRAMES_MAX)
        return BROKEN;
    if (there - start < size)
        return MORE_NEEDED;
    peer->at += start + (size_t)size;
    if (flags & COMMAND)
        return obey(peer, at + start, (size_t)size);
    peer->frames[peer->count++] = (bytes){at + start, (size_t)size};
    peer->total += (size_t)size;
    return flags & MORE ? ONE_READ : WHOLE;
}

/* What stands before an unread frame is not needed any more where no frame of a message points into it. */
static void make_room(struct peer *peer)
{
    if (peer->count == 0 && peer->at > GREETING_BYTES) {
        memmove(received + GREETING_BYTES, received + peer->at, peer->size - peer->at);
        peer->size -= peer->at - GREETING_BYTES;
        peer->at = GREETING_BYTES;
    }
}

/* Reads until the handshake is over, or until a whole message is there. LATE at the deadline, UNREACHABLE where it broke. */
static enum outcome await(struct peer *peer, bool is_message)
{
    for (;;) {
        enum step step = peer->has_greeted ? next_frame(peer) : greet(peer);
        if (step == BROKEN)
            return UNREACHABLE;
        if (step == WHOLE || (!is_message && peer->is_ready))
            return ANSWERED;
        if (step == ONE_READ)
            continue;
        make_room(peer);
        if (peer->size == sizeof received)
            return UNREACHABLE;
        if (!ready(peer->connection, POLLIN, answer_ns))
            return LATE;
        ssize_t size = recv(peer->connection, received + peer->size, sizeof received - peer->size, 0);
        if (size < 0 && (errno == EAGAIN || errno == EINTR))
            continue;
        if (size <= 0)
            return UNREACHABLE;
        peer->size += (size_t)size;
    }
}

/* --- the call */

static void add_environment(void)
{
    static const char *const names[] = {ENVIRONMENT_NAMES};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *value = getenv(names[i]);
        if (!value || strchr(value, '\n'))
            continue;
        size_t size = strlen(names[i]) + strlen(value) + 2;
        if (environment_size + size > sizeof environment)
            continue;
        memcpy(environment + environment_size, names[i], strlen(names[i]));
        environment[environment_size + strlen(names[i])] = '=';
        memcpy(environment + environment_size + strlen(names[i]) + 1, value, strlen(value));
        environment_size += size;
        environment[environment_size - 1] = '\n';
    }
}

static bool is_among(const char *one, const char *const *names, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(one, names[i]) == 0)
            return true;
    return false;
}

static bool is_spooled(void)
{
    static const char *const names[] = {SPOOLED_EVENTS};
    return is_among(event, names, sizeof names / sizeof *names);
}

/* Reads stdin to its end; whether that was possible in time and within the bound. What is over the bound is read and dropped. */
static bool read_stdin(int64_t until_ns)
{
    static unsigned char dropped[READ_BYTES];
    bool has_ended = false, is_within = true;
    while (ready(0, POLLIN, until_ns)) {
        size_t room = sizeof stdin_bytes - stdin_size;
        ssize_t size = room && is_within ? read(0, stdin_bytes + stdin_size, room < READ_BYTES ? room : READ_BYTES)
                                         : read(0, dropped, sizeof dropped);
        if (size < 0 && errno == EINTR)
            continue;
        has_ended = size == 0;
        if (size <= 0)
            break;
        if (room && is_within)
            stdin_size += (size_t)size;
        else
            is_within = false;
    }
    size_t end = stdin_size;
    while (end && memchr(" \t\n\r\v\f", stdin_bytes[end - 1], 6))
        end--;
    if (!is_within || (!has_ended && !(end && stdin_bytes[end - 1] == '}')))
        stdin_size = 0;
    return has_ended && is_within;
}

static void encode_call(const char *cwd)
{
    char deadline[32];
    int digits = snprintf(deadline, sizeof deadline, "%lld", (long long)answer_ns);
    unsigned char flags = is_probe ? PROBE : 0;
    add_frame("", 0);
    add_frame(PROTOCOL, sizeof PROTOCOL - 1);
    add_frame("hook", 4);
    add_frame(request_id, sizeof request_id);
    add_frame(deadline, (size_t)digits);
    add_frame(&flags, 1);
    add_frame(harness, strlen(harness));
    add_frame(event, strlen(event));
    add_frame(cwd, strlen(cwd));
    add_frame(environment, environment_size);
    head_size += frame_head(head + head_size, 0, stdin_size);
}

static bool is_text(bytes frame, const char *text)
{
    return frame.size == strlen(text) && memcmp(frame.at, text, frame.size) == 0;
}

/* Writes the answer out. A pipe that poll calls ready takes PIPE_BUF bytes without waiting. */
static bool write_stdout(bytes answer, int64_t until_ns)
{
    while (answer.size) {
        if (!ready(1, POLLOUT, until_ns))
            return false;
        ssize_t written = write(1, answer.at, answer.size < 4096 ? answer.size : 4096);
        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            return false;
        answer.at += written;
        answer.size -= (size_t)written;
    }
    return true;
}

static void send_receipt(int connection)
{
    head_size = 0;
    add_frame("", 0);
    add_frame(PROTOCOL, sizeof PROTOCOL - 1);
    add_frame("receipt", 7);
    head_size += frame_head(head + head_size, 0, sizeof request_id);
    memcpy(head + head_size, request_id, sizeof request_id);
    send_all(connection, head, head_size + sizeof request_id, answer_ns + RESERVE_MS * NS_PER_MS);
}

static enum outcome failed(enum outcome outcome, const struct address *found)
{
    return outcome == LATE && !is_alive(found) ? UNREACHABLE : outcome;
}

/* Asks, and writes out what was answered. */
static enum outcome ask(int connection, const struct address *found)
{
    struct peer peer = {.connection = connection};
    if (!send_all(connection, GREETING, sizeof GREETING, answer_ns) ||
        !send_all(connection, READY, sizeof READY, answer_ns))
        return UNREACHABLE;
    enum outcome outcome = await(&peer, false);
    if (outcome != ANSWERED)
        return failed(outcome, found);
    if (!send_all(connection, head, head_size, answer_ns) || !send_all(connection, stdin_bytes, stdin_size, answer_ns))
        return failed(now_ns(CLOCK_MONOTONIC) >= answer_ns ? LATE : UNREACHABLE, found);
    outcome = await(&peer, true);
    if (outcome != ANSWERED)
        return failed(outcome, found);
    if (peer.count < 7 || peer.frames[0].size || !is_text(peer.frames[1], PROTOCOL) || peer.frames[3].size != 1 ||
        peer.frames[3].at[0] != DONE)
        return REFUSED;
    bytes answer = peer.frames[5];
    if (!is_text(peer.frames[4], "0") || answer.size > STDOUT_MAX_BYTES)
        return ANSWERED;
    int64_t end_ns = answer_ns + RESERVE_MS * NS_PER_MS;
    if (write_stdout(answer, end_ns))
        send_receipt(connection);
    else if (now_ns(CLOCK_MONOTONIC) >= end_ns)
        return UNASKED; /* nobody read it in time: not to be taken for delivered */
    return ANSWERED;
}

/* --- what is kept when nobody answered */

static bool owns_home(void)
{
    struct stat seen;
    return stat(home, &seen) == 0 && seen.st_uid == geteuid();
}

static bool has_room(const char *folder, size_t wanted)
{
    DIR *files = opendir(folder);
    if (!files)
        return false;
    uint64_t total = wanted;
    for (struct dirent *file; (file = readdir(files));) {
        struct stat seen;
        if (file->d_name[0] == '.' && (!file->d_name[1] || (file->d_name[1] == '.' && !file->d_name[2])))
            continue;
        if (fstatat(dirfd(files), file->d_name, &seen, AT_SYMLINK_NOFOLLOW) == 0)
            total += (uint64_t)seen.st_size;
    }
    closedir(files);
    return total <= SPOOL_MAX_BYTES;
}

static bool write_netstring(int descriptor, const void *content, size_t size)
{
    char length[32];
    int digits = snprintf(length, sizeof length, "%zu:", size);
    return write_all(descriptor, length, (size_t)digits) && write_all(descriptor, content, size) &&
           write_all(descriptor, ",", 1);
}

static bool write_call(int descriptor, const char *hex, const char *at, const char *cwd)
{
    return write_all(descriptor, SPOOL_MAGIC, sizeof SPOOL_MAGIC - 1) && write_netstring(descriptor, hex, strlen(hex)) &&
           write_netstring(descriptor, at, strlen(at)) && write_netstring(descriptor, harness, strlen(harness)) &&
           write_netstring(descriptor, event, strlen(event)) && write_netstring(descriptor, cwd, strlen(cwd)) &&
           write_netstring(descriptor, environment, environment_size) &&
           write_netstring(descriptor, stdin_bytes, stdin_size);
}

/* Writes the call into the spool, whole or not at all. */
static void spool(const char *cwd)
{
    char folder[PATH_BYTES], draft[PATH_BYTES], file[PATH_BYTES], name[96], hex[2 * REQUEST_ID_BYTES + 1], at[32];
    if (!is_spooled() || is_probe || (stdin_size == 0 && strcmp(event, GIT_COMMIT) != 0))
        return;
    for (size_t i = 0; i < sizeof request_id; i++)
        snprintf(hex + 2 * i, 3, "%02x", request_id[i]);
    long long at_ns = now_ns(CLOCK_REALTIME);
    snprintf(at, sizeof at, "%lld", at_ns);
    snprintf(name, sizeof name, "spool/.%020lld-%s" SPOOL_SUFFIX, at_ns, hex);
    if (!path_in(folder, "spool") || !path_in(draft, name))
        return;
    memmove(name + 6, name + 7, strlen(name + 7) + 1); /* the dot goes with the rename */
    if (!path_in(file, name))
        return;
    mkdir(folder, 0700);
    if (!has_room(folder, sizeof SPOOL_MAGIC + 256 + strlen(cwd) + environment_size + stdin_size))
        return;
    int descriptor = open(draft, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (descriptor < 0)
        return;
    if (!write_call(descriptor, hex, at, cwd) || close(descriptor) != 0 || rename(draft, file) != 0)
        unlink(draft); /* the disk is full: what is half there would only fill it further */
}

static bool breaker_is_open(void)
{
    char path[PATH_BYTES], until[64];
    if (!path_in(path, "run/unreachable-until"))
        return false;
    ssize_t size = read_file(path, until, sizeof until);
    if (size <= 0 || !is_decimal(until, (size_t)size))
        return false;
    errno = 0;
    unsigned long long at = strtoull(until, NULL, 10);
    int64_t now = now_ns(CLOCK_MONOTONIC);
    /* The clock starts again at every boot: a time further ahead than this breaker ever reaches is from before. */
    return errno == 0 && at > (unsigned long long)now && at - (unsigned long long)now <= BREAKER_S * NS_PER_S;
}

static void open_breaker(void)
{
    char path[PATH_BYTES], until[32];
    if (breaker_is_open() || !path_in(path, "run/unreachable-until"))
        return;
    int descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (descriptor < 0)
        return;
    int size = snprintf(until, sizeof until, "%lld", (long long)(now_ns(CLOCK_MONOTONIC) + BREAKER_S * NS_PER_S));
    write_all(descriptor, until, (size_t)size);
    close(descriptor);
}

/* --- from the command line to the end */

static bool find_home(void)
{
    const char *named = getenv("MEMD_HOME"), *user = getenv("HOME");
    const char *from = named && *named ? named : user, *below = named && *named ? "" : DEFAULT_HOME;
    if (!from || from[0] != '/')
        return false;
    size_t size = strlen(from);
    while (size > 1 && from[size - 1] == '/')
        size--;
    return (size_t)snprintf(home, sizeof home, "%.*s%s", (int)(size > 1 ? size : 0), from, below) < sizeof home;
}

/* Fills closed descriptors below 3: else a socket opened here could become the stdout that the answer is written to. */
static bool keep_stdio_apart(void)
{
    int descriptor;
    do
        descriptor = open("/dev/null", O_RDONLY);
    while (descriptor >= 0 && descriptor < 3);
    if (descriptor < 0)
        return false;
    close(descriptor);
    return true;
}

static int deadline_ms(void)
{
    if (is_probe)
        return STARTING_DEADLINE_MS;
    return breaker_is_open() ? BREAKER_DEADLINE_MS : HOOK_DEADLINE_MS;
}

static bool is_name(const char *text)
{
    size_t size = strlen(text);
    for (size_t i = 0; i < size; i++)
        if ((unsigned char)text[i] > 127)
            return false;
    return size > 0 && size <= NAME_MAX_BYTES;
}

int main(int count, char **words)
{
    static const char *const events[] = {EVENTS}, *const waiting[] = {WAITING_EVENTS};
    static char cwd[CWD_MAX_BYTES + 1];
    started_ns = now_ns(CLOCK_MONOTONIC);
    signal(SIGPIPE, SIG_IGN);
    const char *off = getenv("MEMD_OFF"), *probe = getenv("MEMD_PROBE");
    if ((off && *off && strcmp(off, "0") != 0) || !find_home() || count < 3)
        return 0;
    event = words[1], harness = words[2];
    if (!is_among(event, events, sizeof events / sizeof *events) || !is_name(harness))
        return 0;
    if (is_among(event, waiting, sizeof waiting / sizeof *waiting) || !keep_stdio_apart())
        return NOT_MINE;
    is_probe = probe && strcmp(probe, "1") == 0;
    int64_t end_ns = started_ns + deadline_ms() * NS_PER_MS;
    answer_ns = end_ns - RESERVE_MS * NS_PER_MS;
    struct address found;
    memset(&found, 0, sizeof found);
    int connection = read_address(&found) ? connected(&found) : NOBODY;
    if (connection == NOBODY || getentropy(request_id, sizeof request_id) != 0)
        return NOT_MINE;
    end_by(end_ns + KEEP_MS * NS_PER_MS);
    if (!getcwd(cwd, sizeof cwd) || cwd[0] != '/')
        cwd[0] = 0; /* the directory is gone */
    add_environment();
    enum outcome outcome = UNASKED;
    if (strcmp(event, GIT_COMMIT) == 0 || read_stdin(end_ns)) {
        encode_call(cwd);
        outcome = connection == BUSY ? failed(LATE, &found) : ask(connection, &found);
    }
    if (outcome == ANSWERED)
        return 0;
    int64_t now = now_ns(CLOCK_MONOTONIC);
    end_by((now > end_ns ? now : end_ns) + KEEP_MS * NS_PER_MS);
    if (!owns_home())
        return 0;
    spool(cwd);
    if (outcome == LATE && !is_probe)
        open_breaker();
    return 0;
}
