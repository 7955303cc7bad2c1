#include "strategies/compression/pricing.hpp"

#include <algorithm>
#include <utility>

namespace gradwire {
namespace {

/// Uncompressed bytes that a host encodes or decodes a second where the compressor was not measured
/// on a CPU: 10 Gbit/s, an input of Espresso's simulator for each of its compressors
/// (bytedance/byteps, branch Espresso, byteps/torch/mergeComp/scheduler/model_tensor.py).
constexpr BytesPerSecond cpu_rate{1.25e9};

}  // namespace

Pricing::Pricing(std::string compressor, CodecDevice device, const JobView& job, std::string alike)
    : compressor_(std::move(compressor)),
      alike_(std::move(alike)),
      device_(device),
      costs_(job.encode_costs),
      host_copy_(job.host_copy_bandwidth),
      sum_rate_(job.cpu.sum_rate) {}

CodecWork Pricing::priced(std::optional<MeasuredTime> measured, std::int64_t elements,
                          CodecWork counted, std::int64_t times) const {
  using Ground = MeasuredTime::Ground;
  const auto all = [times](Seconds once) { return static_cast<double>(times) * once; };
  const Seconds least = measured ? measured->time : Seconds{};
  const bool told = measured && measured->ground != Ground::least;
  if (!told && device_ == CodecDevice::gpu) {
    counted.least = all(least);
    counted.estimate = true;
    return counted;
  }
  const Seconds once = told ? least : std::max(fp32_size(elements) / cpu_rate, least);
  return {.place = device_ == CodecDevice::gpu ? CodecWork::Place::gpu : CodecWork::Place::cpu,
          .label = std::move(counted.label),
          .time = all(once),
          .estimate = !told || measured->ground == Ground::extended};
}

CodecWork Pricing::encode(std::int64_t elements, CodecWork counted) const {
  const auto measured =
      costs_ != nullptr ? costs_->encode(compressor_, device_, elements) : std::nullopt;
  return priced(measured, elements, std::move(counted), 1);
}

CodecWork Pricing::decode(std::int64_t elements, CodecWork counted, std::int64_t times) const {
  auto measured = costs_ != nullptr ? costs_->decode(compressor_, device_, elements) : std::nullopt;
  if (!measured && costs_ != nullptr && on_cpu()) {
    measured = costs_->decode(alike_, device_, elements);
  }
  return priced(measured, elements, std::move(counted), times);
}

void Pricing::fetch(std::int64_t elements, std::vector<CodecWork>& work) const {
  if (!on_cpu()) return;
  work.push_back(bus_copy(fp32_size(elements), host_copy_, "copy gradients to host"));
}

void Pricing::store(std::int64_t elements, std::vector<CodecWork>& work) const {
  if (!on_cpu()) return;
  work.push_back(bus_copy(fp32_size(elements), host_copy_, "copy gradients to GPU"));
}

CodecWork bus_copy(Bytes size, BytesPerSecond rate, std::string label) {
  return {.place = CodecWork::Place::bus, .label = std::move(label), .time = size / rate};
}

CodecWork streaming(std::string label, Bytes traffic, int kernels) {
  return {.label = std::move(label), .traffic = traffic, .kernels = kernels};
}

}  // namespace gradwire
