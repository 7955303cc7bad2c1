#include "sim/report/profile_text.hpp"

#include <fmt/format.h>

#include <cstdint>
#include <iterator>

namespace gradwire {
namespace {

double ms(Seconds time) {
  return 1e3 * time.count();
}

std::int64_t elements_of(const LayerProfile& layer) {
  std::int64_t sum = 0;
  for (const ParameterSpec& parameter : layer.parameters) sum += parameter.elements();
  return sum;
}

}  // namespace

std::string profile_text(const ComputeProfile& p) {
  std::string text;
  auto out = std::back_inserter(text);
  fmt::format_to(out, "{} on {}, batch {}, {}\n", p.model, p.gpu, p.batch_per_gpu, p.dtype);
  fmt::format_to(out, "Source        {}, {} {} {}\n", p.source.kind, p.source.tool, p.source.file,
                 p.source.date);
  if (!p.source.notes.empty()) fmt::format_to(out, "              {}\n", p.source.notes);
  fmt::format_to(out,
                 "Iteration     {:.3f} ms: forward {:.3f}, backward {:.3f}, optimizer {:.3f}, "
                 "between {:.3f}\n",
                 ms(p.iteration), ms(p.forward()), ms(p.backward()), ms(p.optimizer),
                 ms(p.unattributed()));
  fmt::format_to(out, "Parameters    {} in {} tensors\n", p.parameter_count(), p.tensor_count());
  for (const auto& [kind, factor] : p.overlap) {
    fmt::format_to(out, "Overlap       {} takes {:.2f} times as long under communication\n", kind,
                   factor);
  }
  fmt::format_to(out, "\n{:<32}{:<14}{:>13}{:>14}{:>13}\n", "layer", "kind", "forward (ms)",
                 "backward (ms)", "parameters");
  for (const LayerProfile& layer : p.layers) {
    fmt::format_to(out, "{:<32}{:<14}{:>13.3f}{:>14.3f}{:>13}\n", layer.name, layer.kind,
                   ms(layer.forward), ms(layer.backward), elements_of(layer));
  }
  return text;
}

}  // namespace gradwire
