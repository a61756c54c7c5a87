/* Preloaded into a victim: from `memd_break` on, the n-th call that changes or syncs a file whose path holds a word fails.

   With that errno; or, where it is `lasting`, each call from the n-th on, of which the first, if it writes, writes its first half, as
   a disk does that is full then. `memd_counted` says how many calls there were. Calls of every thread count. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

static atomic_int counted;
static int at, code, lasting;
static char word[256];

void memd_break(const char *word_, int at_, int code_, int lasting_) {
    snprintf(word, sizeof word, "%s", word_);
    at = at_;
    code = code_;
    lasting = lasting_;
    counted = 0;
}

int memd_counted(void) { return counted; }

enum { GOES, FAILS, HALVES };

static int fate(const char *path) {
    if (!word[0] || !strstr(path, word)) return GOES;
    int number = ++counted;
    if (!at || number < at || (number > at && !lasting)) return GOES;
    errno = code;
    return lasting && number == at ? HALVES : FAILS;
}

static int fate_of(int fd) {
    char link[64], path[4096];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t n = word[0] ? readlink(link, path, sizeof path - 1) : -1;
    if (n < 0) return GOES;
    path[n] = 0;
    return fate(path);
}

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

/* `half`: what is done of the call that is the first to fail; a single byte has none. */
#define BREAKING(fate, call, half)                    \
    switch (fate) {                                   \
    case GOES: return call;                           \
    case HALVES: return half;                         \
    default: return -1;                               \
    }

ssize_t write(int fd, const void *from, size_t n) {
    BREAKING(fate_of(fd), REAL(write)(fd, from, n), n > 1 ? REAL(write)(fd, from, n / 2) : -1)
}

ssize_t pwrite(int fd, const void *from, size_t n, off_t where) {
    BREAKING(fate_of(fd), REAL(pwrite)(fd, from, n, where), n > 1 ? REAL(pwrite)(fd, from, n / 2, where) : -1)
}

ssize_t pwrite64(int fd, const void *from, size_t n, off64_t where) {
    BREAKING(fate_of(fd), REAL(pwrite64)(fd, from, n, where), n > 1 ? REAL(pwrite64)(fd, from, n / 2, where) : -1)
}

ssize_t writev(int fd, const struct iovec *parts, int n) {
    BREAKING(fate_of(fd), REAL(writev)(fd, parts, n), n > 1 ? REAL(writev)(fd, parts, n / 2) : -1)
}

ssize_t pwritev(int fd, const struct iovec *parts, int n, off_t where) {
    BREAKING(fate_of(fd), REAL(pwritev)(fd, parts, n, where), n > 1 ? REAL(pwritev)(fd, parts, n / 2, where) : -1)
}

ssize_t pwritev64(int fd, const struct iovec *parts, int n, off64_t where) {
    BREAKING(fate_of(fd), REAL(pwritev64)(fd, parts, n, where), n > 1 ? REAL(pwritev64)(fd, parts, n / 2, where) : -1)
}

int fdatasync(int fd) { BREAKING(fate_of(fd), REAL(fdatasync)(fd), -1) }

int fsync(int fd) { BREAKING(fate_of(fd), REAL(fsync)(fd), -1) }

int ftruncate(int fd, off_t size) { BREAKING(fate_of(fd), REAL(ftruncate)(fd, size), -1) }

int ftruncate64(int fd, off64_t size) { BREAKING(fate_of(fd), REAL(ftruncate64)(fd, size), -1) }

int rename(const char *from, const char *to) { BREAKING(fate(to), REAL(rename)(from, to), -1) }

int unlink(const char *path) { BREAKING(fate(path), REAL(unlink)(path), -1) }

int mkdir(const char *path, mode_t mode) { BREAKING(fate(path), REAL(mkdir)(path, mode), -1) }

#define OPENING(call)                                                       \
    mode_t mode = 0;                                                        \
    if (flags & (O_CREAT | O_TMPFILE)) {                                    \
        va_list words;                                                      \
        va_start(words, flags);                                             \
        mode = va_arg(words, mode_t);                                       \
        va_end(words);                                                      \
    }                                                                       \
    int makes = (flags & O_CREAT) && access(path, F_OK); /* a full disk opens what is there */ \
    BREAKING(makes || (flags & O_TRUNC) ? fate(path) : GOES, call, -1)

int open(const char *path, int flags, ...) { OPENING(REAL(open)(path, flags, mode)) }

int open64(const char *path, int flags, ...) { OPENING(REAL(open64)(path, flags, mode)) }
