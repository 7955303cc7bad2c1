#include "sim/cost/choice_warnings.hpp"

#include <fmt/format.h>

#include <cstdint>

namespace gradwire {
namespace {

std::string time_text(Seconds time) {
  const double us = 1e6 * time.count();
  return us < 10'000 ? fmt::format("{:.0f} us", us) : fmt::format("{:.0f} ms", us / 1000);
}

std::string size_text(Bytes size) {
  constexpr std::int64_t mib = 1 << 20;
  const std::int64_t bytes = size.count();
  if (bytes >= mib) return fmt::format("{:.4g} MiB", static_cast<double>(bytes) / mib);
  return fmt::format("{:.4g} KiB", static_cast<double>(bytes) / 1024);
}

/// The protocol is reported where the algorithm does not tell the two ways apart.
std::string text_of(CollectiveKind kind, Bytes size, const CollectiveCost& cost) {
  const FasterWay& other = *cost.faster;
  std::string taken = cost.algorithm;
  std::string faster = other.algorithm;
  if (taken == faster) {
    taken += " " + cost.protocol;
    faster += " " + other.protocol;
  }
  return fmt::format("NCCL takes {} ({}); {} would take {} ({}); {} of {}", taken,
                     time_text(*cost.uncontended), faster, time_text(other.time), other.setting,
                     name_of(kind), size_text(size));
}

}  // namespace

void ChoiceWarnings::add(CollectiveKind kind, Bytes size, const CollectiveCost& cost,
                         double times) {
  const double bytes = times * static_cast<double>(size.count());
  bytes_[kind] += bytes;
  if (!cost.faster || cost.faster->time > (1 - saving_min) * *cost.uncontended) return;
  const auto way = [](const std::string& algorithm, const std::string& protocol) {
    return algorithm + " " + protocol;
  };
  Lost& lost = lost_[{kind, way(cost.algorithm, cost.protocol),
                      way(cost.faster->algorithm, cost.faster->protocol)}];
  lost.bytes += bytes;
  const Seconds saved = times * (*cost.uncontended - cost.faster->time);
  if (lost.cost.faster && saved <= lost.most) return;
  lost.most = saved;
  lost.size = size;
  lost.cost = cost;
}

void ChoiceWarnings::count_again(const ChoiceWarnings& since, double times) {
  for (auto& [kind, bytes] : bytes_) {
    const auto before = since.bytes_.find(kind);
    bytes += times * (bytes - (before == since.bytes_.end() ? 0 : before->second));
  }
  for (auto& [choice, lost] : lost_) {
    const auto before = since.lost_.find(choice);
    lost.bytes += times * (lost.bytes - (before == since.lost_.end() ? 0 : before->second.bytes));
  }
}

std::vector<Warning> ChoiceWarnings::warnings(double share) const {
  std::vector<Warning> warnings;
  for (const auto& [choice, lost] : lost_) {
    const CollectiveKind kind = std::get<CollectiveKind>(choice);
    if (lost.bytes < share * bytes_.at(kind)) continue;
    warnings.push_back({"collective-choice", text_of(kind, lost.size, lost.cost)});
  }
  return warnings;
}

}  // namespace gradwire
