#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/models/layer_list.hpp"

namespace gradwire {

/// One row of a layer table, as written; shapes begin with the batch.
struct TableRow {
  int line = 0;      ///< in the file, from 1
  std::string name;  ///< the module's path where the table has it, else made of type and index
  std::string kind;  ///< the framework's type: "Conv2d"
  std::vector<std::int64_t> input;
  std::vector<std::int64_t> output;
  std::vector<std::int64_t> kernel;          ///< empty: none
  std::optional<std::int64_t> parameters{};  ///< absent: not stated
};

/// The layers of a table that another tool printed, containers left out:
///   text   torchinfo's summary, with the columns input_size, output_size, num_params and, where a
///          layer has one, kernel_size; tree characters, indices and variable names are understood
///   CSV    a header and comma-, semicolon- or tab-separated rows: name, kind (or type, op), input
///          (input_shape), output (output_shape), kernel (kernel_shape, kernel_size), parameters
///          (params); shapes as [1, 3, 224, 224] or 1x3x224x224
/// @param file  the name that errors give.
/// @throws ConfigError where the table is none, lacks a column, or has a row that does not fit it.
[[nodiscard]] std::vector<TableRow> read_model_table(const std::string& text,
                                                     const std::string& file);

/// The rows as layers; groups and biases follow from the parameter counts, strides and paddings
/// from the shapes.
/// @throws ConfigError for a kind that is not known (with those that are), for shapes of another
///         batch, and where the counts fit no layer of the kind.
[[nodiscard]] std::vector<LayerSpec> layers_of_table(const std::vector<TableRow>& rows,
                                                     const std::string& file);

/// The types that layers_of_table takes, as frameworks and ONNX call them.
[[nodiscard]] std::vector<std::string> table_kinds();

}  // namespace gradwire
