#pragma once

#include <algorithm>
#include <array>
#include <boost/container/static_vector.hpp>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "sim/core/parallel.hpp"
#include "sim/core/result.hpp"
#include "sim/core/sliding_list.hpp"
#include "sim/core/units.hpp"
#include "sim/train/busy_time.hpp"
#include "sim/train/compute_stream.hpp"
#include "sim/train/contention.hpp"
#include "sim/train/jitter.hpp"
#include "sim/train/lanes.hpp"
#include "sim/train/operation_log.hpp"
#include "sim/train/rank_trace.hpp"
#include "strategies/strategy.hpp"

namespace gradwire {

/// One entry of the communication stream.
struct CommunicationItem {
  Collective collective;
  OperationId operation = 0;
  std::size_t after = 0;  ///< ready on a rank when it has passed this many compute items
  double launched = 0;
  GpuLoad waiting{};  ///< its kernel's, on each GPU while it waits for late ranks
  GpuLoad moving{};   ///< and while the data move

  std::size_t arrived = 0;  ///< member groups whose kernel has started
  double last_arrival = 0;
  bool moves = false;
  bool done = false;
  double start = 0;  ///< all ranks there, seconds since the start of the run
  double end = 0;
  double first_arrival = std::numeric_limits<double>::infinity();
  double traced_arrival = 0;  ///< on the traced rank
};

/// How a library moves the collectives of a job.
struct CommunicationStream {
  bool on_gpu = true;  ///< as kernels, one after the other; false: threads of the host
  int concurrent = 1;  ///< of the host's: at the same time, taken in order
  /// Nothing is posted but behind the compute stream's tail, so that ranks may run ahead of the
  /// clock through all that is posted.
  bool run_ahead = true;
};

/// What one rank's iteration was made of.
struct IterationSample {
  double start = 0;
  double end = 0;
  Breakdown parts{};
};

/// The clocks of a class of ranks: each runs the same compute stream at its own speed, slowed while
/// its communication kernel is on the GPU (also while that kernel spins for late ranks), and held
/// at gates. Members' clocks are kept, not the curve of their maxima: two ranks with work (12, 8)
/// and (8, 12) and a gate at 12 end at 24, not at 20.
///
/// A collective is ready on a rank when all compute items posted before it have ended there. While
/// nothing else is posted, a rank may run ahead through what is posted: nothing posted later can
/// change its pace. Otherwise ranks run up to the present time only, and next_time() says when one
/// reaches something that others wait for.
///
/// Where ranks differ only by factors that stay, the slowest of each worker class is the last to
/// reach anything: items take at least as long on it, the slowdowns of a moment are those of its
/// class, and where another rank stands at the same place in the same state, that one leads from
/// there on. These lead; where ranks vary otherwise, all do. From one change of what slows ranks to
/// the next, each lead is followed once through what is posted (Walk); clocks are run on only where
/// all are asked for: at a collective that all have reached, a kernel that begins or ends, the end
/// of an iteration.
///
/// Collectives of host threads take nothing of the GPU: a rank computes on at full pace, and its
/// next collective can be ready while others are in flight.
class Workers {
 public:
  /// @param tensors  of the job, for the names in the trace.
  /// @param log  of the run, and what goes on for these ranks; both must outlive it.
  /// @param classes  the GPU of each worker class of the members, at least 1.
  Workers(std::vector<MemberGroup> members, std::vector<TensorInfo> tensors, OperationLog& log,
          Activity& activity, std::vector<GpuCapacity> classes = {GpuCapacity{}},
          CommunicationStream library = {});

  [[nodiscard]] const std::vector<MemberGroup>& members() const { return members_; }

  /// REQUIRES: the last iteration has ended on all members, or it is the first one. What was posted
  /// behind its end stands first in the new one.
  void begin_iteration(const IterationDraws& draws);
  /// Start of the present iteration on the first member.
  [[nodiscard]] double first_start() const;

  /// @param other_seconds  nominal times of worker classes 1, 2, ...; ignored but for work.
  void post(ComputeItem item, std::string name, std::span<const double> other_seconds = {}) {
    pay();
    stream_.post(item, std::move(name), other_seconds);
  }
  void post_gate(std::vector<OperationId> until) {
    pay();
    stream_.post_gate(std::move(until));
  }
  /// An operation that ends when the last rank has passed here; see take_passed().
  void post_mark(OperationId id) {
    pay();
    stream_.post_mark(id);
  }
  /// @return its position in the communication stream.
  std::size_t post(CommunicationItem item);

