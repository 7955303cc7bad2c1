#include "sim/config/collective/nccl_yaml.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

#include "sim/config/cluster/gpu_yaml.hpp"
#include "sim/config/cluster/link_tables_yaml.hpp"
#include "sim/config/cluster/link_yaml.hpp"
#include "sim/config/collective/collective_table_yaml.hpp"
#include "sim/config/collective/nccl_constants_yaml.hpp"
#include "sim/config/data_files.hpp"
#include "sim/config/yaml/fields.hpp"
#include "sim/core/cluster.hpp"
#include "sim/core/joined_by.hpp"
#include "sim/cost/nccl_library.hpp"

namespace gradwire::config {
namespace {

/// NCCL's minor versions whose numbers are known: those of profiles/libraries/nccl.
constexpr int nccl_minor_first = 4;
constexpr int nccl_minor_last = 30;
/// Beyond any patch of a release.
constexpr int patch_last = 99;
/// MAXCHANNELS (NCCL v2.28.9, src/include/device.h).
constexpr int channels_limit = 64;

NcclVersion read_version(YamlMap& map) {
  NcclVersion version;
  const auto text = map.optional<std::string>("version");
  if (!text) return version;
  const char* end = text->data() + text->size();
  const auto major = std::from_chars(text->data(), end, version.major);
  const bool dot = major.ec == std::errc{} && major.ptr != end && *major.ptr == '.';
  const auto minor =
      dot ? std::from_chars(major.ptr + 1, end, version.minor) : std::from_chars_result{end, {}};
  if (!dot || minor.ec != std::errc{} || version.major != 2 || version.minor < 0 ||
      (minor.ptr != end && *minor.ptr != '.')) {
    map.fail("version", fmt::format("'version' is '{}'; expected a release of NCCL 2, such as "
                                    "2.8.4",
                                    *text));
  }
  if (minor.ptr != end) {
    const auto patch = std::from_chars(minor.ptr + 1, end, version.patch);
    if (patch.ec != std::errc{} || version.patch < 0) version.patch = 0;
    version.patch = std::min(version.patch, patch_last);
  }
  return version;
}

NcclConstants constants_for(YamlMap& map, NcclVersion version, const NcclGpus& gpus,
                            std::vector<Warning>& warnings) {
  std::vector<int> capabilities;
  for (const auto& [model, gpu] : gpus) capabilities.push_back(gpu.capability);
  NcclConstants constants = shipped_nccl(version, capabilities);
  if (version.minor < nccl_minor_first || version.minor > nccl_minor_last) {
    const int priced_as = std::max(constants.first_minor, nccl_minor_first);
    warnings.push_back(
        {"outside-calibrated-range", fmt::format("NCCL {} is priced with the constants of 2.{}",
                                                 map.require<std::string>("version"), priced_as)});
  }
  return constants;
}

/// "ring", "ring,tree" or "^ll128": as NCCL_ALGO and NCCL_PROTO.
struct NameList {
  std::vector<std::string> names;
  bool excludes = false;
};

std::optional<NameList> read_list(YamlMap& map, const std::string& key,
                                  const std::vector<std::string>& known) {
  const auto text = map.optional<std::string>(key);
  if (!text || *text == "auto") return std::nullopt;
  NameList list;
  std::string_view rest = *text;
  list.excludes = rest.starts_with('^');
  if (list.excludes) rest.remove_prefix(1);
  for (;;) {
    const std::size_t comma = rest.find(',');
    const std::string name(rest.substr(0, comma));
    if (std::ranges::find(known, name) == known.end()) {
      map.fail(key,
               fmt::format("'{}' names '{}'; expected auto, or names of {}, with commas between "
                           "them{}",
                           key, name, joined_by(known, ", "), suggestion(name, known)));
    }
    list.names.push_back(name);
    if (comma == std::string_view::npos) return list;
    rest.remove_prefix(comma + 1);
  }
}

template <class Items>
std::vector<std::string> names(const Items& items) {
  std::vector<std::string> result;
  result.reserve(std::size(items));
  for (const auto item : items) result.emplace_back(name_of(item));
  return result;
}

/// Those of `items` that a list leaves. @throws ConfigError when it leaves none.
template <class Items>
auto chosen(YamlMap& map, const std::string& key, const Items& items, const NameList& list) {
  std::vector<typename Items::value_type> result;
  for (const auto item : items) {
    const bool named =
        std::ranges::find(list.names, std::string(name_of(item))) != list.names.end();
    if (named != list.excludes) result.push_back(item);
  }
  if (result.empty()) {
    map.fail(key, fmt::format("'{}' leaves nothing; expected auto, or at least one of {}", key,
                              joined_by(names(items), ", ")));
  }
  return result;
}

void read_choice(YamlMap& map, NcclOptions& options) {
  std::vector<std::string> known = names(nccl_algorithms);
  known.pop_back();  // direct: what is grouped is not chosen
  if (const auto list = read_list(map, "algorithm", known)) {
    options.algorithms = chosen(map, "algorithm", nccl_algorithms, *list);
  }
  if (const auto list = read_list(map, "protocol", names(nccl_protocols))) {
    options.protocols = chosen(map, "protocol", nccl_protocols, *list);
    options.forces_ll128 =
        !list->excludes && std::ranges::find(list->names, "ll128") != list->names.end();
  }
  const bool fits = std::ranges::any_of(options.algorithms, [&](NcclAlgorithm algorithm) {
    return std::ranges::any_of(options.protocols, [&](NcclProtocol protocol) {
      return std::ranges::any_of(collective_kinds(), [&](CollectiveKind kind) {
        return nccl_has(kind, algorithm, protocol);
      });
    });
  });
  if (!fits) {
    map.fail("protocol",
             "'protocol' is not one that these algorithms have; expected simple (only ring and "
             "tree have ll and ll128)");
  }
}

void read_channels(YamlMap& map, NcclOptions& options) {
  const auto text = map.optional<std::string>("channels");
  if (text && *text != "auto") {
    if (options.channels_min || options.channels_max) {
      map.fail("channels", "'channels' stands beside min_channels or max_channels; expected one");
    }
    options.channels_min = options.channels_max =
        map.require<int>("channels", between(1, channels_limit));
  }
  if (options.channels_min && options.channels_max &&
      *options.channels_min > *options.channels_max) {
    map.fail("min_channels", fmt::format("'min_channels' is {}; expected at most max_channels, {}",
                                         *options.channels_min, *options.channels_max));
  }
}

NcclGpus gpus_of(const Cluster& cluster, std::vector<Warning>& warnings) {
  NcclGpus gpus;
  for (int index = 0; index < cluster.node_count(); ++index) {
    const NodeGraph& node = cluster.node(index);
    if (index > 0 && &node == &cluster.node(index - 1)) continue;
    for (const DeviceId id : node.gpus()) {
      const std::string& model = node.device(id).model;
      const auto [entry, is_new] = gpus.try_emplace(model);
      if (!is_new) continue;
      const GpuWires* wires = shipped_links().find_gpu(model);
      if (wires != nullptr) entry->second.capability = wires->compute_capability;
      if (const auto spec = described_gpu(model)) {
        entry->second.memory_bandwidth = spec->memory_bandwidth;
      }
      // What is not known of it, LL128 and NVLS, matters over NVLink only.
      const bool has_nvlink = std::ranges::any_of(
          node.resources(), [](const auto& resource) { return resource.kind == LinkKind::nvlink; });
      if (wires == nullptr && !model.empty() && has_nvlink) {
        warnings.push_back(
            {"unknown-gpu",
             fmt::format("GPU model '{}' of node '{}' is not known: NCCL is priced "
                         "as on Volta without LL128 and NVLS{}",
                         model, node.name, suggestion(model, data_names(DataKind::gpu)))});
      }
    }
  }
  return gpus;
}

const Fields<NcclOptions>& nccl_fields() {
  const auto channels = between(1, channels_limit);
  static const Fields<NcclOptions> fields = {
      "nccl",
      "NCCL",
      {{{"version", "2.28",
         "release of NCCL 2: its cost model's numbers, of which those of 2.4 to 2.30 are known"}},
       {{"algorithm", "auto",
         "NCCL_ALGO: names that may be taken (ring, tree, nvls, nvls_tree, pat, collnet_direct, "
         "collnet_chain), separated by commas; ^ before them: all others"}},
       {{"protocol", "auto",
         "NCCL_PROTO: ll, ll128, simple, in the same manner; over EFA before Hopper only simple "
         "(aws-ofi-nccl)"}},
       field("min_channels", &NcclOptions::channels_min, "NCCL_MIN_NCHANNELS", channels, "auto"),
       field("max_channels", &NcclOptions::channels_max, "NCCL_MAX_NCHANNELS", channels, "auto"),
       {{"channels", "auto", "NCCL_MIN_NCHANNELS and NCCL_MAX_NCHANNELS at once",
         either(among({"auto"}), value_info(channels))}},
       field("collnet", &NcclOptions::collnet,
             "the network's switches reduce (NCCL_COLLNET_ENABLE with a plug-in)"),
       {{"gpus_per_process", "1",
         "GPUs that one process launches on, one after the other (nccl-tests -g), up to those of a "
         "node",
         value_info(at_least(1))}},
       field("host_per_call", &NcclOptions::host_per_call,
             "the host's time for a call on an idle GPU, where each collective is waited for "
             "before the next; PyTorch: 21 us on a host of 8 H200 (stas00/ml-engineering, "
             "network/benchmarks/README.md: medians with and without it, 8 B to 1 MiB)",
             between(Seconds{}, latency_most)),
       declared<NcclOptions>(table_key())}};
  return fields;
}

}  // namespace

std::vector<KeyInfo> nccl_keys() {
  return nccl_fields().keys();
}

std::shared_ptr<const CollectiveLibrary> read_nccl(YamlMap& map,
                                                   const std::shared_ptr<const Cluster>& cluster,
                                                   std::vector<Warning>& warnings) {
  int gpus_per_process_limit = 1;
  for (int node = 0; node < cluster->node_count(); ++node) {
    gpus_per_process_limit =
        std::max(gpus_per_process_limit, static_cast<int>(cluster->node(node).gpus().size()));
  }
  NcclOptions options;
  nccl_fields().read(map, options);
  options.version = read_version(map);
  options.gpus = gpus_of(*cluster, warnings);
  options.constants = constants_for(map, options.version, options.gpus, warnings);
  read_choice(map, options);
  read_channels(map, options);
  options.gpus_per_process =
      map.value_or("gpus_per_process", 1, between(1, gpus_per_process_limit));
  const auto library = std::make_shared<NcclLibrary>(cluster, std::move(options));
  if (map.find("table") == nullptr) return library;
  for (const char* key : {"algorithm", "protocol", "channels", "min_channels", "max_channels"}) {
    if (map.find(key) == nullptr) continue;
    warnings.push_back(
        {"table-first", fmt::format("'{}' counts only where the table has no measurement", key)});
  }
  return with_table(map, "nccl", cluster, library);
}

}  // namespace gradwire::config
