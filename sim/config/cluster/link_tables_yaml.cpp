#include "sim/config/cluster/link_tables_yaml.hpp"

#include "sim/config/cluster/link_yaml.hpp"
#include "sim/config/data_files.hpp"
#include "sim/config/yaml/fields.hpp"
#include "sim/config/yaml/loaded_yaml.hpp"

namespace gradwire::config {
namespace {

constexpr const char* links_file = "profiles/tables/links.yaml";  ///< in the data folder

struct SourcedTime {
  Seconds value;
  std::string source;
};

const Fields<SourcedTime>& time_fields() {
  static const Fields<SourcedTime> fields = {
      "latency",
      "a latency with its source",
      {field("value", &SourcedTime::value, "one way", between(Seconds{}, latency_most), required),
       field("source", &SourcedTime::source, "where it is known from", {}, required)}};
  return fields;
}

/// Keys of a port beside those of a link that a scenario describes.
const Fields<PortKind>& port_fields() {
  static const Fields<PortKind> fields = {
      "port",
      "a port that scenarios name",
      {part(&PortKind::port, field("name", &PortSpec::name, "its own", {}, required)),
       field("nominal", &PortKind::nominal, "one direction, as sold", above(BytesPerSecond{}),
             required),
       field("source", &PortKind::source, "where its figures are known from", {}, required),
       {{"end", "as latency", "TCP: half the time from application to application",
         value_info<Seconds>()},
        [](YamlMap& map, PortKind& kind) {
          const auto least = at_least(kind.port.latency);
          if (const auto end = map.optional<Seconds>("end", least)) {
            kind.port.message_overhead = *end - kind.port.latency;
          }
        }}}};
  return fields;
}

Section port_section() {
  Section section = port_fields().section();
  const auto link = link_fields().keys();
  section.keys.insert(section.keys.end(), link.begin(), link.end());
  return section;
}

PortKind read_port_kind(YamlMap map) {
  PortKind kind;
  link_fields().read(map, kind.port);
  port_fields().read(map, kind);
  map.finish();
  kind.port.gpudirect = kind.port.kind != "tcp";
  return kind;
}

Field<LinkTables> latency(const std::string& name, Seconds LinkTables::*member,
                          const std::string& doc) {
  return {{name, required, doc, mapping_of(time_fields)}, [=](YamlMap& map, LinkTables& tables) {
            SourcedTime time;
            time_fields().read_all(map.require_map(name), time);
            tables.*member = time.value;
          }};
}

const Fields<LinkTables>& latencies_fields() {
  using Tables = LinkTables;
  static const Fields<Tables> fields = {
      "latencies",
      "of links inside machines",
      {latency("gpu_pcie", &Tables::gpu_pcie_latency, "a PCIe link with a GPU at its end"),
       latency("pcie_hop", &Tables::pcie_hop_latency, "any other PCIe link, and its bridge"),
       latency("nvlink", &Tables::nvlink_latency, "GPU to GPU"),
       latency("smp", &Tables::smp_latency, "between two CPU sockets")}};
  return fields;
}

const Fields<WireKind>& wire_kind_fields() {
  static const Fields<WireKind> fields = {
      "wire_kind",
      "a kind of link inside a machine",
      {field("name", &WireKind::name, "its own", {}, required),
       choice("kind", &WireKind::kind,
              {{"nvlink", LinkKind::nvlink}, {"pcie", LinkKind::pcie}, {"smp", LinkKind::smp}},
              "what it is", required),
       field("bandwidth", &WireKind::bandwidth, "payload of one direction", above(BytesPerSecond{}),
             required),
       field("nominal", &WireKind::nominal, "one direction", above(BytesPerSecond{})),
       field("gigatransfers", &WireKind::gigatransfers, "of PCIe, a lane's GT/s", above(0.0)),
       field("source", &WireKind::source, "where it is known from", {}, required)}};
  return fields;
}

const Fields<GpuWires>& gpu_wires_fields() {
  static const Fields<GpuWires> fields = {
      "gpu_wires",
      "what connects a GPU model",
      {field("model", &GpuWires::model, "how its names begin", {}, required),
       field("nvlink", &GpuWires::nvlink, "a kind of wire", {}, "none"),
       field("nvlinks", &GpuWires::nvlinks, "lanes", at_least(0)),
       field("pcie", &GpuWires::pcie, "a kind of wire", {}, required),
       field("compute_capability", &GpuWires::compute_capability, "times 10", at_least(0),
             required),
       field("peers_over_pcie", &GpuWires::peers_over_pcie,
             "its driver lets it reach other devices' memory")}};
  return fields;
}

const Fields<MachineParts>& parts_fields() {
  static const Fields<MachineParts> fields = {
      "parts",
      "what machines have beside GPUs",
      {field("from_capability", &MachineParts::from_capability, "of GPUs, times 10", at_least(0)),
       field("gpu", &MachineParts::gpu, "of that GPU alone", {}, "none"),
       field("port", &MachineParts::port, "a port", {}, required),
       field("socket", &MachineParts::socket, "a wire between sockets", {}, required),
       field("source", &MachineParts::source, "which machine", {}, required)}};
  return fields;
}

const Fields<GpuForms>& forms_fields() {
  static const Fields<GpuForms> fields = {
      "forms",
      "the models that a short name may mean",
      {field("name", &GpuForms::name, "short", {}, required),
       field("module", &GpuForms::module, "the model on a board", {}, required),
       field("lanes", &GpuForms::lanes, "of the module", at_least(1), required),
       field("card", &GpuForms::card, "the PCIe card", {}, required)}};
  return fields;
}

const Fields<PciDevice>& pci_fields() {
  static const Fields<PciDevice> fields = {
      "pci_device",
      "a GPU's PCI device id",
      {field("id", &PciDevice::id, "as NCCL writes it", {}, required),
       field("model", &PciDevice::model, "whose it is", {}, required)}};
  return fields;
}

const Fields<LinkTables>& tables_fields() {
  using Tables = LinkTables;
  static const Fields<Tables> fields = {
      "links_file",
      "links by name",
      {group("latencies", latencies_fields, "of links inside machines", required),
       {{"ports", required, "that scenarios name", list_of(mapping_of(port_section))},
        [](YamlMap& map, Tables& tables) {
          map.require_value("ports", "a list");
          for (const YamlMap& port : map.maps("ports")) {
            tables.ports.push_back(read_port_kind(port));
          }
        }},
       inside("wires", &Tables::wires, wire_kind_fields, "inside machines", required),
       inside("gpus", &Tables::gpus, gpu_wires_fields, "of GPU models", required),
       inside("parts", &Tables::parts, parts_fields, "beside GPUs", required),
       inside("forms", &Tables::forms, forms_fields, "of names", required),
       inside("pci_devices", &Tables::pci_devices, pci_fields, "of NVIDIA", required)}};
  return fields;
}

}  // namespace

Section links_section() {
  return tables_fields().section();
}

LinkTables read_link_tables(const YamlValue& document) {
  YamlMap map(document);
  map.require_schema("gradwire.links/1");
  LinkTables tables;
  tables_fields().read_all(std::move(map), tables);
  return tables;
}

const LinkTables& shipped_links() {
  static const LinkTables tables =
      read_link_tables(loaded_yaml((data_folder() / links_file).string()));
  return tables;
}

}  // namespace gradwire::config
