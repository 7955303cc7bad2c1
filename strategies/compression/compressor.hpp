#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "strategies/compression/encode_costs.hpp"
#include "strategies/strategy.hpp"

namespace gradwire {

/// Bytes of `elements` fp32 numbers.
[[nodiscard]] constexpr Bytes fp32_size(std::int64_t elements) {
  return Bytes{elements * gradient_element_size};
}

/// A piece of a compressor's work.
struct CodecWork {
  enum class Place : std::uint8_t {
    gpu,  ///< kernels: time + kernels * overhead + the larger of traffic and flops, or `least`
    cpu,  ///< a host thread, for `time`
    bus,  ///< a copy between GPU and host memory, for `time`
  };
  Place place = Place::gpu;
  std::string label{};
  Bytes traffic{0};  ///< bytes read plus bytes written in device memory
  int kernels = 0;
  double flops = 0;
  Seconds time{};
  Seconds least{};        ///< on the GPU: it takes no less
  bool estimate = false;  ///< counted or extended, not measured: see coding_factor
};

/// A collective in place of the gradients' own, or one of the compressor's exchanges.
struct Transfer {
  std::string part{};  ///< of what travels: "P", "indexes"; "" when it is all
  CollectiveKind kind = CollectiveKind::all_reduce;
  Bytes size{0};         ///< as the kind counts it
  int exchange = -1;     ///< index into Compressor::exchanges(), in place of a collective
  bool leaders = false;  ///< the collective is among the first ranks of the machines
};

/// Transfers that are posted together, and the work that follows when they have ended.
struct CodecRound {
  std::vector<Transfer> transfers{};
  std::vector<CodecWork> work{};
};

/// What becomes of one all-reduce of gradients. The work of the last round is the decoding.
struct Recipe {
  std::vector<CodecWork> encode{};
  std::vector<CodecRound> rounds{};
  bool holds_compute = false;  ///< what is launched next waits for its end
};

/// What becomes of a message between two hosts.
struct Payload {
  Bytes size{0};
  std::vector<CodecWork> correct{};  ///< before the encoding, of workers and not of servers
  std::vector<CodecWork> encode{};
  std::vector<CodecWork> decode{};
};

/// The gradients that one all-reduce carries.
struct TensorGroup {
  std::vector<TensorId> tensors{};
  std::int64_t elements = 0;  ///< it carries
  /// Elements that a rank encodes and decodes; they differ from the former where it gives or keeps
  /// a part only (all-gather, reduce-scatter).
  std::int64_t encoded = 0;
  std::int64_t decoded = 0;
  /// The elements are those of `tensors`, not a part of them.
  bool whole = true;
  int ranks = 1;  ///< that take part
  int iteration = 0;
};

/// Turns gradients into fewer bytes. Free of schedules: Compressed puts it under any strategy.
class Compressor {
 public:
  virtual ~Compressor() = default;

  /// REQUIRES: group.elements > 0.
  [[nodiscard]] virtual Recipe recipe(const TensorGroup& group) const = 0;

  /// For strategies that send messages; nothing where it knows all-reduces only.
  [[nodiscard]] virtual std::optional<Payload> payload(std::int64_t /*elements*/,
                                                       int /*iteration*/) const {
    return std::nullopt;
  }
  /// The sum of what is encoded is the encoding of the sum: any collective just gets smaller.
  [[nodiscard]] virtual bool linear() const { return false; }
  /// Its recipes have several rounds, or work away from the GPU.
  [[nodiscard]] virtual bool chained() const { return false; }
  [[nodiscard]] virtual Phasing phasing() const { return {}; }
  /// What its recipes use beside all-reduces.
  [[nodiscard]] virtual std::vector<CollectiveUse> collectives() const { return {}; }
  [[nodiscard]] virtual std::vector<Exchange> exchanges() const { return {}; }
};

/// Builds a compressor for a job; every knob has been read and checked before.
using CompressorMaker =
    std::function<std::unique_ptr<Compressor>(const JobView& job, CodecDevice device)>;

}  // namespace gradwire
