// Package publish makes a release of an icon library and makes it the current one. A publication
// takes these steps:
//
//  1. It reads the sources: folders and packages of icon data.
//  2. It reads the previous release from the store, as far as there is one.
//  3. It compares: an unchanged pack keeps its archive and its docs, its part of the search index.
//  4. It checks that the disk and the store have room for the release.
//  5. It builds the changed packs: every icon is cleaned, once (package svg), and written into the
//     archive of its pack. Finished packs of a publication that ended early are taken over.
//  6. It builds the search index of the docs, and the data for clients of Iconify.
//  7. It makes the manifest, and sums up what changes. A release that would remove much is refused,
//     unless the operator allows it. A dry run ends here.
//  8. It uploads the files that the store does not have yet, by their hashes, and replaces the
//     object current last.
//  9. It prunes: releases that are too many lose the files that no other release has.
//
// If a publication fails before step 8 has ended, the current release stays as it was, and the next
// publication finds the uploaded files by their hashes. With Options.Work it finds the packs of
// step 5 too. A second publication of the same sources
// writes nothing.
//
// # Vocabulary
//
// A source is a library as its authors have it. A pack is a set of icons with one licence. A blob
// is a file of the store, named by its SHA-256. The manifest lists the blobs of a release. A
// removal is a change by which names disappear.
//
// The package imports objectstore, and release, search and svg, which define the formats of
// archives, indexes and icons.
package publish
