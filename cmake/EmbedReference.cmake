# Writes OUTPUT, a header that holds every *.csv of FOLDER as text, so that the program needs no file at run time.
file(GLOB tables ${FOLDER}/*.csv)
list(SORT tables)
set(declarations "")
set(entries "")
foreach(table IN LISTS tables)
  get_filename_component(name ${table} NAME_WE)
  file(READ ${table} bytes HEX)
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${bytes}")
  string(APPEND declarations "inline constexpr unsigned char text_${name}[] = {${bytes}0};\n")
  string(APPEND entries "    {\"${name}\", reinterpret_cast<const char*>(text_${name}), sizeof text_${name} - 1},\n")
endforeach()
file(WRITE ${OUTPUT} "// Generated from validation/reference.
#pragma once
#include <cstddef>
namespace plenum::validation {
struct ReferenceFile { const char* name; const char* text; std::size_t size; };
${declarations}
inline const ReferenceFile reference_files[] = {
${entries}    {\"\", \"\", 0}};
}  // namespace plenum::validation
")
