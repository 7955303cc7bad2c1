# Writes the package's software bill of materials (SPDX 2.3, JSON): the program and every library that it, or its module,
# really loads, with the version of the distribution's package that holds it; and the libraries of headers alone.
# Run while installing, behind what it looks at. usage: cmake -DPROGRAMS=<list> -DMODULES=<list> -DHEADERS=<package list>
#   -DVERSION=<ours> -DOUTPUT=<file> -P Sbom.cmake

cmake_minimum_required(VERSION 3.25)

# Licences of what we link ourselves (SPDX's names); the others' are the distribution's to tell.
set(licences
  "libboost.* -> BSL-1.0" "libcli11-dev -> BSD-3-Clause" "nlohmann-json3-dev -> MIT" "libfmt.* -> MIT"
  "libyaml-0-.* -> MIT" "libpugixml.* -> MIT" "libsimdjson.* -> Apache-2.0" "libsqlite3-0 -> blessing" "zlib1g -> Zlib" "libmimalloc.* -> MIT"
  "libssl3.* -> Apache-2.0" "libsimgrid.* -> LGPL-2.1-only" "libc6 -> LGPL-2.1-or-later"
  "(libstdc[+][+]6|libgcc-s1) -> GPL-3.0-or-later WITH GCC-exception-3.1")

# Sets `packages` to the distribution's packages that hold these files, and to "file:NAME" for those that nobody knows.
function(find_packages_of)
  set(paths "")
  foreach(file IN LISTS ARGN)
    file(REAL_PATH "${file}" real)
    # The database may know a file by its place from before /bin and /lib were merged into /usr.
    string(REGEX REPLACE "^/usr/" "/" before "${real}")
    list(APPEND paths "${real}" "${before}")
  endforeach()
  execute_process(COMMAND dpkg-query -S ${paths} OUTPUT_VARIABLE answer ERROR_QUIET)
  set(packages "")
  foreach(file IN LISTS ARGN)
    file(REAL_PATH "${file}" real)
    cmake_path(GET real FILENAME name)
    string(REGEX REPLACE "^/usr/" "/" before "${real}")
    string(REGEX REPLACE "([][+.*()^$])" "\\\\\\1" before "${before}")
    if(answer MATCHES "(^|\n)([^:, \n]+)[^\n]*: (/usr)?${before}(\n|$)")
      list(APPEND packages "${CMAKE_MATCH_2}")
    else()
      list(APPEND packages "file:${name}")
    endif()
  endforeach()
  list(REMOVE_DUPLICATES packages)
  return(PROPAGATE packages)
endfunction()

# Adds a package and its relation to ours to the document.
function(add_package name version licence purl)
  string(REGEX REPLACE "[^A-Za-z0-9.-]" "-" id "SPDXRef-Package-${name}")
  set(entry [[{"downloadLocation": "NOASSERTION", "filesAnalyzed": false, "licenseConcluded": "NOASSERTION",
    "copyrightText": "NOASSERTION"}]])
  string(JSON entry SET "${entry}" name "\"${name}\"")
  string(JSON entry SET "${entry}" SPDXID "\"${id}\"")
  string(JSON entry SET "${entry}" versionInfo "\"${version}\"")
  string(JSON entry SET "${entry}" licenseDeclared "\"${licence}\"")
  if(purl)
    string(JSON entry SET "${entry}" externalRefs
      "[{\"referenceCategory\": \"PACKAGE-MANAGER\", \"referenceType\": \"purl\", \"referenceLocator\": \"${purl}\"}]")
  endif()
  string(JSON count LENGTH "${document}" packages)
  string(JSON document SET "${document}" packages ${count} "${entry}")
  set(relation [[{"spdxElementId": "SPDXRef-DOCUMENT", "relationshipType": "DESCRIBES"}]])
  if(count GREATER 0)
    set(relation [[{"spdxElementId": "SPDXRef-Package-gradwire", "relationshipType": "DEPENDS_ON"}]])
  endif()
  string(JSON relation SET "${relation}" relatedSpdxElement "\"${id}\"")
  string(JSON document SET "${document}" relationships ${count} "${relation}")
  return(PROPAGATE document)
endfunction()

# Adds a package of the distribution; `otherwise` is its name where there is none of it.
function(add_distribution_package package otherwise)
  set(version NOASSERTION)
  set(licence NOASSERTION)
  set(purl "")
  if(package)
    string(REPLACE "+" "[+]" pattern "${package}")
    if(versions MATCHES "(^|\n)${pattern} ([^\n]+)\n")
      set(version "${CMAKE_MATCH_2}")
      string(REPLACE "+" "%2B" escaped "${version}")
      string(REPLACE ":" "%3A" escaped "${escaped}")
      set(purl "pkg:deb/${distribution}/${package}@${escaped}")
    endif()
    foreach(rule IN LISTS licences)
      if(rule MATCHES "^(.+) -> (.+)$")
        set(known "${CMAKE_MATCH_2}")
        if(package MATCHES "^${CMAKE_MATCH_1}$")
          set(licence "${known}")
        endif()
      endif()
    endforeach()
    set(otherwise "${package}")
  endif()
  add_package("${otherwise}" "${version}" "${licence}" "${purl}")
  return(PROPAGATE document)
endfunction()

set(distribution linux)
if(EXISTS /etc/os-release)
  file(STRINGS /etc/os-release line REGEX "^ID=")
  string(REGEX REPLACE "^ID=\"?([a-z]+)\"?$" "\\1" distribution "${line}")
endif()
string(TIMESTAMP now "%Y-%m-%dT%H:%M:%SZ" UTC)  # SOURCE_DATE_EPOCH, where that is set
set(document [[{"spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT",
  "creationInfo": {"creators": ["Tool: gradwire-cmake"]}, "packages": [], "relationships": []}]])
string(JSON document SET "${document}" name "\"gradwire-${VERSION}\"")
string(JSON document SET "${document}" creationInfo created "\"${now}\"")
add_package(gradwire "${VERSION}" Apache-2.0 "")

file(GET_RUNTIME_DEPENDENCIES EXECUTABLES ${PROGRAMS} MODULES ${MODULES}
  RESOLVED_DEPENDENCIES_VAR libraries UNRESOLVED_DEPENDENCIES_VAR missing)
if(missing)
  message(FATAL_ERROR "the program links libraries that are not there: ${missing}")
endif()
find_packages_of(${libraries})
list(APPEND packages ${HEADERS})
list(REMOVE_DUPLICATES packages)
list(SORT packages)
execute_process(COMMAND dpkg-query -W -f "\${Package} \${Version}\n" ${packages} OUTPUT_VARIABLE versions ERROR_QUIET)
foreach(package IN LISTS packages)
  if(package MATCHES "^file:(.*)$")
    add_distribution_package("" "${CMAKE_MATCH_1}")
  else()
    add_distribution_package("${package}" "")
  endif()
endforeach()
string(SHA1 digest "${document}")
string(JSON document SET "${document}" documentNamespace
  "\"https://spdx.org/spdxdocs/gradwire-${VERSION}-${digest}\"")
file(WRITE "${OUTPUT}" "${document}\n")
