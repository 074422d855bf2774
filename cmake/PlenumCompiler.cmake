# Compiler settings shared by every target of the house.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)

# ccache, when present; it must be told that precompiled headers are content, not timestamps.
find_program(PLENUM_CCACHE ccache)
if(PLENUM_CCACHE AND PROJECT_IS_TOP_LEVEL)
  set(CMAKE_CXX_COMPILER_LAUNCHER
      ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime
      ${PLENUM_CCACHE})
endif()

# Never -ffast-math: reassociation would let the optimizer choose the bits. Contraction to fused multiply-add is
# allowed, it depends on the binary alone; -fno-math-errno and -fno-trapping-math change no value.
function(plenum_compile_options target)
  target_compile_options(${target} PRIVATE -Wall -Wextra -fno-math-errno -fno-trapping-math)
  if(PLENUM_WERROR)
    target_compile_options(${target} PRIVATE -Werror)
  endif()
  # Vectors wider than the processor's registers never cross the library's interface: -Wno-psabi.
  if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    target_compile_options(${target} PRIVATE -ffp-contract=on -fpch-instantiate-templates -Wno-psabi)
  else()
    target_compile_options(${target} PRIVATE -ffp-contract=fast -fpch-preprocess -Wno-psabi)
    if(CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
      # GCC 12 warns of the undefined operand inside its own AVX-512 intrinsics (bug 105593); clang warns in its place.
      target_compile_options(${target} PRIVATE -Wno-maybe-uninitialized -Wno-uninitialized)
      # With AVX-512, GCC 12.2 copies a constant of 32 bytes by broadcasting its head, and so fills a tail of zeros
      # with the head: {a, a, 0, 0} becomes {a, a, a, a}. Moves of at most 16 bytes are right.
      if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64" AND CMAKE_CXX_COMPILER_VERSION VERSION_GREATER_EQUAL 12)
        target_compile_options(${target} PRIVATE -mmove-max=128 -mstore-max=128)
      endif()
    endif()
  endif()
  if(PLENUM_NATIVE)
    target_compile_options(${target} PRIVATE -march=native)
  endif()
  if(PLENUM_SANITIZE)
    target_compile_options(${target} PRIVATE -fsanitize=${PLENUM_SANITIZE} -fno-omit-frame-pointer)
    if(PLENUM_SANITIZE MATCHES "undefined")
      # Not what AddressSanitizer finds as well where it does harm, or a processor traps at: more than half of the time
      # that instrumented code takes to compile.
      target_compile_options(${target} PRIVATE -fno-sanitize-recover=all
        -fno-sanitize=null,alignment,pointer-overflow,object-size,vptr)
    endif()
    target_link_options(${target} PUBLIC -fsanitize=${PLENUM_SANITIZE})
  endif()
endfunction()

# Compiles files of one folder together, a few at a time: what a file costs is mostly the headers and the templates
# that it shares with its neighbours. Call it when the target has all its sources: plenum_unite(target [files]).
function(plenum_unite target)
  if(NOT PLENUM_UNITE)
    return()
  endif()
  get_target_property(sources ${target} SOURCES)
  set(files_together 5)
  if(ARGC GREATER 1)
    set(files_together ${ARGV1})
  endif()
  foreach(source IN LISTS sources)
    if(NOT source MATCHES "\\.cpp$")
      continue()
    endif()
    get_filename_component(folder ${source} DIRECTORY)
    string(MAKE_C_IDENTIFIER "folder_${folder}" folder)
    if(NOT DEFINED ${folder})
      set(${folder} 0)
    endif()
    math(EXPR group "${${folder}} / ${files_together}")
    math(EXPR ${folder} "${${folder}} + 1")
    set_source_files_properties(${source} PROPERTIES UNITY_GROUP ${folder}_${group})
  endforeach()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
endfunction()

# What a library of the house needs, and what its users must agree on.
function(plenum_library target)
  plenum_compile_options(${target})
  target_include_directories(${target} PUBLIC
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/src> $<INSTALL_INTERFACE:include>)
  # Eigen chooses alignment, and with it the layout of structures and the allocator, from the processor flags of
  # each translation unit. Fixing it here keeps the binary interface the same for every flag a consumer uses.
  target_compile_definitions(${target} PUBLIC EIGEN_MPL2_ONLY EIGEN_MAX_ALIGN_BYTES=16
    EIGEN_MAX_STATIC_ALIGN_BYTES=0 EIGEN_DONT_PARALLELIZE)
  if(PLENUM_DOUBLE)
    target_compile_definitions(${target} PUBLIC PLENUM_DOUBLE)
  endif()
  target_compile_features(${target} PUBLIC cxx_std_20)
endfunction()
