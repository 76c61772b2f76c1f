# Writes GAR_COMMIT, "unknown" outside a git checkout; touches the file only when it changes.
execute_process(COMMAND git -C ${SOURCE} describe --always --dirty
  OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
if(NOT commit)
  set(commit unknown)
endif()
file(CONFIGURE OUTPUT ${OUT} CONTENT "// Written by the build.\n#define GAR_COMMIT \"${commit}\"\n")
