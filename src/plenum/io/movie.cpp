#include "plenum/io/movie.h"

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "plenum/base/error.h"

extern char** environ;  // NOLINT: POSIX wants it declared by its user

namespace plenum::inline PLENUM_ABI {

namespace {

// The program as PATH finds it, or empty.
std::string find_program(const char* name) {
  const char* path = std::getenv("PATH");
  std::string_view rest = path ? path : "/usr/local/bin:/usr/bin:/bin";
  while (true) {
    const std::size_t colon = rest.find(':');
    const std::string_view folder = rest.substr(0, colon);
    const std::string candidate = std::string(folder.empty() ? "." : folder) + "/" + name;
    if (::access(candidate.c_str(), X_OK) == 0 && !std::filesystem::is_directory(candidate)) return candidate;
    if (colon == std::string_view::npos) return {};
    rest.remove_prefix(colon + 1);
  }
}

/// What ffmpeg calls the container that a path's ending names.
std::string container_of(const std::filesystem::path& path) {
  std::string ending = path.extension().string();
  for (char& c : ending) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  if (std::find(movie_endings.begin(), movie_endings.end(), ending) == movie_endings.end())
    throw Error(Problem{.file = path.string(),
                        .what = "is not the name of a movie",
                        .allowed = fmt::format("names that end in {}", fmt::join(movie_endings, ", "))});
  return ending == ".mkv" ? "matroska" : ending.substr(1);
}

}  // namespace

bool movie_available() {
  return !find_program("ffmpeg").empty();
}

struct MovieWriter::Process {
  std::filesystem::path path, temporary;
  std::string program, container;  // ffmpeg's name for the container
  MovieOptions options;
  pid_t pid = -1;
  int to_program = -1;              // a socket rather than a pipe: send() can be told to raise no SIGPIPE
  std::FILE* complaints = nullptr;  // what the program says, in an unlinked file
  int width = 0, height = 0, frames = 0;

  ~Process() {
    close_input();
    if (pid > 0) {
      ::kill(pid, SIGTERM);
      wait();
    }
    if (complaints) std::fclose(complaints);
    if (!temporary.empty()) ::unlink(temporary.c_str());
  }
  void close_input() {
    if (to_program >= 0) ::close(to_program);
    to_program = -1;
  }
  int wait() {
    int status = 0;
    while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    pid = -1;
    return status;
  }
  [[noreturn]] void fail(const std::string& what) const {
    throw Error(Problem{.file = path.string(), .what = what});
  }
  // ffmpeg's last words on one line; empty if it has said nothing.
  std::string last_words() const {
    std::string text;
    if (complaints) {
      std::rewind(complaints);
      char buffer[4096];
      const std::size_t n = std::fread(buffer, 1, sizeof buffer, complaints);
      text.assign(buffer, n);
    }
    while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.pop_back();
    const std::size_t last_line = text.rfind('\n');
    if (last_line != std::string::npos) text = text.substr(last_line + 1);
    return text;
  }
  std::string words() const {
    const std::string text = last_words();
    return text.empty() ? "it gave no reason" : text;
  }
  [[noreturn]] void stopped() {
    close_input();
    if (pid > 0) wait();
    fail("the movie cannot be written because ffmpeg stopped: " + words());
  }

