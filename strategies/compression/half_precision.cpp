#include "strategies/compression/half_precision.hpp"

namespace gradwire {
namespace {

Bytes half(std::int64_t elements) {
  return Bytes{elements * half_element_size};
}

}  // namespace

CompressorMaker HalfPrecision::read(Knobs& /*knobs*/) {
  return [](const JobView& /*job*/, CodecDevice /*device*/) {
    return std::make_unique<HalfPrecision>();
  };
}

Recipe HalfPrecision::recipe(const TensorGroup& group) const {
  // The division runs in place on what was cast.
  return {
      .encode = {streaming("compress", fp32_size(group.encoded) + 3 * half(group.encoded), 2)},
      .rounds = {{.transfers = {{.size = half(group.elements)}},
                  .work = {streaming("decompress", fp32_size(group.decoded) + half(group.decoded),
                                     1)}}},
  };
}

std::optional<Payload> HalfPrecision::payload(std::int64_t elements, int /*iteration*/) const {
  const Bytes cast = fp32_size(elements) + half(elements);
  return Payload{.size = half(elements),
                 .encode = {streaming("compress", cast, 1)},
                 .decode = {streaming("decompress", cast, 1)}};
}

}  // namespace gradwire
