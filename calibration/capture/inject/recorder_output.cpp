#include <chrono>
#include <cstdio>
#include <exception>

#include "calibration/capture/inject/clock.hpp"
#include "calibration/capture/inject/record_bytes.hpp"
#include "calibration/capture/inject/record_format.hpp"
#include "calibration/capture/inject/recorder.hpp"

// What a recorder writes, and when: its own thread's part.
namespace gradwire::calibration {
namespace {

using gwr::RecordKind;

constexpr auto writer_pause = std::chrono::milliseconds(10);
// CUPTI's flush takes locks that launches take: short iterations share one.
constexpr std::int64_t flush_pause_ns = 100'000'000;

}  // namespace

void Recorder::write_metadata() {
  std::vector<std::byte> records;
  {
    const std::lock_guard lock(metadata_mutex_);
    records.swap(metadata_);
  }
  if (!records.empty()) file_.append(0, records);
}

bool Recorder::append(std::span<const std::byte> records) {
  write_metadata();
  return file_.append(0, records);
}

void Recorder::write_rings() {
  const std::lock_guard write_lock(write_mutex_);
  std::vector<std::shared_ptr<ThreadLog>> logs;
  {
    const std::lock_guard lock(logs_mutex_);
    logs = logs_;
  }
  std::vector<std::byte> records;
  for (const std::shared_ptr<ThreadLog>& log : logs) {
    const bool retired = log->retired.load(std::memory_order_acquire);
    records.clear();
    log->ring.drain(records);
    if (!records.empty()) {
      write_metadata();
      file_.append(log->thread, records);
    }
    if (!retired) continue;
    retired_.callbacks.add(log->callbacks.value());
    retired_.overhead_ns.add(log->overhead_ns.value());
    retired_.dropped.add(log->dropped.value());
    const std::lock_guard lock(logs_mutex_);
    std::erase(logs_, log);
  }
}

void Recorder::write_state(bool last) {
  const std::lock_guard write_lock(write_mutex_);
  const DeviceSource* source = source_;
  gwr::Summary summary;
  const auto add = [&](const ThreadLog& log) {
    summary.callbacks += log.callbacks.value();
    summary.overhead_ns += log.overhead_ns.value();
    summary.dropped_ranges += log.dropped.value();
  };
  add(retired_);
  {
    const std::lock_guard lock(logs_mutex_);
    for (const std::shared_ptr<ThreadLog>& log : logs_) add(*log);
  }
  summary.dropped_ranges += unlogged_;
  write_metadata();
  const bool full = file_.is_full();
  summary.last = last && !full ? 1 : 0;
  summary.wide_texts = wide_texts_;
  summary.iterations = iterations_;
  if (source != nullptr) {
    const DeviceCounts counts = source->counts();
    summary.dropped_device = counts.dropped;
    summary.unstamped = counts.unstamped;
    summary.buffers_missing = counts.buffers_missing;
    summary.background_ns = counts.background_ns;
  }
  gwr::Clock clock;
  clock.monotonic = monotonic_ns();
  clock.realtime = realtime_ns();
  clock.cupti = source != nullptr ? source->clock_ns() : 0;
  std::vector<std::byte> records;
  append_record(records, RecordKind::clock, clock);
  append_record(records, RecordKind::summary, summary);
  if (!last) {
    file_.append(0, records);
    return;
  }
  if (full) {
    append_record(records, RecordKind::fact, gwr::Fact{},
                  "file_full=" + std::to_string(settings_.file_bytes_max));
  }
  file_.append_last(records);
}

void Recorder::write_loop() {
  std::int64_t flushed = 0;
  while (!stopping_) {
    {
      std::unique_lock lock(wake_mutex_);
      wake_.wait_for(lock, writer_pause);
    }
    try {
      write_turn(flushed);
    } catch (const std::exception&) {  // no memory: rings keep what was not written
      count_lost();
    }
  }
}

void Recorder::write_turn(std::int64_t& flushed) {
  write_rings();
  if (monotonic_ns() - flushed < flush_pause_ns || !flush_wanted_.exchange(false)) return;
  flushed = monotonic_ns();
  if (DeviceSource* source = source_) source->flush(false);
  write_state(false);
}

void Recorder::finish() {
  if (finished_.exchange(true)) return;
  active_ = false;
  stopping_ = true;
  wake_.notify_one();
  if (writer_.joinable()) writer_.join();
  try {
    write_end();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "gradwire: the end of %s is lost: %s\n", path().c_str(), error.what());
  }
}

void Recorder::write_end() {
  if (DeviceSource* source = source_) source->flush(true);
  write_rings();
  // A process that neither called CUDA nor spoke NVTX leaves no file.
  const bool spoken_to = [&] {
    const std::lock_guard lock(logs_mutex_);
    return logs_made_ > 0;
  }();
  if (spoken_to || source_ != nullptr || file_.is_made()) write_state(true);
}

}  // namespace gradwire::calibration
