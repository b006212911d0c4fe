/* A single wait that would last longer than the run may: for a time, for something until a time, for a message that is on its way. */
#include "common.h"
#include <poll.h>
#include <pthread.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    ptl_handle_ni_t ni = open_interface(PTL_NI_MATCHING | PTL_NI_LOGICAL, NULL);
    const char *how = argc > 1 ? argv[1] : "";
    static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
    struct timespec at = { 30, 0 };
    ptl_handle_eq_t queue;
    ptl_handle_ct_t counter;
    ptl_handle_md_t md;
    ptl_event_t event;
    ptl_ct_event_t count;
    ptl_size_t test = 1;
    unsigned int which;
    static char bytes[1 << 20];

    OK(PtlEQAlloc(ni, 4, &queue));
    OK(PtlCTAlloc(ni, &counter));
    if (!strcmp(how, "sleep"))
        sleep(20);
    if (!strcmp(how, "poll"))
        poll(NULL, 0, 20000);
    if (!strcmp(how, "condition")) {
        pthread_mutex_lock(&mutex);
        pthread_cond_timedwait(&condition, &mutex, &at);
    }
    if (!strcmp(how, "queue"))
        PtlEQPoll(&queue, 1, 20000, &event, &which);
    if (!strcmp(how, "counter"))
        PtlCTPoll(&counter, &test, 1, 20000, &count, &which);
    if (!strcmp(how, "message") && rank == 0) {
        ptl_md_t descriptor = { .start = bytes, .length = sizeof bytes, .eq_handle = queue, .ct_handle = PTL_CT_NONE };
        OK(PtlMDBind(ni, &descriptor, &md));
        for (int n = 0; n < 100; n++)
            OK(PtlPut(md, 0, sizeof bytes, PTL_ACK_REQ, to_rank(1), 0, 0, 0, NULL, 0));
        for (;;)
            OK(PtlEQWait(queue, &event));
    }
    /* Nobody ever comes: a deadlock, however early the limit is. */
    if (!strcmp(how, "never"))
        OK(PtlEQWait(queue, &event));
    PMI_Barrier();
    return 0;
}
