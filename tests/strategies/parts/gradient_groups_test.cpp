#include "strategies/parts/gradient_groups.hpp"

#include "strategies/parts/outstanding.hpp"
#include "tests/catch.hpp"
#include "tests/strategies/toy_job.hpp"

using namespace gradwire;
using namespace gradwire::test;

TEST_CASE("a group is complete with its last gradient, in every iteration", "[gradient_groups]") {
  GradientGroups groups(toy_job({10, 20, 30}), TensorGroups{{2, 1}, {0}});
  for (int iteration = 0; iteration < 2; ++iteration) {
    CHECK_FALSE(groups.arrived(1).has_value());
    CHECK(groups.arrived(0) == 1U);
    CHECK(groups.arrived(2) == 0U);
  }
}

TEST_CASE("groups that go in order wait for those before them", "[gradient_groups]") {
  GradientGroups groups(toy_job({10, 20, 30}), TensorGroups{{2}, {1}, {0}});
  for (int iteration = 0; iteration < 2; ++iteration) {
    groups.arrived(1);
    CHECK_FALSE(groups.next().has_value());
    groups.arrived(2);
    CHECK(groups.next() == 0U);
    CHECK(groups.next() == 1U);
    CHECK_FALSE(groups.next().has_value());
    groups.arrived(0);
    CHECK(groups.next() == 2U);
    CHECK_FALSE(groups.next().has_value());
  }
}

TEST_CASE("a tensor that would overflow a group opens the next", "[gradient_groups]") {
  // fp32: 12, 8, 24 and 4 bytes; 12 + 8 = 20 fits, + 24 does not, 24 + 4 neither.
  const auto job = toy_job({3, 2, 6, 1});
  const auto groups = cut_into_groups(job, registration_order(job), overflowing(job, Bytes{20}));
  REQUIRE(groups.size() == 3);
  CHECK(groups[0].tensors == std::vector<TensorId>{0, 1});
  CHECK(groups[0].elements == 5);
  CHECK(groups[1].size == Bytes{24});
  CHECK(groups[2].tensors == std::vector<TensorId>{3});
}

TEST_CASE("a gate opens with the last of what is outstanding, or at once", "[outstanding]") {
  Poster poster;
  Outstanding outstanding;
  outstanding.add(2);
  outstanding.end(poster);
  CHECK(poster.take().empty());
  outstanding.gate(poster, "all");
  const auto gated = poster.take();  // the flag is operation 0
  REQUIRE(gated.size() == 2);
  CHECK(std::get<Gate>(gated[1]).until == std::vector<OperationId>{0});
  outstanding.end(poster);
  const auto raised = poster.take();
  REQUIRE(raised.size() == 1);
  CHECK(std::get<Raise>(raised[0]).flag == 0);
  outstanding.gate(poster, "nothing is left");
  CHECK(poster.take().size() == 3);
}

TEST_CASE("what follows an operation follows it once, whatever ends before it", "[poster]") {
  Poster poster;
  std::vector<OperationId> followed;
  for (OperationId id = 0; id < 100; ++id) {
    if (id % 3 == 0) {
      poster.post(Flag{});
    } else {
      poster.post(Flag{}, [&followed, id] { followed.push_back(id); });
    }
  }
  poster.done(1000);  // another's
  std::vector<OperationId> expected;
  for (OperationId step = 0; step < 100; ++step) {
    const OperationId id = 37 * step % 100;  // each once
    if (id % 3 != 0) expected.push_back(id);
    poster.done(id);
    poster.done(id);
  }
  CHECK(followed == expected);
}

TEST_CASE("operations in turn start when the one before has ended", "[poster]") {
  Poster poster;
  bool over = false;
  poster.post_in_turn({HostWork{.label = "first"}, HostWork{.label = "second"}},
                      [&over] { over = true; });
  REQUIRE(poster.take().size() == 1);
  poster.done(0);
  const auto second = poster.take();
  REQUIRE(second.size() == 1);
  CHECK(std::get<HostWork>(second[0]).label == "second");
  CHECK_FALSE(over);
  poster.done(1);
  CHECK(over);
}
