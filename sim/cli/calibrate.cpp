#include "sim/cli/calibrate.hpp"

#include "sim/cli/calibrate_bench.hpp"
#include <fmt/format.h>
#include <algorithm>
#include <cstdio>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>
#include "calibration/fit/collective_fit.hpp"
#include "calibration/fit/fit_report.hpp"
#include "calibration/import/bench_collectives.hpp"
#include "sim/cli/commands.hpp"
#include "sim/cli/import.hpp"
#include "sim/cli/import_tables.hpp"
#include "sim/cli/inputs.hpp"
#include "sim/cli/outputs.hpp"
#include "sim/config/cluster_yaml.hpp"
#include "sim/config/collective_catalogue.hpp"
#include "sim/config/collective_table_yaml.hpp"
#include "sim/core/error.hpp"

namespace gradwire::cli {

void add_calibrate(CLI::App& app, Context& context) {
  CLI::App* command = app.add_subcommand(
      "calibrate", "Record and measure a GPU node; turn what was measured into profiles and fits");
  command->require_subcommand(1);
  command->footer(
      "On the GPU node:\n"
      "  gradwire calibrate bench -o node\n"
      "  gradwire calibrate record -o node --name resnet50 -- python3 gradwire_torch.py train.py\n"
      "Anywhere:\n"
      "  gradwire calibrate fit node -o profiles/mycluster\n"
      "  gradwire validate --calibrated profiles/mycluster");
  add_calibrate_bench(*command, context);
  add_calibrate_fit(*command, context);
  add_calibrate_record(*command, context);
}

}  // namespace gradwire::cli