  void start(int w, int h) {
    width = w, height = h;
    std::error_code ignored;
    if (path.has_parent_path()) std::filesystem::create_directories(path.parent_path(), ignored);
    temporary = path.string() + ".part" + std::to_string(::getpid());
    complaints = std::tmpfile();
    int ends[2];
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
      fail(std::string("ffmpeg cannot be started: ") + std::strerror(errno));
    to_program = ends[0];

    // BT.709 matrix and tags, as players assume for pictures of this size; without them colours shift.
    std::vector<std::string> arguments = {
        "ffmpeg",
        "-hide_banner",
        "-loglevel",
        "error",
        "-nostdin",
        "-y",
        "-f",
        "rawvideo",
        "-pix_fmt",
        "rgb24",
        "-video_size",
        fmt::format("{}x{}", width, height),
        "-framerate",
        fmt::format("{:.6f}", options.frames_per_second),
        "-i",
        "pipe:0",
        "-vf",
        "crop=trunc(iw/2)*2:trunc(ih/"
        "2)*2:0:0,scale=out_color_matrix=bt709:out_range=tv:flags=accurate_rnd+full_chroma_int",
        "-c:v",
        "libx264",
        "-preset",
        "fast",
        "-crf",
        std::to_string(options.quality),
        "-pix_fmt",
        "yuv420p",
        "-colorspace",
        "bt709",
        "-color_primaries",
        "bt709",
        "-color_trc",
        "bt709",
        "-color_range",
        "tv"};
    // Playable before it is whole, which Matroska always is.
    if (container != "matroska") arguments.insert(arguments.end(), {"-movflags", "+faststart"});
    arguments.insert(arguments.end(), {"-f", container, temporary.string()});
    std::vector<char*> argv;
    for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
    argv.push_back(nullptr);

    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], 0);
    posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
    if (complaints) posix_spawn_file_actions_adddup2(&actions, ::fileno(complaints), 2);
    // In a process group of its own, so that an interrupt from the keyboard ends the run and not the movie.
    posix_spawnattr_t attributes;
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
    posix_spawnattr_setpgroup(&attributes, 0);
    const int error = ::posix_spawn(&pid, program.c_str(), &actions, &attributes, argv.data(), environ);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    ::close(ends[1]);
    if (error != 0) {
      pid = -1;
      fail(std::string("ffmpeg cannot be started: ") + std::strerror(error));
    }
  }
};

MovieWriter::MovieWriter(std::filesystem::path path, const MovieOptions& options)
    : process_(std::make_unique<Process>()) {
  process_->program = find_program("ffmpeg");
  if (process_->program.empty()) throw Error(Problem{.file = path.string(), .what = movie_unavailable_note});
  if (!(options.frames_per_second > 0 && options.frames_per_second <= 1000))
    throw Error(Problem{.file = path.string(),
                        .what = "the movie's frames per second are out of range",
                        .value = fmt::format("{}", options.frames_per_second),
                        .allowed = "above 0 to 1000"});
  if (options.quality < 0 || options.quality > 51)
    throw Error(Problem{.file = path.string(),
                        .what = "the movie's quality is out of range",
                        .value = std::to_string(options.quality),
                        .allowed = "0 to 51"});
  process_->container = container_of(path);
  process_->path = std::move(path);
  process_->options = options;
}
MovieWriter::~MovieWriter() = default;
MovieWriter::MovieWriter(MovieWriter&&) noexcept = default;
MovieWriter& MovieWriter::operator=(MovieWriter&&) noexcept = default;

void MovieWriter::add(const Image& frame) {
  Process& p = *process_;
  if (frame.width < 2 || frame.height < 2) p.fail("a movie's frames must be at least 2 x 2 pixels");
  if (p.frames == 0 && p.pid < 0) p.start(frame.width, frame.height);
  if (frame.width != p.width || frame.height != p.height) p.fail("the frames of a movie must have one size");
  for (std::size_t done = 0; done < frame.rgb.size();) {
    const ssize_t n = ::send(p.to_program, frame.rgb.data() + done, frame.rgb.size() - done, MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) p.stopped();
    done += static_cast<std::size_t>(n);
  }
  ++p.frames;
}

void MovieWriter::finish() {
  Process& p = *process_;
  if (p.frames == 0) p.fail("a movie needs at least one frame");
  p.close_input();
  if (p.pid > 0) {
    const int status = p.wait();
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
      p.fail("the movie cannot be written because ffmpeg stopped: " + p.words());
    // Of a disk that is full it tells, and ends as if all were well.
    if (const std::string said = p.last_words(); !said.empty())
      p.fail("the movie cannot be written; ffmpeg says: " + said);
  }
  if (::rename(p.temporary.c_str(), p.path.c_str()) != 0)
    p.fail(std::string("the movie cannot be written: ") + std::strerror(errno));
  p.temporary.clear();
}

int MovieWriter::num_frames() const {
  return process_->frames;
}

}  // namespace plenum::inline PLENUM_ABI
