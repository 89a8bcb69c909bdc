# cmake -D OUT=x.cpp "-DFILES=a.js;b.css" -P embed.cmake: writes a source that defines
# koordlet::status_api::dashboard_assets() with the content, type and tag of each file.
set(type_html "text/html; charset=utf-8")
set(type_css "text/css; charset=utf-8")
set(type_js "text/javascript; charset=utf-8")
set(type_svg "image/svg+xml")

set(arrays "")
set(rows "")
set(index 0)
foreach(path IN LISTS FILES)
  get_filename_component(name ${path} NAME)
  get_filename_component(ending ${path} LAST_EXT)
  string(SUBSTRING ${ending} 1 -1 ending)
  if(NOT DEFINED type_${ending})
    message(FATAL_ERROR "${path}: no content type is known for .${ending}")
  endif()
  file(READ ${path} hex HEX)
  file(SHA256 ${path} digest)
  string(SUBSTRING ${digest} 0 16 tag)
  string(REGEX REPLACE "(..)" "0x\\1," bytes "${hex}")
  string(REGEX REPLACE "((0x..,){24})" "\\1\n" bytes "${bytes}")
  string(APPEND arrays "const unsigned char kFile${index}[] = {\n${bytes}};\n")
  string(APPEND rows "    {\"${name}\", \"${type_${ending}}\", \"\\\"${tag}\\\"\", text(kFile${index})},\n")
  math(EXPR index "${index} + 1")
endforeach()

file(WRITE ${OUT} "#include \"modules/status_api/dashboard.hpp\"

namespace koordlet::status_api {
namespace {

template <std::size_t N>
std::string_view text(const unsigned char (&bytes)[N]) {
  return {reinterpret_cast<const char*>(bytes), N};
}

${arrays}
}  // namespace

std::span<const Asset> dashboard_assets() {
  static const Asset all[] = {
${rows}  };
  return all;
}

}  // namespace koordlet::status_api
")
