#include "sim/train/rank_trace.hpp"

#include <fmt/format.h>

namespace gradwire {

void RankTrace::start(std::size_t member, int rank) {
  member_ = member;
  worker_ = fmt::format("rank {}", rank);
}

Span& RankTrace::add(const char* resource, const std::string& name, double start, double end,
                     std::string cause) {
  // A kernel that was cut by the end of a collective is one bar.
  constexpr std::size_t near = 4;
  for (std::size_t i = spans_.size(); i-- > 0 && spans_.size() - i <= near;) {
    Span& last = spans_[i];
    if (last.resource == resource && last.name == name && last.start + last.duration == start) {
      last.duration = end - last.start;
      if (last.cause.empty()) last.cause = std::move(cause);
      return last;
    }
  }
  spans_.push_back({.resource = resource,
                    .worker = worker_,
                    .name = name,
                    .start = start,
                    .duration = end - start,
                    .bytes = 0,
                    .tensors = {},
                    .cause = std::move(cause)});
  return spans_.back();
}

void RankTrace::add(const char* resource, const std::string& name, double start, double end,
                    Bytes size, const std::vector<TensorId>& tensors) {
  Span& bar = add(resource, name, start, end, "");
  bar.bytes = size.count();
  for (const TensorId id : tensors) {
    bar.tensors.push_back(tensors_[static_cast<std::size_t>(id)].name);
  }
}

}  // namespace gradwire
