#include "tests/laws/training_prediction.hpp"

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <iostream>
#include <numeric>
#include <stdexcept>

#include "sim/cli/predict.hpp"
#include "sim/config/scenario.hpp"
#include "sim/core/error.hpp"

namespace gradwire::laws {
namespace {

constexpr int refused = 3;  // as the program's exit code
constexpr int failed = 1;
/// s: no job that laws draw may take that long, sanitizers or not.
constexpr unsigned longest = 60;

Prediction predict_here(const std::string& yaml) {
  const config::Scenario scenario = config::read_scenario(config::parse_yaml(yaml, "law.yaml"), {});
  const RunResult result = cli::predict(scenario, false);
  Prediction prediction;
  prediction.iteration =
      std::accumulate(result.iteration_s.begin(), result.iteration_s.end(), 0.0) /
      static_cast<double>(result.iteration_s.size());
  prediction.alone = result.single_gpu_iteration_s;
  prediction.samples = static_cast<double>(samples_per_rank(result)) * result.world_size;
  prediction.collectives = result.collectives;
  for (const Part part : {Part::copies, Part::encode_decode, Part::host}) {
    prediction.own_work += result.breakdown[static_cast<std::size_t>(part)];
  }
  prediction.warned = std::ranges::any_of(
      result.warnings, [](const Warning& warning) { return warning.code == "collective-choice"; });
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
  } catch (const RefusedChoice& error) {
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
