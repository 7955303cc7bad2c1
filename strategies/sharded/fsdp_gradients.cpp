#include <fmt/format.h>

#include <utility>

#include "strategies/sharded/fsdp.hpp"

namespace gradwire {

Collective Fsdp::reduction_of(const Unit& unit) const {
  const bool whole = options_.sharding == Sharding::none;
  const std::int64_t elements = whole ? unit.elements : unit.padded;
  return {.kind = whole ? CollectiveKind::all_reduce : CollectiveKind::reduce_scatter,
          .size = Bytes{elements * options_.reduce_bytes},
          .tensors = unit.tensors,
          .label = fmt::format("{} unit {}", whole ? "all-reduce" : "reduce-scatter",
                               &unit - units_.data()),
          .communicator = group_,
          .ready = Collective::Ready::at_once,
          .stream = group_stream};
}

void Fsdp::collect(std::size_t index) {
  if (options_.reduce_bucket_size == 0) return reduce(index);
  std::int64_t elements = units_[index].elements;
  for (const std::size_t unit : bucket_) elements += units_[unit].elements;
  if (elements > options_.reduce_bucket_size) flush_bucket();
  bucket_.push_back(index);
}

void Fsdp::flush_bucket() {
  for (const std::size_t unit : std::exchange(bucket_, {})) reduce(unit);
}

void Fsdp::reduce(std::size_t index) {
  ++reductions_issued_;
  const Ticket ticket = order_.issue(reduction_of(units_[index]), {}, true);
  reductions_[ticket] = index;
  marker("gradients ready", [this, index, ticket] {
    run_beside(preparation(units_[index]), "cast, pad and divide",
               [this, ticket] { order_.release(ticket); });
  });
  if (host_ && !host_->pinned()) wait_for_reductions();
}

void Fsdp::reduced(std::size_t unit) {
  run_beside(division_of_shard(units_[unit]), "divide shard", [this, unit] {
    if (replicates()) {
      replicate(unit);
    } else {
      finish(unit);
    }
  });
}

void Fsdp::replicate(std::size_t unit) {
  out_.post(Collective{.size = Bytes{shard(units_[unit]) * options_.reduce_bytes},
                       .tensors = units_[unit].tensors,
                       .label = fmt::format("all-reduce shard of unit {}", unit),
                       .communicator = across_,
                       .ready = Collective::Ready::at_once,
                       .stream = across_stream},
            [this, unit] { finish(unit); });
}

void Fsdp::finish(std::size_t unit) {
  run_beside(finishing(units_[unit]), "divide and cast shard", [this, unit] {
    if (host_) {
      copy_to_host(unit);
    } else {
      count_reduction();
    }
  });
}

void Fsdp::copy_to_host(std::size_t index) {
  Unit& unit = units_[index];
  const bool last = options_.no_sync || ++unit.reductions % job_.micro_batches == 0;
  const std::int64_t accumulated = options_.accumulated_bytes;
  host_->gradients(
      own(unit),
      {.to_gpu = accumulated, .to_host = accumulated + (last ? gradient_element_size : 0)},
      [this] { count_reduction(); });
}

void Fsdp::count_reduction() {
  ++reduced_;
  while (!waits_.empty() && waits_.front().reductions <= reduced_) {
    out_.post(Raise{waits_.front().flag});
    waits_.pop_front();
  }
}

}  // namespace gradwire
