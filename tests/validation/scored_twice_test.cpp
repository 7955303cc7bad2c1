#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/config/yaml/loaded_yaml.hpp"
#include "sim/config/yaml/overlay.hpp"
#include "sim/config/yaml/yaml_map.hpp"
#include "sim/validation/one_run.hpp"
#include "sim/validation/series.hpp"
#include "sim/validation/training_file.hpp"
#include "tests/catch.hpp"

namespace gradwire::validation {
namespace {

using Pair = std::pair<std::string, std::string>;

/// Of one figure in two units, each written with five digits or more.
constexpr double same_figure = 1e-4;

/// What two series may share, and why: one line a pair, a row of the older series first.
struct Known {
  std::string_view first;
  std::string_view second;
  std::string_view why;
};

constexpr std::string_view one_page =
    "one page read twice, found by this test once both were predicted: one measurement";
constexpr std::string_view chance = "equal to four digits by chance: two sources, two set-ups";

constexpr std::array<Known, 6> known_rows = {{{"six_ack-01", "nine_aliyun-05", one_page},
                                              {"six_byteps-01", "nine_byteps_v100-01", one_page},
                                              {"six_byteps-02", "nine_byteps_v100-02", one_page},
                                              {"six_byteps-03", "nine_byteps_v100-03", one_page},
                                              {"six_byteps-04", "nine_byteps_v100-04", one_page},
                                              {"hf_3090-07", "sixteen_rtx3090_phb-01", chance}}};

constexpr std::array<Known, 3> known_rates = {
    {{"blind3", "blind11", "one report: its p2.8xlarge there, its p2.xlarge here, half a K80 each"},
     {"blind3", "blind12", "one page: its DDP and Horovod there, its other stacks here"},
     {"dlperf", "blind11", chance}}};

/// A GPU whatever its memory and form: "v100" of "v100-sxm2-16gb".
std::string family(const std::string& gpu) {
  return gpu.substr(0, gpu.find('-'));
}

/// Networks that a series describes itself have no name that another one could share.
bool may_be_one_job(const MeasuredRun& a, const MeasuredRun& b) {
  const auto own = [](const std::string& model) {
    return model == "transformer" || model.ends_with(".yaml");
  };
  return family(a.gpu) == family(b.gpu) && (a.model == b.model || own(a.model) || own(b.model));
}

/// Samples/s of all GPUs; iterations/s where only the profile's file knows the batch. 0: no rate.
double rate_of(const MeasuredRun& run) {
  const TrainingRow& row = *run.row;
  if (run.file->unit == "samples/s") return row.measured;
  if (run.file->unit == "samples/s/GPU") return row.measured * row.gpus();
  if (run.file->unit != "ms") return 0;
  config::YamlValue scenario = run.file->scenario;
  for (const config::Override& change : row.changes) config::apply(scenario, change);
  const config::YamlValue* profile = scenario.find("profile");
  const config::YamlValue* batch = profile == nullptr ? nullptr : profile->find("batch_per_gpu");
  const double samples = batch == nullptr ? 1 : std::stod(batch->text);
  return samples * row.gpus() / (1e-3 * row.measured);
}

/// Runs of two files with one figure, as `pair` names them; a figure of 0 is none.
template <class Figure, class PairOf>
std::set<Pair> in_two_files(const std::vector<MeasuredRun>& runs, Figure figure, PairOf pair) {
  std::vector<std::pair<double, const MeasuredRun*>> rated;
  for (const MeasuredRun& run : runs) {
    if (figure(run) > 0) rated.emplace_back(figure(run), &run);
  }
  std::ranges::sort(rated);
  std::set<Pair> found;
  for (auto low = rated.begin(); low != rated.end(); ++low) {
    for (auto high = low + 1; high != rated.end(); ++high) {
      if (high->first > low->first * (1 + same_figure)) break;
      const MeasuredRun& older = *std::min(low->second, high->second);
      const MeasuredRun& newer = *std::max(low->second, high->second);
      if (older.file == newer.file || !may_be_one_job(older, newer)) continue;
      pair(older, newer, found);
    }
  }
  return found;
}

std::set<Pair> equal_rows(const std::vector<TrainingFile>& files) {
  return in_two_files(measured_runs(files), rate_of, [](const auto& a, const auto& b, auto& found) {
    if (a.row->gpus() == b.row->gpus()) found.emplace(a.row->id, b.row->id);
  });
}

std::set<Pair> equal_rates_of_one_gpu(const std::vector<TrainingFile>& files) {
  return in_two_files(
      measured_runs(files), [](const MeasuredRun& run) { return run.row->single_gpu; },
      [](const auto& a, const auto& b, auto& found) { found.emplace(a.file->name, b.file->name); });
}

std::vector<TrainingFile> shipped() {
  std::vector<TrainingFile> files;
  for (const SeriesEntry& entry : series_catalogue()) {
    const auto& document = config::loaded_yaml(reference_file(std::string(entry.name) + ".yaml"));
    if (document.find("schema")->text != training_schema) continue;
    files.push_back(read_training_file(document));
  }
  return files;
}

template <std::size_t count>
void check_listed(const std::set<Pair>& found, const std::array<Known, count>& known) {
  for (const auto& [first, second] : found) {
    INFO(first << " and " << second << " have one figure: one measurement is scored once");
    CHECK(std::ranges::any_of(known, [&first = first, &second = second](const Known& line) {
      return line.first == first && line.second == second;
    }));
  }
  for (const Known& line : known) {
    INFO(line.first << " and " << line.second << " are listed: " << line.why);
    CHECK(found.contains({std::string(line.first), std::string(line.second)}));
  }
}

/// A series of one row: four GPUs with 64 samples each.
TrainingFile series(const std::string& name, const std::string& unit, const std::string& model,
                    const std::string& measured) {
  return read_training_file(config::parse_yaml(
      fmt::format("schema: gradwire.reference.training/1\n"
                  "name: {0}\nsource: {{file: nobody}}\nunit: {1}\n"
                  "scenario: {{schema: gradwire.scenario/1, cluster: {{node: dgx1v}}}}\n"
                  "models: {{of {0}: {{set: {{profile: {{model: {2}, gpu: v100-sxm2-16gb, "
                  "batch_per_gpu: 64}}}}}}}}\n"
                  "methods: {{bsp: {{set: {{strategy.name: bsp}}}}}}\n"
                  "groups:\n  - name: one node\n    rows:\n"
                  "      - {{id: {0}-1, model: of {0}, method: bsp, nodes: 1, gpus_per_node: 4, "
                  "single_gpu: 321.08, measured: {3}, role: score}}\n",
                  name, unit, model, measured),
      "x.yaml"));
}

TEST_CASE("A measurement in two series is found whatever its unit and the model's name",
          "[validation]") {
  const auto found = [](const std::string& unit, const std::string& model,
                        const std::string& measured) {
    return !equal_rows(
                {series("a", "samples/s", "resnet50", "1280"), series("b", unit, model, measured)})
                .empty();
  };
  CHECK(found("samples/s", "resnet50", "1280"));
  CHECK(found("samples/s", "transformer", "1280.1"));
  CHECK(found("samples/s", "blind/own.yaml", "1280"));
  CHECK_FALSE(found("samples/s", "resnet101", "1280"));
  CHECK_FALSE(found("samples/s", "resnet50", "1281"));
  CHECK(found("samples/s/GPU", "resnet50", "320"));
  CHECK(found("ms", "resnet50", "200"));  // 4 x 64 samples in 0.2 s
  CHECK_FALSE(found("GiB", "resnet50", "1280"));
}

TEST_CASE("Two series that state one rate of one GPU are found", "[validation]") {
  const Pair pair{"a", "b"};
  CHECK(equal_rates_of_one_gpu({series("a", "samples/s", "resnet50", "1200"),
                                series("b", "samples/s", "transformer", "1100")}) ==
        std::set<Pair>{pair});
}

TEST_CASE("No measurement is scored in two series but those that are listed", "[validation]") {
  check_listed(equal_rows(shipped()), known_rows);
}

TEST_CASE("Series that share a rate of one GPU, and so a source, are listed", "[validation]") {
  check_listed(equal_rates_of_one_gpu(shipped()), known_rates);
}

}  // namespace
}  // namespace gradwire::validation
