#include "calibration/capture/bench/magnitude_select.cuh"

namespace gradwire::calibration {
namespace {

constexpr unsigned magnitude_width = 31;

__global__ void begin(SelectState* state, unsigned long long wanted,
                      unsigned long long* histogram) {
  histogram[threadIdx.x] = 0;
  if (threadIdx.x == 0) *state = {0, 0x80000000U, wanted};  // magnitudes have no sign
}

/// The loop's bound is the same for a whole warp, whose threads vote.
__global__ void count_digits(const float* values, std::size_t count, const SelectState* state,
                             unsigned shift, unsigned long long* histogram) {
  __shared__ unsigned bins[digits];
  bins[threadIdx.x] = 0;
  __syncthreads();
  const std::uint32_t prefix = state->prefix;
  const std::uint32_t known = state->known;
  const std::size_t padded = (count + warp_threads - 1) / warp_threads * warp_threads;
  for (std::size_t i = thread_index(); i < padded; i += thread_count()) {
    const std::uint32_t bits = i < count ? magnitude_bits(values[i]) : 0;
    const bool in = i < count && (bits & known) == prefix;
    const unsigned voters = __ballot_sync(whole_warp, in);
    if (!in) continue;
    const unsigned digit = bits >> shift & (digits - 1);
    const unsigned same = __match_any_sync(voters, digit);
    if (static_cast<unsigned>(__ffs(static_cast<int>(same))) - 1 == threadIdx.x % warp_threads) {
      atomicAdd(&bins[digit], static_cast<unsigned>(__popc(same)));
    }
  }
  __syncthreads();
  if (bins[threadIdx.x] > 0) {
    atomicAdd(&histogram[threadIdx.x], static_cast<unsigned long long>(bins[threadIdx.x]));
  }
}

/// From the largest digit down to the one in which the wanted element is; clears the histogram.
__global__ void choose_digit(SelectState* state, unsigned shift, unsigned long long* histogram) {
  if (threadIdx.x == 0) {
    unsigned digit = digits - 1;
    while (digit > 0 && histogram[digit] < state->wanted) state->wanted -= histogram[digit--];
    state->prefix |= digit << shift;
    state->known |= (digits - 1) << shift;
  }
  __syncthreads();
  histogram[threadIdx.x] = 0;
}

}  // namespace

static_assert(digits == block_threads, "a thread a bin");

void MagnitudeSelect::launch(const float* values, std::size_t count, std::size_t kept,
                             cudaStream_t stream) {
  begin<<<1, digits, 0, stream>>>(state_.data(), kept, histogram_.data());
  // 31 bits in four digits: the last overlaps the one before by one bit, which is known by then.
  for (const unsigned shift : {magnitude_width - digit_bits, magnitude_width - 2 * digit_bits,
                               magnitude_width - 3 * digit_bits, 0U}) {
    count_digits<<<grid_blocks(count), block_threads, 0, stream>>>(values, count, state_.data(),
                                                                   shift, histogram_.data());
    choose_digit<<<1, digits, 0, stream>>>(state_.data(), shift, histogram_.data());
  }
  check_launch("magnitude select");
}

}  // namespace gradwire::calibration
