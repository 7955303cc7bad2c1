#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "sim/cli/import.hpp"
#include "sim/cli/messages.hpp"
#include "sim/cli/outputs.hpp"
#include "sim/config/check.hpp"
#include "sim/config/profile/decoder_yaml.hpp"
#include "sim/config/profile/huggingface_config.hpp"
#include "sim/config/yaml/yaml_value.hpp"
#include "sim/core/joined_by.hpp"

namespace gradwire::cli {
namespace {

struct HuggingFaceOptions {
  std::string file;
  std::string output;
  std::string name;
  std::string source;
};

void import_config(const HuggingFaceOptions& options, const Context& context) {
  const std::filesystem::path path = options.file;
  DecoderShape shape = config::read_huggingface_config(config::load_yaml(options.file));
  shape.source = options.source.empty()
                     ? fmt::format("{} of model_type {}", path.filename().string(), shape.name)
                     : options.source;
  if (!options.name.empty()) shape.name = options.name;
  const std::vector<std::string> comments = {
      "sequence_length is the longest that the model takes; that of a profile says what it is",
      "trained with."};
  write_outputs({{options.output, [&] {
                    return config::checked(config::write_decoder_file(shape, comments),
                                           options.output, options.file);
                  }}});
  if (context.quiet) return;
  const ModelDescription model = decoder(shape);
  tell("{} layers, {} parameters in {} tensors\n", shape.layers, model.parameter_count(),
       model.gradient_order.size());
}

}  // namespace

void add_import_huggingface(CLI::App& import, const Context& context) {
  auto options = std::make_shared<HuggingFaceOptions>();
  CLI::App* command = import.add_subcommand(
      "huggingface-config", "A config.json of HuggingFace's transformers into a model description");
  command->add_option("FILE", options->file, "config.json of a decoder")->required();
  command->add_option("-o,--output", options->output, "Model description to write (YAML)")
      ->required()
      ->check(writable_file());
  command->add_option("--name", options->name, "Name of the model (default: its model_type)");
  command->add_option("--source", options->source, "Where the file comes from");
  command->footer(
      fmt::format("Of model_type: {}\n"
                  "Example:\n"
                  "  gradwire import huggingface-config config.json --name mine -o "
                  "mine.yaml",
                  joined_by(config::huggingface_model_types(), ", ")));
  command->callback([options, &context] { import_config(*options, context); });
}

}  // namespace gradwire::cli
