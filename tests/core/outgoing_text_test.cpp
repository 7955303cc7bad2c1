#include "sim/core/outgoing_text.hpp"

#include "tests/catch.hpp"

namespace gradwire {
namespace {

TEST_CASE("On a terminal's line nothing is obeyed: controls and what is not UTF-8 are spelt out",
          "[core][text]") {
  CHECK(plain_line("ResNet-50, 1 \xc2\xb5s, \xe2\x82\xac, \xf0\x9f\x98\x80") ==
        "ResNet-50, 1 \xc2\xb5s, \xe2\x82\xac, \xf0\x9f\x98\x80");
  CHECK(plain_line("\x1b]0;title\x07") == "\\x1b]0;title\\x07");
  CHECK(plain_line("a\nb\r\tc\x7f") == "a\\nb\\r\\tc\\x7f");
  CHECK(plain_line("\xc2\x9b"
                   "2J") == "\\x9b2J");  // CSI as one character, U+009B
  CHECK(plain_line("a\xe2\x80\xae"
                   "b") == "a\\u202eb");  // RIGHT-TO-LEFT OVERRIDE
  CHECK(plain_line(std::string("a\0b", 3)) == "a\\x00b");
  // Not UTF-8: a lone continuation, an overlong '/', a surrogate, above U+10FFFF, cut off.
  CHECK(plain_line("\x80") == "\\x80");
  CHECK(plain_line("\xc0\xaf") == "\\xc0\\xaf");
  CHECK(plain_line("\xe0\x80\xaf") == "\\xe0\\x80\\xaf");
  CHECK(plain_line("\xed\xa0\x80") == "\\xed\\xa0\\x80");
  CHECK(plain_line("\xf4\x90\x80\x80") == "\\xf4\\x90\\x80\\x80");
  CHECK(plain_line("\xe2\x82") == "\\xe2\\x82");
  CHECK(plain_line(plain_line("\x1b[31m\n")) == plain_line("\x1b[31m\n"));
  CHECK(plain_text("a\n\tb\x1b[2J\r\n") == "a\n\tb\\x1b[2J\\r\n");
}

TEST_CASE("A formatted line keeps its own line ends and none of its arguments'", "[core][text]") {
  const std::string name = "a\nb";
  CHECK(plain_format("{}: {:>4}|{:.1f}\n", name, "x", 1.25) == "a\\nb:    x|1.2\n");
  std::string text;
  plain_format_to(std::back_inserter(text), "{:<{}}|\n", std::string_view("\x1b"), 6);
  CHECK(text == "\\x1b  |\n");
}

TEST_CASE("A cell of CSV is no formula and ends where it should", "[core][text]") {
  CHECK(csv_cell("25 MiB") == "25 MiB");
  CHECK(csv_cell("=HYPERLINK(\"http://x\")") == "\"'=HYPERLINK(\"\"http://x\"\")\"");
  CHECK(csv_cell("+cmd|' /C calc'!A0") == "'+cmd|' /C calc'!A0");
  CHECK(csv_cell("@SUM(A1)") == "'@SUM(A1)");
  CHECK(csv_cell("-2+3") == "'-2+3");
  CHECK(csv_cell("\t=1") == "'\t=1");
  CHECK(csv_cell("-2.5e-3") == "-2.5e-3");
  CHECK(csv_cell("+7") == "+7");
  CHECK(csv_cell("a,b\nc") == "\"a,b\nc\"");
  CHECK(csv_cell("\x1b[2J") == "\\x1b[2J");
}

TEST_CASE("In XML a name is text", "[core][text]") {
  CHECK(xml_text("<script>a && 'b' \"c\"</script>") ==
        "&lt;script&gt;a &amp;&amp; &#39;b&#39; &quot;c&quot;&lt;/script&gt;");
  CHECK(xml_text("\x01\xff") == "\\x01\\xff");  // no XML 1.0 document may hold these
}

TEST_CASE("A string of DOT ends at its own quote", "[core][text]") {
  CHECK(dot_string("gpu0") == "\"gpu0\"");
  CHECK(dot_string("a\\") == "\"a\\\\\"");
  CHECK(dot_string("x\", URL=\"javascript:alert(1)") == "\"x\\\", URL=\\\"javascript:alert(1)\"");
  CHECK(dot_string("two\nlines &amp;") == "\"two\\nlines &amp;amp;\"");
}

TEST_CASE("In Markdown a name ends no cell and is no link, picture or HTML", "[core][text]") {
  CHECK(markdown_name("a|b\nc") == "a\\|b c");
  CHECK(markdown_name("![x](http://y) <img src=z> `q` \\") ==
        "!\\[x\\](http://y) &lt;img src=z> \\`q\\` \\\\");
  CHECK(markdown_prose("`--env` of [a](b) | <b>") == "`--env` of [a](b) \\| &lt;b>");
  CHECK(markdown_code("a`|b") == "`a'\\|b`");
  CHECK(markdown_block("a\n```\nb\n") == "````\na\n```\nb\n````\n");
  CHECK(url_path("a b).svg") == "a%20b%29.svg");
}

}  // namespace
}  // namespace gradwire
