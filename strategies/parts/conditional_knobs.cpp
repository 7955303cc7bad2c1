#include "strategies/parts/conditional_knobs.hpp"

#include <fmt/format.h>

#include <exception>

namespace gradwire {

Knobs& ConditionalKnobs::asked(const std::string& name) {
  asked_.push_back(name);
  return knobs_;
}

void ConditionalKnobs::refuse_without(const std::string& needed) const {
  for (const std::string& name : asked_) {
    if (!given(name)) continue;
    without_effect(name, fmt::format("expected '{}' beside it", needed));
  }
}

Bytes ConditionalKnobs::size(const std::string& name, Bytes fallback, const std::string& source,
                             Bytes least) {
  return asked(name).size(name, fallback, source, least);
}

Seconds ConditionalKnobs::time(const std::string& name, Seconds fallback,
                               const std::string& source) {
  return asked(name).time(name, fallback, source);
}

BytesPerSecond ConditionalKnobs::rate(const std::string& name, BytesPerSecond fallback,
                                      const std::string& source) {
  return asked(name).rate(name, fallback, source);
}

double ConditionalKnobs::ratio(const std::string& name, double fallback,
                               const std::string& source) {
  return asked(name).ratio(name, fallback, source);
}

std::int64_t ConditionalKnobs::count(const std::string& name, std::int64_t fallback,
                                     std::int64_t least, std::int64_t most,
                                     const std::string& source) {
  return asked(name).count(name, fallback, least, most, source);
}

bool ConditionalKnobs::yes(const std::string& name, bool fallback, const std::string& source) {
  return asked(name).yes(name, fallback, source);
}

std::string ConditionalKnobs::text(const std::string& name, const std::string& fallback,
                                   const std::string& source) {
  return asked(name).text(name, fallback, source);
}

std::string ConditionalKnobs::choice(const std::string& name, const std::string& fallback,
                                     std::span<const std::string> known,
                                     const std::string& source) {
  return asked(name).choice(name, fallback, known, source);
}

std::unique_ptr<Knobs> ConditionalKnobs::group(const std::string& name, const std::string& source) {
  return asked(name).group(name, source);
}

void ConditionalKnobs::refuse(const std::string& name, const std::string& message) const {
  knobs_.refuse(name, message);
  std::terminate();  // never reached; of a virtual function gcc does not see that
}

}  // namespace gradwire
