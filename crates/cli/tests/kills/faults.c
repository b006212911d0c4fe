/* The system's refusals and deaths at will: put before a program by LD_PRELOAD, it counts the calls that change files below FAULTS_UNDER and
 * lets one of them go wrong.
 *
 *   FAULTS_UNDER=DIR   only files below this directory count
 *   FAULTS_AT=N        the N-th call, from 1 (0 or none: nothing goes wrong)
 *   FAULTS_KIND=..     kill: the process dies before the call; half: after half of it (half of what is written);
 *                      full: this call and all later ones that need room fail by ENOSPC; io: this one fails by EIO;
 *                      interrupted: EINTR once; short: one byte is written, or read;
 *                      asked: the process is asked to leave (SIGTERM) while the call takes half a second
 *   FAULTS_LOG=FILE    one line for each call: its number, name and path */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

static atomic_long calls;
/* By descriptor, what it is below FAULTS_UNDER. */
enum kind { ELSEWHERE, WRITTEN, READ };
static atomic_char kinds[4096];

static int is_below(const char *path) {
    const char *under = getenv("FAULTS_UNDER");
    return under && path && strncmp(path, under, strlen(under)) == 0;
}

static int kind_is(const char *kind) {
    const char *set = getenv("FAULTS_KIND");
    return set && strcmp(set, kind) == 0;
}

static void die(void) {
    kill(getpid(), SIGKILL);
    for (;;) pause();
}

/* What becomes of a call. */
enum fate { GOES_WELL, FAILS, IS_SHORT, DIES_AFTER };

/* Counts a call; `room`: it needs space on the disk; `again`: its caller tries again after EINTR. Sets errno where it fails. */
static enum fate count(const char *name, const char *path, int room, int again) {
    long n = atomic_fetch_add(&calls, 1) + 1;
    const char *log = getenv("FAULTS_LOG"), *at = getenv("FAULTS_AT");
    if (log) {
        char line[600];
        int length = snprintf(line, sizeof line, "%ld %s %s\n", n, name, path);
        int fd = (int)syscall(SYS_openat, AT_FDCWD, log, O_WRONLY | O_CREAT | O_APPEND, 0644);
        syscall(SYS_write, fd, line, (size_t)length);
        syscall(SYS_close, fd);
    }
    long chosen = at ? atol(at) : 0;
    if (chosen == 0 || n < chosen) return GOES_WELL;
    if (kind_is("full") && room) {
        errno = ENOSPC;
        return FAILS;
    }
    if (n != chosen) return GOES_WELL;
    if (kind_is("kill")) die();
    if (kind_is("half")) return DIES_AFTER;
    if (kind_is("asked")) {
        kill(getpid(), SIGTERM);
        usleep(500000);
    }
    if (kind_is("io")) {
        errno = EIO;
        return FAILS;
    }
    if (kind_is("interrupted") && again) {
        errno = EINTR;
        return FAILS;
    }
    return kind_is("short") ? IS_SHORT : GOES_WELL;
}

static int opened(int fd, enum kind kind) {
    if (fd >= 0 && fd < 4096) atomic_store(&kinds[fd], kind);
    return fd;
}

static enum kind kind_of(int fd) {
    return fd >= 0 && fd < 4096 ? atomic_load(&kinds[fd]) : ELSEWHERE;
}

#define OPEN(name)                                                              \
    int name(const char *path, int flags, ...) {                                \
        va_list more;                                                           \
        va_start(more, flags);                                                  \
        int mode = va_arg(more, int);                                           \
        va_end(more);                                                           \
        if (!is_below(path)) return opened(REAL(name)(path, flags, mode), ELSEWHERE); \
        if (!(flags & (O_WRONLY | O_RDWR))) return opened(REAL(name)(path, flags, mode), READ); \
        enum fate fate = count("open", path, flags & O_CREAT, 1);               \
        if (fate == FAILS) return -1;                                           \
        int fd = opened(REAL(name)(path, flags, mode), WRITTEN);                         \
        if (fate == DIES_AFTER) die();                                          \
        return fd;                                                              \
    }
