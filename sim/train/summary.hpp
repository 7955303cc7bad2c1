#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "sim/core/result.hpp"
#include "sim/core/sample_pool.hpp"
#include "sim/cost/choice_warnings.hpp"
#include "sim/engine/network.hpp"
#include "sim/train/job.hpp"
#include "sim/train/plans.hpp"
#include "sim/train/run_clock.hpp"
#include "sim/train/workers.hpp"

namespace gradwire {

/// Collects what a run's iterations were made of, checks it, and makes the result.
class Summary {
 public:
  /// @param independent  every member is a class of its own, with iterations of its own.
  /// @param lead         but never more than so many iterations apart.
  Summary(const Job& job, const std::vector<MemberGroup>& members, bool independent,
          std::optional<int> lead);

  /// The member whose GPU computes longest, by its profile and static speed; the one that is
  /// traced.
  [[nodiscard]] std::size_t slowest_member() const { return slowest_member_; }

  /// A collective or messages. @param pattern  that moves them; none in groups of one rank.
  void collective_posted(int iteration, std::optional<PatternId> pattern, Bytes size);
  void priced(const CollectiveCost& cost);
  /// Work of a compressor on a GPU or of a host thread. @param estimate  its time is not measured.
  void coded(Part part, double seconds, bool estimate);
  /// A collective was posted to the library, which chose so for it.
  void chosen(CollectiveKind kind, Bytes size, const CollectiveCost& cost) {
    totals_.choices.add(kind, size, cost);
  }
  /// Iteration `iteration` of a class of workers has ended; those after the last are ignored.
  /// Asserts the accounting identity and that no rank beats its own compute.
  /// @param worker  the class, whose members follow those of the classes before it.
  /// @return whether that was the last of the warm-up: then call count_from().
  bool iteration_ended(std::size_t worker, int iteration,
                       const std::vector<IterationSample>& samples);
  /// What links carry and how long data move counts from here on.
  /// @param moving  seconds in which data moved until now.
  void count_from(Network& network, Seconds now, double moving);

  /// Collectives and messages.
  struct Posted {
    double count = 0;
    std::vector<double> bytes;  ///< by the pattern that moved them

    void add(std::optional<PatternId> pattern, Bytes size);
    /// Adds `times` what `later` has more than `earlier`.
    void add(const Posted& later, const Posted& earlier, double times);
  };
  /// What adds up over a run's iterations, those of the warm-up among them.
  struct Totals {
    /// Seconds that were posted for encode_decode and for host, and of them estimated.
    struct Coding {
      double all = 0;
      double estimated = 0;
    };
    Posted posted;
    std::map<Part, Coding> coding;
    ChoiceWarnings choices;
  };
  [[nodiscard]] const Totals& totals() const { return totals_; }
  /// How often again the same goes on.
  struct Again {
    int warming = 0;    ///< times in the warm-up, and then
    int measured = 0;   ///< times behind it
    double lasted = 0;  ///< seconds each time, and of them
    double moving = 0;  ///< those in which data moved
  };
  /// Counts what was added since then so many times more. REQUIRES: count_from() was called, if the
  /// job warms up.
  void count_again(const Totals& since, const Again& again);

  /// @param plans  whose patterns were posted.
  /// @param moving  seconds in which data moved, over the whole run.
  [[nodiscard]] RunResult result(const Plans& plans, const Network& network, Seconds end,
                                 double moving, std::vector<Span> spans) const;

 private:
  void warn_once(const std::string& code, const std::string& text);
  /// Checks a sample and pools it.
  void add_sample(const MemberGroup& member, int iteration, const IterationSample& sample);
  /// Iteration times and their parts of synchronous workers: the slowest rank's.
  void add_slowest(const std::vector<IterationSample>& samples);
  /// Of independent ones, once all have been measured: the mean of all iterations per second is
  /// that of the workers, each over all of its iterations. (Over each by itself short ones would
  /// weigh more: of 25 and 175 ms the rate is 1 / 100 ms, not 1 / 44 ms.)
  void add_rates();
  void warn_of_drift();
  /// Adds, so many times, the parts of a sample that is one of run.iterations.
  void add_parts(const IterationSample& sample, double weight, Breakdown& to) const;
  /// The sample of the rank whose compute takes the median time of all ranks.
  [[nodiscard]] const IterationSample& median_of(const std::vector<IterationSample>& samples) const;
  /// How many iterations independent workers do while bytes count, up to `end`, parts included.
  [[nodiscard]] double iterations_until(double end) const;
  /// In the iterations that count, of the rank that sends most; of all independent workers
  /// together.
  [[nodiscard]] double bytes_sent(const Plans& plans) const;
  [[nodiscard]] Posted measured() const;
  void add_spread(RunResult& result) const;
  /// Seconds of an iteration in coding whose time is not measured.
  [[nodiscard]] double estimated_coding(const RunResult& result) const;
  /// Seconds of an iteration of the measured ones, on average.
  [[nodiscard]] double mean_iteration() const;
  void add_links(RunResult& result, const Network& network, Seconds end) const;

  const Job& job_;
  const std::vector<MemberGroup>& members_;
  bool independent_;
  std::optional<int> lead_;
  std::size_t slowest_member_ = 0;
  RunResult result_;
  SamplePool samples_;
  std::vector<Breakdown> of_worker_;  ///< by member: mean of its measured iterations
  std::size_t measured_ = 0;          ///< iterations of all of them
  std::vector<double> rates_;         ///< of each, iterations per second
  std::size_t warming_ = 0;           ///< independent workers that have not ended their warm-up
  double idle_ = 0;                   ///< ranks without inputs, over the measured iterations
  double counted_from_ = 0;           ///< when the last one has
  Totals totals_;
  Posted warm_up_;  ///< of totals_.posted what does not count
  /// When measuring began, and how long data had moved by then.
  struct Before {
    double time = run_begins;
    double moving = 0;
  };
  Before before_;
  std::set<std::string> told_;   ///< texts of warnings that were given
  double worst_cost_ = 0;        ///< relative uncertainty of the least certain price
  RelativeError worst_profile_;  ///< the same of the worker classes' profiles
};

}  // namespace gradwire
