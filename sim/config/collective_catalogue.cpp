#include "sim/config/collective_catalogue.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "sim/config/nccl_yaml.hpp"
#include "sim/cost/alpha_beta.hpp"

namespace gradwire::config {
namespace {

using Library = std::shared_ptr<const CollectiveLibrary>;
using Clusters = std::shared_ptr<const Cluster>;

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
