#include "strategies/compression/systems/gtopk.hpp"

#include "strategies/all_reduce/fixed_groups.hpp"
#include "strategies/compression/compressed.hpp"
#include "strategies/compression/global_top_k.hpp"
#include "strategies/compression/sparsifier.hpp"

namespace gradwire {

StrategyMaker read_gtopk(Knobs& knobs) {
  // gtopkssgd, allreducer.py:26, in elements: more than any model has, so one buffer.
  constexpr std::int64_t threshold = 640LL * 1024 * 1024;
  const double density = read_density(knobs, 0.001, "gtopkssgd, gtopk_trainer.py: density 0.001");
  const Seconds host_time = read_host_time(knobs);
  const Release pytorch = read_pytorch(knobs);
  return [density, host_time, pytorch](const JobView& job) -> std::unique_ptr<Strategy> {
    auto groups = groups_by_elements(job, threshold);
    return std::make_unique<Compressed>(
        std::make_unique<Grouped>([groups](int) { return groups; },
                                  GroupedOptions{.after_backward = true}, job),
        std::make_unique<GlobalTopK>(density, job, CodecDevice::gpu, host_time, pytorch), job, 1);
  };
}

}  // namespace gradwire
