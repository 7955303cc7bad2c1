#include "sim/models/widths.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <vector>

namespace gradwire {
namespace {

constexpr std::int64_t ffn_per_hidden = 4;  ///< Vaswani et al., section 3.3, and all below

const std::vector<Widths>& published_widths() {
  static const std::vector<Widths> published = {
      {"bert_base", "Devlin et al., arXiv 1810.04805, section 3", 12, 768, 12, 3072},
      {"bert_large", "Devlin et al., arXiv 1810.04805, section 3", 24, 1024, 16, 4096},
      {"distilbert_base", "Sanh et al., arXiv 1910.01108, section 3", 6, 768, 12, 3072},
      {"roberta_base", "Liu et al., arXiv 1907.11692, table 9", 12, 768, 12, 3072},
      {"roberta_large", "Liu et al., arXiv 1907.11692, table 9", 24, 1024, 16, 4096},
      {"electra_base", "Clark et al., arXiv 2003.10555, table 6", 12, 768, 12, 3072},
      {"electra_large", "Clark et al., arXiv 2003.10555, table 6", 24, 1024, 16, 4096},
      {"bart_base", "Lewis et al., arXiv 1910.13461, section 2.1", 6, 768, 12, 3072},
      {"bart_large", "Lewis et al., arXiv 1910.13461, section 2.1", 12, 1024, 16, 4096},
      {"t5_small", "Raffel et al., arXiv 1910.10683, section 3.7", 6, 512, 8, 2048},
      {"t5_base", "Raffel et al., arXiv 1910.10683, section 3.7", 12, 768, 12, 3072},
      {"t5_large", "Raffel et al., arXiv 1910.10683, section 3.7", 24, 1024, 16, 4096},
      {"gpt2", "Radford et al. 2019, table 2", 12, 768, 12, 3072},
      {"gpt2_medium", "Radford et al. 2019, table 2", 24, 1024, 16, 4096},
      {"gpt2_large", "Radford et al. 2019, table 2", 36, 1280, 20, 5120},
      {"gpt2_xl", "Radford et al. 2019, table 2", 48, 1600, 25, 6400},
      {"transformer_wmt", "Vaswani et al., arXiv 1706.03762, table 3", 6, 512, 8, 2048},
      {"transformer_big", "Vaswani et al., arXiv 1706.03762, table 3", 6, 1024, 16, 4096},
      {"vit_s_16", "Touvron et al., arXiv 2012.12877, table 1", 12, 384, 6, 1536},
      {"vit_b_16", "Dosovitskiy et al., arXiv 2010.11929, table 1", 12, 768, 12, 3072},
      {"vit_l_16", "Dosovitskiy et al., arXiv 2010.11929, table 1", 24, 1024, 16, 4096},
      {"vit_h_14", "Dosovitskiy et al., arXiv 2010.11929, table 1", 32, 1280, 16, 5120},
      {"dit_b_2", "Peebles and Xie, arXiv 2212.09748, table 1", 12, 768, 12, 3072},
      {"dit_xl_2", "Peebles and Xie, arXiv 2212.09748, table 1", 28, 1152, 16, 4608},
  };
  return published;
}

}  // namespace

const Widths* find_widths(const std::string& model) {
  const auto found = std::ranges::find(published_widths(), model, &Widths::name);
  return found == published_widths().end() ? nullptr : &*found;
}

Widths widths_of(const std::string& model, const ModelOptions& options) {
  const Widths* const published = find_widths(model);
  assert(published != nullptr);
  Widths widths = *published;
  widths.layers = options.layers.value_or(widths.layers);
  widths.heads = options.heads.value_or(widths.heads);
  if (options.hidden) {
    widths.hidden = *options.hidden;
    widths.ffn = ffn_per_hidden * widths.hidden;
  }
  widths.ffn = options.ffn.value_or(widths.ffn);
  return widths;
}

std::optional<OptionProblem> problem_of_widths(const std::string& model,
                                               const ModelOptions& options) {
  const Widths widths = widths_of(model, options);
  if (widths.hidden % widths.heads == 0) return std::nullopt;
  if (options.heads) {
    return OptionProblem{"heads", fmt::format("'heads' is {}, which does not divide {} features; "
                                              "expected a divisor",
                                              widths.heads, widths.hidden)};
  }
  return OptionProblem{"hidden", fmt::format("'hidden' is {}; expected a multiple of the {} heads, "
                                             "or other 'heads' beside it",
                                             widths.hidden, widths.heads)};
}

}  // namespace gradwire
