#include <filesystem>
#include <memory>
#include <string>

#include "sim/cli/import.hpp"
#include "sim/config/cluster/link_tables_yaml.hpp"
#include "sim/core/text_file.hpp"
#include "topologies/importers/nccl_topo.hpp"

namespace gradwire::cli {
namespace {

struct NcclOptions {
  NodeImport node;
  std::string smi;
  NcclTopoOptions topo;
};

void import_topo(const NcclOptions& options, const Context& context) {
  NcclTopoOptions topo = options.topo;
  const std::string text =
      read_text_file(options.node.file, "the XML of NCCL_TOPO_DUMP_FILE", topology_bytes);
  fill_in(options.node, "NCCL topology XML", topo);
  if (!options.smi.empty()) {
    topo.matrix = read_smi_matrix(read_text_file(options.smi, "the output of 'nvidia-smi topo -m'",
                                                 topology_bytes, Controls::terminal),
                                  options.smi);
    topo.matrix_file = options.smi;
    if (options.node.source.empty()) {
      topo.source += " and nvidia-smi topo -m (" +
                     std::filesystem::path(options.smi).filename().string() + ")";
    }
  }
  finish_node(import_nccl_topo(config::shipped_links(), text, options.node.file, topo),
              options.node, context);
}

}  // namespace

void add_import_nccl_topo(CLI::App& import, const Context& context) {
  auto options = std::make_shared<NcclOptions>();
  CLI::App* topo =
      import.add_subcommand("nccl-topo", "The XML of NCCL_TOPO_DUMP_FILE into a node topology");
  add_node_options(*topo, "NCCL's topology XML", options->node);
  topo->add_option("--smi", options->smi,
                   "'nvidia-smi topo -m' of the same machine: checked against the XML, and read "
                   "for the NVLinks that the XML hides")
      ->type_name("MATRIX");
  topo->add_option("--gpu", options->topo.gpu, "GPU model (default: by the PCI device)")
      ->type_name("MODEL");
  topo->add_option("--nic", options->topo.nic,
                   "Kind of each NIC's port (default: by its class, name and speed)")
      ->type_name("KIND");
  topo->add_option("--cpu", options->topo.cpu,
                   "CPU generation, which decides the socket link (default: by its model number)")
      ->type_name("CPU");
  topo->footer(
      "What the file hides or has wrong is assumed, reported here and written into the result.\n"
      "Example:\n"
      "  gradwire import nccl-topo topo.xml --leave-out mlx5_4,mlx5_5 -o node.yaml");
  topo->callback([options, &context] { import_topo(*options, context); });
}

}  // namespace gradwire::cli
