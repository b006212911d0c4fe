/* Times at which flows end in SimGrid: oracle PLATFORM FLOWS HOST [--cfg=..]; lines of FLOWS are: start in s, source, destination, bytes.
 * All senders live on HOST. Prints one time in seconds for each, in their order. */
#include <cstdio>
#include <fstream>
#include <simgrid/s4u.hpp>
#include <vector>

namespace sg = simgrid::s4u;

struct Flow {
    double start;
    std::string source, destination;
    double bytes;
    double end;
};

int main(int argc, char** argv) {
    sg::Engine engine(&argc, argv);
    engine.load_platform(argv[1]);
    std::vector<Flow> flows;
    std::ifstream file(argv[2]);
    for (Flow f; file >> f.start >> f.source >> f.destination >> f.bytes;) {
        f.end = -1;
        flows.push_back(f);
    }
    /* Who sends need not live where it sends from: hosts may fail, which is no matter of networks. */
    sg::Host* home = sg::Host::by_name(argv[3]);
    for (Flow& f : flows) {
        sg::Host *from = sg::Host::by_name(f.source), *to = sg::Host::by_name(f.destination);
        sg::Actor::create("flow", home, [&f, from, to] {
            sg::this_actor::sleep_until(f.start);
            sg::Comm::sendto(from, to, static_cast<uint64_t>(f.bytes));
            f.end = sg::Engine::get_clock();
        });
    }
    engine.run();
    for (const Flow& f : flows) std::printf("%.17g\n", f.end);
}
