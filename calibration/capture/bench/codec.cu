#include "calibration/capture/bench/codec.hpp"

#include <cmath>
#include <cstdio>

#include "calibration/capture/bench/hash.hpp"
#include "calibration/capture/bench/kernels.cuh"

namespace gradwire::calibration {
namespace {

__global__ void fill_gradient(float* values, std::size_t count, std::uint32_t seed) {
  for (std::size_t i = thread_index(); i < count; i += thread_count()) {
    values[i] = gradient_value(static_cast<std::uint32_t>(i), seed);
  }
}

}  // namespace

Codec::Codec(const CodecOptions& options)
    : options_(options),
      elements_(options.elements),
      gradient_(options.elements),
      restored_(options.elements) {
  const Stream stream;
  fill_gradient<<<grid_blocks(elements_), block_threads, 0, stream.get()>>>(
      gradient_.data(), elements_, options_.seed);
  check_launch("fill_gradient");
  stream.wait();
}

void Codec::run_once() {
  const Stream stream;
  encode(stream.get());
  decode(stream.get());
  stream.wait();
}

const std::vector<std::string>& codec_names() {
  static const std::vector<std::string> names = {"fp16",    "bf16",     "signsgd", "ef_signsgd",
                                                 "qsgd",    "topk",     "ef_topk", "dgc",
                                                 "randomk", "powersgd", "acp_sgd", "onebit_adam"};
  return names;
}

std::unique_ptr<Codec> make_codec(const std::string& name, const CodecOptions& options) {
  if (name == "fp16") return make_half_codec(options, false);
  if (name == "bf16") return make_half_codec(options, true);
  if (name == "signsgd") return make_sign_codec(options, SignKind::plain);
  if (name == "ef_signsgd") return make_sign_codec(options, SignKind::error_feedback);
  if (name == "onebit_adam") return make_sign_codec(options, SignKind::momentum);
  if (name == "qsgd") return make_quantise_codec(options);
  if (name == "topk") return make_top_k_codec(options, false);
  if (name == "ef_topk") return make_top_k_codec(options, true);
  if (name == "dgc") return make_dgc_codec(options);
  if (name == "randomk") return make_random_k_codec(options);
  if (name == "powersgd") return make_low_rank_codec(options, LowRankKind::power_sgd);
  if (name == "acp_sgd") return make_low_rank_codec(options, LowRankKind::acp_sgd);
  throw DeviceError("no compressor '" + name + "'");
}

std::string compare(const std::string& what, const std::vector<float>& values,
                    const std::vector<float>& expected, double relative, double absolute) {
  if (values.size() != expected.size()) return what + ": another number of values";
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double difference = std::fabs(static_cast<double>(values[i]) - expected[i]);
    if (difference <= absolute + relative * std::fabs(static_cast<double>(expected[i]))) continue;
    char text[96];
    std::snprintf(text, sizeof text, "[%zu] is %.9g, expected %.9g", i,
                  static_cast<double>(values[i]), static_cast<double>(expected[i]));
    return what + text;
  }
  return {};
}

}  // namespace gradwire::calibration
