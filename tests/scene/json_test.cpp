// The JSON reader: what it accepts, what it refuses, and that it names the right line.
#include "plenum/scene/json.h"

#include <gtest/gtest.h>

namespace plenum { namespace {

/// The sentence with which a text is refused; empty if it is read.
std::string refusal(const std::string& text, const JsonLimits& limits = {}) {
  try {
    const JsonDocument document(text, "f.json", limits);
    return {};
  } catch (const Error& error) {
    return error.what();
  }
}

TEST(Json, ReadsEveryKindWithItsLine) {
  const JsonDocument document(
      "\xef\xbb\xbf// a scene\r\n"
      "{\n"
      "  /* two\n"
      "     lines */ \"a\": 1.5e2, \"b\" : [true,\n"
      "  false, null],\n"
      "  \"c\": {\"d\\u00e9\\\"\": \"x\\ny \\ud83d\\ude00\"}, \"e\": -0\n"
      "} // end",
      "f.json");
  const JsonValue root = document.root();
  ASSERT_EQ(root.kind(), JsonKind::object);
  EXPECT_EQ(root.size(), 4u);
  EXPECT_EQ(root.problem().line, 2);
  EXPECT_EQ(root.find("a")->number(), 150);
  EXPECT_EQ(root.find("a")->whole(), 150);
  EXPECT_EQ(root.find("a")->problem().line, 4);
  EXPECT_EQ(root.find("a")->written(), "1.5e2");
  const JsonValue b = *root.find("b");
  EXPECT_EQ(b.size(), 3u);
  EXPECT_TRUE(b.at(0)->boolean());
  EXPECT_FALSE(b.at(1)->boolean());
  EXPECT_EQ(b.at(1)->problem().line, 5);
  EXPECT_EQ(b.at(2)->kind(), JsonKind::null);
  EXPECT_FALSE(b.at(3));
  const JsonValue d = *root.find("c")->first();
  EXPECT_EQ(d.key(), "d\xc3\xa9\"");
  EXPECT_EQ(d.string(), "x\ny \xf0\x9f\x98\x80");
  EXPECT_EQ(root.find("c")->find("d\xc3\xa9\"")->problem().line, 6);
  EXPECT_FALSE(root.find("f"));
}

TEST(Json, NumbersKeepTheirExactValue) {
  const JsonDocument document("[9007199254740993, 0.1, 4.0, 4.5, 5e-324, 1e22, -9223372036854775808]",
                              "f.json");
  const JsonValue list = document.root();
  EXPECT_EQ(list.at(0)->whole(), 9007199254740993);  // no double holds it
  EXPECT_EQ(list.at(1)->number(), 0.1);
  EXPECT_EQ(list.at(2)->whole(), 4);
  EXPECT_FALSE(list.at(3)->whole());
  EXPECT_EQ(list.at(4)->number(), std::numeric_limits<double>::denorm_min());
  EXPECT_FALSE(list.at(5)->whole());
  EXPECT_EQ(list.at(6)->whole(), std::numeric_limits<std::int64_t>::min());
}

TEST(Json, RefusesWhatIsNotJsonAndNamesLineAndPath) {
  const std::pair<const char*, const char*> cases[] = {
      {"", "f.json:1: is empty at column 1"},
      {" \n// nothing\n", "f.json:3: is empty at column 1"},
      {"[01]", "f.json:1: [0]: has a number with a leading zero at column 2: 01]"},
      {"[1.]", "f.json:1: [0]: has a malformed number at column 2: 1.]"},
      {"[1.\xc3\xa9]", "f.json:1: [0]: has a malformed number at column 2: 1.\xc3\xa9]"},
      {"[.5]", "f.json:1: [0]: has something where a value belongs at column 2: '.'"},
      {"[-nano]", "f.json:1: [0]: has a malformed number at column 2: -nano]"},
      {"[1,]", "f.json:1: has a comma before the closing ']' at column 3; remove the comma"},
      {"{\"a\":1,\n}", "f.json:1: has a comma before the closing '}' at column 7; remove the comma"},
      {"{\"a\":1\n\"b\":2}", "f.json:2: lacks a ',' or '}' at column 1: '\"'"},
      {"{\"a\" 1}", "f.json:1: a: lacks a ':' after its key at column 6: '1'"},
      {"{a: 1}", "f.json:1: has something where a key in double quotes belongs at column 2: 'a'"},
      {"{\"a\": yes}",
       "f.json:1: a: has a word where a value belongs; texts stand in double quotes at column 7: yes"},
      {"{\"a\": 'b'}", "f.json:1: a: has a text in single quotes; JSON wants double ones at column 7: 'b'}"},
      {"[1] 2", "f.json:1: has more text after its end at column 5: '2'"},
      {"[1", "f.json:1: has a list without an end at column 1: [1"},
      {"\n{\"a\": {", "f.json:2: a: has an object without an end at column 7: {"},
      {"[\"a", "f.json:1: [0]: has a text without a closing quote at column 2: \"a"},
      {"[0, \"a\n\"]", "f.json:1: [1]: has a text without a closing quote at column 5: \"a"},
      {"{\"a\": 1, \"b",
       "f.json:1: has a text without a closing quote at column 10: \"b"},  // its path is not known yet
      {"[\"\t\"]", "f.json:1: [0]: has a control character in a text at column 3: the character with code 9"},
      {"[\"\\q\"]", "f.json:1: [0]: has an unknown escape in a text at column 3: \\q"},
      {"[\"\\\xc3\xa9\"]", "f.json:1: [0]: has an unknown escape in a text at column 3: \\\xc3\xa9"},
      {"[\"\\u12g4\"]", "f.json:1: [0]: has a malformed \\u escape at column 3: \\u12g4"},
      {"[\"\\ud800\"]", "f.json:1: [0]: has half of a surrogate pair at column 3: \\ud800"},
      {"[\"\\udc00\"]", "f.json:1: [0]: has half of a surrogate pair at column 3: \\udc00"},
      {"[1 /* x", "f.json:1: has a comment without an end at column 4: /* x"},
      {"[\n\"\xff\"]", "f.json:2: [0]: is not UTF-8 text at column 2: byte 0xff"},
      {"[1, // \xff\n 2]", "f.json:1: is not UTF-8 text at column 8: byte 0xff"},
      {"[\"\xc0\xaf\"]", "f.json:1: [0]: is not UTF-8 text at column 3: byte 0xc0"},      // overlong '/'
      {"[\"\xed\xa0\x80\"]", "f.json:1: [0]: is not UTF-8 text at column 3: byte 0xed"},  // a surrogate
      {"[\"\\\xff\"]", "f.json:1: [0]: is not UTF-8 text at column 4: byte 0xff"},
      {"[1 \xff]", "f.json:1: is not UTF-8 text at column 4: byte 0xff"},
      {"\xff\xfe[", "f.json:1: is not UTF-8 text at column 1: byte 0xff"},  // UTF-16
  };
  for (const auto& [text, sentence] : cases) EXPECT_EQ(refusal(text), sentence) << text;
}

TEST(Json, AKeyGivenTwiceIsNamedWithBothPlaces) {
  EXPECT_EQ(refusal("{\n\"a\": 1, \"b\": {\"c\": 0},\n \"a\": 2}"),
            "f.json:3: a: is a key given twice in one object at column 2: 2; remove it or the one in line 2");
  EXPECT_EQ(
      refusal("{\"a\": 1, \"\\u0061\": 2}"),
      "f.json:1: a: is a key given twice in one object at column 10: 2; remove it or the one in line 1");
  EXPECT_EQ(
      refusal("{\"systems\": [{}, {\"params\": {\"x y\": 1,\n\"x y\": [2, 3]}}]}"),
      "f.json:2: systems[1].params.\"x y\": is a key given twice in one object at column 1: [2 values]; "
      "remove it or the one in line 1");
}

TEST(Json, NumbersBeyondAllBoundsAreKeptApart) {
  const JsonDocument document(
      "{\"a\": [NaN, nan, Infinity, -Infinity, +inf, -inf, 1e999, -1e999, 1e-999],\n\"b\": 0e-999, \"c\": "
      "-NaN}",
      "f.json");
  const JsonValue list = *document.root().find("a");
  const char* const written[] = {"NaN",  "nan",   "Infinity", "-Infinity", "+inf",
                                 "-inf", "1e999", "-1e999",   "1e-999"};
  ASSERT_EQ(list.size(), std::size(written));
  for (std::size_t i = 0; i < std::size(written); ++i) {
    EXPECT_EQ(list.at(i)->kind(), JsonKind::beyond) << written[i];
    EXPECT_EQ(list.at(i)->written(), written[i]);
  }
  EXPECT_EQ(document.root().find("b")->kind(), JsonKind::number);  // nought, however it is scaled
  EXPECT_EQ(document.root().find("b")->number(), 0);
  EXPECT_EQ(document.root().find("c")->kind(), JsonKind::beyond);
}

TEST(Json, HoldsItsLimits) {
  const auto nested = [](std::size_t levels) { return std::string(levels, '[') + std::string(levels, ']'); };
  EXPECT_EQ(refusal(nested(64)), "");
  const std::string too_deep =
      "f.json:1: [0][0][0][0][0][0][0][0]...[0][0][0][0]: is nested deeper than 64 levels at column 65: ";
  EXPECT_EQ(refusal(nested(65)), too_deep + "[]" + std::string(25, ']') + "...");
  EXPECT_EQ(refusal(std::string(100000, '[')), too_deep + std::string(27, '[') + "...");
  std::string objects = "{\"systems\": [";
  for (int i = 0; i < 100000; ++i) objects += "{\"a\":";
  EXPECT_EQ(refusal(objects),
            "f.json:1: systems[0].a.a.a.a.a.a....a.a.a.a: is nested deeper than 64 levels at column 324: "
            "{\"a\":{\"a\":{\"a\":{\"a\":{\"a\":{\"...");
  EXPECT_EQ(refusal("[1, 2, 3]", {.max_values = 4}), "");
  EXPECT_EQ(refusal("{\"a\": [1, 2, 3]}", {.max_values = 4}),
            "f.json:1: a[2]: has more than 4 values; move large lists into mesh files at column 14");
  EXPECT_EQ(refusal("[1, 2, 3, 4]", {.max_bytes = 11}),
            "f.json: is too long: 12 bytes (allowed: at most 11 bytes)");
}

TEST(Json, ManyKeysAndLongTextsTakeLinearTime) {
  std::string text = "{";
  for (int i = 0; i < 200000; ++i) text += "\"key" + std::to_string(i) + "\":" + std::to_string(i) + ",";
  text += "\"long\":\"" + std::string(10000000, 'x') + "\"}";
  const JsonDocument document(text, "f.json");
  EXPECT_EQ(document.root().size(), 200001u);
  EXPECT_EQ(document.root().find("long")->string().size(), 10000000u);
  EXPECT_EQ(document.root().find("long")->written(), '"' + std::string(57, 'x') + "...\"");
}

TEST(Json, EveryTruncatedPrefixIsRefused) {
  const std::string text =
      "{\"a\": [1.5e-3, true, null, \"x\\u00e9\\ud83d\\ude00\"], /* c */ \"b\": {\"c\": -0}}";
  ASSERT_EQ(refusal(text), "");
  for (std::size_t n = 0; n < text.size(); ++n) EXPECT_NE(refusal(text.substr(0, n)), "") << n;
}

TEST(Json, EditsKeepTheRestAndNameTheirOrigin) {
  JsonDocument document("{\"a\": {\"b\": 1},\n\"c\": [1, 2]}", "f.json");
  const JsonValue root = document.root();
  document.put(*root.find("a"), "b", document.add_value("7", "--set a.b=7", "a.b"));
  document.put(*root.find("a"), "x", document.add_value("word", "--set a.x=word", "a.x"));
  document.replace(*root.find("c")->at(0), document.add_value("1, 2,3", "--set c[0]", "c[0]"));
  std::string text;
  append_canonical(root, text);
  EXPECT_EQ(text, R"({"a":{"b":7,"x":"word",},"c":[[1,2,3,],2,],})");
  EXPECT_EQ(root.find("a")->find("b")->problem().file, "--set a.b=7");
  EXPECT_EQ(root.find("a")->find("b")->problem().line, 0);
  EXPECT_EQ(root.find("c")->at(1)->problem().file, "f.json");
  EXPECT_EQ(root.find("c")->at(1)->problem().line, 2);
  try {
    document.add_value("{\"x\": [1, {]}", "--set a.b=...", "a.b");
    FAIL() << "a broken value was taken";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(),
                 "--set a.b=...: a.b.x[1]: has something where a key in double quotes belongs: ']'");
  }
}

TEST(Json, TheCanonicalTextDependsOnMeaningAlone) {
  const auto canonical = [](const char* text) {
    const JsonDocument document(text, "f.json");
    std::string out;
    append_canonical(document.root(), out);
    return out;
  };
  EXPECT_EQ(canonical("{\"a\": 1.0, \"b\": \"\\u0041\"}"), canonical("{ \"b\":\"A\", // c\n\"a\":1e0}"));
  EXPECT_NE(canonical("[[1], 2]"), canonical("[[1, 2]]"));
  EXPECT_NE(canonical("[0.1]"), canonical("[0.10000001]"));
}

}}  // namespace plenum
