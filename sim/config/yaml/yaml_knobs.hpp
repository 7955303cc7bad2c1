#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "sim/config/catalogue.hpp"
#include "sim/config/collective/machine_constants_yaml.hpp"
#include "sim/config/yaml/yaml_map.hpp"
#include "sim/core/result.hpp"
#include "strategies/knobs.hpp"

namespace gradwire::config {

/// Knobs from a YAML mapping. The YamlValue must outlive it.
class YamlKnobs final : public Knobs {
 public:
  /// @param warnings  gets what originals' variables set without effect; must outlive it. Without
  ///                  it that is refused as all else is.
  explicit YamlKnobs(YamlMap map, std::vector<Warning>* warnings = nullptr)
      : map_(std::move(map)), warnings_(warnings) {}

  KnobValue ask(const AskedKnob& knob) override;
  [[nodiscard]] bool given(const std::string& name) const override { return map_.has(name); }
  std::unique_ptr<Knobs> group(const std::string& name, const std::string& source) override;
  [[nodiscard]] const HostCpu& cpu() const override { return shipped_cpu(); }
  void finish() const override { map_.finish(); }
  [[noreturn]] void refuse(const std::string& name, const std::string& message) const override;
  void without_effect(const std::string& name, const std::string& why) const override;

 private:
  YamlMap map_;
  std::vector<Warning>* warnings_;
};

/// Writes down what is asked for, and answers with the defaults.
class KnobList final : public Knobs {
 public:
  [[nodiscard]] const std::vector<KeyInfo>& list() const { return list_; }

  KnobValue ask(const AskedKnob& knob) override;
  [[nodiscard]] bool given(const std::string& /*name*/) const override { return false; }
  std::unique_ptr<Knobs> group(const std::string& name, const std::string& source) override;
  [[nodiscard]] const HostCpu& cpu() const override { return shipped_cpu(); }
  void finish() const override {}
  [[noreturn]] void refuse(const std::string& name, const std::string& message) const override;

 private:
  std::vector<KeyInfo> list_;
};

}  // namespace gradwire::config
