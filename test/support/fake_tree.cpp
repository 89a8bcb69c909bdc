#include "support/fake_tree.hpp"

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <stdexcept>

namespace koordlet::test {

FakeTree::FakeTree(std::initializer_list<File> files) {
  auto pattern = (std::filesystem::temp_directory_path() / "koordlet-test-XXXXXX").string();
  if (mkdtemp(pattern.data()) == nullptr) throw std::runtime_error{"mkdtemp failed: " + pattern};
  root_ = pattern;
  for (const auto& f : files) write(f.path, f.body);
}

FakeTree::~FakeTree() {
  std::error_code ignored;
  std::filesystem::remove_all(root_, ignored);
}

void FakeTree::write(std::string_view relative, std::string_view body) const {
  const auto target = root_ / relative;
  std::filesystem::create_directories(target.parent_path());
  std::ofstream{target, std::ios::binary | std::ios::trunc} << body;
}

void FakeTree::mkdir(std::string_view relative) const {
  std::filesystem::create_directories(root_ / relative);
}

void FakeTree::remove(std::string_view relative) const {
  std::filesystem::remove_all(root_ / relative);
}

std::string FakeTree::read(std::string_view relative) const {
  std::ostringstream out;
  out << std::ifstream{root_ / relative, std::ios::binary}.rdbuf();
  return out.str();
}

}  // namespace koordlet::test
