#include "sim/config/collective/collective_catalogue.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "sim/collectives/algorithms.hpp"
#include "sim/config/cluster/link_yaml.hpp"
#include "sim/config/collective/collective_table_yaml.hpp"
#include "sim/config/collective/host_library_constants_yaml.hpp"
#include "sim/config/collective/machine_constants_yaml.hpp"
#include "sim/config/collective/nccl_yaml.hpp"
#include "sim/config/yaml/fields.hpp"
#include "sim/cost/flows_library.hpp"
#include "sim/cost/gloo.hpp"
#include "sim/cost/mpi.hpp"
#include "sim/cost/user_lines.hpp"

namespace gradwire::config {
namespace {

using Library = std::shared_ptr<const CollectiveLibrary>;
using Clusters = std::shared_ptr<const Cluster>;

std::vector<std::string> planned_names() {
  std::vector<std::string> names;
  for (const Algorithm& algorithm : algorithms()) names.emplace_back(algorithm.name);
  return names;
}

/// "auto", which is kept as "", or one of these.
std::vector<std::pair<std::string, std::string>> auto_or(const std::vector<std::string>& names) {
  std::vector<std::pair<std::string, std::string>> words = {{"auto", ""}};
  for (const std::string& name : names) words.emplace_back(name, name);
  return words;
}

template <class Options>
Field<Options> tensors_field() {
  return choice("tensors", &Options::tensors_on_gpu, {{"gpu", true}, {"host", false}},
                "host: they are in host memory, nothing is copied from a GPU and back");
}

struct GlooKeys {
  std::optional<Seconds> step;
  bool tensors_on_gpu = true;
};

const Fields<GlooKeys>& gloo_fields() {
  static const Fields<GlooKeys> fields = {
      "gloo",
      "Gloo",
      {field("step", &GlooKeys::step,
             "hand-over between its threads in a step: the least all-reduce of n ranks "
             "takes 2 (n - 1) of them (facebookincubator/gloo issue 158)",
             between(Seconds{}, latency_most),
             fmt::format("{:.4g} us", 1e6 * shipped_gloo().step.count())),
       tensors_field<GlooKeys>()}};
  return fields;
}

Library read_gloo(YamlMap& map, const Clusters& cluster, std::vector<Warning>& /*warnings*/) {
  GlooOptions options;
  options.constants = shipped_gloo();
  options.sum_rate = shipped_cpu().sum_rate;
  GlooKeys keys;
  gloo_fields().read(map, keys);
  options.constants.step = keys.step.value_or(options.constants.step);
  options.tensors_on_gpu = keys.tensors_on_gpu;
  return std::make_shared<GlooLibrary>(cluster, options);
}

const Fields<MpiOptions>& mpi_fields() {
  static const Fields<MpiOptions> fields = {
      "mpi",
      "Open MPI",
      {choice("version", &MpiOptions::decisions,
              {{"4.1", MpiDecisions::since_4_1}, {"4.0", MpiDecisions::before_4_1}},
              "4.1, or 4.0 for all before it (all_reduce decides otherwise)"),
       choice("algorithm", &MpiOptions::all_reduce_algorithm,
              auto_or(MpiLibrary::all_reduce_algorithms()),
              "of all_reduce (coll_tuned_allreduce_algorithm)"),
       tensors_field<MpiOptions>(), declared<MpiOptions>(table_key())}};
  return fields;
}

Library read_mpi(YamlMap& map, const Clusters& cluster, std::vector<Warning>& /*warnings*/) {
  MpiOptions options;
  options.constants = shipped_mpi();
  options.cpu = shipped_cpu();
  mpi_fields().read(map, options);
  return with_table(map, "mpi", cluster, std::make_shared<MpiLibrary>(cluster, std::move(options)));
}

/// The algorithm of `flows`; "": the fastest.
struct FlowsKeys {
  std::string algorithm;
};

const Fields<FlowsKeys>& flows_fields() {
  static const Fields<FlowsKeys> fields = {
      "flows",
      "no library",
      {choice("algorithm", &FlowsKeys::algorithm, auto_or(planned_names()),
              "of the collectives that it does: one of `gradwire list collectives`; auto, and for "
              "the others: the fastest for the size of those in which no switch reduces")}};
  return fields;
}

Library read_flows(YamlMap& map, const Clusters& cluster, std::vector<Warning>& /*warnings*/) {
  FlowsKeys keys;
  flows_fields().read(map, keys);
  return std::make_shared<FlowsLibrary>(cluster, keys.algorithm);
}

/// Of a collective's time; each fallback is of a line in `lines` or of the only one.
std::vector<Field<UserLine>> line_fields(const std::string& alpha, const std::string& bandwidth) {
  return {field("alpha", &UserLine::alpha, "time of an empty collective",
                between(Seconds{}, latency_most), alpha),
          field("bandwidth", &UserLine::bandwidth, "of the collective's size, on each rank",
                above(BytesPerSecond{0}), bandwidth)};
}

const Fields<UserLine>& named_line_fields() {
  static const Fields<UserLine> fields = [] {
    std::vector<std::pair<std::string, CollectiveKind>> ops;
    for (const CollectiveKind kind : collective_kinds()) ops.emplace_back(name_of(kind), kind);
    auto all = line_fields(required, required);
    all.insert(all.begin(),
               word("algorithm", &UserLine::algorithm, planned_names(), "whose time", required));
    all.push_back(choice("op", &UserLine::op, ops, "for one collective", "all that it does"));
    return Fields<UserLine>("lines", "your own line of an algorithm", all);
  }();
  return fields;
}

/// A line of `lines`: with its algorithm, for one collective or all.
UserLine read_named_line(YamlMap& map) {
  UserLine line;
  named_line_fields().read_all(map, line);
  if (line.op && find_algorithm(line.algorithm, *line.op) == nullptr) {
    map.fail("algorithm", fmt::format("'{}' does not do {}; expected an algorithm that does "
                                      "(gradwire list collectives)",
                                      line.algorithm, name_of(*line.op)));
  }
  return line;
}

Library read_user(YamlMap& map, const Clusters& cluster, std::vector<Warning>& /*warnings*/) {
  std::vector<UserLine> lines;
  for (YamlMap& line : map.maps("lines")) lines.push_back(read_named_line(line));
  if (lines.empty()) {
    static const Fields<UserLine> fields = {"user", "", line_fields(required, required)};
    fields.read(map, lines.emplace_back());
    lines.back().algorithm = "ring";
  } else if (map.has("alpha") || map.has("bandwidth")) {
    const char* key = map.has("alpha") ? "alpha" : "bandwidth";
    map.fail(key, fmt::format("'{}' stands beside 'lines'; expected one of the two", key));
  }
  return std::make_shared<UserLines>(cluster, std::move(lines));
}

std::vector<KeyInfo> user_keys() {
  std::vector<KeyInfo> keys;
  for (auto& key : line_fields("this and bandwidth, or lines", "this and alpha, or lines")) {
    keys.push_back(std::move(key.info));
  }
  keys.push_back({"lines", "none", "lines of several algorithms, of which the lowest counts",
                  list_of(mapping_of(named_line_fields))});
  return keys;
}

}  // namespace

const std::vector<CollectiveEntry>& collective_catalogue() {
  static const std::vector<CollectiveEntry> catalogue = {
      {"nccl", "NCCL's choice of algorithm and protocol by its own cost model, or a measured table",
       nccl_keys, read_nccl},
      {"gloo",
       "Gloo under PyTorch's ProcessGroupGloo: segmented ring, broadcast tree, two collectives at "
       "a time, over TCP and host memory",
       [] { return gloo_fields().keys(); }, read_gloo},
      {"mpi", "Open MPI's coll/tuned with its fixed decisions, over TCP and host memory",
       [] { return mpi_fields().keys(); }, read_mpi},
      {"user",
       "your own line, alpha + size / bandwidth, for every collective by the ring, or one for each "
       "algorithm, of which the lowest counts",
       user_keys, read_user},
      {"flows",
       "no library: what an algorithm's messages take on the links, with no launch, protocol or "
       "table",
       [] { return flows_fields().keys(); }, read_flows},
  };
  return catalogue;
}

namespace {

KeyInfo library_key() {
  return {"library", "nccl", "what runs the collectives", among(names_of(collective_catalogue()))};
}

}  // namespace

Section collective_section() {
  Section section{"collective", "library that runs the collectives", {library_key()}};
  section.chosen_by = "library";
  section.chosen_default = library_key().fallback;
  for (const CollectiveEntry& library : collective_catalogue()) {
    section.variants.push_back({library.name, library.parameters()});
  }
  return section;
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
