/* Preloaded into a victim: every call that changes a file below MEMD_RECORDED, or syncs one, goes into the journal MEMD_JOURNAL.

   Power fails behind some record; what may be on disk then is worked out from the records (disk.py, which reads them). The call
   and its record are one step: no other thread's, and no other victim's, comes between. A record is `struct head` and then both
   paths and the bytes. A file is named by its inode, since its name may change.

   What this cannot see: bytes that libc writes inside itself (fopen, fwrite), names that a library changes by a system call of its
   own, bytes that are written through a map. A sync therefore carries what there is then: of a folder its names, of a file that is
   not LMDB's its bytes. A map that could be written through has a record of its own. */

#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

struct head {
    uint8_t kind, is_dsync, pad[6];
    uint64_t inode, offset, bytes;
    uint32_t path, other;
};

static pthread_mutex_t one_step = PTHREAD_MUTEX_INITIALIZER;
static int journal = -1;
static const char *root;
static size_t root_length;

__attribute__((constructor)) static void begin(void) {
    const char *name = getenv("MEMD_JOURNAL");
    root = getenv("MEMD_RECORDED");
    if (!name || !root) return;
    root_length = strlen(root);
    int made = REAL(open)(name, O_WRONLY | O_APPEND | O_CLOEXEC);
    journal = fcntl(made, F_DUPFD_CLOEXEC, 500); /* out of the way of who closes and counts the low ones */
    close(made);
}

static int is_ours(const char *path) {
    return journal >= 0 && !strncmp(path, root, root_length) && (path[root_length] == '/' || !path[root_length]);
}

/* The path of an open file; 0 where it is none of ours. */
static int named(int fd, char path[PATH_MAX]) {
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t n = journal < 0 ? -1 : readlink(link, path, PATH_MAX - 1);
    if (n < 0) return 0;
    path[n] = 0;
    return is_ours(path);
}

/* The absolute path of what a call names; 0 where it is none of ours. */
static int placed(int dir, const char *name, char path[PATH_MAX]) {
    if (journal < 0) return 0;
    if (name[0] == '/') {
        snprintf(path, PATH_MAX, "%s", name);
    } else if (dir == AT_FDCWD) {
        if (!getcwd(path, PATH_MAX)) return 0;
        snprintf(path + strlen(path), PATH_MAX - strlen(path), "/%s", name);
    } else {
        if (!named(dir, path)) return 0;
        snprintf(path + strlen(path), PATH_MAX - strlen(path), "/%s", name);
    }
    return is_ours(path);
}

static void enter(void) {
    pthread_mutex_lock(&one_step);
    while (flock(journal, LOCK_EX) && errno == EINTR) {}
}

static void leave(void) {
    int kept = errno;
    flock(journal, LOCK_UN);
    pthread_mutex_unlock(&one_step);
    errno = kept;
}

static void record(struct head head, const char *path, const char *other, const void *bytes) {
    int kept = errno;
    head.path = strlen(path);
    head.other = strlen(other);
    struct iovec parts[] = {{&head, sizeof head}, {(void *)path, head.path}, {(void *)other, head.other}, {(void *)bytes, head.bytes}};
    ssize_t all = sizeof head + head.path + head.other + head.bytes;
    if (REAL(writev)(journal, parts, 4) != all) abort(); /* a journal with a hole proves nothing */
    errno = kept;
}

static uint64_t inode_of(int fd) {
    struct stat seen;
    return fstat(fd, &seen) ? 0 : seen.st_ino;
}

/* --- contents */

static void wrote(int fd, const char *path, off_t where, const struct iovec *parts, int count, ssize_t done) {
    char *all = malloc(done), *to = all;
    for (ssize_t left = done; left > 0 && count--; parts++) {
        size_t n = (size_t)left < parts->iov_len ? (size_t)left : parts->iov_len;
        memcpy(to, parts->iov_base, n);
        to += n;
        left -= n;
    }
    int is_dsync = (fcntl(fd, F_GETFL) & O_DSYNC) != 0;
    record((struct head){.kind = 'W', .is_dsync = is_dsync, .inode = inode_of(fd), .offset = where, .bytes = done}, path, "", all);
    free(all);
}

static off_t position(int fd) {
    struct stat seen;
    if (fcntl(fd, F_GETFL) & O_APPEND) return fstat(fd, &seen) ? 0 : seen.st_size;
    return lseek(fd, 0, SEEK_CUR);
}

