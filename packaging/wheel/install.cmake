# The component "wheel": the program, and beside it the libraries that it needs but for the C library's. They find each other
# by the program's DT_RPATH, which, unlike DT_RUNPATH, also holds for what libraries need.
set_target_properties(zarrfs PROPERTIES INSTALL_RPATH "$ORIGIN/../lib")
target_link_options(zarrfs PRIVATE -Wl,--disable-new-dtags)
install(TARGETS zarrfs RUNTIME DESTINATION zarrfs/bin COMPONENT wheel)
install(CODE [[
  set(package ${CMAKE_INSTALL_PREFIX}/zarrfs)
  file(GET_RUNTIME_DEPENDENCIES EXECUTABLES ${package}/bin/zarrfs RESOLVED_DEPENDENCIES_VAR libraries
       PRE_EXCLUDE_REGEXES "^ld-linux" "^lib(c|m|dl|rt|pthread|resolv)\\.so")
  file(MAKE_DIRECTORY ${package}/lib)
  foreach(library ${libraries})
    get_filename_component(name ${library} NAME)
    file(REAL_PATH ${library} file)
    configure_file(${file} ${package}/lib/${name} COPYONLY)
    execute_process(COMMAND strip --strip-unneeded ${package}/lib/${name} COMMAND_ERROR_IS_FATAL ANY)
  endforeach()
  execute_process(COMMAND strip ${package}/bin/zarrfs COMMAND_ERROR_IS_FATAL ANY)
]] COMPONENT wheel)
