/* Checks that end the rank, for programs of either dialect, in C or C++. */
#include <stdio.h>
#include <stdlib.h>

#define EXPECT(what)                                                                       \
    do {                                                                                   \
        if (!(what)) {                                                                     \
            fprintf(stderr, "%s:%d: rank %d: not true: %s\n", __FILE__, __LINE__, rank, #what); \
            exit(1);                                                                       \
        }                                                                                  \
    } while (0)
#define OK(call) EXPECT((call) == PTL_OK)

static int rank = -1, size;
