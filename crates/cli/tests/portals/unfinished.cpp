// Ranks that never end have text in their buffers: rank 1 fails, all go on to the limit, or all wait for ever.
#include <cstdio>
#include <cstring>
#include <iostream>
#include <pmi.h>
#include <unistd.h>

int main(int, char **argv)
{
    int spawned, rank;
    PMI_Init(&spawned);
    PMI_Get_rank(&rank);
    std::printf("part of rank %d, ", rank);
    std::cout << "and its stream";
    if (!std::strcmp(argv[1], "fail") && rank == 1)
        return 7;
    while (!std::strcmp(argv[1], "limit"))
        sleep(1);
    if (!std::strcmp(argv[1], "deadlock") && rank == 1)
        pause();
    PMI_Barrier();
    return 0;
}
