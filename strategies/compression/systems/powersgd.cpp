#include "strategies/compression/systems/powersgd.hpp"

#include <limits>

#include "strategies/all_reduce/ddp.hpp"
#include "strategies/all_reduce/fixed_groups.hpp"
#include "strategies/compression/compressed.hpp"
#include "strategies/compression/power_sgd.hpp"
#include "strategies/parts/conditional_knobs.hpp"

namespace gradwire {
namespace {

/// epfml/powersgd, powersgd.py, Config: min_compression_rate 10, start_compressing_after_num_steps.
constexpr double epfml_compression_rate = 10;
/// epfml/powersgd, orthogonalization.py: a norm at rank 1, else torch.linalg.qr.
constexpr std::int64_t epfml_qr_from = 2;
/// The hook takes torch.linalg.qr from PyTorch 1.12 on (pull request 72043).
constexpr Release hook_qr_from{1, 12};

}  // namespace

StrategyMaker read_powersgd(Knobs& knobs) {
  static const std::vector<std::string> known = {"ddp_hook", "epfml"};
  const std::string implementation =
      knobs.choice("implementation", "ddp_hook", known,
                   "ddp_hook: powerSGD_hook.py under DDP; epfml: epfml/powersgd, after backward");
  PowerSgdOptions options = PowerSgd::read_options(knobs);
  ConditionalKnobs hooks(knobs);
  DdpOptions ddp = read_ddp_options(hooks);
  ddp.comm_hook = true;
  if (implementation == "ddp_hook") {
    if (ddp.version < hook_qr_from) options.qr_from = std::numeric_limits<std::int64_t>::max();
    return [options, ddp](const JobView& job) -> std::unique_ptr<Strategy> {
      return std::make_unique<Compressed>(std::make_unique<Ddp>(ddp, job),
                                          std::make_unique<PowerSgd>(options, job), job, 1);
    };
  }
  hooks.refuse_without("implementation: ddp_hook");
  options.hook = false;
  options.qr_from = epfml_qr_from;
  if (!knobs.given("min_compression_rate")) options.min_compression_rate = epfml_compression_rate;
  return [options](const JobView& job) -> std::unique_ptr<Strategy> {
    auto all = groups_by_elements(job, std::numeric_limits<std::int64_t>::max());
    auto inner = std::make_unique<Grouped>(
        [all](int) { return all; }, GroupedOptions{.copies = false, .after_backward = true}, job);
    return std::make_unique<Compressed>(std::move(inner), std::make_unique<PowerSgd>(options, job),
                                        job, 1);
  };
}

}  // namespace gradwire
