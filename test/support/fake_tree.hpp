#pragma once

#include <filesystem>
#include <initializer_list>
#include <string>
#include <string_view>

namespace koordlet::test {

/// Real files in a private temporary folder that goes away with the object. Good for reading odd
/// kernel content; it is no cgroupfs (writes never fail with EINVAL and never read back
/// normalised): use FakeCgroups for that.
class FakeTree {
 public:
  struct File {
    std::string path;
    std::string body;
  };
  FakeTree() : FakeTree({}) {}
  FakeTree(std::initializer_list<File> files);
  ~FakeTree();
  FakeTree(const FakeTree&) = delete;
  FakeTree& operator=(const FakeTree&) = delete;

  std::string root() const { return root_.string(); }
  std::string path(std::string_view relative) const { return (root_ / relative).string(); }
  void write(std::string_view relative, std::string_view body) const;  ///< makes parent folders
  void mkdir(std::string_view relative) const;
  void remove(std::string_view relative) const;  ///< file or folder
  std::string read(std::string_view relative) const;

 private:
  std::filesystem::path root_;
};

}  // namespace koordlet::test
