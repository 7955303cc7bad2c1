#include "sim/engine/copy_parts.hpp"

#include "sim/engine/incremental_transport.hpp"
#include "tests/catch.hpp"

using namespace gradwire;

namespace {

/// A row that copies (column 0) and messages (column 1) pass, and one of messages alone (column 2).
FlowProblem port() {
  return {.capacity = {10, 10},
          .columns = {{{0, 1}}, {{0, 1}}, {{1, 1}}},
          .copies = {true, false, false}};
}

}  // namespace

TEST_CASE("A copy begins in as many parts as messages have been beside it at once",
          "[engine][copy-parts]") {
  CopyParts parts(port());
  CHECK(parts.begin(0) == 1);
  for (int i = 0; i < 5; ++i) CHECK(parts.begin(1) == 1);
  for (int i = 0; i < 9; ++i) CHECK(parts.begin(2) == 1);
  CHECK(parts.begin(0) == 5);
  for (int i = 0; i < 5; ++i) parts.end(1);
  // They come again while it moves.
  CHECK(parts.begin(0) == 5);
}

TEST_CASE("On half of a link a message is two of the whole link's", "[engine][copy-parts]") {
  FlowProblem problem = port();
  problem.parts = {2, 1};
  CopyParts parts(problem);
  for (int i = 0; i < 3; ++i) (void)parts.begin(1);
  CHECK(parts.begin(0) == 6);
}

TEST_CASE("A copy has no more than 64 parts", "[engine][copy-parts]") {
  CopyParts parts(port());
  for (int i = 0; i < 100; ++i) (void)parts.begin(1);
  CHECK(parts.begin(0) == 64);
}

TEST_CASE("Where no copy shares a row all flows are whole", "[engine][copy-parts]") {
  FlowProblem problem = port();
  problem.copies = {};
  CopyParts parts(problem);
  (void)parts.begin(1);
  CHECK(parts.begin(0) == 1);
}

TEST_CASE("Copies take exact turns up to 40 000 columns", "[engine][copy-parts]") {
  FlowProblem problem = port();
  problem.columns.resize(40'000, {{1, 1}});
  problem.copies.resize(40'000);
  CHECK(takes_turns(problem));
  problem.columns.emplace_back(problem.columns.back());
  problem.copies.push_back(false);
  CHECK(!takes_turns(problem));
  problem.copies = {};
  CHECK(takes_turns(problem));
}
