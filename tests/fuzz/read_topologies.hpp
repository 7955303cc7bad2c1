#pragma once

#include <string>

namespace gradwire::fuzz {

// As the parts of `gradwire import` of these names, into a node. @throws ConfigError

void read_nccl_topo_xml(const std::string& bytes);
void read_smi_topo_text(const std::string& bytes);

}  // namespace gradwire::fuzz
