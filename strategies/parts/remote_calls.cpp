#include "strategies/parts/remote_calls.hpp"

#include <cassert>

namespace gradwire {
namespace {

constexpr int threads_most = 1024;

Seconds spread(const RemoteCalls& calls, std::int64_t count, Seconds bytes) {
  assert(calls.cost());
  return (1.0 / calls.threads) * (static_cast<double>(count) * calls.call + bytes);
}

}  // namespace

Seconds RemoteCalls::sending(std::int64_t calls, Bytes size) const {
  return spread(*this, calls, size / send_rate);
}

Seconds RemoteCalls::receiving(std::int64_t calls, Bytes size) const {
  return spread(*this, calls, size / receive_rate);
}

std::vector<HostWork> RemoteCalls::work(const End& sender, const End& receiver, std::int64_t calls,
                                        Bytes size) const {
  return {{.thread = sender.thread, .time = sender.times * sending(calls, size), .label = "send"},
          {.thread = receiver.thread + 1,
           .time = receiver.times * receiving(calls, size),
           .label = "receive"}};
}

RemoteCalls read_remote_calls(Knobs& knobs, int threads) {
  RemoteCalls calls;
  calls.threads = static_cast<int>(
      knobs.count("rpc_threads", threads, 0, threads_most,
                  "threads of a process that send, and as many that receive: 8 in TensorFlow 1.13 "
                  "(kGrpcWorkerServiceThreadCount, kGrpcWorkerCacheThreadCount; not read again), 1 "
                  "in 2017 (assumed); 0: calls take no CPU, as over RDMA"));
  return calls;
}

}  // namespace gradwire
