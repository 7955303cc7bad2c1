#include <algorithm>
#include <cstdlib>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "calibration/capture/bench/arguments.hpp"
#include "calibration/capture/bench/commands.hpp"
#include "calibration/capture/bench/cuda_support.hpp"
#include "calibration/capture/bench/device.hpp"
#include "calibration/capture/bench/progress.hpp"
#include "calibration/capture/bench/samples.hpp"
#include "calibration/capture/common/nvml.hpp"
#include "calibration/capture/common/whole_file.hpp"

namespace gradwire::calibration {
namespace {

/// Host memory: pinned, or as malloc gives it (touched, so that it is there).
class HostMemory {
 public:
  HostMemory(std::size_t bytes, bool pinned) : pinned_(pinned) {
    if (pinned) {
      GRADWIRE_CUDA_CHECK(cudaHostAlloc(&data_, bytes, cudaHostAllocPortable));
    } else {
      data_ = std::calloc(bytes, 1);
      if (data_ == nullptr) throw DeviceError("no memory for a buffer on the host");
    }
    std::fill_n(static_cast<char*>(data_), bytes, '\1');
  }
  HostMemory(const HostMemory&) = delete;
  HostMemory& operator=(const HostMemory&) = delete;
  HostMemory(HostMemory&&) = delete;
  HostMemory& operator=(HostMemory&&) = delete;
  ~HostMemory() {
    if (pinned_) {
      cudaFreeHost(data_);
    } else {
      std::free(data_);
    }
  }
  [[nodiscard]] void* data() const { return data_; }

 private:
  void* data_ = nullptr;
  bool pinned_;
};

/// Copies that run at once; `kind` is h2d, d2h, both (one each way for each GPU), d2d or peer.
struct CopyCase {
  std::string kind;
  bool pinned = true;
  std::vector<int> gpus;  ///< that take part; of a peer copy source and destination
  bool peer_access = false;
};

/// One copy: a stream of one GPU.
struct Lane {
  int device = 0;
  int peer = -1;  ///< where a peer copy ends
  cudaMemcpyKind direction = cudaMemcpyDefault;
  void* to = nullptr;
  const void* from = nullptr;
  Stream stream;
  StreamTimer timer;
};

/// The buffers and streams of a case.
class Lanes {
 public:
  Lanes(const CopyCase& one, std::size_t bytes) {
    if (one.kind == "peer") {
      add_peer(one, bytes);
      return;
    }
    for (const int gpu : one.gpus) {
      GRADWIRE_CUDA_CHECK(cudaSetDevice(gpu));
      if (one.kind == "d2d") {
        add(gpu, cudaMemcpyDeviceToDevice, device(bytes), device(bytes));
      }
      if (one.kind == "h2d" || one.kind == "both") {
        add(gpu, cudaMemcpyHostToDevice, device(bytes), host(bytes, one.pinned));
      }
      if (one.kind == "d2h" || one.kind == "both") {
        add(gpu, cudaMemcpyDeviceToHost, host(bytes, one.pinned), device(bytes));
      }
    }
  }
  Lanes(const Lanes&) = delete;
  Lanes& operator=(const Lanes&) = delete;
  Lanes(Lanes&&) = delete;
  Lanes& operator=(Lanes&&) = delete;
  ~Lanes() {
    if (opened_from_ < 0) return;
    cudaSetDevice(opened_from_);
    cudaDeviceDisablePeerAccess(opened_to_);
  }

  /// Every lane copies `calls` times. @return microseconds of the slowest lane
  double run(std::size_t bytes, int calls) {
    for (Lane& lane : lanes_) {
      GRADWIRE_CUDA_CHECK(cudaSetDevice(lane.device));
      lane.timer.start(lane.stream.get());
      for (int i = 0; i < calls; ++i) copy(lane, bytes);
      lane.timer.stop(lane.stream.get());
    }
    double slowest = 0;
    for (const Lane& lane : lanes_) slowest = std::max(slowest, lane.timer.elapsed_us());
    return slowest;
  }
  [[nodiscard]] std::size_t size() const { return lanes_.size(); }

 private:
  static void copy(const Lane& lane, std::size_t bytes) {
    if (lane.peer >= 0) {
      GRADWIRE_CUDA_CHECK(cudaMemcpyPeerAsync(lane.to, lane.peer, lane.from, lane.device, bytes,
                                              lane.stream.get()));
    } else {
      GRADWIRE_CUDA_CHECK(
          cudaMemcpyAsync(lane.to, lane.from, bytes, lane.direction, lane.stream.get()));
    }
  }
  void add(int gpu, cudaMemcpyKind direction, void* to, const void* from) {
    lanes_.push_back({gpu, -1, direction, to, from, Stream(), StreamTimer()});
  }
  void add_peer(const CopyCase& one, std::size_t bytes) {
    GRADWIRE_CUDA_CHECK(cudaSetDevice(one.gpus[1]));
    void* to = device(bytes);
    GRADWIRE_CUDA_CHECK(cudaSetDevice(one.gpus[0]));
    if (one.peer_access) {
      GRADWIRE_CUDA_CHECK(cudaDeviceEnablePeerAccess(one.gpus[1], 0));
      opened_from_ = one.gpus[0];
      opened_to_ = one.gpus[1];
    }
    add(one.gpus[0], cudaMemcpyDeviceToDevice, to, device(bytes));
    lanes_.back().peer = one.gpus[1];
  }
  void* device(std::size_t bytes) {
    return device_.emplace_back(std::make_unique<DeviceArray<char>>(bytes))->data();
  }
  void* host(std::size_t bytes, bool pinned) {
    return host_.emplace_back(std::make_unique<HostMemory>(bytes, pinned))->data();
  }

