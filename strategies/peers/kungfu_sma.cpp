#include "strategies/peers/kungfu_sma.hpp"

#include <memory>

#include "strategies/peers/kungfu_cpu.hpp"

namespace gradwire {

StrategyMaker KungfuSma::read(Knobs& knobs) {
  auto session = read_kungfu_session(knobs);
  session.config_server = read_kungfu_config_server(knobs);
  return [session](const JobView& job) {
    return std::make_unique<KungfuCpu>(session, job, KungfuCpu::always);
  };
}

}  // namespace gradwire
