#include "sim/validation/series.hpp"

#include <array>

#include "sim/config/data_files.hpp"
#include "sim/validation/collectives.hpp"
#include "sim/validation/ddpbench.hpp"
#include "sim/validation/single_gpu.hpp"

namespace gradwire::validation {

std::span<const SeriesEntry> series_catalogue() {
  static const std::array<SeriesEntry, 3> catalogue = {{
      {"collectives", "published times of single collectives on published clusters",
       [](const Predict& /*predict*/) { return open_collectives(); }},
      {"ddpbench", "PyTorch's DDP benchmark on up to 16 V100",
       [](const Predict& predict) { return open_ddpbench(predict); }},
      {"single_gpu", "published rates of one GPU against analytic profiles",
       [](const Predict& /*predict*/) { return open_single_gpu(); }},
  }};
  return catalogue;
}

std::string reference_file(const std::string& name) {
  return (config::data_folder() / "results" / "reference" / name).string();
}

}  // namespace gradwire::validation
