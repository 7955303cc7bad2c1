#include "strategies/parts/job_places.hpp"

#include "tests/catch.hpp"

using namespace gradwire;

TEST_CASE("a machine is spoken for by its first rank, in the order of these",
          "[strategy][places]") {
  JobView job;
  job.world_size = 6;
  job.machine_of = {2, 2, 0, 0, 2, 1};
  CHECK(all_ranks(job) == std::vector<int>{0, 1, 2, 3, 4, 5});
  CHECK(first_ranks(job) == std::vector<int>{0, 2, 5});
  CHECK(machine_of(job, 4) == 2);
}

TEST_CASE("a job that says nothing of its machines has one", "[strategy][places]") {
  JobView job;
  job.world_size = 3;
  CHECK(first_ranks(job) == std::vector<int>{0});
  CHECK(machine_of(job, 2) == 0);
}

TEST_CASE("without servers of its own a job has one in the host memory of each machine",
          "[strategy][places]") {
  JobView job;
  job.world_size = 4;
  job.machine_of = {0, 0, 1, 1};
  CHECK(server_places(job) == std::vector<Endpoint>{host_of(0), host_of(2)});
  // Three servers, two of them on a machine without ranks.
  job.server_machine = {1, 2, 2};
  CHECK(server_places(job) == std::vector<Endpoint>{{Endpoint::Place::server, 0},
                                                    {Endpoint::Place::server, 1},
                                                    {Endpoint::Place::server, 2}});
}
