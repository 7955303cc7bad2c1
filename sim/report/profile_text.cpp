#include "sim/report/profile_text.hpp"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <vector>

#include "sim/core/outgoing_text.hpp"
#include "sim/report/ready_curve.hpp"

namespace gradwire {
namespace {

double ms(Seconds time) {
  return 1e3 * time.count();
}

/// How much of the gradients is ready at each tenth of backward.
std::string ready_text(const ComputeProfile& p) {
  const std::vector<ReadyStep> curve = ready_curve(p);
  std::string text = plain_format("{:>10}{:>11}{:>13}{:>9}{:>9}\n", "backward", "time (ms)",
                                  "parameters", "share", "tensors");
  constexpr int tenths = 10;
  for (int i = 1; i <= tenths; ++i) {
    // The last mark takes in what rounding has put behind it.
    const Seconds mark = i < tenths ? i * 0.1 * p.backward() : p.iteration;
    const auto later = std::ranges::upper_bound(curve, mark, {}, &ReadyStep::time);
    const ReadyStep reached = later == curve.begin() ? ReadyStep{} : *std::prev(later);
    text += plain_format(
        "{:>8} %{:>11.3f}{:>13}{:>7.1f} %{:>9}\n", 10 * i, ms(std::min(mark, p.backward())),
        reached.elements,
        100.0 * static_cast<double>(reached.elements) / static_cast<double>(p.parameter_count()),
        reached.tensors);
  }
  return text;
}

}  // namespace

std::string profile_title(const ComputeProfile& p) {
  return p.is_shape()
             ? p.model + ", a shape: only ratios of times count"
             : plain_format("{} on {}, batch {}, {}", p.model, p.gpu, p.batch_per_gpu, p.dtype);
}

std::string profile_text(const ComputeProfile& p) {
  std::string text;
  auto out = std::back_inserter(text);
  plain_format_to(out, "{}\n", profile_title(p));
  plain_format_to(out, "Source        {}, {} {} {}\n", p.source.kind, p.source.tool, p.source.file,
                  p.source.date);
  if (!p.framework.empty()) {
    const Seconds host =
        p.launch_of_optimizer() + std::accumulate(p.layers.begin(), p.layers.end(), Seconds{0},
                                                  [&](Seconds sum, const LayerProfile& layer) {
                                                    const LaunchTimes times = p.launches_of(layer);
                                                    return sum + times.forward + times.backward;
                                                  });
    plain_format_to(out, "Host          {}: {:.3f} ms of launches, optimizer {:.3f} of them\n",
                    p.framework, ms(host), ms(p.launch_of_optimizer()));
  }
  if (!p.source.notes.empty()) plain_format_to(out, "              {}\n", p.source.notes);
  plain_format_to(out,
                  "Iteration     {:.3f} ms: forward {:.3f}, backward {:.3f}, optimizer {:.3f}, "
                  "between {:.3f}\n",
                  ms(p.iteration), ms(p.forward()), ms(p.backward()), ms(p.optimizer),
                  ms(p.unattributed()));
  plain_format_to(out, "Parameters    {} in {} tensors\n", p.parameter_count(), p.tensor_count());
  for (const auto& [kind, factor] : p.overlap) {
    plain_format_to(out, "Overlap       {} takes {:.2f} times as long under communication\n", kind,
                    factor);
  }
  if (p.tensor_count() > 0) {
    text += "\nGradients ready, without communication:\n" + ready_text(p);
  }
  plain_format_to(out, "\n{:<32}{:<14}{:>13}{:>14}{:>13}\n", "layer", "kind", "forward (ms)",
                  "backward (ms)", "parameters");
  for (const LayerProfile& layer : p.layers) {
    plain_format_to(out, "{:<32}{:<14}{:>13.3f}{:>14.3f}{:>13}\n", layer.name, layer.kind,
                    ms(layer.forward), ms(layer.backward), elements_of(layer.parameters));
  }
  return text;
}

}  // namespace gradwire