  /// Runs every member as far as what is posted and done allows, up to `now` or ahead of it.
  void run(double now);
  /// Of ranks that do not run ahead: when all have passed the next mark, are ready for the next
  /// collective, or have ended the iteration, whichever stands first on the stream; infinity while
  /// a gate is closed before it, or when there is nothing such. Valid until something changes.
  [[nodiscard]] double next_time() const;
  /// The first mark that all members have passed and that was not yet taken.
  std::optional<OperationId> take_passed();
  /// A kernel beside the first communication stream is on every GPU from now on, or leaves it.
  /// REQUIRES: no run ahead; run(now) was called.
  void kernel_begins(const GpuLoad& load);
  void kernel_ends(const GpuLoad& load);
  /// Work of another stream takes the GPU for `seconds` (nominal, by worker class as in post) from
  /// `now` on. REQUIRES: as kernel_begins. @return when it has ended on all members.
  double occupy(Part part, double now, double seconds, std::span<const double> other_seconds,
                const std::string& name);

  /// The head of the communication stream once it has arrived on every rank, was not yet taken and
  /// may move beside those in flight.
  std::optional<std::size_t> take_ready();
  /// The data of a taken collective move from its start on.
  void begin_moving(std::size_t position);
  void finish(std::size_t position, double end);
  [[nodiscard]] const CommunicationItem& collective(std::size_t position) const {
    return communication_[position];
  }

  [[nodiscard]] bool iteration_ended() const { return ended_ == members_.size(); }
  /// By member; complete when the iteration has ended.
  [[nodiscard]] const std::vector<IterationSample>& samples() const { return samples_; }

  /// Records the spans of the present iteration on this member; nothing: stop recording.
  void trace(std::optional<std::size_t> member);
  /// A bar of another resource in the trace; nothing unless one is recorded.
  void span(const char* resource, const std::string& name, double start, double end,
            Bytes size = Bytes{0}, const std::vector<TensorId>& tensors = {});
  [[nodiscard]] std::vector<Span>& spans() { return trace_.spans(); }
  /// The first operation that the first closed gate waits for; nothing when none is closed.
  [[nodiscard]] std::optional<OperationId> blocked_on() const;
  /// The least of the members' clocks.
  [[nodiscard]] double earliest() const;
  /// What every member waits for, for the report of a deadlock.
  [[nodiscard]] std::string waiting() const;

 private:
  static constexpr double forever = std::numeric_limits<double>::infinity();
  static constexpr std::size_t nowhere = static_cast<std::size_t>(-1);

  /// What kernels of communication do to a worker class's items.
  struct Slowing {
    bool any = false;  ///< there is a kernel
    Slowdown by{};

    /// Times as long as an item takes.
    [[nodiscard]] double of(const ComputeItem& item) const {
      return any && item.device ? item.slowdown.value_or(by.of(item.bound)) : 1;
    }
  };

  /// Calls visit(block) for each, on several threads where they are many and share only
  /// communication_ and ended_. A block's collectives of the host are not such.
  template <class Visit>
  void each_block(Visit visit) {
    const std::size_t least = library_.on_gpu && !trace_.is_on() ? shared_blocks : nowhere;
    in_parts(blocks_.size(), least, [&](std::size_t begin, std::size_t end) {
      for (std::size_t b = begin; b < end; ++b) visit(blocks_[b]);
    });
  }
  /// From so many on, some 50 ns an item each: a thread takes some 10 us to be called.
  static constexpr std::size_t shared_blocks = 256;

  /// What all that have a kernel on their GPU have yet to do: nobody asks for it while nothing is
  /// posted, and a block does it best when it goes on.
  struct Owed {
    double until = 0;
    std::vector<Slowing> slowing;  ///< till then, as arrived_
  };

  /// What members that stand side by side have in common, and what is theirs alone.
  struct Block {
    std::size_t first = 0;  ///< place of its first member
    std::size_t number = 0;
    std::size_t worker_class = 0;
    /// Whether they have inputs; else they shadow the others: they arrive at what those wait for,
    /// and code where a communication hook does.
    bool computes = true;
    Lanes lanes;
    LaneBooks books;
    std::size_t met = 0;  ///< so many have a communication kernel on their GPU
    /// Nobody stands before `rear` nor after `front`, and nobody has begun the latter.
    std::size_t rear = 0;
    std::size_t front = 0;
    std::array<std::size_t, lanes_most> collective{};  ///< of the host's: next to arrive at
    std::size_t next = 0;                              ///< least of these