#define WRITING(call, where, parts, count)                     \
    char path[PATH_MAX];                                       \
    if (!named(fd, path)) return call;                         \
    enter();                                                   \
    off_t at = where;                                          \
    ssize_t done = call;                                       \
    if (done > 0) wrote(fd, path, at, parts, count, done);     \
    leave();                                                   \
    return done;

ssize_t write(int fd, const void *from, size_t n) {
    struct iovec part = {(void *)from, n};
    WRITING(REAL(write)(fd, from, n), position(fd), &part, 1)
}

ssize_t writev(int fd, const struct iovec *parts, int n) { WRITING(REAL(writev)(fd, parts, n), position(fd), parts, n) }

ssize_t pwrite(int fd, const void *from, size_t n, off_t where) {
    struct iovec part = {(void *)from, n};
    WRITING(REAL(pwrite)(fd, from, n, where), where, &part, 1)
}

ssize_t pwrite64(int fd, const void *from, size_t n, off64_t where) {
    struct iovec part = {(void *)from, n};
    WRITING(REAL(pwrite64)(fd, from, n, where), where, &part, 1)
}

ssize_t pwritev(int fd, const struct iovec *parts, int n, off_t where) {
    WRITING(REAL(pwritev)(fd, parts, n, where), where, parts, n)
}

ssize_t pwritev64(int fd, const struct iovec *parts, int n, off64_t where) {
    WRITING(REAL(pwritev64)(fd, parts, n, where), where, parts, n)
}

#define SIZING(call)                                                                                             \
    char path[PATH_MAX];                                                                                         \
    if (!named(fd, path)) return call;                                                                           \
    enter();                                                                                                     \
    int failed = call;                                                                                           \
    if (!failed) record((struct head){.kind = 'T', .inode = inode_of(fd), .offset = size}, path, "", "");        \
    leave();                                                                                                     \
    return failed;

int ftruncate(int fd, off_t size) { SIZING(REAL(ftruncate)(fd, size)) }

int ftruncate64(int fd, off64_t size) { SIZING(REAL(ftruncate64)(fd, size)) }

static void *mapped(void *at, int rights, int flags, int fd) {
    char path[PATH_MAX];
    int is_written = fd >= 0 && (rights & PROT_WRITE) && (flags & MAP_SHARED);
    if (at != MAP_FAILED && is_written && named(fd, path)) {
        enter();
        record((struct head){.kind = 'M', .inode = inode_of(fd)}, path, "", "");
        leave();
    }
    return at;
}

void *mmap(void *at, size_t n, int rights, int flags, int fd, off_t from) {
    return mapped(REAL(mmap)(at, n, rights, flags, fd, from), rights, flags, fd);
}

void *mmap64(void *at, size_t n, int rights, int flags, int fd, off64_t from) {
    return mapped(REAL(mmap64)(at, n, rights, flags, fd, from), rights, flags, fd);
}

/* --- syncs */

static int is_lmdb(const char *path) {
    size_t n = strlen(path);
    return n >= 4 && !strcmp(path + n - 4, ".mdb");
}

/* Every name in it with its inode: "INODE NAME" and a zero byte, one after the other. */
static void synced_folder(const char *path) {
    char *names = NULL;
    size_t bytes = 0;
    FILE *to = open_memstream(&names, &bytes);
    DIR *folder = opendir(path);
    for (struct dirent *one; (one = readdir(folder));)
        if (strcmp(one->d_name, ".") && strcmp(one->d_name, ".."))
            fprintf(to, "%llu %s%c", (unsigned long long)one->d_ino, one->d_name, 0);
    closedir(folder);
    fclose(to);
    record((struct head){.kind = 'D', .bytes = bytes}, path, "", names);
    free(names);
}

static void synced(int fd, const char *path) {
    struct stat seen;
    if (fstat(fd, &seen)) return;
    if (S_ISDIR(seen.st_mode)) {
        synced_folder(path);
        return;
    }
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    int again = is_lmdb(path) ? -1 : REAL(open)(link, O_RDONLY | O_CLOEXEC); /* its own may be for writing alone */
    if (again < 0) {
        record((struct head){.kind = 'S', .inode = seen.st_ino}, path, "", "");
        return;
    }
    char *held = malloc(seen.st_size + 1);
    ssize_t n = pread(again, held, seen.st_size, 0);
    close(again);
    record((struct head){.kind = 'H', .inode = seen.st_ino, .bytes = n < 0 ? 0 : n}, path, "", held);
    free(held);
}

