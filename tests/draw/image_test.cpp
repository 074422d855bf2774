#include "plenum/io/image.h"

#include <gtest/gtest.h>

#include <csignal>
#include <fstream>
#include <tuple>

#include <sys/resource.h>

#include "plenum/base/error.h"
#include "plenum/io/image_text.h"
#include "plenum/io/movie.h"

namespace plenum { namespace {

std::filesystem::path scratch(const char* name) {
  const auto folder = std::filesystem::path(PLENUM_BINARY_DIR) / "tests" / "draw_scratch";
  std::filesystem::create_directories(folder);
  return folder / name;
}

Image pattern(int width, int height, int shift = 0) {
  Image image(width, height);
  for (int y = 0; y < height; ++y)
    for (int x = 0; x < width; ++x)
      image.set(x, y, {std::uint8_t(7 * x + shift), std::uint8_t(3 * y + x), std::uint8_t(x ^ y)});
  return image;
}

TEST(Image, PngComesBackAsItWas) {
  const Image image = pattern(131, 77);
  write_png(scratch("round.png"), image);
  const Image back = read_image(scratch("round.png"));
  EXPECT_EQ(back.width, 131);
  EXPECT_EQ(back.height, 77);
  EXPECT_EQ(back.rgb, image.rgb);
  // Nothing but the picture is left behind; others write beside it meanwhile.
  for (const auto& entry : std::filesystem::directory_iterator(scratch("")))
    EXPECT_EQ(entry.path().string().find("round.png."), std::string::npos) << entry.path();
}

TEST(Image, PicturesOfOursAreKnownFromOthers) {
  write_png(scratch("ours.png"), pattern(5, 3));
  EXPECT_TRUE(is_png_of_plenum(scratch("ours.png")));
  std::ifstream file(scratch("ours.png"), std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(file), {}};
  // The chunk as the specification has it, with the CRC that Python's zlib gives for its type and data.
  const std::string chunk(
      "\0\0\0\x0ftEXtSoftware\0plenum"
      "\xa9\x06\xb9\x5b",
      27);
  EXPECT_EQ(bytes.substr(33, 27), chunk);
  std::string other = bytes;
  other.erase(33, 27);  // still a picture, but nobody's
  std::ofstream(scratch("other.png"), std::ios::binary) << other;
  EXPECT_EQ(read_image(scratch("other.png")).rgb, pattern(5, 3).rgb);
  for (const char* name : {"other.png", "none.png", ""})
    EXPECT_FALSE(is_png_of_plenum(scratch(name))) << name;
  std::ofstream(scratch("short.png"), std::ios::binary) << bytes.substr(0, 59);
  EXPECT_FALSE(is_png_of_plenum(scratch("short.png")));
}

TEST(Image, AFullDiskLeavesTheOldPictureWhole) {
  const Image old = pattern(20, 10);
  write_png(scratch("kept.png"), old);
  // A limit on the size of files stands for a disk with no room for the new picture.
  rlimit limit{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &limit), 0);
  const rlimit small{.rlim_cur = 1000, .rlim_max = limit.rlim_max};
  const auto handler = ::signal(SIGXFSZ, SIG_IGN);
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  std::string said;
  try {
    write_png(scratch("kept.png"), pattern(300, 200));
  } catch (const Error& error) {
    said = error.what();
  }
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &limit), 0);
  ::signal(SIGXFSZ, handler);
  EXPECT_NE(said.find("kept.png"), std::string::npos) << said;
  EXPECT_EQ(read_image(scratch("kept.png")).rgb, old.rgb);
  for (const auto& entry : std::filesystem::directory_iterator(scratch("")))
    EXPECT_EQ(entry.path().string().find(".part"), std::string::npos) << entry.path();
}

TEST(Image, PlacesAndFilesThatCannotBeAreRefused) {
  EXPECT_THROW(write_png("/proc/no-such-folder/a.png", pattern(4, 4)), Error);
  EXPECT_THROW(write_png(scratch("empty.png"), Image()), Error);
  std::ofstream(scratch("not.png")) << "this is no picture";
  EXPECT_THROW(read_image(scratch("not.png")), Error);
  EXPECT_THROW(read_image(scratch("there-is-none.png")), Error);
}

