#include "strategies/servers/ssp.hpp"

#include <memory>

#include "strategies/servers/ps_async.hpp"

namespace gradwire {
namespace {

constexpr int bound_default = 3;
constexpr int bound_most = 1'000'000;

}  // namespace

StrategyMaker Ssp::read(Knobs& knobs) {
  PsAsyncOptions options = read_ps_async(knobs);
  options.bound = static_cast<int>(
      knobs.count("staleness", bound_default, 0, bound_most,
                  "the bound s of Ho et al. 2013, iterations; its default is assumed"));
  return [options](const JobView& job) { return std::make_unique<PsAsync>(options, job); };
}

}  // namespace gradwire
