// See damage.h.
#include "test/fuzz/damage.h"

#include <algorithm>
#include <string>
#include <string_view>

namespace fuzzing {

namespace {

constexpr std::size_t kHead = 300; // most formats have their sizes in their first bytes

// Half of the time in the head of the file.
std::size_t place(const Bytes& file, Random& random) {
  return below(random, random() % 2 == 0 ? std::min(file.size(), kHead) : file.size());
}

// A boundary of some width, or a size that is nearly that of the file.
std::uint64_t boundary(const Bytes& file, Random& random) {
  const std::uint64_t near = random() % 3 - 1;
  switch (random() % 4) {
  case 0:
    return (std::uint64_t{1} << (random() % 64)) + near;
  case 1:
    return file.size() + near;
  case 2:
    return file.size() / (1 + random() % 8) + near;
  default:
    return near;
  }
}

void number(Bytes& file, Random& random) {
  const std::size_t width = std::size_t{1} << (random() % 4), at = place(file, random);
  if (at + width > file.size()) return;
  const std::uint64_t value = boundary(file, random);
  const bool high_first = random() % 2 == 0;
  for (std::size_t i = 0; i < width; ++i) file[at + i] = static_cast<std::byte>(value >> (8 * (high_first ? width - 1 - i : i)));
}

bool is_digit(std::byte b) { return b >= std::byte{'0'} && b <= std::byte{'9'}; }

// A number in digits becomes another text of the same length, with blanks behind it where it is shorter; what does not fit covers
// what stands behind it. So fields keep their places.
void digits(Bytes& file, Random& random) {
  constexpr std::string_view kTexts[] = {"0",   "-1",  "1",    "99999999", "1e999", "nan",  "-inf",       ".",     "+",
                                         "1/2", "007", "#x7f", "1e-9",     " ",     "\xff", "2147483648", "1e308", "65536"};
  auto at = std::find_if(file.begin() + static_cast<std::ptrdiff_t>(place(file, random)), file.end(), is_digit);
  const auto end = std::find_if_not(at, file.end(), is_digit);
  const std::string text = random() % 2 == 0 ? std::string(kTexts[random() % std::size(kTexts)])
                                             : std::to_string(static_cast<std::int64_t>(boundary(file, random)));
  for (std::size_t i = 0; at != file.end() && (i < text.size() || at < end); ++i)
    *at++ = i < text.size() ? static_cast<std::byte>(text[i]) : std::byte{' '};
}

void ends_early(Bytes& file, Random& random) { file.resize(below(random, file.size() + 1)); }

void goes_on(Bytes& file, Random& random) {
  const std::byte filling = random() % 2 == 0 ? std::byte{0} : static_cast<std::byte>(random());
  file.resize(file.size() + 1 + random() % 64, filling);
}

// A part is put elsewhere: there twice, or no longer where it was.
void part(Bytes& file, Random& random) {
  const std::size_t from = place(file, random), size = std::min(file.size() - from, std::size_t{1} << (random() % 9));
  const auto begin = file.begin() + static_cast<std::ptrdiff_t>(from);
  const Bytes taken(begin, begin + static_cast<std::ptrdiff_t>(size));
  const std::size_t kind = random() % 3;
  if (kind != 0) file.erase(begin, begin + static_cast<std::ptrdiff_t>(size));
  if (kind != 1)
    file.insert(file.begin() + static_cast<std::ptrdiff_t>(below(random, file.size() + 1)), taken.begin(), taken.end());
}

void one_byte(Bytes& file, Random& random) {
  constexpr std::string_view kBytes{"\0\1\x7f\x80\xff\x14\x15\n\r\"',;:[]{}\\ \t.-+e", 25};
  if (!file.empty())
    file[place(file, random)] =
        static_cast<std::byte>(random() % 2 == 0 ? random() : static_cast<unsigned char>(kBytes[random() % kBytes.size()]));
}

} // namespace

Bytes damaged(Bytes file, Random& random, std::size_t most) {
  constexpr void (*kKinds[])(Bytes&, Random&) = {number, number, digits, digits, one_byte, one_byte, part, ends_early, goes_on};
  for (std::size_t left = 1 + random() % 3; left > 0; --left) kKinds[random() % std::size(kKinds)](file, random);
  file.resize(std::min(file.size(), most));
  return file;
}

} // namespace fuzzing
