#include "sim/cli/calibrate.hpp"

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
