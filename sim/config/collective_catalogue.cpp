#include "sim/config/collective_catalogue.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "sim/collectives/algorithms.hpp"
#include "sim/config/collective_table_yaml.hpp"
#include "sim/config/data_files.hpp"
#include "sim/config/host_library_constants_yaml.hpp"
#include "sim/config/nccl_yaml.hpp"
#include "sim/cost/flows_library.hpp"
#include "sim/cost/gloo.hpp"
#include "sim/cost/mpi.hpp"
#include "sim/cost/user_lines.hpp"

namespace gradwire::config {
namespace {

using Library = std::shared_ptr<const CollectiveLibrary>;
using Clusters = std::shared_ptr<const Cluster>;

bool reads_gpu_tensors(YamlMap& map) {
  static const std::vector<std::string> places = {"gpu", "host"};
  return map.choice_or("tensors", places.front(), places) == "gpu";
}

Library read_gloo(YamlMap& map, const Clusters& cluster, std::vector<Warning>& /*warnings*/) {
  GlooOptions options;
  options.constants = shipped_gloo();
  options.constants.step = map.value_or("step", options.constants.step, at_least(Seconds{0}));
  options.tensors_on_gpu = reads_gpu_tensors(map);
  return std::make_shared<GlooLibrary>(cluster, options);
}

Library read_mpi(YamlMap& map, const Clusters& cluster, std::vector<Warning>& /*warnings*/) {
  static const std::vector<std::string> versions = {"4.1", "4.0"};
  static const std::vector<std::string> algorithms = [] {
    std::vector<std::string> names = MpiLibrary::all_reduce_algorithms();
    names.insert(names.begin(), "auto");
    return names;
  }();
  MpiOptions options;
  options.constants = shipped_mpi();
  if (map.choice_or("version", versions.front(), versions) == "4.0") {
    options.decisions = MpiDecisions::before_4_1;
  }
  const std::string algorithm = map.choice_or("algorithm", "auto", algorithms);
  if (algorithm != "auto") options.all_reduce_algorithm = algorithm;
  options.tensors_on_gpu = reads_gpu_tensors(map);
  const auto library = std::make_shared<MpiLibrary>(cluster, std::move(options));
  const YamlValue* table = map.find("table");
  if (table == nullptr) return library;
  return load_collective_table(find_data(DataKind::collective_table, *table, "table"), "mpi",
                               cluster, library);
}

Library read_flows(YamlMap& map, const Clusters& cluster, std::vector<Warning>& /*warnings*/) {
  std::vector<std::string> known = {"auto"};
  for (const Algorithm& algorithm : algorithms()) known.emplace_back(algorithm.name);
  const std::string algorithm = map.choice_or("algorithm", known.front(), known);
  return std::make_shared<FlowsLibrary>(cluster, algorithm == known.front() ? "" : algorithm);
}

UserLine read_line(YamlMap& map, const std::string& algorithm) {
  return {.algorithm = algorithm,
          .op = {},
          .alpha = map.require<Seconds>("alpha"),
          .bandwidth = map.require<BytesPerSecond>("bandwidth", above(BytesPerSecond{0}))};
}

/// A line of `lines`: with its algorithm, for one collective or all.
UserLine read_named_line(YamlMap& map) {
  std::vector<std::string> algorithms_known;
  for (const Algorithm& algorithm : algorithms()) algorithms_known.emplace_back(algorithm.name);
  std::vector<std::string> ops;
  for (const CollectiveKind kind : collective_kinds()) ops.emplace_back(name_of(kind));
  UserLine line = read_line(map, map.require_choice("algorithm", algorithms_known));
  if (map.has("op")) {
    line.op = collective_kind(map.require_choice("op", ops));
    if (find_algorithm(line.algorithm, *line.op) == nullptr) {
      map.fail("algorithm", fmt::format("'{}' does not do {}; expected an algorithm that does "
                                        "(gradwire list collectives)",
                                        line.algorithm, name_of(*line.op)));
    }
  }
  map.finish();
  return line;
}

Library read_user(YamlMap& map, const Clusters& cluster, std::vector<Warning>& /*warnings*/) {
  std::vector<UserLine> lines;
  for (YamlMap& line : map.maps("lines")) lines.push_back(read_named_line(line));
  if (lines.empty()) {
    lines.push_back(read_line(map, "ring"));
  } else if (map.has("alpha") || map.has("bandwidth")) {
    const char* key = map.has("alpha") ? "alpha" : "bandwidth";
    map.fail(key, fmt::format("'{}' stands beside 'lines'; expected one of the two", key));
  }
  return std::make_shared<UserLines>(cluster, std::move(lines));
}

}  // namespace

const std::vector<CollectiveEntry>& collective_catalogue() {
  static const ParameterInfo tensors{
      "tensors", "gpu", "host: they are in host memory, nothing is copied from a GPU and back"};
  static const std::vector<CollectiveEntry> catalogue = {
      {"nccl", "NCCL's choice of algorithm and protocol by its own cost model, or a measured table",
       nccl_parameters(), read_nccl},
      {"gloo",
       "Gloo under PyTorch's ProcessGroupGloo: segmented ring, broadcast tree, two collectives at "
       "a "
       "time, over TCP and host memory",
       {{"step", "17.8 us",
         "hand-over between its threads in a step: the least all-reduce of n ranks takes 2 (n - 1) "
         "of them (facebookincubator/gloo issue 158)"},
        tensors},
       read_gloo},
      {"mpi",
       "Open MPI's coll/tuned with its fixed decisions, over TCP and host memory",
       {{"version", "4.1", "4.1, or 4.0 for all before it (all_reduce decides otherwise)"},
        {"algorithm", "auto",
         "of all_reduce: auto, or one of recursive_doubling, ring, segmented_ring, rabenseifner "
         "(coll_tuned_allreduce_algorithm)"},
        tensors,
        {"table", "none", "measurements that replace the model where they cover it"}},
       read_mpi},
      {"user",
       "your own line, alpha + size / bandwidth, for every collective by the ring, or one for each "
       "algorithm, of which the lowest counts",
       {{"alpha", "this and bandwidth, or lines", "time of an empty collective"},
        {"bandwidth", "this and alpha, or lines", "of the collective's size, on each rank"},
        {"lines", "none",
         "list of {algorithm, alpha, bandwidth} and op, a collective, where it is for one only"}},
       read_user},
      {"flows",
       "no library: what an algorithm's messages take on the links, with no launch, protocol or "
       "table",
       {{"algorithm", "auto",
         "of the collectives that it does: one of `gradwire list collectives`; auto, and for the "
         "others: the fastest for the size of those in which no switch reduces"}},
       read_flows},
  };
  return catalogue;
}

std::shared_ptr<const CollectiveLibrary> read_collective(YamlMap& scenario, const Clusters& cluster,
                                                         std::vector<Warning>& warnings) {
  static const YamlValue defaults = parse_yaml("{}", "collective");
  const YamlValue* written = scenario.find("collective");
  YamlMap map(written == nullptr ? defaults : *written, "collective");
  const auto& catalogue = collective_catalogue();
  const std::string library = map.choice_or("library", "nccl", names_of(catalogue));
  Library read =
      std::ranges::find(catalogue, library, &CollectiveEntry::name)->read(map, cluster, warnings);
  map.finish();
  return read;
}

std::shared_ptr<const CollectiveLibrary> default_library(
    const std::string& name, const std::shared_ptr<const Cluster>& cluster) {
  const YamlValue document =
      parse_yaml("collective: {library: " + config::yaml_quoted(name) + "}", "library " + name);
  YamlMap map(document);
  std::vector<Warning> warnings;
  return read_collective(map, cluster, warnings);
}

}  // namespace gradwire::config
