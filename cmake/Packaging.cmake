# `cmake --install`, and `cpack -G DEB`: the program on the PATH, its data files under share/gradwire.
include(GNUInstallDirs)
install(TARGETS gradwire RUNTIME)
install(DIRECTORY profiles topologies scenarios DESTINATION ${CMAKE_INSTALL_DATADIR}/gradwire
  FILES_MATCHING PATTERN "*.yaml"
  PATTERN topologies/builders EXCLUDE
  PATTERN topologies/importers EXCLUDE)
install(FILES strategies/presets.yaml strategies/variables.yaml DESTINATION ${CMAKE_INSTALL_DATADIR}/gradwire/strategies)
install(DIRECTORY results/reference DESTINATION ${CMAKE_INSTALL_DATADIR}/gradwire/results FILES_MATCHING PATTERN "*.yaml")
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR} RENAME copyright)
install(FILES NOTICE SECURITY.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(FILES README.md CHANGELOG.md DESTINATION ${CMAKE_INSTALL_DOCDIR} OPTIONAL)

# What the package is made of, read off what was installed.
install(CODE "
  set(prefix \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}\")
  execute_process(COMMAND \"\${CMAKE_COMMAND}\"
    \"-DPROGRAMS=\${prefix}/${CMAKE_INSTALL_BINDIR}/gradwire\"
    \"-DMODULES=\${prefix}/lib/gradwire/libgradwire_simgrid.so\"
    \"-DHEADERS=libboost-dev;libcli11-dev;nlohmann-json3-dev\"
    \"-DVERSION=${PROJECT_VERSION}\"
    \"-DOUTPUT=\${prefix}/${CMAKE_INSTALL_DOCDIR}/sbom.spdx.json\"
    -P \"${CMAKE_CURRENT_LIST_DIR}/Sbom.cmake\" COMMAND_ERROR_IS_FATAL ANY)
")

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_PACKAGE_VENDOR "Gradwire")
set(CPACK_PACKAGE_CONTACT "The Gradwire authors")
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)         # the Depends line, by dpkg-shlibdeps
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS graphviz)  # draws topologies
include(CPack)
