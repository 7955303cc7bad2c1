#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <variant>

#include "strategies/strategy.hpp"

namespace gradwire {

/// A share, written in per cent; 0 to 1.
struct KnobShare {
  double value = 0;
};
/// What a knob is set to. Sizes have a least, rates are above zero, times never negative
/// and at most a minute.
using KnobValue =
    std::variant<Bytes, Seconds, BytesPerSecond, KnobShare, std::int64_t, bool, std::string>;

/// A knob as a strategy asks for it.
struct AskedKnob {
  std::string name;
  KnobValue fallback;                    ///< where nothing is set; its kind is the value's
  std::string source;                    ///< of the default
  std::int64_t least = 0;                ///< of sizes (bytes) and counts
  std::int64_t most = 0;                 ///< of counts
  std::span<const std::string> known{};  ///< of a choice, else none
};

/// The knobs of a strategy as somebody set them. A strategy asks for each of its knobs once, with
/// its default and where that comes from; a reader of files answers with what is written there, a
/// lister writes down what was asked and answers with the default. So that a knob is named at one
/// place only.
///
/// Every function returns the value, `fallback` where nothing is set.
/// @param source  where the default comes from, under its origin's name: "HOROVOD_CYCLE_TIME,
///                operations.cc". Shown by `gradwire list strategies`.
class Knobs {
 public:
  virtual ~Knobs() = default;

  /// REQUIRES of what is written: at least `least`.
  Bytes size(const std::string& name, Bytes fallback, const std::string& source,
             Bytes least = Bytes{1}) {
    return std::get<Bytes>(ask({name, fallback, source, least.count()}));
  }
  /// Never negative, at most a minute.
  Seconds time(const std::string& name, Seconds fallback, const std::string& source) {
    return std::get<Seconds>(ask({name, fallback, source}));
  }
  /// Above zero.
  BytesPerSecond rate(const std::string& name, BytesPerSecond fallback, const std::string& source) {
    return std::get<BytesPerSecond>(ask({name, fallback, source}));
  }
  /// A share, written in per cent; 0 to 1.
  double ratio(const std::string& name, double fallback, const std::string& source) {
    return std::get<KnobShare>(ask({name, KnobShare{fallback}, source})).value;
  }
  std::int64_t count(const std::string& name, std::int64_t fallback, std::int64_t least,
                     std::int64_t most, const std::string& source) {
    return std::get<std::int64_t>(ask({name, fallback, source, least, most}));
  }
  bool yes(const std::string& name, bool fallback, const std::string& source) {
    return std::get<bool>(ask({name, fallback, source}));
  }
  std::string text(const std::string& name, const std::string& fallback,
                   const std::string& source) {
    return std::get<std::string>(ask({name, fallback, source}));
  }
  /// One of `known`. An empty `fallback`: it has to be set.
  std::string choice(const std::string& name, const std::string& fallback,
                     std::span<const std::string> known, const std::string& source) {
    return std::get<std::string>(
        ask({.name = name, .fallback = fallback, .source = source, .known = known}));
  }
  // The same in the place of `value`, which holds the default.
  void read(const std::string& name, bool& value, const std::string& source) {
    value = yes(name, value, source);
  }
  void read(const std::string& name, Seconds& value, const std::string& source) {
    value = time(name, value, source);
  }
  void read(const std::string& name, BytesPerSecond& value, const std::string& source) {
    value = rate(name, value, source);
  }
  void read(const std::string& name, double& share, const std::string& source) {
    share = ratio(name, share, source);
  }
  void read(const std::string& name, Bytes& value, const std::string& source,
            Bytes least = Bytes{1}) {
    value = size(name, value, source, least);
  }

  /// The value, of the kind of the default.
  virtual KnobValue ask(const AskedKnob& knob) = 0;
  /// Was it set? For knobs whose presence decides. The knob is to be asked for as well.
  [[nodiscard]] virtual bool given(const std::string& name) const = 0;

  /// The knobs in the mapping below `name`; null where there is none. Its own finish() is to be
  /// called.
  virtual std::unique_ptr<Knobs> group(const std::string& name, const std::string& source) = 0;
  /// Of the machines: defaults of knobs.
  [[nodiscard]] virtual const HostCpu& cpu() const = 0;

  /// Ends the reading: what is set and nobody asked for is refused.
  virtual void finish() const = 0;

  /// Tells that the value of a knob is not possible, and ends the reading.
  /// @param message  "'version' is '1.3'; expected a PyTorch release from 1.4 on"
  [[noreturn]] virtual void refuse(const std::string& name, const std::string& message) const = 0;

  /// Tells that a knob which is set changes nothing. Ends the reading as well, unless an original
  /// system's variable set it: its own system would go on.
  /// @param why  "expected 'mode: ps' beside it"
  virtual void without_effect(const std::string& name, const std::string& why) const {
    refuse(name, "'" + name + "' has no effect here; " + why);
  }
};

/// Builds a strategy for a job; every knob has been read and checked before.
using StrategyMaker = std::function<std::unique_ptr<Strategy>(const JobView&)>;

}  // namespace gradwire
