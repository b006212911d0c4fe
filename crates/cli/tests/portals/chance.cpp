// Random numbers of the system: as many kinds as there are, printed.
#include <pmi.h>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <random>
#include <sys/auxv.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <unistd.h>

int main()
{
    int spawned, rank;
    unsigned char bytes[11] = { 0 };
    unsigned long number = 0, entropy = 0, called = 0, sixteen[2];
    PMI_Init(&spawned);
    PMI_Get_rank(&rank);
    // Too much, and nowhere: hidden from the compiler.
    volatile size_t much = 300;
    void *volatile nowhere = reinterpret_cast<void *>(16);
    if (getrandom(bytes, 10, 0) != 10 || bytes[10] || getrandom(&number, sizeof number, GRND_NONBLOCK) != sizeof number)
        return 1;
    if (getentropy(&entropy, sizeof entropy) || getentropy(bytes, much) != -1 || errno != EIO)
        return 2;
    if (syscall(SYS_getrandom, &called, sizeof called, 0) != sizeof called || getrandom(nowhere, 8, 0) != -1)
        return 3;
    memcpy(sixteen, reinterpret_cast<void *>(getauxval(AT_RANDOM)), sizeof sixteen);
    std::random_device device;
    unsigned first = device(), second = device();
    if (first == second || number == entropy || number == called || sixteen[0] == sixteen[1])
        return 4;
    std::printf("%d %lx %lx %lx %lx %lx %x %x\n", rank, number, entropy, called, sixteen[0], sixteen[1], first, second);
    return 0;
}
