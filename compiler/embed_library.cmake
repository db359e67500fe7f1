# Writes a C++ source that holds the files of Cairn's own library as text, in the order given. Run by the build:
#   cmake -DOUTPUT=FILE.cpp -DFILES=a.scm;b.scm -P embed_library.cmake
set(code "// Written by compiler/embed_library.cmake from compiler/library/*.scm.\n#include \"compiler/front/library.h\"\n\n#include <array>\n\n")
string(APPEND code "namespace cairn::compiler {\n\nnamespace {\n\n")
set(entries "")
list(LENGTH FILES count)
foreach(file ${FILES})
  cmake_path(GET file STEM name)
  file(READ ${file} text)
  string(APPEND entries "    LibraryFile{\"${name}\", R\"scheme(${text})scheme\"},\n")
endforeach()
string(APPEND code "constexpr std::array<LibraryFile, ${count}> kFiles = {\n${entries}};\n\n} // namespace\n\n")
string(APPEND code "std::span<const LibraryFile> library_files() { return kFiles; }\n\n} // namespace cairn::compiler\n")
file(WRITE ${OUTPUT} "${code}")
