#include "calibration/capture/inject/recorder.hpp"

#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdio>
#include <exception>
#include <utility>

#include "calibration/capture/inject/inside.hpp"
#include "calibration/capture/inject/process_facts.hpp"
#include "calibration/capture/inject/record_bytes.hpp"
#include "calibration/capture/inject/record_format.hpp"

namespace gradwire::calibration {
namespace {

using gwr::RecordKind;

constexpr std::string_view iteration_mark = "gradwire.iteration:";

// At a million ranges a second of 130 bytes a ring of 2 MiB holds 16 ms: more than the pause.
constexpr std::size_t ring_bytes_usual = std::size_t{2} << 20U;
constexpr std::size_t ring_bytes_min = std::size_t{64} << 10U;
constexpr std::size_t rings_share = 4;   ///< rings take at most this part of the memory
constexpr unsigned range_bits = 40;      // of a range's id; above them the thread's number
constexpr std::uint64_t unrecorded = 1;  // no range's id: the first one's thread is 1
constexpr int no_range = -1;

std::size_t ring_size(std::size_t memory_bytes) {
  constexpr std::size_t threads_usual = 4;
  std::size_t size = ring_bytes_usual;
  while (size > ring_bytes_min && size * threads_usual * rings_share > memory_bytes) size /= 2;
  return size;
}

/// The log of this thread; it tells the recorder when the thread ends.
struct LogHandle {
  std::shared_ptr<ThreadLog> log;
  std::uint64_t recorder = 0;
  LogHandle() = default;
  LogHandle(const LogHandle&) = delete;
  LogHandle& operator=(const LogHandle&) = delete;
  ~LogHandle();
};
thread_local bool thread_ending = false;
thread_local LogHandle own_log;

LogHandle::~LogHandle() {
  thread_ending = true;
  if (log) log->retired.store(true, std::memory_order_release);
}

/// Signals are the program's: its handlers must not run on our thread.
class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

 private:
  sigset_t before_{};
};

template <class Record>
bool log_record(ThreadLog& log, RecordKind kind, const Record& record, std::string_view text) {
  std::byte* place = log.ring.reserve(record_bytes<Record>(text));
  if (place == nullptr) {
    log.dropped.add(1);
    return false;
  }
  write_record(place, kind, record, text);
  return true;
}

}  // namespace

std::atomic<Recorder*> Recorder::running = nullptr;
std::atomic<std::uint64_t> Recorder::recorders_made = 0;

Recorder::Recorder(Settings settings, const std::vector<std::string>& facts)
    : settings_(std::move(settings)),
      file_(recording_path(settings_), settings_.file_bytes_max),
      number_(recorders_made.fetch_add(1) + 1),
      ring_bytes_(ring_size(settings_.memory_bytes)),
      active_(settings_.skip_iterations == 0),
      retired_(0, 0, sizeof(gwr::RecordHeader)) {
  add_fact("mode=" + std::string(name_of(settings_.mode)));
  add_fact("rank=" + std::to_string(settings_.rank));
  add_fact("world_size=" + std::to_string(settings_.world_size));
  if (!settings_.rank_from.empty()) add_fact("rank_from=" + settings_.rank_from);
  add_fact("pid=" + std::to_string(getpid()));
  for (const std::string& fact : facts) add_fact(fact);
  const SignalsBlocked blocked;
  try {
    writer_ = std::thread([this] { write_loop(); });
  } catch (const std::exception& error) {
    std::fprintf(stderr, "gradwire: no thread to write with: %s; nothing is recorded\n",
                 error.what());
    active_ = false;
    finished_ = true;
  }
}

Recorder::~Recorder() {
  if (current() == this) install(nullptr);
  finish();
}

void Recorder::install(Recorder* recorder) {
  static const int armed =
      pthread_atfork(nullptr, nullptr, [] { running.store(nullptr, std::memory_order_release); });
  static_cast<void>(armed);
  running.store(recorder, std::memory_order_release);
}

void Recorder::attach(DeviceSource* source) {
  source_ = source;
  if (active_) source->enable(false);
}

ThreadLog* Recorder::make_log() {
  const std::lock_guard lock(logs_mutex_);
  if ((logs_.size() + 1) * ring_bytes_ * rings_share > settings_.memory_bytes) return nullptr;
  const auto thread = static_cast<std::uint32_t>(syscall(SYS_gettid));
  auto log = std::make_shared<ThreadLog>(thread, (++logs_made_ << range_bits) + 1, ring_bytes_);
  logs_.push_back(log);  // first: a log that nobody drains would fill up
  own_log.log = std::move(log);
  own_log.recorder = number_;
  gwr::Thread record;
  record.thread = thread;
  record.pthread = static_cast<std::uint32_t>(pthread_self());
  const std::lock_guard metadata_lock(metadata_mutex_);
  append_record(metadata_, RecordKind::thread, record);
  return own_log.log.get();
}

ThreadLog* Recorder::log_of_thread() {
  if (thread_ending) return nullptr;
  if (own_log.recorder == number_) return own_log.log.get();
  ThreadLog* log = make_log();
  if (log == nullptr) unlogged_.fetch_add(1, std::memory_order_relaxed);
  return log;
}

template <class Call>
void Recorder::safely(const Call& call) noexcept {
  const Inside inside;
  if (!inside.first()) return count_lost();
  try {
    call();
  } catch (const std::exception&) {  // no memory: not the program's fault
    count_lost();
  }
}

int Recorder::push(std::uint32_t domain, std::string_view text, std::int64_t bytes) {
  int depth = 0;
  safely([&] { depth = push_safely(domain, text, bytes); });
  return depth;
}