TEST(Image, SrgbFollowsTheStandard) {
  // IEC 61966-2-1: linear 0.18 is 0.461 encoded, 0.5 is 0.735; the curve's two pieces meet at 0.0031308.
  EXPECT_NEAR(srgb_from_linear(0.18), 0.4613, 1e-4);
  EXPECT_NEAR(srgb_from_linear(0.5), 0.7354, 1e-4);
  EXPECT_NEAR(srgb_from_linear(0.0031308), 0.04045, 1e-5);
  for (int i = 0; i <= 255; ++i) EXPECT_NEAR(srgb_from_linear(linear_from_srgb(i / 255.0)), i / 255.0, 1e-6);
}

TEST(Image, ShrinkingAveragesLightNotNumbers) {
  Image stripes(64, 64);
  for (int y = 0; y < 64; ++y)
    for (int x = 0; x < 64; ++x) stripes.set(x, y, x % 2 ? Rgb8{255, 255, 255} : Rgb8{0, 0, 0});
  const Image grey = resized(stripes, 16, 16);
  // Half the light is sRGB 188, half the number would be 128.
  EXPECT_EQ(grey.at(5, 5), (Rgb8{188, 188, 188}));
  const Image odd = resized(pattern(97, 53), 97, 53);
  EXPECT_EQ(odd.rgb, pattern(97, 53).rgb);
}

TEST(Image, ContactSheetHasTheSizeItsLayoutGives) {
  const std::vector<Image> frames(7, Image(320, 180, {10, 20, 30}));
  const ContactSheetOptions options{.columns = 3, .width = 1000, .gutter = 5};
  const Image sheet = contact_sheet(frames, {}, options);
  // Tiles are (1000 - 4 * 5) / 3 = 326 wide and 326 * 180 / 320 = 183 high; three rows.
  EXPECT_EQ(sheet.width, 3 * 326 + 4 * 5);
  EXPECT_EQ(sheet.height, 3 * 183 + 4 * 5);
  EXPECT_EQ(sheet.at(2, 2), options.paper);
  EXPECT_EQ(sheet.at(100, 100), (Rgb8{10, 20, 30}));
  EXPECT_EQ(sheet.at(sheet.width - 100, sheet.height - 50),
            options.paper);  // the place of the missing eighth
  EXPECT_THROW(contact_sheet({}), Error);
  const std::vector<Image> unequal = {Image(8, 8), Image(9, 8)};
  EXPECT_THROW(contact_sheet(unequal), Error);
}

TEST(Image, CaptionsStandOutFromDarkAndFromLightFrames) {
  const std::vector<std::string> captions = {"0.00 s"};
  for (const int grey : {30, 90, 190, 240}) {
    const auto level = static_cast<std::uint8_t>(grey);
    const std::vector<Image> frames = {Image(320, 180, {level, level, level})};
    const Image sheet = contact_sheet(frames, captions, {.columns = 1, .width = 320, .gutter = 0});
    int most = 0;
    for (int y = 0; y < 60; ++y)
      for (int x = 0; x < 120; ++x) most = std::max(most, std::abs(int(sheet.at(x, y).g) - grey));
    EXPECT_GT(most, 80) << grey;
  }
}

TEST(Image, CollectorKeepsFirstAndLastAndSpreadsTheRest) {
  FrameCollector collector(4, {.columns = 4, .width = 400, .gutter = 0, .caption_height = 0});
  for (int i = 0; i < 251; ++i) collector.add(Image(100, 50, {std::uint8_t(i), 0, 0}), "");
  const Image sheet = collector.sheet();
  ASSERT_EQ(sheet.width, 400);
  EXPECT_EQ(sheet.at(50, 25).r, 0);
  EXPECT_EQ(sheet.at(350, 25).r, 250);
  // Frames of the sheet are kept in steps of at most 251 / 16, so each lies within that of an even spread.
  EXPECT_NEAR(sheet.at(150, 25).r, 250 / 3.0, 16);
  EXPECT_NEAR(sheet.at(250, 25).r, 500 / 3.0, 16);
}

