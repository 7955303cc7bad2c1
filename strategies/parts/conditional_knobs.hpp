#pragma once

#include <memory>
#include <string>
#include <vector>

#include "strategies/knobs.hpp"

namespace gradwire {

/// Knobs that have an effect in one case only, such as a mode: read through this they are asked of
/// `knobs` as any others, and in the other case those that are set can be refused.
class ConditionalKnobs final : public Knobs {
 public:
  explicit ConditionalKnobs(Knobs& knobs) : knobs_(knobs) {}

  /// Refuses the first one that is set, of those that were asked for; what an original system's
  /// variable set is only reported.
  /// @param needed  what they need: "mode: ps"
  void refuse_without(const std::string& needed) const;

  KnobValue ask(const AskedKnob& knob) override;
  [[nodiscard]] bool given(const std::string& name) const override { return knobs_.given(name); }
  std::unique_ptr<Knobs> group(const std::string& name, const std::string& source) override;
  [[nodiscard]] const HostCpu& cpu() const override { return knobs_.cpu(); }
  void finish() const override { knobs_.finish(); }
  [[noreturn]] void refuse(const std::string& name, const std::string& message) const override;
  void without_effect(const std::string& name, const std::string& why) const override {
    knobs_.without_effect(name, why);
  }

 private:
  /// Notes that `name` is asked for.
  Knobs& asked(const std::string& name);

  Knobs& knobs_;
  std::vector<std::string> asked_;
};

}  // namespace gradwire
