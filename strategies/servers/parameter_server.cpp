#include "strategies/servers/parameter_server.hpp"

#include <algorithm>
#include <memory>
#include <utility>

namespace gradwire {
ParameterServer::ParameterServer(Poster& poster, const ParameterServerSpec& spec)
    : poster_(&poster),
      spec_(spec),
      push_(poster, messages_by(spec.push_exchange, spec.coded), spec.together,
            spec.coded ? Lane::unlimited : 1),
      pull_(poster, messages_by(spec.pull_exchange, spec.coded), spec.together,
            spec.coded ? Lane::unlimited : 1),
      assigned_(static_cast<std::size_t>(spec.threads), Bytes{0}) {
  for (int thread = 0; thread < spec.threads; ++thread) {
    const int number = spec.first_thread + thread;
    engine_.emplace_back(poster, [this, number](const LaneItem& load) {
      return HostWork{number, spec_.passes * (load.size / spec_.sum_rate), load.label};
    });
  }
}

void ParameterServer::push(LaneItem item, std::uint64_t key, Poster::Then arrived) {
  LaneItem message = item;
  message.label = "PUSH " + item.label;
  message.then = [this, key, item = std::move(item), arrived = std::move(arrived)] {
    over_loopback(item.size, [this, key, item, arrived] {
      if (arrived) arrived();
      sum(item, key);
    });
  };
  code_by(message, key, false);
  push_.add(std::move(message));
}

void ParameterServer::code_by(LaneItem& message, std::uint64_t key, bool sends) {
  if (!spec_.codes) return;
  const auto thread = static_cast<int>(thread_of(key, message.size));
  message.server = Messages::ServerEnd{spec_.first_thread + thread, sends};
}

void ParameterServer::pull(LaneItem item, std::uint64_t key) {
  code_by(item, key, true);
  item.label = "PULL " + item.label;
  item.then = [this, size = item.size, then = std::move(item.then)] { over_loopback(size, then); };
  pull_.add(std::move(item));
}

void ParameterServer::over_loopback(Bytes size, Poster::Then then) {
  if (spec_.loopback == BytesPerSecond{0}) {
    then();
    return;
  }
  poster_->post(HostWork{spec_.first_thread + spec_.threads, size / spec_.loopback, "loopback"},
                std::move(then));
}

void ParameterServer::sum(LaneItem item, std::uint64_t key) {
  item.label = "SUM " + item.label;
  Lane& thread = engine_[thread_of(key, item.size)];
  if (spec_.blocking) {
    item.then = [this, then = std::move(item.then)] {
      poster_->post(HostWork{HostWork::no_thread, spec_.request, "acknowledge, request"}, then);
    };
    thread.add(std::move(item));
    return;
  }
  // The answer needs both the sum and the request.
  const auto missing = std::make_shared<int>(2);
  const auto one_there = [missing, then = std::move(item.then)] {
    if (--*missing == 0 && then) then();
  };
  item.then = one_there;
  thread.add(std::move(item));
  poster_->post(HostWork{HostWork::no_thread, spec_.request, "acknowledge, request"}, one_there);
}

std::size_t ParameterServer::thread_of(std::uint64_t key, Bytes size) {
  const auto known = pinned_.find(key);
  if (known != pinned_.end()) return known->second;
  const auto least = std::ranges::min_element(assigned_);
  *least += size;
  const auto thread = static_cast<std::size_t>(least - assigned_.begin());
  pinned_.emplace(key, thread);
  return thread;
}

}  // namespace gradwire
