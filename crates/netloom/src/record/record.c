/* Begin and end of a recording, its file, and the numbers of requests. */
#define _GNU_SOURCE
#include "record.h"
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define CAPACITY (1 << 18)
#define KINDS 128
#define BUCKETS 4096

static char buffer[CAPACITY];
static size_t used;
static int file = -1, active, inside, own;
/* Nanoseconds: when the last call ended, and computation that is not written yet. */
static long long last, computed;

static struct { const char *name; unsigned long long count; } missing[KINDS];

struct request { uint64_t key; int number, persistent, started; struct request *next; };
static struct request *buckets[BUCKETS], *spare;
static int *numbers, free_numbers, room, made;

void *nl_real(const char *name) {
    void *real = dlsym(RTLD_NEXT, name);
    if (!real) {
        fprintf(stderr, "netloom record: there is no %s in the MPI library\n", name);
        abort();
    }
    return real;
}

static long long now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static void flush(void) {
    size_t done = 0;
    while (done < used) {
        ssize_t n = write(file, buffer + done, used - done);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) {
            fprintf(stderr, "netloom record: rank %d: cannot write: %s\n", own, strerror(errno));
            active = 0;
            break;
        }
        done += (size_t)n;
    }
    used = 0;
}

int nl_enter(void) {
    if (!active || inside) return 0;
    inside = 1;
    computed += now() - last;
    return 1;
}

void nl_leave(void) {
    inside = 0;
    last = now();
}

void nl_text(const char *text) {
    size_t length = strlen(text);
    if (used + length > CAPACITY) flush();
    memcpy(buffer + used, text, length);
    used += length;
}

void nl_number(unsigned long long number) {
    char digits[24], *at = digits + sizeof digits;
    *--at = 0;
    do *--at = (char)('0' + number % 10); while (number /= 10);
    nl_text(at);
}

void nl_bytes(unsigned long long bytes) {
    nl_number(bytes);
    nl_text(" B");
}

void nl_begin(const char *word) {
    if (computed > 0) {
        nl_text("  compute ");
        nl_number((unsigned long long)computed);
        nl_text(" ns\n");
        computed = 0;
    }
    nl_text("  ");
    nl_text(word);
}

void nl_end(void) { nl_text("\n"); }

void nl_missing(const char *name) {
    int i = 0;
    while (i < KINDS - 1 && missing[i].name && strcmp(missing[i].name, name)) i++;
    missing[i].name = name;
    missing[i].count++;
}

int nl_own_rank(void) { return own; }

unsigned long long nl_size(int count, MPI_Datatype type) {
    MPI_Count size = 0;
    PMPI_Type_size_x(type, &size);
    return size < 0 || count < 0 ? 0 : (unsigned long long)count * (unsigned long long)size;
}

uint64_t nl_key(MPI_Request request) {
    uint64_t key = 0;
    memcpy(&key, &request, sizeof request);
    return key;
}

static struct request **bucket(uint64_t key) {
    return &buckets[(key * 0x9e3779b97f4a7c15u) >> 52];
}

int nl_open(MPI_Request request, int persistent) {
    struct request *new = spare, **at;
    if (request == MPI_REQUEST_NULL) return -1;
    if (new) spare = new->next;
    else if (!(new = malloc(sizeof *new))) abort();
    new->key = nl_key(request);
    new->number = free_numbers ? numbers[--free_numbers] : made++;
    new->persistent = persistent;
    new->started = !persistent;
    new->next = NULL;
    for (at = bucket(new->key); *at; at = &(*at)->next) {}
    *at = new;
    return new->number;
}

static int end_of(struct request **at) {
    struct request *old = *at;
    int number = old->number;
    if (free_numbers == room) {
        room = room ? 2 * room : 64;
        if (!(numbers = realloc(numbers, (size_t)room * sizeof *numbers))) abort();
    }
    numbers[free_numbers++] = number;
    *at = old->next;
    old->next = spare;
    spare = old;
    return number;
}

int nl_request(uint64_t key, int nth, int end) {
    struct request **at = bucket(key);
    for (; *at; at = &(*at)->next) {
        if ((*at)->key != key || !(*at)->started || nth-- > 0) continue;
        if (!end) return (*at)->number;
        if (!(*at)->persistent) return end_of(at);
        (*at)->started = 0;
        return (*at)->number;
    }
    return -1;
}

int nl_start(MPI_Request request) {
    uint64_t key = nl_key(request);
    struct request *at = *bucket(key);
    for (; at; at = at->next)
        if (at->key == key && at->persistent && !at->started) {
            at->started = 1;
            return at->number;
        }
    return -1;
}

int nl_release(MPI_Request request) {
    uint64_t key = nl_key(request);
    struct request **at = bucket(key);
    for (; *at; at = &(*at)->next)
        if ((*at)->key == key) return end_of(at);
    return -1;
}

void nl_as(int number) {
    nl_text(" as r");
    nl_number((unsigned long long)number);
}

/* A child has a copy of what is not written yet: its parent writes it. */
static void forked(void) {
    active = 0;
    used = 0;
}

static void begin(void) {
    const char *folder = getenv("NETLOOM_RECORD");
    char path[4096];
    int ranks;
    if (!folder || active || file >= 0) return;
    PMPI_Comm_rank(MPI_COMM_WORLD, &own);
    PMPI_Comm_size(MPI_COMM_WORLD, &ranks);
    snprintf(path, sizeof path, "%s/%d.calls", folder, own);
    file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (file < 0) {
        fprintf(stderr, "netloom record: rank %d is not recorded: %s: %s\n", own, path, strerror(errno));
        return;
    }
    nl_text("# ranks ");
    nl_number((unsigned long long)ranks);
    nl_end();
    active = 1;
    pthread_atfork(NULL, NULL, forked);
    last = now();
}

static void end(int whole) {
    int i;
    if (!active) return;
    if (whole) {
        /* A test that found nothing is no call: it only carries the computation before the end. */
        if (computed > 0) { nl_begin("test"); nl_end(); }
        for (i = 0; i < KINDS && missing[i].name; i++) {
            nl_text("missing ");
            nl_number(missing[i].count);
            nl_text(" ");
            nl_text(missing[i].name);
            nl_end();
        }
        nl_text("# end\n");
    }
    flush();
    active = 0;
    close(file);
}

NL_MPI(Init)(int *argc, char ***argv) {
    int rc = NL_REAL(Init)(argc, argv);
    begin();
    return rc;
}

/* Calls of several threads at once have no order in a trace: no more is granted than one after the other. */
NL_MPI(Init_thread)(int *argc, char ***argv, int required, int *provided) {
    int most = getenv("NETLOOM_RECORD") && required > MPI_THREAD_SERIALIZED ? MPI_THREAD_SERIALIZED : required;
    int rc = NL_REAL(Init_thread)(argc, argv, most, provided);
    begin();
    return rc;
}

NL_MPI(Finalize)(void) {
    if (nl_enter()) end(1);
    return NL_REAL(Finalize)();
}

NL_MPI(Abort)(MPI_Comm comm, int code) {
    end(0);
    return NL_REAL(Abort)(comm, code);
}

__attribute__((destructor)) static void left(void) { end(0); }
