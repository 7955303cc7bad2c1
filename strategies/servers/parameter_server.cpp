#include "strategies/servers/parameter_server.hpp"

#include <algorithm>
#include <memory>
#include <utility>

namespace gradwire {

ParameterServerSpec ParameterServerSpec::of(int server, bool here) const {
  ParameterServerSpec spec = *this;
  spec.push_exchange += 2 * server;
  spec.first_thread += server * (threads + 1);
  if (!here) spec.loopback = BytesPerSecond{0};
  return spec;
}

ParameterServer::ParameterServer(Poster& poster, const ParameterServerSpec& spec)
    : poster_(&poster),
      spec_(spec),
      push_(poster, messages_by(spec.push_exchange, spec.coded), spec.together,
            spec.coded ? Lane::unlimited : 1),
      pull_(poster, messages_by(spec.push_exchange + 1, spec.coded), spec.together,
            spec.coded ? Lane::unlimited : 1),
      loopback_(poster,
                [spec](const LaneItem& load) {
                  return HostWork{spec.first_thread + spec.threads, load.size / spec.loopback,
                                  load.label};
                }),
      assigned_(static_cast<std::size_t>(spec.threads), Bytes{0}) {
  for (int thread = 0; thread < spec.threads; ++thread) {
    const int number = spec.first_thread + thread;
    engine_.emplace_back(poster, [this, number](const LaneItem& load) {
      return HostWork{number, spec_.passes * (load.size / spec_.sum_rate), load.label};
    });
  }
}

void ParameterServer::push(LaneItem item, Poster::Then arrived) {
  LaneItem message = item;
  message.label = "PUSH " + item.label;
  message.then = [this, item = std::move(item), arrived = std::move(arrived)] {
    over_loopback(item, [this, item, arrived] {
      if (arrived) arrived();
      sum(item);
    });
  };
  code_by(message, false);
  push_.add(std::move(message));
}

void ParameterServer::code_by(LaneItem& message, bool sends) {
  if (!spec_.codes) return;
  const auto thread = static_cast<int>(thread_of(message));
  message.server = Messages::ServerEnd{spec_.first_thread + thread, sends};
}

void ParameterServer::pull(LaneItem item) {
  code_by(item, true);
  item.label = "PULL " + item.label;
  const LaneItem local{.size = item.size, .priority = item.priority};
  item.then = [this, local, then = std::move(item.then)] { over_loopback(local, then); };
  pull_.add(std::move(item));
}

void ParameterServer::over_loopback(const LaneItem& item, Poster::Then then) {
  if (spec_.loopback == BytesPerSecond{0}) {
    then();
    return;
  }
  loopback_.add(
      {.size = item.size, .label = "loopback", .priority = item.priority, .then = std::move(then)});
}

void ParameterServer::sum(LaneItem item) {
  item.label = "SUM " + item.label;
  Lane& thread = engine_[thread_of(item)];
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

std::size_t ParameterServer::thread_of(const LaneItem& item) {
  const auto [pin, is_new] = pinned_.try_emplace(item.key);
  if (is_new) {
    const auto least = std::ranges::min_element(assigned_);
    *least += item.size;
    pin->second = static_cast<std::size_t>(least - assigned_.begin());
  }
  return pin->second;
}

}  // namespace gradwire
