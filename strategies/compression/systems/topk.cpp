#include "strategies/compression/systems/topk.hpp"

#include <limits>

#include "strategies/all_reduce/fixed_groups.hpp"
#include "strategies/all_reduce/none.hpp"
#include "strategies/compression/compressed.hpp"
#include "strategies/compression/sparsifier.hpp"

namespace gradwire {

StrategyMaker read_topk(Knobs& knobs) {
  SparsifierOptions options;
  options.density = read_density(knobs, 0.001, "ddl-benchmarks, mgwfbp/horovod_mpi_cj.sh");
  options.error_feedback =
      knobs.yes("error_feedback", false, "ddl-benchmarks: compressor eftopk instead of topk");
  options.host_time = read_host_time(knobs);
  options.pytorch = read_pytorch(knobs);
  const std::int64_t threshold = knobs.count(
      "threshold", ddl_benchmarks_threshold, 0, std::numeric_limits<std::int64_t>::max(),
      "ddl-benchmarks, mgwfbp/horovod_mpi_cj.sh: elements of a merged group");
  return [options, threshold](const JobView& job) -> std::unique_ptr<Strategy> {
    if (job.world_size == 1) return std::make_unique<NoCommunication>();
    auto groups = groups_by_elements(job, threshold);
    return std::make_unique<Compressed>(
        std::make_unique<Grouped>([groups](int) { return groups; }, GroupedOptions{}, job),
        std::make_unique<Sparsifier>(options, job, CodecDevice::gpu), job, 1);
  };
}

}  // namespace gradwire
