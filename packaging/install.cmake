# What is installed, and the Debian package. meson.build installs the same files.
install(TARGETS zarrfs RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
# mount(8) runs mount.TYPE from /sbin; the program knows by this name how it was called.
file(RELATIVE_PATH HELPER_TARGET ${CMAKE_INSTALL_FULL_SBINDIR} ${CMAKE_INSTALL_FULL_BINDIR}/zarrfs)
file(CREATE_LINK ${HELPER_TARGET} ${CMAKE_BINARY_DIR}/mount.zarrfs SYMBOLIC)
install(FILES ${CMAKE_BINARY_DIR}/mount.zarrfs DESTINATION ${CMAKE_INSTALL_SBINDIR})

file(GLOB MAN1 CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/packaging/man/*.1)
install(FILES ${MAN1} DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
install(FILES packaging/man/mount.zarrfs.8 DESTINATION ${CMAKE_INSTALL_MANDIR}/man8)

install(FILES packaging/completions/zarrfs.bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions
        RENAME zarrfs)
install(FILES packaging/completions/_zarrfs DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
install(FILES packaging/completions/zarrfs.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)

# The units name the program by its full path, which is known when it is installed.
install(CODE "set(units ${CMAKE_SOURCE_DIR}/packaging/systemd)
  set(made ${CMAKE_BINARY_DIR})
  set(bindir ${CMAKE_INSTALL_BINDIR})")
install(CODE [[
  get_filename_component(BINDIR "${bindir}" ABSOLUTE BASE_DIR "${CMAKE_INSTALL_PREFIX}")
  foreach(unit zarrfs@.service zarrfs-serve@.service)
    configure_file(${units}/${unit}.in ${made}/${unit} @ONLY)
    file(INSTALL ${made}/${unit} DESTINATION "${CMAKE_INSTALL_PREFIX}/lib/systemd/system")
  endforeach()
]])
install(FILES packaging/systemd/zarrfs.sysusers DESTINATION lib/sysusers.d RENAME zarrfs.conf)
install(FILES packaging/examples/fstab packaging/examples/automount packaging/examples/modprobe.conf README.md CHANGELOG.md SECURITY.md
        DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/zarrfs)
# README.md links to these.
install(DIRECTORY docs DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/zarrfs FILES_MATCHING PATTERN *.md PATTERN *.png PATTERN *.svg)
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/zarrfs RENAME copyright)

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME zarrfs)
set(CPACK_PACKAGE_VENDOR "the zarrfs developers")
set(CPACK_PACKAGE_CONTACT "the zarrfs developers <developers@zarrfs.invalid>")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION utils)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_CONTROL_EXTRA ${CMAKE_SOURCE_DIR}/packaging/postinst)
set(CPACK_DEBIAN_PACKAGE_DEPENDS "fuse3, ca-certificates")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "sharded Zarr v3 stores as one file per chunk")
set(CPACK_DEBIAN_PACKAGE_DESCRIPTION "Mounts a store of arrays in Zarr v3's sharding codec and shows it as an
unsharded Zarr v2 or v3 tree, with one file for each inner chunk, so that
programs that have never heard of sharding read it.")
set(CPACK_PRE_BUILD_SCRIPTS ${CMAKE_SOURCE_DIR}/packaging/debian-tree.cmake)
include(CPack)
