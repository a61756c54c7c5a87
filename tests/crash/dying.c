/* Preloaded into a victim: dies by SIGKILL at the n-th call that writes or syncs a file named data.mdb.

   Before that call, or, of a write, behind its first half: a kill may cut a write between two pages. Counts from `memd_arm` on,
   in every thread; `memd_taken` says how many calls there were. The store's descriptors are told from others by their names. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

static atomic_int armed, at, taken, halves;

void memd_arm(int n, int half) {
    taken = 0;
    at = n;
    halves = half;
    armed = 1;
}

int memd_taken(void) { return taken; }

static void die(void) { kill(getpid(), SIGKILL); }

static int is_store(int fd) {
    char link[64], path[4096];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t n = readlink(link, path, sizeof path - 1);
    if (n < 0) return 0;
    path[n] = 0;
    return strstr(path, "/store/log/data.mdb") != NULL;
}

/* 0: go on; 1: write the first half of it, then die. */
static int is_last(int fd, int can_halve) {
    if (!armed || !is_store(fd)) return 0;
    if (++taken != at) return 0;
    if (!halves || !can_halve) die();
    return 1;
}

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

ssize_t pwrite(int fd, const void *from, size_t n, off_t where) {
    if (is_last(fd, 1)) {
        REAL(pwrite)(fd, from, n / 2, where);
        die();
    }
    return REAL(pwrite)(fd, from, n, where);
}

ssize_t pwrite64(int fd, const void *from, size_t n, off64_t where) {
    if (is_last(fd, 1)) {
        REAL(pwrite64)(fd, from, n / 2, where);
        die();
    }
    return REAL(pwrite64)(fd, from, n, where);
}

ssize_t pwritev(int fd, const struct iovec *parts, int n, off_t where) {
    if (is_last(fd, n > 1)) {
        REAL(pwritev)(fd, parts, n / 2, where);
        die();
    }
    return REAL(pwritev)(fd, parts, n, where);
}

ssize_t pwritev64(int fd, const struct iovec *parts, int n, off64_t where) {
    if (is_last(fd, n > 1)) {
        REAL(pwritev64)(fd, parts, n / 2, where);
        die();
    }
    return REAL(pwritev64)(fd, parts, n, where);
}

ssize_t writev(int fd, const struct iovec *parts, int n) {
    if (is_last(fd, n > 1)) {
        REAL(writev)(fd, parts, n / 2);
        die();
    }
    return REAL(writev)(fd, parts, n);
}

ssize_t write(int fd, const void *from, size_t n) {
    if (is_last(fd, 1)) {
        REAL(write)(fd, from, n / 2);
        die();
    }
    return REAL(write)(fd, from, n);
}

int fdatasync(int fd) {
    if (is_last(fd, 0)) die();
    return REAL(fdatasync)(fd);
}

int fsync(int fd) {
    if (is_last(fd, 0)) die();
    return REAL(fsync)(fd);
}
