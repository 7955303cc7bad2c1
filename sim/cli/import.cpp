#include "sim/cli/import.hpp"

#include "sim/cli/messages.hpp"
#include "sim/cli/outputs.hpp"
#include "sim/config/check.hpp"
#include "sim/config/cluster/node_yaml.hpp"
#include "sim/core/error.hpp"

namespace gradwire::cli {

void add_node_options(CLI::App& part, const std::string& what, NodeImport& options) {
  part.add_option("FILE", options.file, what)->required();
  part.add_option("-o,--output", options.output, "Node topology to write (YAML)")
      ->required()
      ->check(writable_file());
  part.add_option("--leave-out", options.leave_out,
                  "NICs that no training uses, by name: storage, management")
      ->delimiter(',')
      ->type_name("NIC,...");
  part.add_option("--name", options.name, "Name of the node type (default: the file's)");
  part.add_option("--source", options.source, "Where the file comes from");
}

void finish_node(const ImportedNode& imported, const NodeImport& options, const Context& context) {
  write_outputs({{options.output, [&] {
                    return config::checked(config::write_node(imported.node, imported.assumptions),
                                           options.output, options.file);
                  }}});
  if (context.quiet) return;
  for (const std::string& assumption : imported.assumptions) {
    tell("assumed: {}\n", assumption);
  }
}

void add_import(CLI::App& app, Context& context) {
  CLI::App* command = app.add_subcommand("import", "Turn other tools' files into ours");
  command->require_subcommand(1);
  command->footer(
      "Examples:\n"
      "  nvidia-smi topo -m > topo.txt\n"
      "  gradwire import smi-topo topo.txt -o node.yaml\n"
      "  gradwire import nccl-topo topo.xml --smi topo.txt -o node.yaml\n"
      "  gradwire import nccl-tests all_reduce.txt -o table.yaml\n"
      "  gradwire import model-table summary.txt -o model.yaml\n"
      "  gradwire import huggingface-config config.json -o model.yaml\n"
      "  gradwire import kineto trace.json.gz --model resnet50 --gpu v100-sxm2-32gb --batch 32 "
      "--dtype fp32 -o profile.yaml");
  add_import_kineto(*command, context);
  add_import_execution_trace(*command, context);
  add_import_chakra(*command, context);
  add_import_nsys(*command, context);
  add_import_smi_topo(*command, context);
  add_import_nccl_topo(*command, context);
  add_import_nccl_tests(*command, context);
  add_import_nccl_log(*command, context);
  add_import_compressors(*command);
  add_import_model_table(*command, context);
  add_import_huggingface(*command, context);
}

}  // namespace gradwire::cli
