#include "sim/config/profile/length_bins.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "sim/config/yaml/yaml_map.hpp"

namespace gradwire::config {
namespace {

constexpr const char* length_key = "sequence_length";
const Range<double> count_range = above(0.0);

}  // namespace

ValueInfo length_bins_info() {
  return mapping_of([] {
    Section section{"lengths", "how many batches, or which share of them, have a length", {}};
    section.others =
        KeyInfo{"TOKENS", required, "batches of sequences of so many tokens, or their share",
                value_info(count_range)};
    return section;
  });
}

std::vector<LengthBin> length_bins(const YamlValue& profile) {
  const YamlValue* lengths = profile.find(length_key);
  if (lengths == nullptr || lengths->kind != YamlValue::Kind::map) return {{profile, 1}};
  YamlMap counts(*lengths, length_key);
  std::vector<LengthBin> bins;
  double all = 0;
  for (const YamlEntry& entry : lengths->entries) {
    bins.push_back({profile, counts.require<double>(entry.key, count_range)});
    LengthBin& bin = bins.back();
    all += bin.share;
    YamlValue length;
    length.kind = YamlValue::Kind::scalar;
    length.text = entry.key;
    length.where = entry.where;
    std::ranges::find(bin.profile.entries, length_key, &YamlEntry::key)->value = length;
  }
  if (bins.empty()) {
    throw ConfigError(lengths->where, std::string("'") + length_key +
                                          "' has no lengths; expected a number, or lengths with "
                                          "the batches of each: {128: 0.4, 512: 0.6}");
  }
  for (LengthBin& bin : bins) bin.share /= all;
  return bins;
}

}  // namespace gradwire::config