TEST(Image, TextCoversWhatItsWidthSays) {
  Image image(400, 60, {255, 255, 255});
  const std::string words = "speed 0.25 kg/m^3";
  draw_text(image, words, 20, 40, 20, {0, 0, 0});
  int left = 400, right = 0, dark = 0;
  for (int y = 0; y < 60; ++y)
    for (int x = 0; x < 400; ++x)
      if (image.at(x, y).r < 128) left = std::min(left, x), right = std::max(right, x), ++dark;
  EXPECT_NEAR(left, 20, 3);
  EXPECT_NEAR(right, 20 + text_width(words, 20), 4);
  EXPECT_GT(dark, 300);
  EXPECT_EQ(text_width("", 20), 0);
  EXPECT_LT(text_width("m^2", 20), text_width("m2", 20));
}

TEST(Movie, HasAsManyFramesAsItWasGiven) {
  if (!movie_available()) {
    EXPECT_THROW(MovieWriter(scratch("none.mp4")), Error);
    GTEST_SKIP() << movie_unavailable_note;
  }
  // Where each container says what it is: ISO 14496-12 (brands), QuickTime, EBML.
  const std::string matroska = "\x1a\x45\xdf\xa3";
  for (const auto& [name, offset, mark] :
       {std::tuple("movie.mp4", 4, std::string("ftypisom")),
        std::tuple("movie.mov", 4, std::string("ftypqt  ")), std::tuple("movie.mkv", 0, matroska),
        std::tuple("movie.MP4", 4, std::string("ftypisom"))}) {
    SCOPED_TRACE(name);
    const auto path = scratch(name);
    std::filesystem::remove(path);
    MovieWriter movie(path, {.frames_per_second = 30});
    for (int i = 0; i < 12; ++i)
      movie.add(pattern(161, 91, 9 * i));  // odd sizes lose their last row and column
    EXPECT_FALSE(std::filesystem::exists(path));
    movie.finish();
    EXPECT_EQ(movie.num_frames(), 12);
    ASSERT_TRUE(std::filesystem::exists(path));
    std::ifstream file(path, std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(file), {}};
    EXPECT_EQ(bytes.substr(std::size_t(offset), mark.size()), mark);

    const std::string command =
        "ffprobe -v error -count_frames -select_streams v:0 -show_entries "
        "stream=codec_name,width,height,pix_fmt,nb_read_frames -of csv=p=0 '" +
        path.string() + "'";
    std::FILE* probe = ::popen(command.c_str(), "r");
    ASSERT_NE(probe, nullptr);
    char answer[256] = "";
    EXPECT_NE(std::fgets(answer, sizeof answer, probe), nullptr);
    EXPECT_EQ(::pclose(probe), 0);
    EXPECT_STREQ(answer, "h264,160,90,yuv420p,12\n");
  }
}

TEST(Movie, FailuresAreErrorsNotSignals) {
  if (!movie_available()) GTEST_SKIP() << movie_unavailable_note;
  MovieWriter movie("/proc/no-such-folder/movie.mp4");
  // ffmpeg stops because it cannot open its output; sooner or later a frame or the end of the movie says so.
  const Image frame = pattern(640, 360);
  EXPECT_THROW(
      {
        for (int i = 0; i < 50; ++i) movie.add(frame);
        movie.finish();
      },
      Error);
  EXPECT_THROW(MovieWriter(scratch("movie.txt")), Error);
  EXPECT_THROW(MovieWriter(scratch("movie")), Error);
  EXPECT_THROW(MovieWriter(scratch("slow.mp4"), {.frames_per_second = 0}), Error);
  MovieWriter uneven(scratch("uneven.mp4"));
  uneven.add(pattern(64, 64));
  EXPECT_THROW(uneven.add(pattern(32, 64)), Error);
  MovieWriter none(scratch("none.mp4"));
  EXPECT_THROW(none.finish(), Error);
  EXPECT_FALSE(std::filesystem::exists(scratch("none.mp4")));
}

}}  // namespace plenum
