#include "sim/config/collective_catalogue.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "sim/config/nccl_yaml.hpp"
#include "sim/cost/alpha_beta.hpp"
#include "sim/cost/gloo.hpp"
#include "sim/cost/mpi.hpp"

namespace gradwire::config {
namespace {

using Library = std::shared_ptr<const CollectiveLibrary>;
using Clusters = std::shared_ptr<const Cluster>;

Library read_gloo(YamlMap& /*map*/, const Clusters& cluster, std::vector<Warning>& /*warnings*/) {
  return std::make_shared<GlooLibrary>(cluster);
}

Library read_mpi(YamlMap& map, const Clusters& cluster, std::vector<Warning>& /*warnings*/) {
  static const std::vector<std::string> versions = {"4.1", "4.0"};
  static const std::vector<std::string> algorithms = [] {
    std::vector<std::string> names = MpiLibrary::all_reduce_algorithms();
    names.insert(names.begin(), "auto");
    return names;
  }();
  MpiOptions options;
  if (map.choice_or("version", versions.front(), versions) == "4.0") {
    options.decisions = MpiDecisions::before_4_1;
  }
  const std::string algorithm = map.choice_or("algorithm", "auto", algorithms);
  if (algorithm != "auto") options.all_reduce_algorithm = algorithm;
  return std::make_shared<MpiLibrary>(cluster, std::move(options));
}

Library read_user(YamlMap& map, const Clusters& cluster, std::vector<Warning>& /*warnings*/) {
  const auto alpha = map.require<Seconds>("alpha");
  const auto bandwidth = map.require<BytesPerSecond>("bandwidth", above(BytesPerSecond{0}));
  return std::make_shared<RingLibrary>(
      cluster, std::make_shared<AlphaBeta>(alpha, Seconds{1 / bandwidth.count()}));
}

}  // namespace

const std::vector<CollectiveEntry>& collective_catalogue() {
  static const std::vector<CollectiveEntry> catalogue = {
      {"nccl", "NCCL's choice of algorithm and protocol by its own cost model, or a measured table",
       nccl_parameters(), read_nccl},
      {"gloo",
       "Gloo under PyTorch's ProcessGroupGloo: segmented ring, broadcast tree, two collectives at "
       "a "
       "time, over TCP and host memory",
       {},
       read_gloo},
      {"mpi",
       "Open MPI's coll/tuned with its fixed decisions, over TCP and host memory",
       {{"version", "4.1", "4.1, or 4.0 for all before it (all_reduce decides otherwise)"},
        {"algorithm", "auto",
         "of all_reduce: auto, or one of recursive_doubling, ring, segmented_ring, rabenseifner "
         "(coll_tuned_allreduce_algorithm)"}},
       read_mpi},
      {"user",
       "your own line: alpha + size / bandwidth for every collective",
       {{"alpha", "required", "time of an empty collective"},
        {"bandwidth", "required", "of the collective's size, on each rank"}},
       read_user},
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

}  // namespace gradwire::config
