#include "tests/laws/training_prediction.hpp"

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <iostream>
#include <nlohmann/json.hpp>
#include <numeric>
#include <stdexcept>

#include "sim/cli/predict.hpp"
#include "sim/config/scenario.hpp"
#include "sim/core/error.hpp"
#include "sim/core/random.hpp"
#include "sim/report/metrics.hpp"
#include "sim/report/result_json.hpp"

namespace gradwire::laws {
namespace {

constexpr int refused = 3;  // as the program's exit code
constexpr int failed = 1;
/// s: no job that laws draw may take that long, sanitizers or not.
constexpr unsigned longest = 60;

std::uint64_t digest_of(Point point) {
  point.result.engine_cost = {};
  std::uint64_t digest = 0;
  for (const char letter : result_json(point).dump()) {
    digest = absorb(digest, static_cast<unsigned char>(letter));
  }
  return digest;
}

/// Warnings that speak of the profile or of NCCL's choice say nothing of the iterations.
bool is_doubt(const Warning& warning) {
  return warning.code != "analytic-profile" && warning.code != "collective-choice";
}

double slowest_compute(const config::Scenario& scenario) {
  double slowest = 1;
  for (const StragglerSpec& straggler : scenario.stragglers) {
    slowest = std::max(slowest, straggler.compute);
  }
  const ComputeProfile& profile = *scenario.profile;
  const Seconds compute =
      static_cast<double>(scenario.grad_accumulation) * (profile.forward() + profile.backward());
  return slowest * compute.count();
}

/// At 2 bytes an element where the type is a half, as a strategy may send them.
double gradient_bytes(const ComputeProfile& profile) {
  constexpr double single = 4;
  constexpr double half = 2;
  return static_cast<double>(profile.parameter_count()) * (profile.dtype == "fp32" ? single : half);
}

/// What is held of every prediction by itself.
void add_figures(const config::Scenario& scenario, const Point& point, Prediction& prediction) {
  const RunResult& result = point.result;
  prediction.parts = std::accumulate(result.breakdown.begin(), result.breakdown.end(), 0.0);
  prediction.least_part = std::ranges::min(result.breakdown);
  if (result.breakdown_median) {
    prediction.least_part =
        std::min(prediction.least_part, std::ranges::min(*result.breakdown_median));
  }
  prediction.optimizer = result.breakdown[static_cast<std::size_t>(Part::optimizer)];
  prediction.compute = slowest_compute(scenario);
  prediction.efficiency = result.one_gpu_fits ? metrics_of(result).scaling_efficiency : 0;
  prediction.doubted = std::ranges::any_of(result.warnings, is_doubt);
  for (const LinkReport& link : result.links) {
    prediction.utilisation = std::max(prediction.utilisation, link.utilisation);
    prediction.least_used = std::min(prediction.least_used, link.utilisation);
  }
  prediction.sent = static_cast<double>(result.bytes_per_rank);
  const auto ranks = static_cast<double>(result.world_size);
  prediction.must_send = 2 * (ranks - 1) / ranks * gradient_bytes(*scenario.profile);
  prediction.digest = digest_of(point);
}

Prediction predict_here(const std::string& yaml) {
  config::Scenario scenario = config::read_scenario(config::parse_yaml(yaml, "law.yaml"), {});
  scenario.run.ignore_memory = true;
  const Point point = cli::predict_point(scenario, false);
  const RunResult& result = point.result;
  Prediction prediction;
  prediction.iteration =
      std::accumulate(result.iteration_s.begin(), result.iteration_s.end(), 0.0) /
      static_cast<double>(result.iteration_s.size());
  prediction.alone = result.single_gpu_iteration_s;
  prediction.samples = static_cast<double>(global_batch(result));
  prediction.collectives = result.collectives;
  for (const Part part : {Part::copies, Part::encode_decode, Part::host}) {
    prediction.own_work += result.breakdown[static_cast<std::size_t>(part)];
  }
  if (result.memory) prediction.memory = result.memory->peak;
  prediction.warned = std::ranges::any_of(
      result.warnings, [](const Warning& warning) { return warning.code == "collective-choice"; });
  add_figures(scenario, point, prediction);
  return prediction;
}

/// In the child: writes the prediction, or what went wrong, and ends the process with its code.
[[noreturn]] void answer(const std::string& yaml, int out) {
  int code = 0;
  std::string said;
  Prediction prediction;
  try {
    prediction = predict_here(yaml);
    said.assign(reinterpret_cast<const char*>(&prediction), sizeof prediction);
  } catch (const ConfigError& error) {
    code = refused;
  } catch (const UnsupportedConfiguration& error) {
    code = refused;
  } catch (const std::exception& error) {
    code = failed;
    said = error.what();
  }
  const bool written = ::write(out, said.data(), said.size()) == static_cast<ssize_t>(said.size());
  ::_exit(written ? code : failed);
}

std::string read_all(int in) {
  std::string text;
  std::array<char, 4096> buffer{};
  for (ssize_t got = 0; (got = ::read(in, buffer.data(), buffer.size())) > 0;) {
    text.append(buffer.data(), static_cast<std::size_t>(got));
  }
  return text;
}

}  // namespace

std::optional<Prediction> predict(const std::string& yaml) {
  std::array<int, 2> ends{};
  if (::pipe(ends.data()) != 0) throw std::runtime_error("no pipe");
  std::cout.flush();  // or the child would say again what stands in the buffer
  const pid_t child = ::fork();
  if (child < 0) throw std::runtime_error("no process");
  if (child == 0) {
    ::close(ends[0]);
    ::alarm(longest);
    answer(yaml, ends[1]);
  }
  ::close(ends[1]);
  const std::string said = read_all(ends[0]);
  ::close(ends[0]);
  int status = 0;
  ::waitpid(child, &status, 0);
  if (WIFEXITED(status) && WEXITSTATUS(status) == refused) return std::nullopt;
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    throw std::runtime_error(fmt::format("{} (wait status {}) of\n{}", said, status, yaml));
  }
  Prediction prediction;
  if (said.size() != sizeof prediction) throw std::runtime_error("half an answer");
  std::copy(said.begin(), said.end(), reinterpret_cast<char*>(&prediction));
  return prediction;
}

}  // namespace gradwire::laws
