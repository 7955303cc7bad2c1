#pragma once

namespace gradwire {

/// The speed at which NCCL plans a channel, GB/s: the largest of those that it tries that the
/// channel can have by its nominal rate; the rate itself below all.
/// @param rate  GB/s of a channel; @param nominal  the same by its links' nominal rates
/// @param capability  compute capability x 10 of the GPUs; @param is_across  over several machines
[[nodiscard]] double nccl_planned_speed(double rate, double nominal, int capability,
                                        bool is_across);

}  // namespace gradwire
