#include "plenum/io/checkpoint.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <bit>
#include <cerrno>
#include <cstring>

#include "plenum/base/error.h"
#include "plenum/base/hash.h"

namespace plenum::inline PLENUM_ABI {
namespace {

static_assert(std::endian::native == std::endian::little, "checkpoints are little-endian");

constexpr char magic[8] = {'P', 'L', 'E', 'N', 'U', 'M', 'C', 'P'};
constexpr std::uint32_t version = 1;

struct FileHeader {
  char magic[8];
  std::uint32_t version, real_bytes;
  std::uint64_t length;
  std::uint32_t blocks, crc;
};
static_assert(sizeof(FileHeader) == 32);
constexpr std::size_t header_checked = offsetof(FileHeader, crc);

struct BlockHeader {
  std::uint32_t name_length, type, components, crc;
  std::uint64_t count;
};
static_assert(sizeof(BlockHeader) == 24);

std::uint32_t block_crc(BlockHeader header, std::span<const std::byte> rest) {
  header.crc = crc32_of(rest.data(), rest.size());
  return crc32_of(&header, sizeof header);
}

class File {
 public:
  explicit File(int fd) : fd_(fd) {}
  ~File() {
    if (fd_ >= 0) ::close(fd_);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  int get() const { return fd_; }
  int close() { return ::close(std::exchange(fd_, -1)); }

 private:
  int fd_;
};

[[noreturn]] void fail(const std::string& path, const std::string& what, int error) {
  throw Error(Problem{.file = path, .what = fmt::format("{}: {}", what, std::strerror(error))});
}

void write_all(int fd, std::span<const std::byte> bytes, const std::string& path) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(fd, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) fail(path, "cannot write", errno);
    bytes = bytes.subspan(static_cast<std::size_t>(n));
  }
}

}  // namespace

CheckpointWriter::CheckpointWriter(std::vector<std::byte>& buffer) : buffer_(buffer) {
  buffer_.resize(sizeof(FileHeader));
}

void CheckpointWriter::add(const std::string& name, ScalarType type, int components, std::size_t count,
                           const void* data) {
  const std::size_t bytes = count * static_cast<std::size_t>(components) * size_of(type);
  const std::size_t start = buffer_.size();
  buffer_.resize(start + sizeof(BlockHeader) + name.size() + bytes);
  std::byte* const rest = buffer_.data() + start + sizeof(BlockHeader);
  std::memcpy(rest, name.data(), name.size());
  if (bytes > 0) std::memcpy(rest + name.size(), data, bytes);
  BlockHeader header{static_cast<std::uint32_t>(name.size()), static_cast<std::uint32_t>(type),
                     static_cast<std::uint32_t>(components), 0, count};
  header.crc = block_crc(header, {rest, name.size() + bytes});
  std::memcpy(buffer_.data() + start, &header, sizeof header);
  ++blocks_;
}

void CheckpointWriter::finish() {
  FileHeader header{};
  std::memcpy(header.magic, magic, sizeof magic);
  header.version = version;
  header.real_bytes = sizeof(Real);
  header.length = buffer_.size();
  header.blocks = blocks_;
  header.crc = crc32_of(&header, header_checked);
  std::memcpy(buffer_.data(), &header, sizeof header);
}