OPEN(open)
OPEN(open64)

int close(int fd) {
    opened(fd, ELSEWHERE);
    return REAL(close)(fd);
}

ssize_t write(int fd, const void *bytes, size_t length) {
    if (kind_of(fd) != WRITTEN) return REAL(write)(fd, bytes, length);
    enum fate fate = count("write", "", 1, 1);
    if (fate == FAILS) return -1;
    if (fate == IS_SHORT && length > 1) length = 1;
    if (fate == DIES_AFTER) {
        REAL(write)(fd, bytes, length / 2);
        die();
    }
    return REAL(write)(fd, bytes, length);
}

/* What was written before is read again: saved states, kept points, the lock's holder. */
ssize_t read(int fd, void *bytes, size_t length) {
    if (kind_of(fd) == ELSEWHERE) return REAL(read)(fd, bytes, length);
    enum fate fate = count("read", "", 0, 1);
    if (fate == FAILS) return -1;
    if (fate == IS_SHORT && length > 1) length = 1;
    ssize_t got = REAL(read)(fd, bytes, length);
    if (fate == DIES_AFTER) die();
    return got;
}

#define CUT(name, offset)                                                       \
    int name(int fd, offset length) {                                           \
        if (kind_of(fd) != WRITTEN) return REAL(name)(fd, length);              \
        enum fate fate = count(#name, "", 0, 1);                                \
        if (fate == FAILS) return -1;                                           \
        int status = REAL(name)(fd, length);                                    \
        if (fate == DIES_AFTER) die();                                          \
        return status;                                                          \
    }
CUT(ftruncate, off_t)
CUT(ftruncate64, off64_t)

int flock(int fd, int operation) {
    if (kind_of(fd) != WRITTEN) return REAL(flock)(fd, operation);
    enum fate fate = count("flock", "", 0, 0);
    if (fate == FAILS) return -1;
    int status = REAL(flock)(fd, operation);
    if (fate == DIES_AFTER) die();
    return status;
}

#define ON_FILE(name)                                                           \
    int name(int fd) {                                                          \
        if (kind_of(fd) == ELSEWHERE) return REAL(name)(fd);                    \
        enum fate fate = count(#name, "", 1, 1);                                \
        if (fate == FAILS) return -1;                                           \
        int status = REAL(name)(fd);                                            \
        if (fate == DIES_AFTER) die();                                          \
        return status;                                                          \
    }
ON_FILE(fsync)
ON_FILE(fdatasync)

int rename(const char *from, const char *to) {
    if (!is_below(to)) return REAL(rename)(from, to);
    enum fate fate = count("rename", to, 1, 0);
    if (fate == FAILS) return -1;
    int status = REAL(rename)(from, to);
    if (fate == DIES_AFTER) die();
    return status;
}

int mkdir(const char *path, mode_t mode) {
    if (!is_below(path)) return REAL(mkdir)(path, mode);
    enum fate fate = count("mkdir", path, 1, 0);
    if (fate == FAILS) return -1;
    int status = REAL(mkdir)(path, mode);
    if (fate == DIES_AFTER) die();
    return status;
}

#define ON_PATH(name)                                                           \
    int name(const char *path) {                                                \
        if (!is_below(path)) return REAL(name)(path);                           \
        enum fate fate = count(#name, path, 0, 0);                              \
        if (fate == FAILS) return -1;                                           \
        int status = REAL(name)(path);                                          \
        if (fate == DIES_AFTER) die();                                          \
        return status;                                                          \
    }
ON_PATH(unlink)
ON_PATH(rmdir)

int unlinkat(int directory, const char *path, int flags) {
    enum fate fate = count("unlinkat", path, 0, 0);
    if (fate == FAILS) return -1;
    int status = REAL(unlinkat)(directory, path, flags);
    if (fate == DIES_AFTER) die();
    return status;
}
