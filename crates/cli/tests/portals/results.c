/* What the C library keeps once in a process beside the functions: zones, texts of errors, tables, locales. Every rank sets its own and finds it. */
#define _GNU_SOURCE
#include <errno.h>
#include <locale.h>
#include <pmi.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "expect.h"

static void zones(void)
{
    long west = rank % 2 ? -10800 : 18000;
    int hour = rank % 2 ? 3 : 19;
    struct tm parts, *shared;
    char text[64];
    time_t at = 0;

    EXPECT(timezone == 0 && !strcmp(tzname[0], "GMT"));
    setenv("TZ", rank % 2 ? "EAST-3" : "WEST+5", 1);
    tzset();
    PMI_Barrier();
    EXPECT(timezone == west && daylight == 0 && !strcmp(tzname[0], rank % 2 ? "EAST" : "WEST"));
    shared = localtime_r(&at, &parts);
    EXPECT(shared == &parts && parts.tm_hour == hour && mktime(&parts) == 0);
    shared = localtime(&at);
    PMI_Barrier();
    EXPECT(shared->tm_hour == hour && strftime(text, sizeof text, "%H %Z", shared) && atoi(text) == hour);
    EXPECT(!strcmp(text + 3, rank % 2 ? "EAST" : "WEST") && strstr(ctime(&at), rank % 2 ? " 03:" : " 19:"));
    /* A change without a word to the library counts as well. */
    setenv("TZ", "MINE-1", 1);
    PMI_Barrier();
    EXPECT(localtime(&at)->tm_hour == 1 && timezone == -3600);
}

static void texts(void)
{
    char wanted[64], *error = strerror(5000 + rank), *signal, *digits, *base;
    int point, sign;

    signal = strsignal(100 + rank);
    digits = ecvt(1.5 + rank, 5, &point, &sign);
    base = l64a(5 + rank);
    PMI_Barrier();
    sprintf(wanted, "Unknown error %d", 5000 + rank);
    EXPECT(!strcmp(error, wanted));
    sprintf(wanted, "Unknown signal %d", 100 + rank);
    EXPECT(!strcmp(signal, wanted) && digits[0] == '1' + rank && point == 1 && a64l(base) == 5 + rank);
    EXPECT(!strcmp(strerror(ENOENT), "No such file or directory") && a64l(l64a(123456789)) == 123456789);
}

static void tables(void)
{
    ENTRY entry = { "key", (void *)(long)(rank + 1) }, *found;

    EXPECT(hcreate(10) && hsearch(entry, ENTER));
    PMI_Barrier();
    found = hsearch((ENTRY){ "key", NULL }, FIND);
    EXPECT(found && found->data == (void *)(long)(rank + 1) && !hsearch((ENTRY){ "other", NULL }, FIND));
    hdestroy();
}

static void locales(void)
{
    locale_t other = newlocale(LC_ALL_MASK, "C.UTF-8", 0);

    if (!other)
        return;
    EXPECT(uselocale(0) == LC_GLOBAL_LOCALE);
    if (rank == 0)
        EXPECT(uselocale(other) == LC_GLOBAL_LOCALE);
    PMI_Barrier();
    EXPECT(uselocale(0) == (rank ? LC_GLOBAL_LOCALE : other) && MB_CUR_MAX == (rank ? 1 : 6));
    /* The locale of all is another matter. */
    EXPECT(setlocale(LC_ALL, rank ? "C.UTF-8" : "C") != NULL);
    PMI_Barrier();
    EXPECT(uselocale(0) == (rank ? LC_GLOBAL_LOCALE : other) && MB_CUR_MAX == 6);
    EXPECT(uselocale(LC_GLOBAL_LOCALE) == (rank ? LC_GLOBAL_LOCALE : other) && MB_CUR_MAX == (rank ? 6 : 1));
}

int main(void)
{
    int spawned;
    PMI_Init(&spawned);
    PMI_Get_rank(&rank);
    zones();
    texts();
    tables();
    locales();
    PMI_Barrier();
    puts("kept");
    return 0;
}
