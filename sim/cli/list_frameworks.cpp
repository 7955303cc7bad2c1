#include "sim/cli/lists.hpp"

#include <nlohmann/json.hpp>
#include <string>

#include "sim/config/profile/hosts_yaml.hpp"
#include "sim/models/frameworks.hpp"

namespace gradwire::cli {

nlohmann::ordered_json frameworks_json() {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const Framework& framework : config::shipped_hosts().frameworks) {
    nlohmann::ordered_json operators = nlohmann::ordered_json::array();
    for (const OperatorHost& host : framework.operators) {
      operators.push_back({{"work", host.work.empty() ? "other" : std::string(host.work)},
                           {"forward_s", host.forward.count()},
                           {"backward_s", host.backward.count()},
                           {"further_kernel_s", host.further.count()}});
    }
    list.push_back({{"name", framework.name},
                    {"kind", "framework"},
                    {"summary", framework.summary},
                    {"source", framework.source},
                    {"operators", operators},
                    {"gradient_s", framework.gradient.count()},
                    {"cast_s", framework.cast.forward.count()},
                    {"cast_backward_s", framework.cast.backward.count()},
                    {"update_s", framework.update.count()}});
  }
  return list;
}

}  // namespace gradwire::cli
