#include "sim/validation/pages.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <vector>

#include "sim/config/cluster/gpu_yaml.hpp"
#include "sim/config/cluster/link_tables_yaml.hpp"
#include "sim/config/collective/constant_sets.hpp"
#include "sim/config/data_files.hpp"
#include "sim/config/profile/hosts_yaml.hpp"
#include "sim/config/strategy/strategy_catalogue.hpp"
#include "sim/config/yaml/loaded_yaml.hpp"
#include "sim/config/yaml/yaml_map.hpp"
#include "sim/core/joined_by.hpp"
#include "sim/core/outgoing_text.hpp"
#include "sim/models/frameworks.hpp"
#include "sim/validation/constant_uses.hpp"
#include "sim/validation/series.hpp"
#include "sim/validation/training_file.hpp"
#include "topologies/links.hpp"

namespace gradwire::validation {
namespace {

using config::DataKind;

constexpr std::string_view constants_introduction =
    R"(# Constants

Made by `gradwire validate --write results/reference`. Every constant that shapes a prediction, once: value, unit, kind, source, and
the series of `gradwire validate` whose scenarios read it.

- *published*: printed by a third party; *read*: in the original's source; *measured*: by us; *fitted*: on the rows
  named, of series beside this page; *borrowed*: from another thing, for want of its own; *assumed*: none of these.

)";

void put_row(std::string& text, const std::vector<std::string>& cells) {
  text += fmt::format("| {} |\n", joined_by(cells, " | "));
}

/// The series that use a file; "": none does.
std::string users_of(const ConstantUses& uses, const std::string& file) {
  const auto found = uses.find(file);
  if (found == uses.end()) return "";
  return joined_by(std::vector<std::string>(found->second.begin(), found->second.end()), ", ");
}

std::string used_by(const ConstantUses& uses, const std::string& file) {
  const std::string users = users_of(uses, file);
  return fmt::format("Used by {}.\n\n", users.empty() ? "no series" : users);
}

bool is_of_all_machines(const std::string& set) {
  return std::ranges::find(config::constant_sets(), set, &config::ConstantSet::name)
      ->of_all_machines;
}

std::string source_text(const config::ConstantSource& source) {
  std::string text = markdown_prose(source.text);
  for (const auto& [series, rows] : source.rows) text += fmt::format("; {}: {}", series, rows);
  return text;
}

void put_libraries(std::string& text, const ConstantUses& uses) {
  text +=
      "## Libraries\n\nIn `profiles/libraries`; a file that is like another states what "
      "differs.\n\n";
  for (const std::string& name : config::data_names(DataKind::constants)) {
    const std::string file = config::data_file(DataKind::constants, name).string();
    const config::Constants constants = config::read_constants(config::loaded_yaml(file));
    text += fmt::format("### {} (`{}.yaml`)\n\n", constants.of(), name);
    text += is_of_all_machines(constants.set()) ? "Of all machines.\n\n" : used_by(uses, file);
    text += "| constant | value | unit | kind | source |\n| --- | --- | --- | --- | --- |\n";
    for (const auto& constant : constants.stated()) {
      put_row(text, {markdown_code(constant.name), constant.value, constant.unit,
                     constant.source.kind, source_text(constant.source)});
    }
    text += "\n";
  }
}

void put_links(std::string& text) {
  text +=
      "## Links\n\nIn `profiles/tables/links.yaml`, whose sources say the kind. "
      "Latency: of one port "
      "with half a\nswitch, and the kernel's time for a message.\n\n"
      "| link | GB/s | us | us a late message | us a message that is read | GB/s a connection | "
      "source |\n"
      "| --- | --: | --: | --: | --: | --: | --- |\n";
  for (const PortKind& kind : config::shipped_links().ports) {
    const PortSpec& port = kind.port;
    const auto connection = port.connection_bandwidth;
    put_row(
        text,
        {port.name, fmt::format("{:.4g}", port.bandwidth.count() * 1e-9),
         fmt::format("{:.3g} + {:.3g}", port.latency.count() * 1e6,
                     port.message_overhead.count() * 1e6),
         fmt::format("{:.3g}", port.late_message.count() * 1e6),
         fmt::format("{:.3g}", port.rendezvous.count() * 1e6),
         connection ? fmt::format("{} x {:.3g}", port.connections, connection->count() * 1e-9) : "",
         markdown_prose(kind.source)});
  }
  for (const WireKind& wire : config::shipped_links().wires) {
    put_row(text, {wire.name, fmt::format("{:.4g}", wire.bandwidth.count() * 1e-9), "", "", "", "",
                   markdown_prose(wire.source)});
  }
  text += "\n";
}

void put_gpus(std::string& text, const ConstantUses& uses) {
  text +=
      "## GPUs\n\nIn `profiles/gpus`, each with its source; the data sheet's figures stand "
      "there.\n\n"
      "| GPU | share of memory bandwidth reached | a kernel's own time | products beside a "
      "collective's kernel | used by |\n"
      "| --- | --: | --: | --: | --- |\n";
  for (const std::string& name : config::data_names(DataKind::gpu)) {
    const std::string file = config::data_file(DataKind::gpu, name).string();
    const GpuSpec gpu = config::read_gpu(config::loaded_yaml(file));
    put_row(text, {name, fmt::format("{:.3g} %", 100 * gpu.memory_efficiency),
                   fmt::format("{:.3g} us", gpu.kernel_overhead.count() * 1e6),
                   fmt::format("x {:.3g}", gpu.products_beside_kernels), users_of(uses, file)});
  }
  text += "\n";
}

void put_efficiencies(std::string& text, const ConstantUses& uses) {
  text +=
      "## What kernels reach\n\nIn `profiles/efficiencies`: of the peak, of the memory "
      "bandwidth.\n\n";
  for (const std::string& name : config::data_names(DataKind::efficiencies)) {
    const std::string file = config::data_file(DataKind::efficiencies, name).string();
    const config::YamlValue& document = config::loaded_yaml(file);
    text += fmt::format("### {}\n\n", name);
    text += used_by(uses, file);
    for (const config::YamlEntry& dtype : document.find("dtypes")->entries) {
      const config::YamlValue* rows = dtype.value.find("calibration");
      text += fmt::format("- {}{}: {}\n", dtype.key,
                          rows == nullptr ? "" : fmt::format(" (fitted on {})", to_text(*rows)),
                          markdown_prose(dtype.value.find("source")->text));
      for (const char* part : {"like", "flops", "memory"}) {
        const config::YamlValue* value = dtype.value.find(part);
        if (value == nullptr) continue;
        text += fmt::format("  - {}: `{}`\n", part, to_text(*value));
      }
      const config::YamlValue* classes = dtype.value.find("classes");
      if (classes == nullptr) continue;
      for (const config::YamlEntry& work : classes->entries) {
        text += fmt::format("  - {}: `{}`\n", work.key, to_text(work.value));
      }
    }
    text += "\n";
  }
}

void put_frameworks(std::string& text) {
  text +=
      "## Frameworks\n\nTimes of the host, `gradwire list frameworks`.\n\n"
      "| framework | a gradient | a cast | an update | source |\n| --- | --: | --: | --: | --- |\n";
  const auto us = [](Seconds time) { return fmt::format("{:.3g} us", time.count() * 1e6); };
  for (const Framework& framework : config::shipped_hosts().frameworks) {
    put_row(text, {std::string(framework.name), us(framework.gradient),
                   fmt::format("{}, {}", us(framework.cast.forward), us(framework.cast.backward)),
                   us(framework.update), markdown_prose(framework.source)});
    for (const OperatorHost& host : framework.operators) {
      put_row(text, {fmt::format("{}: {}", framework.name, host.work.empty() ? "other" : host.work),
                     us(host.forward), us(host.backward), us(host.further),
                     "forward, backward, each further kernel"});
    }
  }
  text += "\n";
}

/// Knobs that are quantities: their defaults count wherever a scenario does not set them.
void put_strategies(std::string& text) {
  text +=
      "## Strategies\n\nDefaults of knobs that are times, sizes, rates or shares.\n\n"
      "| strategy | knob | default | source |\n| --- | --- | --: | --- |\n";
  for (const auto& strategy : config::strategy_catalogue()) {
    for (const config::KeyInfo& knob : strategy.parameters) {
      const bool is_quantity = knob.fallback.find(' ') != std::string::npos &&
                               knob.fallback.find_first_of("0123456789") == 0;
      if (!is_quantity) continue;
      put_row(text,
              {strategy.name, markdown_code(knob.name), knob.fallback, markdown_prose(knob.doc)});
    }
  }
  text += "\n";
}

std::string constant_rows(const FittedConstant& constant,
                          const std::vector<const TrainingRow*>& rows) {
  std::vector<std::string> ids;
  for (const TrainingRow* row : rows) {
    const bool counts = row->role == "calibrate" &&
                        (constant.method.empty() || constant.method == row->method) &&
                        (constant.model.empty() || constant.model == row->model);
    if (counts) ids.push_back(row->id);
  }
  return joined_by(ids, ", ");
}

/// "key = value" of the rows that it counts for; "" where the series was not run.
std::string value_of(const FittedConstant& constant, const std::string& series,
                     const std::string& group, std::span<const SeriesReport> reports) {
  for (const SeriesReport& report : reports) {
    if (report.name != series) continue;
    for (const Row& row : report.rows) {
      const std::size_t at = row.how.find(constant.key + " = ");
      if (at == std::string::npos || (!group.empty() && row.group != group)) continue;
      const std::size_t from = at + constant.key.size() + 3;
      return row.how.substr(from, row.how.find(", ", from) - from);
    }
  }
  return "";
}

void put_series(std::string& text, std::span<const SeriesReport> reports) {
  text +=
      "## Fitted in a series\n\nBeside the time of one GPU.\n\n"
      "| series | group | constant | value | fitted on |\n| --- | --- | --- | --- | --- |\n";
  for (const SeriesEntry& entry : series_catalogue()) {
    const std::string name(entry.name);
    const config::YamlValue& document = config::loaded_yaml(reference_file(name + ".yaml"));
    if (document.find("schema")->text != "gradwire.reference.training/1") continue;
    const TrainingFile file = read_training_file(document);
    std::vector<const TrainingRow*> all;
    for (const TrainingGroup& group : file.groups) {
      std::vector<const TrainingRow*> own;
      for (const TrainingRow& row : group.rows) own.push_back(&row);
      all.insert(all.end(), own.begin(), own.end());
      for (const FittedConstant& constant : group.fitted) {
        put_row(text,
                {name, markdown_prose(group.name), markdown_code(constant.key),
                 value_of(constant, name, group.name, reports), constant_rows(constant, own)});
      }
    }
    for (const FittedConstant& constant : file.fitted) {
      put_row(text, {name, "all", markdown_code(constant.key),
                     value_of(constant, name, "", reports), constant_rows(constant, all)});
    }
  }
}

}  // namespace

std::string constants_page(std::span<const SeriesReport> reports) {
  const ConstantUses uses = constant_uses();
  std::string text(constants_introduction);
  put_libraries(text, uses);
  put_links(text);
  put_gpus(text, uses);
  put_efficiencies(text, uses);
  put_frameworks(text);
  put_strategies(text);
  put_series(text, reports);
  return text;
}

}  // namespace gradwire::validation
