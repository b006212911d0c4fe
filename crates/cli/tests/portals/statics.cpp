// A static of a function that waits while it is begun: other threads of the rank wait for it, those of other ranks do not.
#include <pmi.h>
#include <chrono>
#include <cstdio>
#include <stdexcept>
#include <thread>
#include <unistd.h>
#include <vector>

static int rank = -1, begun, tried;

struct Slow {
    int value = 3;
    Slow()
    {
        usleep(10 * (rank + 1));
        begun++;
    }
};

static Slow &slow()
{
    static Slow one;
    return one;
}

struct Failing {
    Failing()
    {
        usleep(5);
        if (++tried < 3)
            throw std::runtime_error("not yet");
    }
};

static bool there()
{
    try {
        static Failing one;
        return true;
    } catch (const std::runtime_error &) {
        return false;
    }
}

int main()
{
    int spawned, good = 0;
    PMI_Init(&spawned);
    PMI_Get_rank(&rank);
    auto begin = std::chrono::steady_clock::now();
    std::vector<std::thread> all;
    for (int n = 0; n < 3; n++)
        all.emplace_back([&] { good += slow().value == 3; });
    for (auto &thread : all)
        thread.join();
    auto took = std::chrono::steady_clock::now() - begin;
    if (good != 3 || begun != 1 || took < std::chrono::microseconds(10 * (rank + 1)))
        return 1;
    all.clear();
    int ready = 0;
    for (int n = 0; n < 3; n++)
        all.emplace_back([&] { ready += there(); });
    for (auto &thread : all)
        thread.join();
    if (ready != 1 || tried != 3 || !there())
        return 2;
    PMI_Barrier();
    std::puts("begun");
    return 0;
}
