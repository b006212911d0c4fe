// What C++20 and futures build on words that threads wait for, and such words themselves: each waits as long as the other thread sleeps, in simulated time.
#include "expect.h"
#include <pmi.h>
#include <atomic>
#include <barrier>
#include <cerrno>
#include <chrono>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <functional>
#include <future>
#include <latch>
#include <linux/futex.h>
#include <semaphore>
#include <sys/syscall.h>
#include <thread>
#include <unistd.h>
#include <vector>

using namespace std::chrono_literals;

static long now()
{
    return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
        .count();
}

// Another thread does something after a while, for which this one waits: the while has passed, and not much more.
static void after(std::chrono::microseconds span, const std::function<void()> &act, const std::function<void()> &wait)
{
    long begin = now();
    std::thread other([&] {
        std::this_thread::sleep_for(span);
        act();
    });
    wait();
    long took = now() - begin;
    other.join();
    EXPECT(took >= span.count() * 1000 && took < span.count() * 1000 + 5000);
}

static void of_the_language()
{
    std::atomic<int> word{ 0 };
    after(123us, [&] { word = 1; word.notify_all(); }, [&] { word.wait(0); });
    std::atomic<char> small{ 0 };
    after(10us, [&] { small = 1; small.notify_one(); }, [&] { small.wait(0); });
    std::atomic_flag flag{};
    after(20us, [&] { flag.test_and_set(); flag.notify_one(); }, [&] { flag.wait(false); });
    std::counting_semaphore<10> semaphore{ 0 };
    after(77us, [&] { semaphore.release(2); }, [&] { semaphore.acquire(); semaphore.acquire(); });
    long begin = now();
    EXPECT(!semaphore.try_acquire_for(30us) && now() - begin >= 30000 && now() - begin < 35000);
    std::latch latch{ 2 };
    after(15us, [&] { latch.count_down(); }, [&] { latch.arrive_and_wait(); });
    std::barrier barrier{ 3 };
    std::vector<std::thread> all;
    for (int n = 0; n < 3; n++)
        all.emplace_back([&, n] {
            for (int round = 1; round <= 3; round++) {
                std::this_thread::sleep_for(n * 10us);
                barrier.arrive_and_wait();
            }
        });
    begin = now();
    for (auto &thread : all)
        thread.join();
    EXPECT(now() - begin >= 60000 && now() - begin < 70000);
}

static void of_futures()
{
    std::promise<int> promise;
    auto future = promise.get_future();
    after(5us, [&] { promise.set_value(9); }, [&] { EXPECT(future.get() == 9); });
    std::packaged_task<int(int)> task([](int n) { return n + 1; });
    auto result = task.get_future();
    after(8us, [&] { task(4); }, [&] { EXPECT(result.get() == 5); });
    std::promise<void> never;
    auto late = never.get_future();
    long begin = now();
    EXPECT(late.wait_for(100us) == std::future_status::timeout && now() - begin >= 100000 && now() - begin < 102000);
    EXPECT(late.wait_until(std::chrono::system_clock::now() + 50us) == std::future_status::timeout);
    EXPECT(now() - begin >= 150000 && now() - begin < 154000);
    auto work = std::async(std::launch::async, [] { std::this_thread::sleep_for(500us); return 43; });
    int rounds = 0;
    begin = now();
    while (work.wait_for(10us) != std::future_status::ready)
        rounds++;
    EXPECT(work.get() == 43 && rounds >= 45 && rounds <= 50 && now() - begin < 520000);
}

static void of_the_system()
{
    static unsigned word, second;
    struct timespec span = { 0, 70000 };
    auto futex = [](unsigned *at, int operation, unsigned value, const void *fourth = nullptr, unsigned *other = nullptr,
                    unsigned last = 0) { return syscall(SYS_futex, at, operation, value, fourth, other, last); };
    long begin = now();
    EXPECT(futex(&word, FUTEX_WAIT_PRIVATE, 5) == -1 && errno == EAGAIN);
    EXPECT(futex((unsigned *)16, FUTEX_WAIT, 5) == -1 && errno == EFAULT);
    EXPECT(futex(&word, FUTEX_WAIT_PRIVATE, 0, &span) == -1 && errno == ETIMEDOUT && now() - begin >= 70000);
    clock_gettime(CLOCK_MONOTONIC, &span);
    span.tv_nsec += 30000;
    EXPECT(futex(&word, FUTEX_WAIT_BITSET, 0, &span, nullptr, 1) == -1 && errno == ETIMEDOUT);
    EXPECT(now() - begin >= 100000 && now() - begin < 102000);
    // Who waits is woken in order, and by its bit.
    static int order, seen[3];
    std::vector<std::thread> all;
    for (int n = 0; n < 3; n++)
        all.emplace_back([&, n] {
            EXPECT(futex(&word, FUTEX_WAIT_BITSET, 0, nullptr, nullptr, 1u << n) == 0);
            seen[n] = ++order;
        });
    usleep(1);
    EXPECT(futex(&word, FUTEX_WAKE_BITSET, INT_MAX, nullptr, nullptr, 2) == 1);
    usleep(1);
    EXPECT(futex(&word, FUTEX_CMP_REQUEUE, 1, (void *)1, &second, 0) == 2 && futex(&word, FUTEX_WAKE, 9) == 0);
    usleep(1);
    EXPECT(futex(&second, FUTEX_WAKE, 9) == 1);
    for (auto &thread : all)
        thread.join();
    EXPECT(seen[1] == 1 && seen[0] == 2 && seen[2] == 3);
    // Other calls by number are those of the functions with their names.
    begin = now();
    span = { 0, 40000 };
    EXPECT(syscall(SYS_nanosleep, &span, nullptr) == 0 && now() - begin >= 40000);
    EXPECT(syscall(SYS_clock_gettime, CLOCK_REALTIME, &span) == 0 && span.tv_sec * 1000000000 + span.tv_nsec == now());
    EXPECT(syscall(SYS_getpid) == getpid() && getpid() == 1001 + rank && syscall(SYS_gettid) == getpid());
    int thread = 0;
    std::thread([&] { thread = gettid(); }).join();
    EXPECT(thread > getpid());
    EXPECT(syscall(SYS_fork) == -1 && errno == ENOSYS);
    EXPECT(syscall(SYS_getuid) == getuid());
    std::thread([] { syscall(SYS_exit, 3); }).join();
}

int main(int argc, char **argv)
{
    int spawned;
    PMI_Init(&spawned);
    PMI_Get_rank(&rank);
    if (argc > 1 && rank == 1) {
        std::atomic<int> never{ 0 };
        never.wait(0);
    }
    of_the_language();
    of_futures();
    of_the_system();
    PMI_Barrier();
    std::printf("woken\n");
    PMI_Finalize();
    return 0;
}
