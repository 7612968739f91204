/** What `--help` says. */
export const help = `Copies icons of an iconedge service into a project, as components without any dependency.

  iconedge-react add mdi/home lucide/arrow-left --out src/icons --api https://icons.example.org

Commands
  init                   write iconedge.json, the config file
  add PACK/NAME …        copy icons in
  list [PACK/NAME …]     what was copied, with its licence
  diff [PACK/NAME …]     what update would change
  update [PACK/NAME …]   copy again what was copied, as the service has it now
  remove PACK/NAME …     take copied icons away
  types PACK …           declare the names of packs, for <Icon pack name>

Options (also in iconedge.json, but for the last three)
  --api BASE             the service's address, before /api/v1 (or ICONEDGE_API)
  --out DIR              where copied icons are (src/icons)
  --format FORMAT        tsx, jsx or svg (tsx)
  --commercial           refuse icons that may not be used commercially
  --index                keep an index file of the components
  --file FILE            what types writes (src/iconedge-names.d.ts)
  --dry-run              write nothing, say what would be written
  --force                overwrite files that were changed by hand
  --help, --version

ICONEDGE_LICENSE_TOKEN is sent to the service when it is set.

Exit status: 0 done; 1 something was refused or could not be had; 2 the call was not understood; 3 diff found differences.
`;
