#include "topologies/importers/nccl_xml.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <pugixml.hpp>
#include <set>

#include "sim/core/budgets.hpp"
#include "sim/core/joined_by.hpp"
#include "topologies/importers/pci_ids.hpp"

namespace gradwire {
namespace {

/// What an element may hold, or what an attribute may be.
using Names = std::vector<std::string>;

class XmlReader {
 public:
  XmlReader(std::string_view text, const std::string& file) : text_(text), file_(file) {}

  NcclXmlSystem read() {
    pugi::xml_document document;
    const pugi::xml_parse_result result = document.load_buffer(text_.data(), text_.size());
    if (!result) {
      fail(at(result.offset), "not XML; expected a file that NCCL wrote with NCCL_TOPO_DUMP_FILE");
    }
    const pugi::xml_node root = document.document_element();
    check_root(root);
    NcclXmlSystem system;
    for (const pugi::xml_node child : elements(root, {"cpu"})) {
      system.cpus.push_back(read_cpu(child));
    }
    if (system.cpus.empty()) fail(where(root), "a system without <cpu>; expected at least one");
    return system;
  }

 private:
  [[noreturn]] static void fail(const SourceLocation& place, const std::string& message) {
    throw ConfigError(place, message);
  }

  [[nodiscard]] SourceLocation at(std::ptrdiff_t offset) const {
    const auto length = std::clamp<std::ptrdiff_t>(offset, 0, std::ssize(text_));
    const std::string_view before = text_.substr(0, static_cast<std::size_t>(length));
    const auto line = std::count(before.begin(), before.end(), '\n') + 1;
    const std::size_t newline = before.rfind('\n');
    const std::size_t start = newline == std::string_view::npos ? 0 : newline + 1;
    return {file_, static_cast<int>(line), static_cast<int>(before.size() - start) + 1};
  }
  /// pugixml points behind the "<" of an element.
  [[nodiscard]] SourceLocation where(const pugi::xml_node& node) const {
    return at(node.offset_debug() - 1);
  }

  void check_root(const pugi::xml_node& root) const {
    const std::string name = root.name();
    if (name == "graphs") {
      fail(where(root),
           "<graphs> is a file of NCCL's rings and trees (NCCL_GRAPH_DUMP_FILE); expected its "
           "topology, <system> (NCCL_TOPO_DUMP_FILE)");
    }
    if (name != "system") {
      fail(where(root), fmt::format("<{}> is no NCCL topology; expected <system>", name));
    }
    const std::string version = root.attribute("version").as_string("1");
    if (version != "1") {
      fail(where(root), fmt::format("version '{}' of the topology; expected 1", version));
    }
  }

  [[nodiscard]] std::vector<pugi::xml_node> elements(const pugi::xml_node& parent,
                                                     const Names& known) {
    std::vector<pugi::xml_node> found;
    for (const pugi::xml_node child : parent.children()) {
      if (child.type() != pugi::node_element) continue;
      // Each tells its place, for which all before it is read again.
      if (++elements_ > topology_elements.most) fail(where(child), over(topology_elements));
      const std::string name = child.name();
      if (std::find(known.begin(), known.end(), name) == known.end()) {
        const std::string expected = known.empty() ? "nothing" : joined_by(known, ", ");
        fail(where(child), fmt::format("<{}> inside <{}>; expected {}{}", name, parent.name(),
                                       expected, suggestion(name, known)));
      }
      found.push_back(child);
    }
    return found;
  }

  /// A whole number, of any sign: -1 is how NCCL writes "unknown".
  [[nodiscard]] int whole(const pugi::xml_node& node, const char* name, int fallback) const {
    const std::string_view text = node.attribute(name).as_string();
    if (text.empty()) return fallback;
    int number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc{} || end != text.data() + text.size()) {
      fail(where(node),
           fmt::format("{} '{}' of <{}>; expected a whole number", name, text, node.name()));
    }
    return number;
  }
  [[nodiscard]] int count(const pugi::xml_node& node) const {
    const int lanes = whole(node, "count", 1);
    constexpr int lanes_max = 1000;  // no GPU has as many; keeps sums within an int
    if (lanes < 1 || lanes > lanes_max) {
      fail(where(node), fmt::format("count '{}' of <{}>; expected at least 1, at most {}", lanes,
                                    node.name(), lanes_max));
    }
    return lanes;
  }

  NcclCpu read_cpu(const pugi::xml_node& node) {
    NcclCpu cpu;
    cpu.where = where(node);
    cpu.numa = std::max(whole(node, "numaid", -1), -1);
    cpu.arch = node.attribute("arch").as_string();
    cpu.vendor = node.attribute("vendor").as_string();
    cpu.family = whole(node, "familyid", -1);
    cpu.model = whole(node, "modelid", -1);
    const std::string host = node.attribute("host_hash").as_string();
    if (!host.empty()) hosts_.insert(host);
    if (hosts_.size() > 1) {
      fail(cpu.where,
           fmt::format("host_hash '{}' is a second machine; expected one machine a file", host));
    }
    for (const pugi::xml_node child : elements(node, {"pci", "nic"})) {
      if (std::string_view(child.name()) == "pci") cpu.pci.push_back(read_pci(child, 1));
      if (std::string_view(child.name()) == "nic") read_nets(child, cpu.nets);
    }
    return cpu;
  }

