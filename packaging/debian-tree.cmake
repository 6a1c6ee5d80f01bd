# Run by CPack on the tree that the Debian package is made of: what Debian's policy asks for beyond what is installed
# elsewhere, compressed manual pages and a changelog in its own form.
file(GLOB pages ${CPACK_TEMPORARY_INSTALL_DIRECTORY}/usr/share/man/man*/*.[18])
string(TIMESTAMP now "%a, %d %b %Y %H:%M:%S +0000" UTC)
set(changelog ${CPACK_TEMPORARY_INSTALL_DIRECTORY}/usr/share/doc/zarrfs/changelog)
file(WRITE ${changelog} "zarrfs (${CPACK_PACKAGE_VERSION}) unstable; urgency=medium

  * Release ${CPACK_PACKAGE_VERSION}: what is new is in CHANGELOG.md.

 -- ${CPACK_PACKAGE_CONTACT}  ${now}
")
execute_process(COMMAND gzip --best --no-name --force ${pages} ${changelog} COMMAND_ERROR_IS_FATAL ANY)
