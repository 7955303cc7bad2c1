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

KnobValue ConditionalKnobs::ask(const AskedKnob& knob) {
  return asked(knob.name).ask(knob);
}

std::unique_ptr<Knobs> ConditionalKnobs::group(const std::string& name, const std::string& source) {
  return asked(name).group(name, source);
}

void ConditionalKnobs::refuse(const std::string& name, const std::string& message) const {
  knobs_.refuse(name, message);
  std::terminate();  // never reached; of a virtual function gcc does not see that
}

}  // namespace gradwire