int Recorder::push_safely(std::uint32_t domain, std::string_view text, std::int64_t bytes) {
  ThreadLog* log = log_of_thread();
  if (log == nullptr) return 0;
  const CallTimer timer(*log);
  // Before anything is reported of the range: what is reported must be ended too.
  if (log->open.size() == log->open.capacity()) log->open.reserve(2 * log->open.size());
  OpenRange range{0, domain, false};
  if (active_.load(std::memory_order_relaxed)) {
    gwr::RangeBegin record;
    record.id = log->next_range++;
    record.bytes = bytes;
    record.domain = domain;
    DeviceSource* source = source_.load(std::memory_order_relaxed);
    if (source != nullptr) source->push_range(record.id);
    range.linked = source != nullptr;
    record.time = monotonic_ns();  // as late as can be: what we cost is not the range's
    if (log_record(*log, RecordKind::push, record, text)) {
      range.id = record.id;
      if (log->ring.commit()) wake_.notify_one();
    }
  }
  log->open.push_back(range);
  return static_cast<int>(log->open.size()) - 1;
}

void Recorder::write_range_end(ThreadLog& log, RecordKind kind, std::uint64_t range) {
  gwr::RangeEnd record;
  record.time = monotonic_ns();
  record.id = range;
  if (log_record(log, kind, record, {}) && log.ring.commit()) {
    wake_.notify_one();
  }
}

int Recorder::pop(std::uint32_t domain) {
  int depth = no_range;
  safely([&] { depth = pop_safely(domain); });
  return depth;
}

int Recorder::pop_safely(std::uint32_t domain) {
  ThreadLog* log = log_of_thread();
  if (log == nullptr) return no_range;
  const CallTimer timer(*log);
  std::size_t index = log->open.size();
  while (index > 0 && log->open[index - 1].domain != domain) --index;
  if (index == 0) return no_range;
  const OpenRange range = log->open[index - 1];
  if (range.id != 0) write_range_end(*log, RecordKind::pop, range.id);
  DeviceSource* source = source_.load(std::memory_order_relaxed);
  if (range.linked && source != nullptr) source->pop_range();
  log->open.erase(log->open.begin() + static_cast<std::ptrdiff_t>(index) - 1);
  return static_cast<int>(log->open.size());
}

std::uint64_t Recorder::start(std::uint32_t domain, std::string_view text, std::int64_t bytes) {
  std::uint64_t range = unrecorded;
  safely([&] { range = start_safely(domain, text, bytes); });
  return range;
}

std::uint64_t Recorder::start_safely(std::uint32_t domain, std::string_view text,
                                     std::int64_t bytes) {
  ThreadLog* log = log_of_thread();
  if (log == nullptr || !active_.load(std::memory_order_relaxed)) return unrecorded;
  const CallTimer timer(*log);
  gwr::RangeBegin record;
  record.time = monotonic_ns();
  record.id = log->next_range++;
  record.bytes = bytes;
  record.domain = domain;
  if (!log_record(*log, RecordKind::start, record, text)) return unrecorded;
  if (log->ring.commit()) wake_.notify_one();
  return record.id;
}

void Recorder::end(std::uint64_t range) {
  safely([&] {
    ThreadLog* log = log_of_thread();
    if (log == nullptr || range >> range_bits == 0) return;
    const CallTimer timer(*log);
    write_range_end(*log, RecordKind::end, range);
  });
}

/// @return whether its mark is to be recorded
bool Recorder::begin_iteration() {
  const std::uint64_t iteration = iterations_.fetch_add(1);
  const std::uint64_t first = settings_.skip_iterations;
  const std::uint64_t last = first + settings_.iterations;
  DeviceSource* source = source_;
  if (iteration == first && first > 0) {
    if (source != nullptr) source->enable(true);
    active_ = true;
  }
  if (settings_.iterations == 0 || iteration < last) return iteration >= first;
  // The mark that ends the last iteration is recorded. Its kernels may still run, so that the
  // device is switched off one iteration later.
  active_ = false;
  if (iteration == last + 1 && source != nullptr) source->disable();
  return iteration == last;
}

void Recorder::mark(std::uint32_t domain, std::string_view text) {
  safely([&] { mark_safely(domain, text); });
}

void Recorder::mark_safely(std::uint32_t domain, std::string_view text) {
  const bool iteration = text.starts_with(iteration_mark);
  const bool recorded = iteration ? begin_iteration() : active_.load(std::memory_order_relaxed);
  ThreadLog* log = log_of_thread();
  if (log != nullptr && recorded) {
    const CallTimer timer(*log);
    gwr::RangeBegin record;
    record.time = monotonic_ns();
    record.domain = domain;
    if (log_record(*log, RecordKind::mark, record, text) && log->ring.commit()) {
      wake_.notify_one();
    }
  }
  if (iteration) {
    flush_wanted_ = true;
    wake_.notify_one();
  }
}

std::uint32_t Recorder::name(std::string_view text, std::vector<std::byte>* records) {
  const std::lock_guard lock(metadata_mutex_);
  const auto [entry, is_new] =
      names_.try_emplace(std::string(text), static_cast<std::uint32_t>(names_.size()) + 1);
  if (is_new) {
    gwr::Name record;
    record.id = entry->second;
    append_record(records != nullptr ? *records : metadata_, RecordKind::name, record, text);
  }
  return entry->second;
}

void Recorder::add_fact(std::string_view text) {
  const std::lock_guard lock(metadata_mutex_);
  append_record(metadata_, RecordKind::fact, gwr::Fact{}, text);
}

}  // namespace gradwire::calibration
