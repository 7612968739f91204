/** The text of `--help`. */
export const help = `Copies icons of an iconedge service into a project, as components without any dependency.

  iconedge-react add mdi/home lucide/arrow-left --out src/icons --api https://icons.example.org

Commands
  init                   write iconedge.json, the config file
  add PACK/NAME …        copy icons in
  list [PACK/NAME …]     list the copied icons with their licences
  diff [PACK/NAME …]     show the changes that update would make
  update [PACK/NAME …]   copy the icons again, in their current form
  remove PACK/NAME …     remove copied icons
  types PACK …           declare the names of packs, for <Icon pack name>

Options (also in iconedge.json, except the last four)
  --api BASE             the service's address, before /api/v1 (or ICONEDGE_API)
  --out DIR              folder of the copied icons (src/icons)
  --format FORMAT        tsx, jsx or svg (tsx)
  --commercial           refuse icons that may not be used commercially
  --index                maintain an index file of the components
  --stroke WIDTH         width of the strokes of added icons, 0.25 to 4; update keeps it
  --file FILE            output of types (src/iconedge-names.d.ts)
  --dry-run              write nothing, and print the planned changes
  --force                overwrite files that were changed by hand
  --help, --version

If ICONEDGE_LICENSE_TOKEN is set, it is sent to the service.

Exit status: 0 success; 1 an icon was rejected or could not be fetched; 2 wrong call; 3 diff found differences.
`;
