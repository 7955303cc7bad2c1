#include "calibration/capture/bench/rendezvous.hpp"

#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <stdexcept>
#include <thread>
#include <utility>

#include "calibration/capture/bench/arguments.hpp"
#include "calibration/capture/common/whole_file.hpp"

namespace gradwire::calibration {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::seconds patience{60};
constexpr std::chrono::milliseconds pause{20};

std::optional<int> number_of(const char* name) {
  const char* text = std::getenv(name);
  if (text == nullptr || *text == '\0') return std::nullopt;
  const std::string value = text;
  int number = 0;
  const char* end = value.data() + value.size();
  const auto result = std::from_chars(value.data(), end, number);
  if (result.ec != std::errc() || result.ptr != end || number < 0) {
    throw UsageError(std::string(name) + " is '" + value + "'; expected a whole number");
  }
  return number;
}

struct Launcher {
  const char* rank;
  const char* processes;
  const char* local_rank;
};
constexpr std::array launchers = {
    Launcher{"RANK", "WORLD_SIZE", "LOCAL_RANK"},
    Launcher{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK"},
    Launcher{"SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID"},
};

/// A file descriptor that is closed.
class Socket {
 public:
  explicit Socket(int descriptor) : descriptor_(descriptor) {}
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;
  Socket(Socket&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  Socket& operator=(Socket&&) = delete;
  ~Socket() {
    if (descriptor_ >= 0) close(descriptor_);
  }
  [[nodiscard]] int get() const { return descriptor_; }

 private:
  int descriptor_;
};

using Addresses = std::unique_ptr<addrinfo, decltype(&freeaddrinfo)>;

Addresses resolve(const char* host, const std::string& port, int flags) {
  addrinfo hints{};
  hints.ai_family = AF_INET;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = flags;
  addrinfo* found = nullptr;
  const int result = getaddrinfo(host, port.c_str(), &hints, &found);
  if (result != 0) {
    throw std::runtime_error(std::string("rendezvous at ") + (host != nullptr ? host : "*") + ":" +
                             port + ": " + gai_strerror(result));
  }
  return {found, freeaddrinfo};
}

bool receive_whole(int socket, NcclId& id) {
  std::size_t received = 0;
  while (received < id.bytes.size()) {
    const ssize_t count = recv(socket, id.bytes.data() + received, id.bytes.size() - received, 0);
    if (count <= 0) return false;
    received += static_cast<std::size_t>(count);
  }
  return true;
}

}  // namespace

ProcessPlace process_place() {
  for (const Launcher& launcher : launchers) {
    const std::optional<int> rank = number_of(launcher.rank);
    const std::optional<int> processes = number_of(launcher.processes);
    if (!rank || !processes) continue;
    ProcessPlace place{*rank, *processes, number_of(launcher.local_rank).value_or(0)};
    if (place.rank >= place.processes) {
      throw UsageError(std::string(launcher.rank) + " is " + std::to_string(place.rank) +
                       "; expected less than " + launcher.processes + ", " +
                       std::to_string(place.processes));
    }
    return place;
  }
  return {};
}

Rendezvous::Rendezvous(const std::string& way, const ProcessPlace& place) : place_(place) {
  if (place.processes == 1) return;
  const char* address = std::getenv("MASTER_ADDR");
  if (way.rfind("file:", 0) == 0 && way.size() > 5) {
    path_ = way.substr(5);
    return;
  }
  if (way != "tcp" && way != "auto") {
    throw UsageError("--rendezvous is '" + way + "'; expected auto, tcp or file:PATH");
  }
  const std::optional<int> port = number_of("MASTER_PORT");
  if (address == nullptr || !port) {
    throw UsageError(
        "several processes and no MASTER_ADDR and MASTER_PORT; expected them, or "
        "--rendezvous file:PATH on a file system that all see");
  }
  address_ = address;
  port_ = std::to_string(*port + 1);
}

NcclId Rendezvous::share(const NcclId& id, int takers) {
  if (takers == 1) return id;
  return path_.empty() ? share_by_tcp(id, takers) : share_by_file(id);
}

NcclId Rendezvous::share_by_file(const NcclId& id) {
  const std::string path = path_ + "." + std::to_string(shared_++);
  if (place_.rank == 0) {
    if (std::filesystem::exists(path)) {
      throw std::runtime_error("'" + path + "' exists; expected a new file, for this run only");
    }
    write_whole_file(path, {id.bytes.data(), id.bytes.size()});
    return id;
  }
  const auto deadline = Clock::now() + patience;
  while (!std::filesystem::exists(path)) {
    if (Clock::now() > deadline) throw std::runtime_error("no '" + path + "' within a minute");
    std::this_thread::sleep_for(pause);
  }
  NcclId read;
  std::ifstream(path, std::ios::binary).read(read.bytes.data(), read.bytes.size());
  return read;
}

NcclId Rendezvous::share_by_tcp(const NcclId& id, int takers) const {
  const auto deadline = Clock::now() + patience;
  if (place_.rank == 0) {
    const Addresses own = resolve(nullptr, port_, AI_PASSIVE);
    const Socket listener(socket(own->ai_family, own->ai_socktype, own->ai_protocol));
    const int yes = 1;
    const timeval limit{patience.count(), 0};
    setsockopt(listener.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    setsockopt(listener.get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    if (bind(listener.get(), own->ai_addr, own->ai_addrlen) != 0 ||
        listen(listener.get(), takers) != 0) {
      throw std::runtime_error("cannot listen on port " + port_ +
                               " (the one after MASTER_PORT); expected it free");
    }
    for (int taker = 1; taker < takers; ++taker) {
      const Socket other(accept(listener.get(), nullptr, nullptr));
      if (other.get() < 0 || ::send(other.get(), id.bytes.data(), id.bytes.size(), MSG_NOSIGNAL) !=
                                 static_cast<ssize_t>(id.bytes.size())) {
        throw std::runtime_error("only " + std::to_string(taker) + " of " + std::to_string(takers) +
                                 " processes came within a minute");
      }
    }
    return id;
  }
  while (Clock::now() < deadline) {
    const Addresses there = resolve(address_.c_str(), port_, 0);
    const Socket other(socket(there->ai_family, there->ai_socktype, there->ai_protocol));
    NcclId read;
    if (connect(other.get(), there->ai_addr, there->ai_addrlen) == 0 &&
        receive_whole(other.get(), read)) {
      return read;
    }
    std::this_thread::sleep_for(pause);
  }
  throw std::runtime_error("no answer of rank 0 at " + address_ + ":" + port_ + " within a minute");
}

}  // namespace gradwire::calibration