    [[nodiscard]] bool does(Part part) const { return part == Part::encode_decode || computes; }
    [[nodiscard]] std::size_t item(std::size_t lane) const {
      return static_cast<std::size_t>(lanes.item[lane]);
    }
    /// Some go no further than this item for now.
    void stand_at(std::size_t item, bool begun) {
      rear = std::min(rear, item);
      front = std::max(front, begun ? item + 1 : item);
    }
  };

  /// Side work done since the iteration's end, of the next one.
  struct Ahead {
    double seconds = 0;
    Part part = Part::encode_decode;
  };

  [[nodiscard]] std::size_t member(const Block& block, std::size_t lane) const {
    return seats_[block.first + lane];
  }
  /// Puts members where they stand in this iteration, with what they bring from the one before.
  void seat(std::span<const std::uint32_t> order);
  /// Says which members lead in this iteration.
  void choose_leads();
  /// Members that pass items alike, and what slows those with a kernel of the stream on their GPU.
  struct Kind {
    std::size_t block = 0;
    std::size_t worker_class = 0;
    bool computes = true;
  };
  [[nodiscard]] static Kind kind_of(const auto& block_or_walk, std::size_t block) {
    return {block, block_or_walk.worker_class, block_or_walk.computes};
  }
  /// An item of work as members of a kind pass it. @param alone, met  what slows it.
  [[nodiscard]] WorkItem work_item(std::size_t position, const Kind& kind, const Slowing& alone,
                                   const Slowing& met) const;
  using Run = boost::container::static_vector<WorkItem, run_most>;
  /// Work that stands at a position and behind it before `end`, as pass_run() takes it.
  /// @param alone, met  what slows it. @param slowed  by the latter.
  /// @param limit  but what the last of these members, where each is, would hardly end by then.
  [[nodiscard]] Run run_of(std::size_t position, std::size_t end, const Kind& kind,
                           const Slowing& alone, const Slowing& met, const Lanes& lanes,
                           bool slowed = false, double limit = forever) const;
  /// Waits for the host, and slowing, are booked beside an item's own part.
  static bool is_in_runs(Part part) { return part != Part::host && part != Part::overlap_slowdown; }
  /// Whether a member stands at the iteration's end.
  [[nodiscard]] bool has_ended(const Block& block, std::size_t lane) const;
  /// How many items all ranks must have passed for the next collective to be ready, or for the
  /// iteration to end: there all clocks are asked for. The largest number: nowhere.
  [[nodiscard]] std::size_t awaited() const;
  /// The same for the next mark.
  [[nodiscard]] std::size_t marked() const;
  /// Whether anybody waits for what members reach: else those that run ahead do so later, through
  /// more at a time.
  [[nodiscard]] bool is_asked() const;
  /// Runs all clocks on while they are asked for before the next mark, by now_.
  void meet();
  /// When all members have passed so many items, if nothing changes; infinity behind a closed gate,
  /// or where so many were not posted. REQUIRES: no fewer than in the last call, until walks are
  /// forgotten.
  [[nodiscard]] double passes(std::size_t items) const;
  /// Runs all clocks to `now`.
  void catch_up(double now);
  /// What slows ranks, or where they stand, is no longer what walks went by.
  void forget_walks() {
    walks_.clear();
    walked_ = nowhere;
  }
  /// Lets all members go on, or those without a communication kernel. @return how many.
  static std::size_t release(Block& block, bool all);
  /// Runs members on as far as what is posted and done allows, up to the limit.
  void advance(Block& block, double limit) { advance(block, limit, arrived_); }
  /// @param arrived  what slows those that have a kernel on their GPU, by worker class.
  void advance(Block& block, double limit, const std::vector<Slowing>& arrived);
  void advance_owed(Block& block) { advance(block, owed_->until, owed_->slowing); }
  /// Those that stand at an item pass it. @param going  how many go on. @param together  all stand
  /// there, and go on. @return how many of them go no further; nothing: none may pass.
  std::optional<std::size_t> pass_one(Block& block, std::size_t position, double limit,
                                      std::size_t going, bool together, const Slowing& slowing);
  /// The same of work, or as much of it as the limit allows. @return how many go on.
  std::size_t work(Block& block, std::size_t position, double limit, const Slowing& arrived);
  /// All, who stand at an item and go on, pass it and those behind it up to where they are looked
  /// at. @return how many items they have passed.
  std::size_t work_run(Block& block, std::size_t position, double limit, const Slowing& arrived);
  /// Those that stand at a gate that is open, a mark or the iteration's end pass it.
  /// @param together  as in pass_one(). @return how many have ended the iteration.
  std::size_t pass(Block& block, std::size_t position, bool together);
  /// The last operation that ended of those that a gate waited for, by its label.
  [[nodiscard]] std::string last_of(const ComputeItem& gate) const;
  /// A member ends the iteration, once.
  void end(Block& block, std::size_t lane);
  /// Books a wait of a member by what was going on meanwhile.
  void wait(Block& block, std::size_t lane, double until, const std::string& cause);
  /// Leads' way through the stream, ahead of their clocks.
  struct Walk {
    std::size_t block = 0;  ///< of these, or of the one lead
    std::size_t worker_class = 0;
    bool computes = true;
    std::size_t rear = 0;  ///< as a block's
    std::size_t front = 0;
    Lanes lanes;
  };
  void begin_walks() const;
  /// Walks all leads past so many items. @return false at a closed gate.
  bool walk(std::size_t items) const;
  bool walk(Walk& walk, std::size_t items) const;
  /// Past a gate, a mark or the iteration's end where it stands. @return as walk().
  bool walk_through(Walk& walk, const ComputeItem& item, bool together) const;
  /// How many items stand before the next collective of the GPU's stream.
  [[nodiscard]] std::size_t ready_after() const {
    return library_.on_gpu && ended_collectives_ < communication_.size()
               ? communication_[ended_collectives_].after
               : nowhere;
  }
  void pay();
  /// All run to `end`, where the first kernel of the stream leaves their GPU, and on if they may.
  void leave_kernel(double end);
  /// The kernels on the GPU are others than before.
  void slow_anew();
  /// Members that stand at this item, or before it, arrive at the collectives that are ready there.
  /// @param together  as in pass_one(). @return how many of them go no further by now.
  std::size_t arrive(Block& block, std::size_t position, bool together);
  /// @param all  wherever they stand, that is not before this item; REQUIRES: none has a kernel.
  std::size_t arrive_on_gpu(Block& block, std::size_t position, bool all);
  std::size_t arrive_on_host(Block& block, std::size_t position);
  /// Where the recorded member stands.
  void find_traced();
  /// Which of them is recorded; none: nowhere.
  [[nodiscard]] std::size_t traced_in(const Block& block) const {
    return traced_ - block.first < block.lanes.count ? traced_ - block.first : nowhere;
  }
  /// Drops collectives that have ended and that every member has passed.
  void forget_collectives();
  void trace_collective(const CommunicationItem& item);

