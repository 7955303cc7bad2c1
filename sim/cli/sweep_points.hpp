#pragma once

#include <cstddef>
#include <string>
#include <unordered_set>
#include <vector>

#include "sim/cli/partial_csv.hpp"
#include "sim/cli/point_store.hpp"
#include "sim/cli/worker_pool.hpp"
#include "sim/config/scenario.hpp"
#include "sim/report/result_row.hpp"

namespace gradwire::cli {

/// What a sweep is asked for, but for what is made of it.
struct SweepJob {
  std::string scenario;
  std::vector<std::string> sets;
  int workers = available_cores();
  std::string store;    ///< file that keeps finished points; "": none
  bool resume = false;  ///< take from it what it has
  std::string csv;      ///< beside which rows come to be as they are done, without a store
};

/// The points of a sweep, computed by worker processes. A result is in the store, or in the partial
/// CSV, before it is counted; in memory are the points' keys and what went wrong.
class SweepPoints {
 public:
  /// @throws as PointStore.
  SweepPoints(SweepJob job, std::vector<config::SweepPoint> points);

  /// Computes what is not taken from the store. An interrupt ends it early.
  /// @throws std::runtime_error where the store cannot take a point.
  void run(bool quiet);

  /// What became of the points; it must not outlive this.
  [[nodiscard]] ResultRows rows() const;
  /// The same of one point.
  [[nodiscard]] ResultRow row(std::size_t index) const;
  [[nodiscard]] std::size_t size() const { return points_.size(); }
  [[nodiscard]] std::size_t done() const { return done_; }    ///< failed and taken ones, too
  [[nodiscard]] std::size_t taken() const { return taken_; }  ///< from the store
  [[nodiscard]] std::size_t failed() const { return failed_; }
  [[nodiscard]] std::size_t bad_input() const { return bad_input_; }  ///< of the failed ones
  [[nodiscard]] bool interrupted() const { return interrupted_; }
  /// Points that the store had before.
  [[nodiscard]] std::size_t stored_before() const { return stored_before_; }
  /// The files that were asked for are written: the partial one goes.
  void remove_partial() { partial_.remove(); }

 private:
  /// Of a point that is not done the error says so.
  struct Outcome {
    std::string key;
    std::string error = "interrupted";
  };
  [[nodiscard]] bool keeps() const { return !job_.store.empty(); }
  /// Reads the files that the points share once, before the workers are forked.
  void preload() const;
  /// What a worker answers for a point: a line of JSON and, where it computed one, the result.
  [[nodiscard]] std::string answer(std::size_t index) const;
  /// @return whether the point was taken from the store.
  bool take(std::size_t index, const TaskOutcome& outcome);
  void add_to_partial(std::size_t index);

  SweepJob job_;
  std::vector<config::SweepPoint> points_;
  std::vector<Outcome> outcomes_;
  PointStore store_;
  PartialCsv partial_;
  std::string program_;                    ///< in keys; "" without a store
  std::unordered_set<std::string> known_;  ///< keys that need no computing
  std::size_t stored_before_ = 0;
  std::size_t done_ = 0;
  std::size_t taken_ = 0;
  std::size_t failed_ = 0;
  std::size_t bad_input_ = 0;
  bool interrupted_ = false;
};

}  // namespace gradwire::cli
