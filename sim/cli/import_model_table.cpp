#include <fmt/format.h>

#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "sim/cli/import.hpp"
#include "sim/cli/messages.hpp"
#include "sim/cli/outputs.hpp"
#include "sim/config/check.hpp"
#include "sim/config/profile/model_yaml.hpp"
#include "sim/core/error.hpp"
#include "sim/core/joined_by.hpp"
#include "sim/core/text_file.hpp"
#include "sim/models/layer_list.hpp"
#include "sim/models/model_table.hpp"

namespace gradwire::cli {
namespace {

struct ModelTableOptions {
  std::string file;
  std::string output;
  std::string name;
  std::string source;
};

/// The layers as a model; what does not fit is reported at its row.
ModelDescription build(const config::ModelFile& model, const std::vector<TableRow>& rows,
                       const std::string& file) {
  try {
    return build_layers(model.name, model.source, model.input, model.layers);
  } catch (const LayerListError& error) {
    throw ConfigError({file, rows.at(error.layer()).line, 1}, error.what());
  }
}

void import_table(const ModelTableOptions& options, const Context& context) {
  const std::filesystem::path path = options.file;
  const auto rows =
      read_model_table(read_text_file(options.file, "a table of layers"), options.file);
  config::ModelFile model;
  model.name = options.name.empty() ? path.stem().string() : options.name;
  model.source = options.source.empty() ? "table of layers (" + path.filename().string() + ")"
                                        : options.source;
  model.layers = layers_of_table(rows, options.file);
  model.input.assign(rows.front().input.begin() + 1, rows.front().input.end());
  if (model.input.empty()) model.input = {1};
  const ModelDescription built = build(model, rows, options.file);
  const std::vector<std::string> comments = {
      "A table does not show what no module does (additions and concatenations in functions) nor "
      "which",
      "layers a branch joins; such work is not in here, and backward runs the rows reversed."};
  write_outputs({{options.output, [&] {
                    return config::checked(config::write_model_file(model, comments),
                                           options.output, options.file);
                  }}});
  if (context.quiet) return;
  tell("{} layers, {} parameters in {} tensors\n", rows.size(), built.parameter_count(),
       built.gradient_order.size());
}

}  // namespace

void add_import_model_table(CLI::App& import, const Context& context) {
  auto options = std::make_shared<ModelTableOptions>();
  CLI::App* command = import.add_subcommand(
      "model-table", "A table of layers (torchinfo's text, or CSV) into a model description");
  command->add_option("FILE", options->file, "Text of torchinfo.summary, or CSV")->required();
  command->add_option("-o,--output", options->output, "Model description to write (YAML)")
      ->required()
      ->check(writable_file());
  command->add_option("--name", options->name, "Name of the model (default: the file's)");
  command->add_option("--source", options->source, "Where the table comes from");
  command->footer(fmt::format(
      "torchinfo: summary(model, input_size=(1, 3, 224, 224), depth=9, row_settings=('depth', "
      "'var_names'),\n"
      "  col_names=('kernel_size', 'input_size', 'output_size', 'num_params'))\n"
      "CSV: a header and rows, separated by comma, semicolon or tab:\n"
      "  name; kind (or type, op); input (input_shape); output (output_shape); kernel "
      "(kernel_shape,\n"
      "  kernel_size); parameters (params). Shapes as [1, 3, 224, 224] or 1x3x224x224, the batch "
      "first.\n"
      "Groups and biases follow from the counts, strides and paddings from the shapes.\n"
      "Types: {}\n"
      "Example:\n"
      "  gradwire import model-table summary.txt --name mine -o mine.yaml",
      joined_by(table_kinds(), ", ")));
  command->callback([options, &context] { import_table(*options, context); });
}

}  // namespace gradwire::cli