  std::vector<MemberGroup> members_;
  std::vector<std::uint32_t> seats_;  ///< members, by place
  std::vector<Block> blocks_;
  std::vector<Ahead> ahead_;
  bool all_lead_ = false;                 ///< where they vary; else only leads_ do:
  std::vector<std::size_t> leads_;        ///< members of whom one is the last anywhere
  mutable std::vector<Walk> walks_;       ///< of the leads; empty: not begun
  mutable std::size_t walked_ = nowhere;  ///< items that all walks have passed,
  mutable double walked_at_ = 0;          ///< and when the last one had
  double now_ = 0;                        ///< of the last run()
  std::vector<IterationSample> samples_;
  ComputeStream stream_;
  OperationLog& log_;
  Activity& activity_;
  SlidingList<CommunicationItem> communication_;
  const IterationDraws* draws_ = nullptr;
  CommunicationStream library_;
  std::vector<GpuCapacity> gpus_;      ///< by worker class
  std::size_t taken_ = 0;              ///< collectives handed to the network
  std::size_t ended_collectives_ = 0;  ///< of the GPU's stream
  std::vector<GpuLoad> kernels_;       ///< beside those of the stream
  std::vector<Slowing> beside_;        ///< by them, by worker class
  std::vector<Slowing> arrived_;       ///< by them and by the stream's next one
  std::optional<Owed> owed_;
  int in_flight_ = 0;  ///< of them, not yet finished
  double freed_ = 0;   ///< when the last one ended that another one could have waited for
  std::size_t ended_ = 0;
  RankTrace trace_;
  std::size_t traced_ = nowhere;  ///< place of the recorded member
};

}  // namespace gradwire
