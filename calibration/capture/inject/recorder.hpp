#pragma once

#include <sys/types.h>

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <unordered_map>
#include <vector>

#include "calibration/capture/inject/device_source.hpp"
#include "calibration/capture/inject/record_file.hpp"
#include "calibration/capture/inject/settings.hpp"
#include "calibration/capture/inject/thread_log.hpp"

namespace gradwire::calibration {

/// Keeps what the process does, and writes it to one file. Ranges and marks go to a ring of their
/// thread; a thread of the recorder's writes them, and after each iteration's mark all that is
/// complete by then: a killed program loses the ranges of its last milliseconds, and of the device
/// what came since the last flush (100 ms, or an iteration where that is longer).
/// It never fails the program that it records: push() to mark() do not throw. A signal's handler
/// that calls them while its thread is within the recorder is counted and not recorded.
class Recorder {
 public:
  /// @param facts  "key=value" lines for the file, beside those that the recorder knows
  Recorder(Settings settings, const std::vector<std::string>& facts);
  ~Recorder();
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;

  /// The recorder of this process; null where there is none, and in forked children, which record
  /// nothing: their parent's file is not theirs, and CUDA does not survive a fork.
  [[nodiscard]] static Recorder* current() { return running.load(std::memory_order_acquire); }
  /// Makes it current; null: none.
  static void install(Recorder* recorder);

  /// From now on iterations switch the source on and off. It must outlive finish().
  void attach(DeviceSource* source);

  /// Begins a range of the calling thread. @return its depth, from 0
  int push(std::uint32_t domain, std::string_view text, std::int64_t bytes);
  /// Ends the calling thread's innermost range of the domain. @return its depth; negative: no range
  int pop(std::uint32_t domain);
  /// Begins a range that any thread may end. @return its id, never 0
  std::uint64_t start(std::uint32_t domain, std::string_view text, std::int64_t bytes);
  void end(std::uint64_t range);
  /// A mark "gradwire.iteration:<n>" begins an iteration: it switches recording on and off as the
  /// settings say, and what came before it is written.
  void mark(std::uint32_t domain, std::string_view text);
  void count_wide_text() { wide_texts_.fetch_add(1, std::memory_order_relaxed); }

  /// The id of a name in the file. It appends the name to `records`, or, where that is null, to
  /// what is written next, where it is new.
  std::uint32_t name(std::string_view text, std::vector<std::byte>* records = nullptr);
  /// Appends "key=value" to the file's facts.
  void add_fact(std::string_view text);
  /// Writes records of no thread. @return whether they were written
  bool append(std::span<const std::byte> records);

  /// Writes all that there is, and stops. Idempotent.
  void finish();

  [[nodiscard]] const Settings& settings() const { return settings_; }
  /// The file's, once it is made; the wanted one before.
  [[nodiscard]] const std::string& path() const { return file_.path(); }
  /// Counts what was lost for want of memory, or in a signal's handler.
  void count_lost() { unlogged_.fetch_add(1, std::memory_order_relaxed); }

 private:
  /// Makes `call`; from a signal's handler that interrupted one of this thread, and where memory is
  /// missing, it is counted as lost.
  template <class Call>
  void safely(const Call& call) noexcept;
  int push_safely(std::uint32_t domain, std::string_view text, std::int64_t bytes);
  int pop_safely(std::uint32_t domain);
  std::uint64_t start_safely(std::uint32_t domain, std::string_view text, std::int64_t bytes);
  void mark_safely(std::uint32_t domain, std::string_view text);
  ThreadLog* log_of_thread();
  ThreadLog* make_log();
  void write_range_end(ThreadLog& log, gwr::RecordKind kind, std::uint64_t range);
  bool begin_iteration();
  void write_loop();
  void write_turn(std::int64_t& flushed);
  void write_rings();
  void write_metadata();
  void write_state(bool last);
  void write_end();

  static std::atomic<Recorder*> running;
  static std::atomic<std::uint64_t> recorders_made;  ///< of recorders made: tells them apart

  Settings settings_;
  RecordFile file_;
  std::uint64_t number_;
  std::size_t ring_bytes_;
  std::atomic<bool> active_;
  std::atomic<DeviceSource*> source_ = nullptr;
  std::atomic<std::uint64_t> iterations_ = 0;
  std::atomic<std::uint64_t> wide_texts_ = 0;
  std::atomic<std::uint64_t> unlogged_ = 0;  ///< calls for which there was no ring or memory

  std::mutex logs_mutex_;
  std::vector<std::shared_ptr<ThreadLog>> logs_;
  std::uint64_t logs_made_ = 0;
  ThreadLog retired_;  ///< counters of threads that have ended; its ring is not used

  std::mutex metadata_mutex_;
  std::unordered_map<std::string, std::uint32_t> names_;
  std::vector<std::byte> metadata_;

  std::mutex write_mutex_;  ///< of write_rings
  std::mutex wake_mutex_;
  std::condition_variable wake_;
  std::atomic<bool> flush_wanted_ = false;
  std::atomic<bool> stopping_ = false;
  std::atomic<bool> finished_ = false;
  std::thread writer_;
};

}  // namespace gradwire::calibration
