#include "sim/config/calibrated_jobs_yaml.hpp"

#include "sim/config/yaml/yaml_map.hpp"

namespace gradwire::config {
namespace {

CalibratedJob read_calibrated_job(YamlMap& map) {
  CalibratedJob job;
  job.where = map.where();
  job.profile = map.require<std::string>("profile");
  job.gpus = map.require<int>("gpus", at_least(1));
  job.iteration = map.require<Seconds>("iteration", above(Seconds{0}));
  map.require<int>("iterations", at_least(1));
  map.finish();
  return job;
}

}  // namespace

CalibratedJobs read_calibrated_jobs(const YamlValue& document) {
  YamlMap map(document);
  map.require_schema("gradwire.calibrated/1");
  CalibratedJobs read;
  read.node = map.value_or<std::string>("node", "");
  read.collectives = map.value_or<std::string>("collectives", "");
  read.compressor_costs = map.list<std::string>("compressor_costs");
  map.require_value("jobs", "a list of measured jobs");
  for (YamlMap& entry : map.maps("jobs")) read.jobs.push_back(read_calibrated_job(entry));
  map.finish();
  return read;
}

}  // namespace gradwire::config