  std::vector<std::unique_ptr<DeviceArray<char>>> device_;
  std::vector<std::unique_ptr<HostMemory>> host_;
  std::vector<Lane> lanes_;
  int opened_from_ = -1;
  int opened_to_ = -1;
};

CallCounts counts_for(std::int64_t size) {
  constexpr std::int64_t large = 64LL << 20;
  return size < large ? CallCounts{5, 50} : CallCounts{3, 20};
}

void write_case(JsonWriter& json, const CopyCase& one, const std::vector<std::int64_t>& sizes,
                Progress& progress) {
  Lanes lanes(one, static_cast<std::size_t>(sizes.back()));
  json.begin_object().member("kind", one.kind).member("memory", one.pinned ? "pinned" : "pageable");
  json.key("gpus").begin_list();
  for (const int gpu : one.gpus) json.value(gpu);
  json.end_list();
  json.member("copies_at_once", lanes.size()).member("peer_access", one.peer_access);
  json.key("rows").begin_list();
  for (const std::int64_t size : sizes) {
    progress.step(one.kind + (one.pinned ? ", pinned, " : ", pageable, ") +
                  std::to_string(lanes.size()) + " at once, " + std::to_string(size) + " bytes");
    const auto bytes = static_cast<std::size_t>(size);
    const CallCounts counts = counts_for(size);
    std::vector<double> times;
    for (int i = -counts.warm_up; i < counts.timed; ++i) {
      const double time = lanes.run(bytes, 1);
      if (i >= 0) times.push_back(time);
    }
    json.begin_object().member("size_bytes", size);
    write_summary(json, summarise(std::move(times)));
    json.member("pipelined_us", lanes.run(bytes, counts.timed) / counts.timed).end_object();
    if (interrupted()) break;
  }
  json.end_list().end_object();
}

/// GPUs below the same PCIe switches, where the driver tells: one list a group of several.
std::vector<std::vector<int>> bridge_groups(int count) {
  std::string why;
  const std::optional<Nvml> nvml = Nvml::open(why);
  if (!nvml) return {};
  std::map<std::string, unsigned> by_bus;
  for (const NvmlGpu& gpu : nvml->gpus()) by_bus[bus_key(gpu.bus)] = gpu.index;
  std::vector<std::vector<int>> groups;
  for (int gpu = 0; gpu < count; ++gpu) {
    const auto own = by_bus.find(bus_key(device_info(gpu).bus));
    const auto near = std::find_if(groups.begin(), groups.end(), [&](const auto& group) {
      const auto other = by_bus.find(bus_key(device_info(group.front()).bus));
      if (own == by_bus.end() || other == by_bus.end()) return false;
      const auto level = nvml->topology(own->second, other->second);
      return level && *level <= NvmlTopology::many_switches;
    });
    if (near == groups.end()) {
      groups.push_back({gpu});
    } else {
      near->push_back(gpu);
    }
  }
  groups.erase(std::remove_if(groups.begin(), groups.end(),
                              [&](const auto& group) {
                                return group.size() < 2 ||
                                       group.size() == static_cast<std::size_t>(count);
                              }),
               groups.end());
  return groups;
}

void add_peers(int count, std::vector<CopyCase>& cases) {
  for (int source = 0; source < count; ++source) {
    for (int destination = 0; destination < count; ++destination) {
      if (source == destination) continue;
      int can = 0;
      GRADWIRE_CUDA_CHECK(cudaDeviceCanAccessPeer(&can, source, destination));
      cases.push_back({"peer", true, {source, destination}, false});
      if (can != 0) cases.push_back({"peer", true, {source, destination}, true});
    }
  }
}

std::vector<CopyCase> all_cases(int count) {
  std::vector<CopyCase> cases;
  std::vector<int> all;
  for (int gpu = 0; gpu < count; ++gpu) {
    for (const bool pinned : {true, false}) {
      cases.push_back({"h2d", pinned, {gpu}});
      cases.push_back({"d2h", pinned, {gpu}});
    }
    cases.push_back({"both", true, {gpu}});
    cases.push_back({"d2d", true, {gpu}});
    all.push_back(gpu);
  }
  add_peers(count, cases);
  std::vector<std::vector<int>> groups = bridge_groups(count);
  if (count > 1) groups.push_back(all);
  for (const std::vector<int>& group : groups) {
    for (const char* kind : {"h2d", "d2h", "both"}) cases.push_back({kind, true, group});
  }
  return cases;
}

}  // namespace

int run_copies(const std::vector<std::string>& words) {
  const Arguments arguments(
      {{"--sizes", "4KiB:256MiB:x4", "bytes"}, {"--output", "copies.json", "file"}}, words);
  const std::vector<std::int64_t> sizes = arguments.sizes("--sizes");
  const std::vector<CopyCase> cases = all_cases(require_devices());
  Progress progress(static_cast<int>(cases.size() * sizes.size()));
  JsonWriter json;
  begin_record(json, "gradwire.bench.copies/1");
  json.key("copies").begin_list();
  for (const CopyCase& one : cases) {
    write_case(json, one, sizes, progress);
    if (interrupted()) break;
  }
  json.end_list().end_object();
  write_whole_file(arguments.text("--output"), json.text());
  return interrupted() ? exit_interrupted : exit_done;
}

}  // namespace gradwire::calibration