std::vector<CheckpointBlock> read_checkpoint(std::span<const std::byte> bytes, const std::string& name) {
  const auto refuse = [&](const std::string& what, const std::string& remedy = {}) -> Error {
    return Error(Problem{.file = name, .what = what, .remedy = remedy});
  };
  FileHeader header;
  if (bytes.size() < sizeof header) throw refuse("is too short to be a checkpoint");
  std::memcpy(&header, bytes.data(), sizeof header);
  if (std::memcmp(header.magic, magic, sizeof magic) != 0) throw refuse("is not a checkpoint of plenum");
  if (header.version != version)
    throw refuse(
        fmt::format("is a checkpoint of version {}, this program reads version {}", header.version, version));
  if (header.crc != crc32_of(&header, header_checked))
    throw refuse("is damaged: its header's checksum is wrong");
  if (header.real_bytes != sizeof(Real))
    throw refuse(fmt::format("was written with {}-byte reals, this build computes with {} bytes",
                             header.real_bytes, sizeof(Real)),
                 "use the build of the other precision");
  if (header.length != bytes.size())
    throw refuse(fmt::format("is {} bytes long, its header says {}", bytes.size(), header.length));
  std::vector<CheckpointBlock> blocks;
  std::size_t at = sizeof header;
  for (std::uint32_t b = 0; b < header.blocks; ++b) {
    BlockHeader block;
    const auto damaged = [&](const char* how) {
      return refuse(fmt::format("is damaged: block {} {}", b, how));
    };
    if (bytes.size() - at < sizeof block) throw damaged("is cut off");
    std::memcpy(&block, bytes.data() + at, sizeof block);
    at += sizeof block;
    if (block.type > static_cast<std::uint32_t>(ScalarType::u64)) throw damaged("has an unknown type");
    const auto type = static_cast<ScalarType>(block.type);
    std::size_t left = bytes.size() - at;
    if (block.name_length > left) throw damaged("is cut off");
    left -= block.name_length;
    const std::size_t item = std::size_t{block.components} * size_of(type);
    if (item == 0 || block.count > left / item) throw damaged("is cut off");
    const std::span<const std::byte> rest = bytes.subspan(at, block.name_length + block.count * item);
    if (block.crc != block_crc(block, rest)) throw damaged("has a wrong checksum");
    blocks.push_back({std::string(reinterpret_cast<const char*>(rest.data()), block.name_length), type,
                      static_cast<int>(block.components), block.count, rest.subspan(block.name_length)});
    at += rest.size();
  }
  if (at != bytes.size()) throw refuse("is damaged: bytes are left after the last block");
  return blocks;
}

void write_file_safely(const std::string& path, std::span<const std::byte> bytes, bool keep_previous) {
  // A device or pipe is written to, never replaced by a file: renaming over /dev/full would destroy it.
  struct stat status {};
  if (::stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode)) {
    File file(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
    if (file.get() < 0) fail(path, "cannot be opened for writing", errno);
    write_all(file.get(), bytes, path);
    if (file.close() != 0) fail(path, "cannot be closed", errno);
    return;
  }
  const std::string temporary = fmt::format("{}.{}.tmp", path, ::getpid());
  try {
    File file(::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
    if (file.get() < 0) fail(path, "cannot be created", errno);
    write_all(file.get(), bytes, path);
    if (::fsync(file.get()) != 0) fail(path, "cannot be flushed to the disk", errno);
    if (file.close() != 0) fail(path, "cannot be closed", errno);
    if (keep_previous) {
      // A second name for the old file, not a rename: at no moment is `path` missing.
      const std::string previous = path + ".previous";
      ::unlink(previous.c_str());
      if (::link(path.c_str(), previous.c_str()) != 0 && errno != ENOENT)
        fail(previous, "cannot be kept", errno);
    }
    if (::rename(temporary.c_str(), path.c_str()) != 0) fail(path, "cannot be replaced", errno);
  } catch (...) {
    ::unlink(temporary.c_str());
    throw;
  }
  const std::size_t slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  const File directory(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (directory.get() >= 0) ::fsync(directory.get());
}

std::vector<std::byte> read_regular_file(const std::string& path, std::size_t limit) {
  // Without O_NONBLOCK opening a FIFO would wait for a writer.
  const File file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (file.get() < 0) fail(path, "cannot be opened", errno);
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) fail(path, "cannot be examined", errno);
  if (!S_ISREG(status.st_mode)) throw Error(Problem{.file = path, .what = "is not a regular file"});
  const auto size = static_cast<std::size_t>(status.st_size);
  if (size > limit)
    throw Error(Problem{.file = path,
                        .what = "is too large",
                        .value = fmt::format("{} bytes", size),
                        .allowed = fmt::format("at most {} bytes", limit)});
  std::vector<std::byte> bytes(size);
  std::size_t at = 0;
  while (at < size) {
    const ssize_t n = ::read(file.get(), bytes.data() + at, size - at);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) fail(path, "cannot be read", errno);
    if (n == 0) break;
    at += static_cast<std::size_t>(n);
  }
  bytes.resize(at);
  return bytes;
}

}  // namespace plenum::inline PLENUM_ABI
