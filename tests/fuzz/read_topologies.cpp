#include "tests/fuzz/read_topologies.hpp"

#include "sim/config/check.hpp"
#include "sim/config/cluster/link_tables_yaml.hpp"
#include "sim/config/cluster/node_yaml.hpp"
#include "sim/core/text_file.hpp"
#include "tests/fuzz/memory_file.hpp"
#include "topologies/importers/nccl_topo.hpp"
#include "topologies/importers/smi_topo.hpp"

namespace gradwire::fuzz {
namespace {

void write(const ImportedNode& imported) {
  static_cast<void>(config::checked(config::write_node(imported.node, imported.assumptions),
                                    "node.yaml", "in.txt"));
}

}  // namespace

void read_nccl_topo_xml(const std::string& bytes) {
  NcclTopoOptions options;
  options.name = "fuzzed";
  write(import_nccl_topo(
      config::shipped_links(),
      read_text_file(memory_file(bytes), "the XML of NCCL_TOPO_DUMP_FILE", topology_bytes),
      "topo.xml", options));
}

void read_smi_topo_text(const std::string& bytes) {
  SmiTopoOptions options;
  options.name = "fuzzed";
  options.gpu = "v100-sxm2-32gb";
  write(import_smi_topo(config::shipped_links(),
                        read_text_file(memory_file(bytes), "the output of 'nvidia-smi topo -m'",
                                       topology_bytes, Controls::terminal),
                        "topo.txt", options));
}

}  // namespace gradwire::fuzz
