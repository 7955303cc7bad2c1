#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include "calibration/capture/bench/arguments.hpp"
#include "calibration/capture/bench/commands.hpp"
#include "calibration/capture/bench/device.hpp"
#include "calibration/capture/bench/progress.hpp"
#include "calibration/capture/bench/rank_group.hpp"
#include "calibration/capture/bench/rendezvous.hpp"
#include "calibration/capture/bench/samples.hpp"
#include "calibration/capture/common/whole_file.hpp"

namespace gradwire::calibration {
namespace {

const std::vector<std::string> operations = {
    "all_reduce", "reduce_scatter", "all_gather", "broadcast", "reduce", "all_to_all", "send_recv"};
// Our names -> what NCCL_ALGO and NCCL_PROTO take (nccl documentation, environment variables).
const std::map<std::string, std::string> algorithm_names = {{"ring", "Ring"},
                                                            {"tree", "Tree"},
                                                            {"nvls", "NVLS"},
                                                            {"nvls_tree", "NVLSTree"},
                                                            {"pat", "PAT"},
                                                            {"collnet_direct", "CollnetDirect"},
                                                            {"collnet_chain", "CollnetChain"}};
const std::map<std::string, std::string> protocol_names = {
    {"ll", "LL"}, {"ll128", "LL128"}, {"simple", "Simple"}};

/// One file: an operation on some ranks with one choice of algorithm.
struct Series {
  std::string op;
  int ranks = 0;
  std::string algorithm;
  std::string protocol;
};

struct Job {
  ProcessPlace place;
  std::vector<int> devices;  ///< of this process
  int world = 0;             ///< ranks in all
  std::vector<std::int64_t> sizes;
  bool in_place = false;
  std::filesystem::path folder;
};

CallCounts counts_for(std::int64_t size) {
  constexpr std::int64_t large = 64LL << 20;
  return size <= large ? CallCounts{5, 50} : CallCounts{5, 20};
}

/// An exchange has two buffers whatever is asked for.
bool runs_in_place(const Series& series, const Job& job) {
  return job.in_place && series.op != "all_to_all" && series.op != "send_recv";
}

/// One rank's part of a collective; sizes count as in nccl-tests.
void start_rank(const NcclApi& nccl, const Series& series, bool in_place, std::int64_t size,
                const RankGroup::Rank& rank) {
  const auto ranks = static_cast<std::size_t>(series.ranks);
  const std::size_t whole = static_cast<std::size_t>(size) / sizeof(float);
  const std::size_t part = whole / ranks;
  const std::size_t own = static_cast<std::size_t>(rank.rank) * part;
  const cudaStream_t stream = rank.stream.get();
  const float* send = rank.send.data();
  float* receive = in_place ? rank.send.data() : rank.receive.data();
  if (series.op == "all_reduce") {
    nccl.all_reduce(send, receive, whole, rank.comm, stream);
  } else if (series.op == "reduce_scatter") {
    nccl.reduce_scatter(send, in_place ? receive + own : receive, part, rank.comm, stream);
  } else if (series.op == "all_gather") {
    nccl.all_gather(in_place ? send + own : send, receive, part, rank.comm, stream);
  } else if (series.op == "broadcast") {
    nccl.broadcast(send, receive, whole, rank.comm, stream);
  } else if (series.op == "reduce") {
    nccl.reduce(send, receive, whole, rank.comm, stream);
  } else if (series.op == "all_to_all") {
    for (int peer = 0; peer < series.ranks; ++peer) {
      const std::size_t offset = static_cast<std::size_t>(peer) * part;
      nccl.send(send + offset, part, peer, rank.comm, stream);
      nccl.receive(rank.receive.data() + offset, part, peer, rank.comm, stream);
    }
  } else {  // send_recv: everyone to the next
    nccl.send(send, whole, (rank.rank + 1) % series.ranks, rank.comm, stream);
    nccl.receive(rank.receive.data(), whole, (rank.rank + series.ranks - 1) % series.ranks,
                 rank.comm, stream);
  }
}

/// Every local rank's part, within a group that has begun; ends the group where one fails.
void start_ranks(const Series& series, bool in_place, std::int64_t size, RankGroup& group) {
  group.nccl().group_begin();
  try {
    for (const RankGroup::Rank& rank : group.local()) {
      GRADWIRE_CUDA_CHECK(cudaSetDevice(rank.device));
      start_rank(group.nccl(), series, in_place, size, rank);
    }
  } catch (const DeviceError&) {
    group.nccl().group_give_up();
    throw;
  }
}

void start(const Series& series, bool in_place, std::int64_t size, RankGroup& group) {
  start_ranks(series, in_place, size, group);
  group.nccl().group_end();
}

/// All send ones: what is reduced must be the number of ranks, what is moved one. Run before the
/// timing, out of place.
void check_result(const Series& series, std::int64_t size, RankGroup& group) {
  start(series, false, size, group);
  group.wait();
  const bool reduces =
      series.op == "all_reduce" || series.op == "reduce_scatter" || series.op == "reduce";
  const float expected = reduces ? static_cast<float>(series.ranks) : 1.0F;
  for (const RankGroup::Rank& rank : group.local()) {
    if (series.op == "reduce" && rank.rank != 0) continue;
    GRADWIRE_CUDA_CHECK(cudaSetDevice(rank.device));
    float first = 0;
    GRADWIRE_CUDA_CHECK(
        cudaMemcpy(&first, rank.receive.data(), sizeof first, cudaMemcpyDeviceToHost));
    if (first == expected) continue;
    throw DeviceError(series.op + " gave " + std::to_string(first) + " on rank " +
                      std::to_string(rank.rank) + ", expected " + std::to_string(expected));
  }
}

/// Each call by itself, the slowest rank counting. @return microseconds
std::vector<double> time_single(const Series& series, bool in_place, std::int64_t size,
                                RankGroup& group) {
  const CallCounts counts = counts_for(size);
  std::vector<double> times;
  for (int i = -counts.warm_up; i < counts.timed; ++i) {
    for (RankGroup::Rank& rank : group.local()) {
      GRADWIRE_CUDA_CHECK(cudaSetDevice(rank.device));
      rank.timer.start(rank.stream.get());
    }
    start(series, in_place, size, group);
    double slowest = 0;
    for (RankGroup::Rank& rank : group.local()) {
      GRADWIRE_CUDA_CHECK(cudaSetDevice(rank.device));
      rank.timer.stop(rank.stream.get());
    }
    for (const RankGroup::Rank& rank : group.local()) {
      slowest = std::max(slowest, rank.timer.elapsed_us());
    }
    if (i >= 0) times.push_back(slowest);
  }
  return group.largest(std::move(times));
}

/// As nccl-tests: calls one behind the other, the host's clock, one wait. @return microseconds
double time_behind(const Series& series, bool in_place, std::int64_t size, RankGroup& group) {
  const int calls = counts_for(size).timed;
  group.wait();
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < calls; ++i) start(series, in_place, size, group);
  group.wait();
  const std::chrono::duration<double, std::micro> taken = std::chrono::steady_clock::now() - begin;
  return group.largest({taken.count() / calls}).front();
}

std::optional<double> predicted(const Series& series, bool in_place, std::int64_t size,
                                RankGroup& group) {
  start_ranks(series, in_place, size, group);
  return group.nccl().group_simulate_end();
}

void write_rows(JsonWriter& json, const Series& series, const Job& job, RankGroup& group,
                Progress& progress) {
  const bool in_place = runs_in_place(series, job);
  check_result(series, job.sizes.front(), group);
  json.key("rows").begin_list();
  for (const std::int64_t size : job.sizes) {
    progress.step(series.op + " on " + std::to_string(series.ranks) + " ranks, " +
                  series.algorithm + "/" + series.protocol + ", " + std::to_string(size) +
                  " bytes");
    const SampleSummary summary = summarise(time_single(series, in_place, size, group));
    json.begin_object().member("size_bytes", size);
    write_summary(json, summary);
    json.member("pipelined_us", time_behind(series, in_place, size, group));
    const std::optional<double> expected = predicted(series, in_place, size, group);
    if (expected) json.member("predicted_us", *expected);
    json.end_object();
    if (group.largest({interrupted() ? 1.0 : 0.0}).front() > 0) break;
  }
  json.end_list().end_object();
}

void choose(const char* variable, const std::string& name,
            const std::map<std::string, std::string>& names) {
  if (name == "auto") {
    unsetenv(variable);
  } else {
    setenv(variable, names.at(name).c_str(), 1);
  }
}

/// Measures one series and writes its file (the first process does).
void measure(const NcclApi& nccl, const Series& series, const Job& job, Rendezvous& rendezvous,
             Progress& progress) {
  // NCCL reads both when a communicator begins (src/graph/tuning.cc, ncclTopoTuneModel).
  choose("NCCL_ALGO", series.algorithm, algorithm_names);
  choose("NCCL_PROTO", series.protocol, protocol_names);
  const bool alone = job.place.processes == 1;
  if (!alone && job.place.rank >= series.ranks) return;
  const NcclId id =
      rendezvous.share(job.place.rank == 0 ? nccl.make_id() : NcclId{}, alone ? 1 : series.ranks);
  const std::vector<int> devices(job.devices.begin(),
                                 job.devices.begin() + (alone ? series.ranks : 1));
  const auto elements = static_cast<std::size_t>(job.sizes.back()) / sizeof(float);
  RankGroup group(nccl, id, series.ranks, alone ? 0 : job.place.rank, devices, elements);
  const std::vector<int> machines = group.machines();
  JsonWriter json;
  begin_record(json, "gradwire.bench.collectives/1");
  json.member("library", "nccl")
      .member("version", nccl.version())
      .member("ranks", series.ranks)
      .member("nodes", *std::max_element(machines.begin(), machines.end()) + 1);
  json.key("placement").begin_list();
  for (const int machine : machines) json.value(machine);
  json.end_list();
  json.member("op", series.op)
      .member("dtype", "float32")
      .member("in_place", runs_in_place(series, job))
      .member("algorithm", series.algorithm)
      .member("protocol", series.protocol);
  write_rows(json, series, job, group, progress);
  if (job.place.rank != 0) return;
  const std::string name = series.op + "_" + std::to_string(series.ranks) + "_" + series.algorithm +
                           "_" + series.protocol + ".json";
  write_whole_file(job.folder / name, json.text());
}

/// 2, 4, 8, ... below the world's size, and that.
std::vector<int> rank_counts(const std::string& text, const Arguments& arguments, int world) {
  std::vector<int> counts;
  if (text == "auto") {
    for (int count = 2; count < world; count *= 2) counts.push_back(count);
    counts.push_back(world);
    return counts;
  }
  for (const std::int64_t count : arguments.sizes("--ranks")) {
    if (count < 2 || count > world) {
      throw UsageError("--ranks has " + std::to_string(count) + "; expected 2 to " +
                       std::to_string(world));
    }
    counts.push_back(static_cast<int>(count));
  }
  return counts;
}

std::vector<std::string> names_with_auto(const std::map<std::string, std::string>& names) {
  std::vector<std::string> all = {"auto"};
  for (const auto& [name, nccl_name] : names) all.push_back(name);
  return all;
}

std::vector<Series> all_series(const Arguments& arguments, int world) {
  std::vector<Series> all;
  for (const std::string& op : arguments.choices("--ops", operations)) {
    for (const int ranks : rank_counts(arguments.text("--ranks"), arguments, world)) {
      for (const std::string& algorithm :
           arguments.choices("--algorithms", names_with_auto(algorithm_names))) {
        for (const std::string& protocol :
             arguments.choices("--protocols", names_with_auto(protocol_names))) {
          all.push_back({op, ranks, algorithm, protocol});
        }
      }
    }
  }
  return all;
}

Job read_job(const Arguments& arguments, int visible) {
  Job job;
  job.place = process_place();
  if (job.place.processes == 1) {
    job.devices.resize(static_cast<std::size_t>(visible));
    std::iota(job.devices.begin(), job.devices.end(), 0);
    job.world = visible;
  } else {
    job.devices = {job.place.local_rank % visible};
    job.world = job.place.processes;
  }
  job.sizes = arguments.sizes("--sizes");
  if (job.sizes.front() < static_cast<std::int64_t>(sizeof(float)) * job.world) {
    throw UsageError("--sizes begins below one float a rank; expected at least " +
                     std::to_string(sizeof(float) * static_cast<std::size_t>(job.world)));
  }
  job.in_place = arguments.whole("--in-place", 0) != 0;
  job.folder = arguments.text("--output");
  return job;
}

}  // namespace

