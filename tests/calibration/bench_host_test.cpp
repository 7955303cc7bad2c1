#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <limits>
#include <string>
#include <vector>

#include "calibration/capture/bench/arguments.hpp"
#include "calibration/capture/bench/host_facts.hpp"
#include "calibration/capture/bench/rendezvous.hpp"
#include "calibration/capture/bench/samples.hpp"
#include "calibration/capture/common/json_writer.hpp"
#include "calibration/capture/common/whole_file.hpp"
#include "calibration/import/json_file.hpp"
#include "sim/config/yaml/yaml_units.hpp"
#include "tests/catch.hpp"
#include "tests/scratch_folder.hpp"

namespace gradwire::calibration {
namespace {

namespace fs = std::filesystem;

std::string usage_error(const std::vector<std::string>& words) {
  try {
    const Arguments arguments({{"--sizes", "1KiB", ""}, {"--ops", "a", ""}}, words);
    static_cast<void>(arguments.sizes("--sizes"));
    static_cast<void>(arguments.choices("--ops", {"a", "b"}));
  } catch (const UsageError& error) {
    return error.what();
  }
  return "none";
}

std::vector<std::int64_t> sizes(const std::string& text) {
  return Arguments({{"--sizes", text, ""}}, {}).sizes("--sizes");
}

}  // namespace

TEST_CASE("What the JSON writer writes is read back the same", "[capture][json]") {
  JsonWriter json;
  json.begin_object().member("text", "a \"b\"\\\n").member("number", 0.1).member("whole", -3);
  json.member("none", std::numeric_limits<double>::quiet_NaN()).member("yes", true);
  json.key("rows").begin_list();
  json.begin_object().member("x", 1).end_object().begin_object().end_object();
  json.end_list().key("numbers").begin_list().value(1).value(2.5).end_list().end_object();
  const config::YamlValue read = parse_json(json.text(), "x.json");
  CHECK(read.find("text")->text == "a \"b\"\\\n");
  CHECK(config::read_value<double>(*read.find("number"), "number") == 0.1);
  CHECK(config::read_value<int>(*read.find("whole"), "whole") == -3);
  CHECK(read.find("none") == nullptr);
  CHECK(config::read_value<bool>(*read.find("yes"), "yes"));
  CHECK(read.find("rows")->items.size() == 2);
  CHECK(read.find("rows")->items[1].where.line == 3);
  CHECK(read.find("numbers")->items[1].text == "2.5");
}

TEST_CASE("Percentiles are taken by nearest rank", "[capture][samples]") {
  // Of 1..50: the 25th, the 48th (47.5 up) and the 50th (49.5 up).
  std::vector<double> samples;
  for (int i = 50; i >= 1; --i) samples.push_back(i);
  const SampleSummary summary = summarise(samples);
  CHECK(summary.n == 50);
  CHECK(summary.mean == Approx(25.5));
  CHECK(summary.min == 1);
  CHECK(summary.p50 == 25);
  CHECK(summary.p95 == 48);
  CHECK(summary.p99 == 50);
  CHECK(summary.max == 50);
  CHECK(summarise({7}).p99 == 7);
}

TEST_CASE("Sizes are ranges or lists that rise; the rest is refused with what was expected",
          "[capture][arguments]") {
  CHECK(sizes("1KiB:8KiB:x2") == std::vector<std::int64_t>{1024, 2048, 4096, 8192});
  CHECK(sizes("1KiB:7KiB:x4") == std::vector<std::int64_t>{1024, 4096});
  CHECK(sizes("3,1MiB") == std::vector<std::int64_t>{3, 1 << 20});
  CHECK(usage_error({}) == "none");
  const std::string words = "; expected sizes like 64KiB:64MiB:x2 or 1KiB,4MiB, rising";
  for (const std::string bad :
       {"", "0", "-1", "2,1", "1KB", "1KiB:8KiB:x1", "8:1:x2", "1:x2", "9223372036854775807GiB"}) {
    CHECK(usage_error({"--sizes", bad}) == "--sizes is '" + bad + "'" + words);
  }
  CHECK(usage_error({"--ops", "c"}) == "--ops is 'c'; expected all, a, b");
  CHECK(usage_error({"--op", "a"}) == "unknown option '--op'; expected one of --sizes, --ops");
  CHECK(usage_error({"--ops"}).starts_with("--ops: "));
  CHECK(usage_error({"--ops", "a", "--ops", "b"}).starts_with("--ops: "));
}

TEST_CASE("A machine's CPUs, memory and cards are read from the kernel's files",
          "[capture][host]") {
  const gradwire::test::ScratchFolder root;
  const auto write = [&](const std::string& name, const std::string& text) {
    write_whole_file(root.path() / name, text);
  };
  write("proc/cpuinfo",
        "processor\t: 0\nmodel name\t: Some CPU\nphysical id\t: 0\n\nprocessor\t: 1\n"
        "model name\t: Some CPU\nphysical id\t: 1\n");
  write("proc/meminfo", "MemTotal:       2048 kB\nMemFree: 1 kB\n");
  write("proc/sys/kernel/osrelease", "6.1.0\n");
  write("sys/devices/system/node/node0/cpulist", "0\n");
  write("sys/devices/system/node/node10/cpulist", "1\n");
  write("sys/devices/system/node/node2/cpulist", "\n");
  write("sys/devices/pci/0000:19:00.0/numa_node", "1\n");
  write("sys/class/infiniband/mlx5_0/ports/1/rate", "400 Gb/sec (4X NDR)\n");
  write("sys/class/infiniband/mlx5_0/ports/1/link_layer", "InfiniBand\n");
  fs::create_symlink(root.path() / "sys/devices/pci/0000:19:00.0",
                     root.path() / "sys/class/infiniband/mlx5_0/device");
  write("sys/class/net/eth0/speed", "25000\n");
  write("sys/class/net/eth0/device/numa_node", "-1\n");
  write("sys/class/net/lo/speed", "0\n");
  const HostFacts facts = read_host_facts(root.path());
  CHECK(facts.kernel == "6.1.0");
  CHECK(facts.cpu == "Some CPU");
  CHECK(facts.cpus == 2);
  CHECK(facts.sockets == 2);
  CHECK(facts.memory_bytes == 2048 * 1024);
  REQUIRE(facts.numa.size() == 3);
  CHECK(facts.numa[1].id == 2);
  CHECK(facts.numa[2].cpus == "1");
  REQUIRE(facts.cards.size() == 2);
  CHECK(facts.cards[0].name == "mlx5_0");
  CHECK(facts.cards[0].kind == "infiniband");
  CHECK(facts.cards[0].rate_bits_per_s == 400e9);
  CHECK(facts.cards[0].bus == "0000:19:00.0");
  CHECK(facts.cards[0].numa == 1);
  CHECK(facts.cards[1].rate_bits_per_s == 25e9);
  CHECK_FALSE(facts.cards[1].numa.has_value());
  CHECK(read_host_facts(root.path() / "nowhere").cpus == 0);
}

TEST_CASE("The id that rank 0 made comes to the other processes, by file and by TCP",
          "[capture][rendezvous]") {
  const gradwire::test::ScratchFolder folder;
  // A port of our own choosing; MASTER_PORT is the one before.
  setenv("MASTER_ADDR", "127.0.0.1", 1);
  setenv("MASTER_PORT", std::to_string(20'000 + getpid() % 20'000).c_str(), 1);
  const std::string way = GENERATE(as<std::string>(), std::string("tcp"), std::string("file:ids"));
  const std::string chosen = way == "tcp" ? way : "file:" + (folder.path() / "id").string();
  constexpr int processes = 3;
  NcclId made;
  made.bytes.fill('\7');
  std::vector<pid_t> children;
  for (int rank = 1; rank < processes; ++rank) {
    const pid_t child = fork();
    if (child == 0) {
      Rendezvous rendezvous(chosen, {rank, processes, rank});
      _exit(rendezvous.share({}, processes).bytes == made.bytes ? 0 : 1);
    }
    children.push_back(child);
  }
  Rendezvous rendezvous(chosen, {0, processes, 0});
  CHECK(rendezvous.share(made, processes).bytes == made.bytes);
  for (const pid_t child : children) {
    int status = 1;
    waitpid(child, &status, 0);
    CHECK(WEXITSTATUS(status) == 0);
  }
}

TEST_CASE("A launcher's environment says which process this is, or is refused",
          "[capture][rendezvous]") {
  for (const char* name : {"RANK", "WORLD_SIZE", "OMPI_COMM_WORLD_RANK", "SLURM_PROCID"}) {
    unsetenv(name);
  }
  CHECK(process_place().processes == 1);
  setenv("OMPI_COMM_WORLD_RANK", "3", 1);
  setenv("OMPI_COMM_WORLD_SIZE", "4", 1);
  setenv("OMPI_COMM_WORLD_LOCAL_RANK", "1", 1);
  CHECK(process_place().rank == 3);
  CHECK(process_place().local_rank == 1);
  setenv("RANK", "9", 1);
  setenv("WORLD_SIZE", "4", 1);
  CHECK_THROWS_WITH(process_place(), "RANK is 9; expected less than WORLD_SIZE, 4");
  setenv("RANK", "x", 1);
  CHECK_THROWS_WITH(process_place(), "RANK is 'x'; expected a whole number");
}

}  // namespace gradwire::calibration
