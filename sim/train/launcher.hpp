#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "sim/core/compute_profile.hpp"
#include "sim/core/gpu.hpp"
#include "sim/core/kernel_launch.hpp"
#include "sim/train/program.hpp"
#include "sim/train/workers.hpp"
#include "strategies/strategy.hpp"

namespace gradwire {

/// Of what strategies and programs post. The model's own kernels take the profile's host_launch,
/// which has the framework's way to the call in it.
constexpr double launch_call = kernel_launch_call.count();  // s

/// What a program does beside computing.
using Communication = std::variant<GroupCollective, Send, Receive>;

/// One thing the launcher thread does in an iteration: it costs host time, puts items on the
/// compute stream, and may run hooks.
struct LaunchStep {
  double host = 0;  ///< seconds of the launcher thread
  ComputeItem item;
  std::string name;
  std::vector<TensorId> hooks;  ///< fired after the launch, in order
  int micro_batch = 0;
  bool backward_done = false;                    ///< the last launch of a micro-batch's backward
  std::optional<Communication> communication{};  ///< in place of the item
};

/// What the launcher thread does in every iteration: the program, then the optimizer, then it waits
/// for the device.
///
/// @param optimizer  false: without it, for strategies that run it themselves.
/// @param late_step  Traits::late_step.
///
/// A tensor's hook fires with its layer, or later where the profile's gradient order says that its
/// gradient comes later (a tied weight is ready last).
[[nodiscard]] std::vector<LaunchStep> launch_script(const ComputeProfile& profile,
                                                    const Program& program, bool optimizer = true,
                                                    std::optional<Seconds> late_step = {});

/// The profile's own slowdown of a kind of work under communication; nothing where it states none.
[[nodiscard]] std::optional<double> stated_slowdown(const ComputeProfile& profile,
                                                    const std::string& kind);

/// The optimizer's kernels for a share of the model.
[[nodiscard]] ComputeItem optimizer_item(const ComputeProfile& profile, double share);

/// Before them, ComputeProfile::unscale. REQUIRES: there is one.
[[nodiscard]] ComputeItem unscale_item(const ComputeProfile& profile, double share);
/// Between the two: the host launches them only then. For strategies that step themselves, whose
/// kernels stand behind the whole launch.
[[nodiscard]] ComputeItem late_launch_item(const ComputeProfile& profile, double share);

/// Seconds of device work that no profile contains: its measured time, the fixed cost of its
/// kernels in a busy stream, and the longer of its memory traffic at the rate a streaming kernel
/// reaches and its arithmetic at the rate that fp32 matrix products reach.
[[nodiscard]] double price(const DeviceWork& work, const GpuSpec& gpu);

}  // namespace gradwire
