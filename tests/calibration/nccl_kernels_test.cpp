#include <string>

#include "calibration/attribution/collectives.hpp"
#include "calibration/import/trace_collectives.hpp"
#include "tests/catch.hpp"

using namespace gradwire;
using namespace gradwire::calibration;

TEST_CASE("names of NCCL's kernels tell operation, algorithm and protocol", "[nccl]") {
  struct Named {
    std::string kernel;
    std::string operation;
    std::string algorithm;
    std::string protocol;
  };
  // NCCL src/device/generate.py since 2.19, common.h before; src/device/symmetric/generate.py of
  // 2.27 (ncclSymDevKernel) and 2.28 (ncclSymkDevKernel), where "LL" is a way to store, not the
  // protocol of a ring.
  const Named named =
      GENERATE(Named{"ncclDevKernel_AllReduce_Sum_f32_RING_LL(args)", "AllReduce", "ring", "ll"},
               Named{"ncclKernel_AllReduce_TREE_LL128_Sum_float(x)", "AllReduce", "tree", "ll128"},
               Named{"ncclSymDevKernel_AllReduce_RSxLD_AGxST_sum_bf16(ncclSymDevArgs)", "AllReduce",
                     "symmetric", ""},
               Named{"ncclSymDevKernel_AllGather_LL(ncclSymDevArgs)", "AllGather", "symmetric", ""},
               Named{"ncclSymkDevKernel_ReduceScatter_LDMC_sum_f32(ncclSymkDevWorkArgs4K)",
                     "ReduceScatter", "symmetric", ""},
               Named{"ncclSym", "", "symmetric", ""});
  CAPTURE(named.kernel);
  const KernelName split = split_kernel_name(named.kernel);
  CHECK(split.operation == named.operation);
  CHECK(split.algorithm == named.algorithm);
  CHECK(split.protocol == named.protocol);
}

TEST_CASE("a table of a trace's collectives leaves those on symmetric memory out, and says so",
          "[nccl]") {
  TracedCollective ring;
  ring.kind = CollectiveKind::all_reduce;
  ring.algorithm = "ring";
  ring.bytes = Bytes{4096};
  ring.start = 0;
  ring.end = 20'000;
  TracedCollective symmetric = ring;
  symmetric.algorithm = symmetric_memory;
  symmetric.end = 5'000;
  const ImportedTables tables = tables_of({ring, symmetric}, "trace.json", 8, 1);
  REQUIRE(tables.series.size() == 1);
  REQUIRE(tables.series[0].rows.size() == 1);
  CHECK(tables.series[0].rows[0].time.count() == Approx(20e-6));
  REQUIRE(tables.notes.size() == 1);
  CHECK_THAT(tables.notes[0], Catch::ContainsSubstring("1 of 2 kernels of NCCL are left out: they "
                                                       "ran on symmetric memory"));
}
