#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <map>
#include <memory>
#include <string>

#include "sim/cli/import.hpp"
#include "sim/cli/one_of.hpp"
#include "sim/config/cluster/link_tables_yaml.hpp"
#include "sim/core/joined_by.hpp"
#include "sim/core/text_file.hpp"
#include "topologies/importers/smi_matrix.hpp"
#include "topologies/importers/smi_topo.hpp"

namespace gradwire::cli {
namespace {

struct SmiOptions {
  NodeImport node;
  SmiTopoOptions topo;
};

/// NVLinks of one GPU, the most of any: summed over direct peers, or those into the NVSwitch, where
/// a full mesh of them would be more than any model has.
int nvlinks_per_gpu(const SmiMatrix& matrix) {
  constexpr int most_of_any_model = 18;
  int most = 0;
  for (int gpu = 0; gpu < matrix.gpus; ++gpu) {
    int sum = 0;
    int largest = 0;
    for (int peer = 0; peer < matrix.gpus; ++peer) {
      const int lanes =
          matrix.cells[static_cast<std::size_t>(gpu)][static_cast<std::size_t>(peer)].nvlinks;
      sum += lanes;
      largest = std::max(largest, lanes);
    }
    most = std::max(most, sum > most_of_any_model ? largest : sum);
  }
  return most;
}

/// The data-centre model with that many NVLinks; the matrix itself names none.
std::string guess_gpu(const std::string& text, const std::string& file) {
  const std::map<int, std::string> models = {{6, "v100"}, {12, "a100"}, {18, "h100"}};
  const int nvlinks = nvlinks_per_gpu(read_smi_matrix(text, file));
  const auto found = models.find(nvlinks);
  if (found != models.end()) return found->second;
  throw CLI::ValidationError(
      "--gpu",
      fmt::format("the matrix has {} NVLinks a GPU, which does not identify the model; expected "
                  "one of {}",
                  nvlinks, joined_by(config::shipped_links().gpu_names(), ", ")));
}

void import_topo(const SmiOptions& options, const Context& context) {
  SmiTopoOptions topo = options.topo;
  const std::string& file = options.node.file;
  const std::string text = read_text_file(file, "the output of 'nvidia-smi topo -m'",
                                          topology_bytes, Controls::terminal);
  fill_in(options.node, "nvidia-smi topo -m", topo);
  const bool guessed = topo.gpu.empty();
  if (guessed) topo.gpu = guess_gpu(text, file);
  ImportedNode result = import_smi_topo(config::shipped_links(), text, file, topo);
  if (guessed) {
    result.assumptions.push_back("the GPUs are of model " + topo.gpu +
                                 ", by the number of their NVLinks");
  }
  finish_node(result, options.node, context);
}

}  // namespace

void add_import_smi_topo(CLI::App& import, const Context& context) {
  auto options = std::make_shared<SmiOptions>();
  CLI::App* topo =
      import.add_subcommand("smi-topo", "The matrix of 'nvidia-smi topo -m' into a node topology");
  add_node_options(*topo, "Text of 'nvidia-smi topo -m'", options->node);
  topo->add_option(
          "--gpu", options->topo.gpu,
          "GPU model, which decides the NVLink and PCIe generation (default: by the number "
          "of NVLinks)")
      ->type_name("MODEL");
  topo->add_option("--nic", options->topo.nic,
                   "Kind of each NIC's port (default: by the GPU's generation, and then reported)")
      ->type_name("KIND")
      ->check(one_of(config::shipped_links().port_names()));
  topo->add_option("--cpu", options->topo.cpu,
                   "CPU generation, which decides the socket link (default: by the GPU's, and then "
                   "reported)")
      ->type_name("CPU");
  topo->footer(
      "What the matrix does not say is assumed, reported here and written into the file.\n"
      "Example:\n"
      "  gradwire import smi-topo topo.txt --gpu v100-sxm2-32gb --nic ib_edr -o node.yaml");
  topo->callback([options, &context] { import_topo(*options, context); });
}

}  // namespace gradwire::cli
