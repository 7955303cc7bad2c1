#include "sim/config/profile/length_bins.hpp"

#include <string>

#include "sim/config/scenario.hpp"
#include "tests/catch.hpp"
#include "tests/config/config_fixture.hpp"

using namespace gradwire;
using namespace gradwire::config;
using Catch::Matchers::Contains;

namespace {

class LengthFixture : public ConfigFixture {
 protected:
  [[nodiscard]] ComputeProfile read(const std::string& lengths,
                                    const std::string& more = "") const {
    const std::string profile =
        "{model: bert_base, gpu: big-gpu, batch_per_gpu: 4, dtype: fp32, sequence_length: " +
        lengths + more + "}";
    return *read_scenario(write(good), {"profile=" + profile}).front().profile;
  }
};

}  // namespace

TEST_CASE_METHOD(LengthFixture, "a batch of binned lengths takes the mean of what each bin takes",
                 "[config][profile]") {
  const ComputeProfile brief = read("128");
  const ComputeProfile whole = read("512");
  const ComputeProfile binned = read("{128: 0.25, 512: 0.75}");
  CHECK(binned.iteration.count() ==
        Approx(0.25 * brief.iteration.count() + 0.75 * whole.iteration.count()));
  CHECK(binned.forward().count() ==
        Approx(0.25 * brief.forward().count() + 0.75 * whole.forward().count()));
  CHECK(binned.backward().count() ==
        Approx(0.25 * brief.backward().count() + 0.75 * whole.backward().count()));
  CHECK(binned.optimizer.count() == Approx(whole.optimizer.count()));
  CHECK(binned.tokens_per_sample == 416);  // 0.25 x 128 + 0.75 x 512
  // what it keeps is the longest's
  CHECK(binned.activations == whole.activations);
  CHECK(binned.logits == whole.logits);
  CHECK(binned.unattributed().count() >= 0);
}

TEST_CASE_METHOD(LengthFixture, "lengths may be counted, and one length is that length",
                 "[config][profile]") {
  CHECK(read("{128: 30, 512: 90}").iteration == read("{128: 0.25, 512: 0.75}").iteration);
  const ComputeProfile one = read("{128: 7}");
  CHECK(one.iteration == read("128").iteration);
  CHECK(one.layers.back().backward == read("128").layers.back().backward);
}

TEST_CASE_METHOD(LengthFixture, "a time that is known of one GPU is that of the mean iteration",
                 "[config][profile]") {
  const ComputeProfile binned =
      read("{128: 0.25, 512: 0.75}", ", iteration_time: 300 ms, iteration_micro_batches: 1");
  CHECK(binned.iteration.count() == Approx(0.3));
}

TEST_CASE_METHOD(LengthFixture, "mistakes in lengths are reported where they stand",
                 "[config][profile][errors]") {
  CHECK_THROWS_WITH(read("{128: 0.4, 600: 0.6}"),
                    Contains("'sequence_length' is 600; expected 1 to 512"));
  CHECK_THROWS_WITH(read("{128: 0}"), Contains("'128' is '0'; expected a number, above 0"));
  CHECK_THROWS_WITH(read("{short: 1}"), Contains("'sequence_length' is 'short'"));
  CHECK_THROWS_WITH(read("{}"), Contains("'sequence_length' has no lengths; expected a number"));
  CHECK_THROWS_WITH(read("{128: 1, 256: 1}", ", img_size: 224"),
                    Contains("unknown key 'img_size'"));
}
