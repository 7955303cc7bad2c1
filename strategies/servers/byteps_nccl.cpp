// BytePS's NCCL thread: groups of partitions, launched one after another.
#include <map>
#include <utility>

#include "strategies/servers/byteps.hpp"

namespace gradwire {
namespace {

/// NCCL's first communication stream.
constexpr int nccl_stream = 1;

}  // namespace

void BytePs::run_nccl() {
  do {
    end_nccl_groups();
  } while (!nccl_busy_ && launch_nccl_group());
}

bool BytePs::launch_nccl_group() {
  const auto group_size = static_cast<std::size_t>(options_.nccl_group_size);
  const bool credits = options_.scheduling_credit > 0;
  NcclGroup group;
  for (auto next = reduce_queue_.begin();
       next != reduce_queue_.end() && group.reduce.size() < group_size;) {
    const Bytes size = task(*next).size;
    if (credits && size > credits_) {
      ++next;
      continue;
    }
    if (credits) credits_ -= size;
    group.reduce.push_back(*next);
    next = reduce_queue_.erase(next);
  }
  while (!broadcast_queue_.empty() && group.broadcast.size() < group_size) {
    group.broadcast.push_back(std::move(broadcast_queue_.front()));
    broadcast_queue_.pop_front();
  }
  if (group.reduce.empty() && group.broadcast.empty()) return false;
  nccl_groups_.push_back(std::move(group));
  const std::int64_t number =
      first_nccl_group_ + static_cast<std::int64_t>(nccl_groups_.size()) - 1;
  if (options_.stage_time == Seconds{}) {
    post_nccl_group(number);
    return true;
  }
  nccl_busy_ = true;
  poster_.post(HostWork{nccl_thread, options_.stage_time, "NCCL group"}, [this, number] {
    nccl_busy_ = false;
    post_nccl_group(number);
    run_nccl();
  });
  return true;
}

void BytePs::post_nccl_group(std::int64_t number) {
  NcclGroup& group = nccl_group(number);
  if (local()) {
    post_nccl_calls(number, group.reduce, true);
    post_nccl_calls(number, group.broadcast, false);
  }
  --group.missing;
}

void BytePs::end_nccl_groups() {
  while (!nccl_groups_.empty() && nccl_groups_.front().missing == 0) {
    const NcclGroup ended = std::move(nccl_groups_.front());
    nccl_groups_.pop_front();
    ++first_nccl_group_;
    for (const Move& move : ended.reduce) reduced(move);
    for (const Move& move : ended.broadcast) finished(move);
  }
}

void BytePs::post_nccl_calls(std::int64_t number, const std::vector<Move>& moves, bool reduces) {
  const CollectiveKind scattered =
      reduces ? CollectiveKind::reduce_scatter : CollectiveKind::all_gather;
  const CollectiveKind rooted = reduces ? CollectiveKind::reduce : CollectiveKind::broadcast;
  std::map<std::pair<int, int>, Collective> calls;  // by stream and root
  for (const Move& move : moves) {
    const BytePsTask& moved = task(move);
    const auto ring =
        static_cast<int>(moved.key % static_cast<std::uint64_t>(options_.nccl_num_rings));
    Collective& call = calls[{ring, moved.root}];
    call.kind = scatters() ? scattered : rooted;
    call.label = reduces ? "REDUCE" : "BROADCAST";
    call.size += moved.size;
    const auto& tensors = units_[moved.unit].tensors;
    call.tensors.insert(call.tensors.end(), tensors.begin(), tensors.end());
    call.communicator = families::node;
    call.ready = Collective::Ready::at_once;
    call.stream = nccl_stream + ring;
    call.part = options_.part();
    if (!scatters()) call.root = options_.reduce_roots[static_cast<std::size_t>(moved.root)];
  }
  nccl_group(number).missing += static_cast<int>(calls.size());
  for (auto& [place, call] : calls) {
    poster_.post(std::move(call), [this, number] {
      --nccl_group(number).missing;
      run_nccl();
    });
  }
}

}  // namespace gradwire