#define SYNCING(call)                  \
    char path[PATH_MAX];               \
    if (!named(fd, path)) return call; \
    enter();                           \
    int failed = call;                 \
    if (!failed) synced(fd, path);     \
    leave();                           \
    return failed;

int fsync(int fd) { SYNCING(REAL(fsync)(fd)) }

int fdatasync(int fd) { SYNCING(REAL(fdatasync)(fd)) }

/* --- names */

static int opened(int fd, int flags, int was_there, const char *path) {
    struct head head = {.inode = fd < 0 ? 0 : inode_of(fd)};
    head.kind = was_there ? 'T' : 'C';
    int is_change = fd >= 0 && (!was_there || (flags & O_TRUNC));
    if (is_change) record(head, path, "", "");
    return fd;
}

#define OPENING(call, dir)                                       \
    char path[PATH_MAX];                                         \
    mode_t mode = 0;                                             \
    if (flags & (O_CREAT | O_TMPFILE)) {                         \
        va_list words;                                           \
        va_start(words, flags);                                  \
        mode = va_arg(words, mode_t);                            \
        va_end(words);                                           \
    }                                                            \
    if (!(flags & (O_CREAT | O_TRUNC)) || !placed(dir, name, path)) return call; \
    enter();                                                     \
    int was_there = !access(path, F_OK);                         \
    int fd = opened(call, flags, was_there, path);               \
    leave();                                                     \
    return fd;

int open(const char *name, int flags, ...) { OPENING(REAL(open)(name, flags, mode), AT_FDCWD) }

int open64(const char *name, int flags, ...) { OPENING(REAL(open64)(name, flags, mode), AT_FDCWD) }

int openat(int dir, const char *name, int flags, ...) { OPENING(REAL(openat)(dir, name, flags, mode), dir) }

int openat64(int dir, const char *name, int flags, ...) { OPENING(REAL(openat64)(dir, name, flags, mode), dir) }

/* A change of one name, or of two. */
#define NAMING(call, kind_, dir, name, to_dir, to)                           \
    char path[PATH_MAX], other[PATH_MAX] = "";                               \
    if (!placed(dir, name, path) || (*(to) && !placed(to_dir, to, other))) return call; \
    enter();                                                                 \
    int failed = call;                                                       \
    struct stat seen = {0};                                                  \
    if (!failed) lstat(*(to) ? other : path, &seen);                         \
    if (!failed) record((struct head){.kind = kind_, .inode = seen.st_ino}, path, other, ""); \
    leave();                                                                 \
    return failed;

int rename(const char *from, const char *to) { NAMING(REAL(rename)(from, to), 'R', AT_FDCWD, from, AT_FDCWD, to) }

int renameat(int dir, const char *from, int to_dir, const char *to) {
    NAMING(REAL(renameat)(dir, from, to_dir, to), 'R', dir, from, to_dir, to)
}

int renameat2(int dir, const char *from, int to_dir, const char *to, unsigned flags) {
    NAMING(REAL(renameat2)(dir, from, to_dir, to, flags), flags & RENAME_EXCHANGE ? 'X' : 'R', dir, from, to_dir, to)
}

int link(const char *from, const char *to) { NAMING(REAL(link)(from, to), 'L', AT_FDCWD, from, AT_FDCWD, to) }

int linkat(int dir, const char *from, int to_dir, const char *to, int flags) {
    NAMING(REAL(linkat)(dir, from, to_dir, to, flags), 'L', dir, from, to_dir, to)
}

int unlink(const char *name) { NAMING(REAL(unlink)(name), 'U', AT_FDCWD, name, AT_FDCWD, "") }

int unlinkat(int dir, const char *name, int flags) { NAMING(REAL(unlinkat)(dir, name, flags), 'U', dir, name, AT_FDCWD, "") }

int rmdir(const char *name) { NAMING(REAL(rmdir)(name), 'U', AT_FDCWD, name, AT_FDCWD, "") }

int mkdir(const char *name, mode_t mode) { NAMING(REAL(mkdir)(name, mode), 'K', AT_FDCWD, name, AT_FDCWD, "") }

int mkdirat(int dir, const char *name, mode_t mode) { NAMING(REAL(mkdirat)(dir, name, mode), 'K', dir, name, AT_FDCWD, "") }
