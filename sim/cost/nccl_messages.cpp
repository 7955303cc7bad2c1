#include "sim/cost/nccl_messages.hpp"

#include <algorithm>
#include <cmath>

namespace gradwire {
namespace {

/// What each connection of a channel carries.
struct Sent {
  double count = 0;
  double slots = 1;     ///< of each
  double bytes = 0;     ///< of each, flags included
  double receives = 1;  ///< connections of a channel that a machine's port receives on, the mean
};

Sent of_ring(const NcclMeasured& constants, const NcclSystem& system, const NcclQuestion& question,
             int channels) {
  if (question.kind == CollectiveKind::broadcast || question.kind == CollectiveKind::reduce) {
    return {};
  }
  const int steps =
      question.kind == CollectiveKind::all_reduce ? 2 * (system.ranks - 1) : system.ranks - 1;
  const double part = static_cast<double>(question.bytes) / system.ranks / channels;
  double count = 1;  // in a step
  switch (question.protocol) {
    case NcclProtocol::ll:
      count = std::ceil(part / constants.ll_slot);
      return {steps * count, 1, 2 * part / count};
    case NcclProtocol::ll128:
      count = std::ceil(part / constants.ll128_slot);
      break;
    default:
      if (part > constants.ring_slice_min) {
        count = constants.ring_slices * std::ceil(part / constants.ring_chunk);
      }
      return {steps * count, 2, part / count};
  }
  return {steps * count, 1, part / count};
}

Sent of_tree(const NcclMeasured& constants, const NcclSystem& system, const NcclQuestion& question,
             int channels) {
  const double part = static_cast<double>(question.bytes) / channels;
  const double chunk =
      question.protocol == NcclProtocol::simple
          ? nccl_tree_chunk(system, channels, question.bytes)
          : std::min(part, question.protocol == NcclProtocol::ll ? constants.ll_slot
                                                                 : constants.ll128_slot);
  const double flags = question.protocol == NcclProtocol::ll ? 2 : 1;
  // A machine in the middle of one of the two trees receives from two children and its parent and
  // is a leaf of the other.
  return {std::ceil(part / chunk), 1, flags * chunk, system.machines > 2 ? 2.0 : 1.0};
}

Sent of(const NcclMeasured& constants, const NcclSystem& system, const NcclQuestion& question,
        int channels) {
  if (question.algorithm == NcclAlgorithm::ring)
    return of_ring(constants, system, question, channels);
  if (question.algorithm == NcclAlgorithm::tree)
    return of_tree(constants, system, question, channels);
  return {};
}

/// Their receivers read what the first packets did not bring. A ring's messages of LL come to
/// receives that are posted: all-gathers of 16 and 32 KiB on Polaris show no such step, trees do.
bool are_read(const Sent& messages, const NcclQuestion& question, const NcclFacts& facts) {
  const bool is_posted =
      question.algorithm == NcclAlgorithm::ring && question.protocol == NcclProtocol::ll;
  return !is_posted && messages.bytes > static_cast<double>(facts.eager.count());
}

}  // namespace

int nccl_channels_at_work(const NcclSystem& system, const NcclQuestion& question) {
  constexpr double threads = 512;
  constexpr double bytes_of_ll = 8;
  constexpr double bytes_of_simple = 64;
  double bytes = question.protocol == NcclProtocol::simple ? bytes_of_simple : bytes_of_ll;
  const bool is_ll_ring =
      question.protocol == NcclProtocol::ll && question.algorithm == NcclAlgorithm::ring;
  if (is_ll_ring) bytes *= system.ranks;
  const double enough = static_cast<double>(question.bytes) / (threads * bytes);
  return static_cast<int>(std::clamp(enough, 1.0, 2.0 * system.channels));
}

double nccl_late_messages(const NcclConstants& constants, const NcclSystem& system,
                          const NcclQuestion& question, const NcclFacts& facts) {
  if (facts.late_message.count() == 0 || question.bytes == 0) return 0;
  const int channels = nccl_channels_at_work(system, question);
  const Sent messages = of(constants.measured, system, question, channels);
  const bool is_late = messages.count * messages.slots > constants.measured.connection_slots &&
                       messages.bytes > constants.measured.prompt_message;
  if (!is_late) return 0;
  const double on_a_port = std::max(1.0, channels / facts.ports) * messages.receives;
  return on_a_port * messages.count * facts.late_message.count() * us_per_second;
}

double nccl_staging_latency(const NcclConstants& constants, const NcclSystem& system,
                            const NcclQuestion& question, const NcclFacts& facts) {
  if (question.protocol != NcclProtocol::simple || question.bytes == 0) return 0;
  const int channels = nccl_channels_at_work(system, question);
  const double on_a_port = std::max(1.0, channels / facts.ports);
  return on_a_port * of(constants.measured, system, question, channels).bytes *
         facts.staged_per_byte.count() * us_per_second;
}

double nccl_rendezvous(const NcclConstants& constants, const NcclSystem& system,
                       const NcclQuestion& question, const NcclFacts& facts) {
  if (facts.rendezvous.count() == 0 || question.bytes == 0) return 0;
  const Sent messages =
      of(constants.measured, system, question, nccl_channels_at_work(system, question));
  return are_read(messages, question, facts) ? facts.rendezvous.count() * us_per_second : 0;
}

double nccl_messages_in_turn(const NcclConstants& constants, const NcclSystem& system,
                             const NcclQuestion& question, const NcclFacts& facts) {
  if (question.algorithm != NcclAlgorithm::tree || question.bytes == 0) return 0;
  const Sent messages =
      of(constants.measured, system, question, nccl_channels_at_work(system, question));
  if (!are_read(messages, question, facts)) return 0;
  return (messages.count - 1) * facts.rendezvous.count() * us_per_second;
}

}  // namespace gradwire
