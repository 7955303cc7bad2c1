// Talks to SimGrid itself: the defect is its own, and our settings are chosen to avoid it. CTest
// runs each case in a process of its own, as SimGrid needs.
#include <simgrid/kernel/Timer.hpp>
#include <simgrid/s4u.hpp>

#include <simgrid/version.h>
#include <xbt/log.h>

#include <map>
#include <string>

#include "tests/catch.hpp"

namespace {

namespace sg4 = simgrid::s4u;
using simgrid::kernel::timer::Timer;

/// A star of 4 hosts: up links of 4 GB/s, down links of 1 GB/s. x -> r1 runs alone; at 1 s host s
/// starts s -> r0 and s -> r1 together. @return load of r1's down link at 2 s over its capacity.
double load_of_shared_link(const char* mode) {
  xbt_log_control_set("root.thresh:critical");
  sg4::Engine engine("lazy");
  sg4::Engine::set_config("network/model:CM02");
  sg4::Engine::set_config(std::string("network/optim:") + mode);
  auto* zone = sg4::create_star_zone("star");
  std::map<std::string, sg4::Host*> host;
  std::map<std::string, sg4::Link*> down;
  for (const std::string name : {"x", "s", "r0", "r1"}) {
    host[name] = zone->create_host(name, 1e9);
    auto* up = zone->create_link("up" + name, 4e9)->set_latency(1e-6);
    down[name] = zone->create_link("down" + name, 1e9)->set_latency(1e-6);
    auto* point = host[name]->get_netpoint();
    zone->add_route(point, nullptr, nullptr, nullptr, {sg4::LinkInRoute(up)}, false);
    zone->add_route(nullptr, point, nullptr, nullptr, {sg4::LinkInRoute(down[name])}, false);
  }
  zone->seal();
  std::vector<sg4::CommPtr> flows;
  const auto send = [&](const char* from, const char* to) {
    flows.push_back(sg4::Comm::sendto_init(host[from], host[to]));
    flows.back()->set_payload_size(4'000'000'000)->start();
  };
  double load = 0;
  send("x", "r1");
  Timer::set(1.0, [&] {
    send("s", "r0");
    send("s", "r1");
  });
  Timer::set(2.0, [&] { load = down["r1"]->get_usage() / 1e9; });
  engine.run();
  return load;
}

TEST_CASE("SimGrid's optim:Full keeps a link within its capacity", "[engine][simgrid]") {
  // CM02's bandwidth factor is 1: both flows on the link share all of it.
  CHECK(load_of_shared_link("Full") == Approx(1).epsilon(1e-9));
}

TEST_CASE("SimGrid's default optim:Lazy runs a link above its capacity", "[engine][simgrid]") {
  const double load = load_of_shared_link("Lazy");
#if SIMGRID_VERSION < 33300
  // Two flows of the full capacity each: 200 %.
  CHECK(load == Approx(2).epsilon(1e-3));
#else
  // Not measured for later versions: tell it, so that someone decides.
  WARN("SimGrid " SIMGRID_VERSION_STRING ": load of the link under Lazy is "
       << load
       << (load < 1.001 ? " (the defect of 3.32 is gone)" : " (the defect of 3.32 is there)"));
  CHECK(load >= 0.999);
#endif
}

}  // namespace
