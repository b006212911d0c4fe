/* A thread takes a lock, and another one within, again and again, and never waits. Each lock that it gives back wakes the thread that wants the outer one, which must not
   be forgotten for that. Time passes once in 4,096 calls, so at each of the four calls once. */
#include "common.h"
#include <pthread.h>

static volatile int done;
static pthread_mutex_t outer = PTHREAD_MUTEX_INITIALIZER, inner = PTHREAD_MUTEX_INITIALIZER;

static void *wants(void *argument)
{
    (void)argument;
    for (int n = 0; n < 4; n++) {
        pthread_mutex_lock(&outer);
        done = n == 3;
        pthread_mutex_unlock(&outer);
    }
    return NULL;
}

int main(void)
{
    unsigned seed = 7;
    pthread_t thread;
    int over;
    open_interface(PTL_NI_NO_MATCHING | PTL_NI_LOGICAL, NULL);
    for (int before = 0; before < 4; before++) {
        done = 0;
        EXPECT(pthread_create(&thread, NULL, wants, NULL) == 0);
        for (int n = 0; n < before; n++)
            rand_r(&seed);
        do {
            pthread_mutex_lock(&outer);
            pthread_mutex_lock(&inner);
            pthread_mutex_unlock(&inner);
            over = done;
            pthread_mutex_unlock(&outer);
        } while (!over);
        EXPECT(pthread_join(thread, NULL) == 0);
    }
    return 0;
}
