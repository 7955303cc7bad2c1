#include "strategies/parts/outstanding.hpp"

#include <utility>

namespace gradwire {

void Outstanding::end(Poster& poster, std::size_t ended) {
  left_ -= ended;
  if (left_ == 0 && std::exchange(closed_, false)) poster.post(Raise{.flag = flag_});
}

void Outstanding::expect(Poster& poster, std::size_t all, const std::string& label) {
  left_ = all;
  flag_ = poster.post(Flag{.label = label});
  closed_ = true;
}

void Outstanding::gate(Poster& poster, const std::string& label) {
  expect(poster, left_, label);
  poster.post(Gate{.until = {flag_}});
  end(poster, 0);
}

}  // namespace gradwire
