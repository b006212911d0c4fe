// What C++ has once in a process: statics of inline functions and templates, exceptions under way, streams, clocks, constructors and destructors.
#include "expect.h"
#include <pmi.h>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <iomanip>
#include <iostream>
#include <memory_resource>
#include <new>
#include <stdexcept>
#include <string>
#include <thread>
#include <unistd.h>

static thread_local int own = 5;

inline int &counter()
{
    static int count;
    return count;
}

template <typename T> struct Held {
    static T value;
};
template <typename T> T Held<T>::value = T();

// Its constructor calls the runtime, and its destructor prints.
struct Begun {
    Begun()
    {
        int spawned;
        PMI_Init(&spawned);
        PMI_Get_rank(&rank);
        PMI_Get_size(&size);
        PMI_Barrier();
    }
    ~Begun() { std::cout << "rank " << rank << " ends\n"; }
};
static Begun begun;

static void statics()
{
    counter() += rank;
    Held<long>::value += 10 + rank;
    PMI_Barrier();
    EXPECT(counter() == rank && Held<long>::value == 10 + rank);
}

static void exceptions()
{
    try {
        throw std::runtime_error("of rank " + std::to_string(rank));
    } catch (const std::exception &) {
        // Others throw and catch while this one is under way.
        PMI_Barrier();
        EXPECT(std::uncaught_exceptions() == 0);
        try {
            PMI_Barrier();
            throw;
        } catch (const std::exception &again) {
            EXPECT(again.what() == "of rank " + std::to_string(rank));
        }
    }
    EXPECT(!std::current_exception());
}

static void clocks()
{
    using namespace std::chrono;
    auto steady = steady_clock::now();
    auto system = system_clock::now();
    usleep(250);
    EXPECT(steady_clock::now() - steady == microseconds(250));
    EXPECT(system_clock::now() - system == microseconds(250));
    std::this_thread::sleep_for(milliseconds(3));
    EXPECT(steady_clock::now() - steady == microseconds(3250));
}

static void threads()
{
    int seen = 0;
    own = 7;
    std::thread other([&] {
        seen = own;
        own = 9;
        std::this_thread::sleep_for(std::chrono::microseconds(5));
        seen += own;
        std::cout << "thread of rank " << rank << std::endl;
    });
    std::this_thread::sleep_for(std::chrono::microseconds(2));
    EXPECT(own == 7);
    other.join();
    EXPECT(own == 7 && seen == 14);
}

static void handlers()
{
    auto first = std::get_terminate();
    if (rank == 1) {
        std::set_terminate([] { std::_Exit(4); });
        std::set_new_handler([] { throw std::bad_alloc(); });
        std::pmr::set_default_resource(std::pmr::null_memory_resource());
    }
    PMI_Barrier();
    EXPECT((std::get_terminate() == first) == (rank != 1) && (std::get_new_handler() == nullptr) == (rank != 1));
    EXPECT((std::pmr::get_default_resource() == std::pmr::null_memory_resource()) == (rank == 1));
    PMI_Barrier();
}

int main(int argc, char **argv)
{
    std::string how = argc > 1 ? argv[1] : "";
    EXPECT(rank >= 0 && own == 5);
    if (how == "throw" && rank == 1)
        throw std::runtime_error("nobody catches this");
    if (how == "terminate" && rank == 1)
        std::terminate();
    if (how == "handled") {
        handlers();
        throw std::runtime_error("nobody catches this");
    }
    statics();
    exceptions();
    clocks();
    threads();
    handlers();
    if (rank % 2)
        std::cout << std::hex << std::setfill('0');
    PMI_Barrier();
    std::cout << std::setw(4) << 255 << " of rank " << rank << std::endl;
    return 0;
}