int run_collectives(const std::vector<std::string>& words) {
  const Arguments arguments(
      {{"--ops", "all_reduce,reduce_scatter,all_gather,broadcast", "operations, or all"},
       {"--sizes", "1KiB:1GiB:x2", "of the whole, in bytes"},
       {"--ranks", "auto", "counts; auto: 2, 4, ... and all"},
       {"--algorithms", "auto", "auto, ring, tree, nvls, ..., or all"},
       {"--protocols", "auto", "auto, ll, ll128, simple, or all"},
       {"--in-place", "0", "1: send and receive buffer are the same"},
       {"--rendezvous", "auto", "of several processes: tcp or file:PATH"},
       {"--output", "collectives", "folder, a file a series"}},
      words);
  const int visible = require_devices();
  const Job job = read_job(arguments, visible);
  if (job.world < 2) {
    throw NoDevice(
        "one GPU only: collectives need two; expected more in CUDA_VISIBLE_DEVICES, or "
        "several processes (mpirun, srun, torchrun)");
  }
  const NcclApi nccl;
  Rendezvous rendezvous(arguments.text("--rendezvous"), job.place);
  const std::vector<Series> series = all_series(arguments, job.world);
  Progress progress(static_cast<int>(series.size() * job.sizes.size()));
  for (const Series& one : series) {
    try {
      measure(nccl, one, job, rendezvous, progress);
    } catch (const DeviceError& error) {  // not every operation has every algorithm
      std::fprintf(stderr, "gradwire-bench: %s on %d ranks, %s/%s, is left out: %s\n",
                   one.op.c_str(), one.ranks, one.algorithm.c_str(), one.protocol.c_str(),
                   error.what());
    }
    if (interrupted()) return exit_interrupted;
  }
  return exit_done;
}

}  // namespace gradwire::calibration
