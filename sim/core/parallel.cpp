#include "sim/core/parallel.hpp"

#include <algorithm>
#include <cassert>
#include <condition_variable>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace gradwire {
namespace {

using Part = std::function<void(std::size_t, std::size_t)>;

/// Parts a thread: so that one that is late leaves some to the others.
constexpr std::size_t parts_a_thread = 4;

/// Threads that wait for loops beside the one that asks.
class Team {
 public:
  explicit Team(std::size_t others) {
    threads_.reserve(others);
    for (std::size_t i = 0; i < others; ++i) threads_.emplace_back([this] { serve(); });
  }
  ~Team() {
    {
      const std::lock_guard lock(mutex_);
      over_ = true;
    }
    begun_.notify_all();
    for (std::thread& thread : threads_) thread.join();
  }
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;
  Team(Team&&) = delete;
  Team& operator=(Team&&) = delete;

  void run(std::size_t count, const Part& part) {
    {
      const std::lock_guard lock(mutex_);
      part_ = &part;
      count_ = count;
      parts_ = std::min(count, parts_a_thread * (threads_.size() + 1));
      next_ = 0;
      busy_ = threads_.size();
      ++loop_;
    }
    begun_.notify_all();
    take_parts();
    std::unique_lock lock(mutex_);
    ended_.wait(lock, [this] { return busy_ == 0; });
    if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
  }

 private:
  void serve() {
    std::size_t known = 0;
    while (true) {
      {
        std::unique_lock lock(mutex_);
        begun_.wait(lock, [&] { return over_ || loop_ != known; });
        if (over_) return;
        known = loop_;
      }
      take_parts();
      const std::lock_guard lock(mutex_);
      if (--busy_ == 0) ended_.notify_one();
    }
  }

  void take_parts() {
    for (std::size_t p = next_++; p < parts_; p = next_++) {
      try {
        (*part_)(p * count_ / parts_, (p + 1) * count_ / parts_);
      } catch (...) {
        const std::lock_guard lock(mutex_);
        if (error_ && part_of_error_ < p) continue;
        error_ = std::current_exception();
        part_of_error_ = p;
      }
    }
  }

  std::vector<std::thread> threads_;
  std::mutex mutex_;
  std::condition_variable begun_;
  std::condition_variable ended_;
  const Part* part_ = nullptr;  ///< of the present loop, as what follows
  std::size_t count_ = 0;
  std::size_t parts_ = 0;
  std::atomic<std::size_t> next_ = 0;
  std::size_t busy_ = 0;
  std::size_t loop_ = 0;  ///< its number
  std::exception_ptr error_;
  std::size_t part_of_error_ = 0;
  bool over_ = false;
};

std::size_t threads_wanted = 1;
/// Made by the first loop that is long enough.
std::unique_ptr<Team> team;

}  // namespace

void use_threads(int threads) {
  assert(threads >= 1);
  team.reset();
  threads_wanted = static_cast<std::size_t>(threads);
}

bool is_shared(std::size_t count, std::size_t least) {
  return threads_wanted > 1 && count >= least;
}

void share_parts(std::size_t count, const Part& part) {
  if (!team) team = std::make_unique<Team>(threads_wanted - 1);
  team->run(count, part);
}

}  // namespace gradwire
