/* Pipes, sockets and locks of files: who waits at one does so in simulated time, for another thread or another rank. */
#include <errno.h>
#include <fcntl.h>
#include <pmi.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "expect.h"

static int ends[2];

static long now(void)
{
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    return at.tv_sec * 1000000000 + at.tv_nsec;
}

static void *writer(void *nothing)
{
    usleep(50);
    EXPECT(write(ends[1], "x", 1) == 1);
    return nothing;
}

static void *reader(void *nothing)
{
    char part[5000];
    long all = 0;
    ssize_t count;

    usleep(30);
    while (all < 200000 && (count = read(ends[0], part, sizeof part)) > 0)
        all += count;
    EXPECT(all == 200000);
    return nothing;
}

static void pipes(void)
{
    char letter = 0, *much = calloc(1, 200000);
    pthread_t thread;
    long begin = now();

    EXPECT(!pipe(ends) && !pthread_create(&thread, NULL, writer, NULL));
    EXPECT(read(ends[0], &letter, 1) == 1 && letter == 'x' && now() - begin >= 50000 && now() - begin < 51000);
    pthread_join(thread, NULL);
    /* More than a pipe holds, which is written as there is room. */
    EXPECT(!pthread_create(&thread, NULL, reader, NULL) && write(ends[1], much, 200000) == 200000);
    EXPECT(now() - begin >= 80000);
    pthread_join(thread, NULL);
    fcntl(ends[0], F_SETFL, O_NONBLOCK);
    EXPECT(read(ends[0], &letter, 1) == -1 && errno == EAGAIN);
    free(much);
}

/* Rank 0 has the lock for 50 us, and accepts a connection of rank 1. */
static void between_ranks(const char *directory)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    char name[200], letters[4] = { 0 };
    int file, socket_, other;
    long begin;

    snprintf(name, sizeof name, "%s/lock", directory);
    EXPECT((file = open(name, O_CREAT | O_RDWR, 0600)) >= 0);
    if (rank == 0)
        EXPECT(!flock(file, LOCK_EX));
    PMI_Barrier();
    begin = now();
    if (rank == 0) {
        usleep(50);
        flock(file, LOCK_UN);
    } else {
        EXPECT(flock(file, LOCK_EX | LOCK_NB) == -1 && errno == EWOULDBLOCK);
        EXPECT(!flock(file, LOCK_EX) && now() - begin >= 50000 && now() - begin < 61000);
    }
    snprintf(address.sun_path, sizeof address.sun_path, "%s/socket", directory);
    EXPECT((socket_ = socket(AF_UNIX, SOCK_STREAM, 0)) >= 0);
    if (rank == 0)
        EXPECT(!bind(socket_, (void *)&address, sizeof address) && !listen(socket_, 5));
    PMI_Barrier();
    begin = now();
    if (rank == 0) {
        EXPECT((other = accept(socket_, NULL, NULL)) >= 0 && now() - begin >= 20000 && now() - begin < 31000);
        EXPECT(recv(other, letters, 2, 0) == 2 && !strcmp(letters, "yo") && now() - begin >= 50000);
    } else {
        usleep(20);
        EXPECT(!connect(socket_, (void *)&address, sizeof address));
        usleep(30);
        EXPECT(write(socket_, "yo", 2) == 2);
    }
}

int main(int argc, char **argv)
{
    char letter;
    int spawned;

    PMI_Init(&spawned);
    PMI_Get_rank(&rank);
    if (argc < 2) {
        EXPECT(!pipe(ends));
        return read(ends[0], &letter, 1) == 1;
    }
    pipes();
    between_ranks(argv[1]);
    PMI_Barrier();
    puts("read");
    return 0;
}