  /// @param depth  of bridges that it stands in, itself included.
  NcclPci read_pci(const pugi::xml_node& node, int depth) {
    constexpr int depth_max = 256;  // PCI has no more buses
    NcclPci pci;
    pci.where = where(node);
    if (depth > depth_max) {
      fail(pci.where, fmt::format("<pci> nested {} deep; expected at most {}", depth, depth_max));
    }
    pci.bus = pci_bus_id(node.attribute("busid").as_string());
    if (pci.bus.empty()) fail(pci.where, "<pci> without a bus id; expected busid=\"0000:3b:00.0\"");
    if (!buses_.insert(pci.bus).second) {
      fail(pci.where, fmt::format("bus id '{}' stands twice; expected each device once", pci.bus));
    }
    pci.vendor = node.attribute("vendor").as_string();
    pci.device = node.attribute("device").as_string();
    pci.speed_text = node.attribute("link_speed").as_string();
    const char* end = pci.speed_text.data() + pci.speed_text.size();
    if (std::from_chars(pci.speed_text.data(), end, pci.gigatransfers).ec != std::errc{}) {
      pci.gigatransfers = 0;
    }
    pci.width = std::max(whole(node, "link_width", 0), 0);
    for (const pugi::xml_node child : elements(node, {"pci", "gpu", "nic", "pcilink"})) {
      const std::string_view name = child.name();
      if (name == "pci") pci.children.push_back(read_pci(child, depth + 1));
      if (name == "gpu") pci.gpu = read_gpu(child);
      if (name == "nic") read_nets(child, pci.nets);
      if (name == "pcilink") pci.side_links = true;
    }
    const std::string_view code = node.attribute("class").as_string();
    pci.infiniband = code.starts_with("0x0207");
    pci.kind = kind_of(pci, code);
    return pci;
  }

  [[nodiscard]] static PciKind kind_of(const NcclPci& pci, std::string_view code) {
    if (pci.gpu || code.starts_with("0x03")) return PciKind::gpu;
    if (!pci.nets.empty() || code.starts_with("0x02")) return PciKind::nic;
    return pci.children.empty() ? PciKind::other : PciKind::bridge;
  }

  NcclXmlGpu read_gpu(const pugi::xml_node& node) {
    NcclXmlGpu gpu;
    gpu.dev = whole(node, "dev", -1);
    gpu.rank = whole(node, "rank", -1);
    check_new(gpu_devs_, gpu.dev, node);
    for (const pugi::xml_node child : elements(node, {"nvlink", "c2c"})) {
      if (std::string_view(child.name()) == "nvlink") {
        gpu.nvlinks.push_back({where(child), pci_bus_id(child.attribute("target").as_string()),
                               child.attribute("tclass").as_string(), count(child)});
        static_cast<void>(elements(child, {}));
      } else {
        constexpr double mega = 1e6;  // NCCL writes MB/s
        gpu.c2c = NcclC2c{count(child), BytesPerSecond{mega * whole(child, "bw", 0)}};
        if (gpu.c2c->bandwidth.count() <= 0) {
          fail(where(child), "<c2c> without bandwidth; expected bw in MB/s");
        }
      }
    }
    return gpu;
  }

  void read_nets(const pugi::xml_node& nic, std::vector<NcclNet>& nets) {
    for (const pugi::xml_node node : elements(nic, {"net"})) {
      NcclNet net;
      net.where = where(node);
      net.name = node.attribute("name").as_string();
      net.dev = whole(node, "dev", -1);
      check_new(net_devs_, net.dev, node);
      constexpr double megabit = 1e6 / 8;  // NCCL writes Mbit/s
      const int speed = whole(node, "speed", 0);
      if (speed > 0) net.speed = BytesPerSecond{megabit * speed};
      net.gdr = whole(node, "gdr", 1) != 0;
      static_cast<void>(elements(node, {}));
      nets.push_back(std::move(net));
    }
  }

  void check_new(std::set<int>& known, int dev, const pugi::xml_node& node) const {
    if (dev < 0 || known.insert(dev).second) return;
    fail(where(node),
         fmt::format("dev {} of <{}> stands twice; expected each once", dev, node.name()));
  }

  std::string_view text_;
  const std::string& file_;
  std::set<std::string> hosts_;
  std::size_t elements_ = 0;  ///< that were looked at
  std::set<std::string> buses_;
  std::set<int> gpu_devs_;
  std::set<int> net_devs_;
};

}  // namespace

NcclXmlSystem read_nccl_xml(std::string_view text, const std::string& file) {
  return XmlReader(text, file).read();
}

}  // namespace gradwire
