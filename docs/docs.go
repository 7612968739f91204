// Package docs embeds the documents of this folder and the images in them, so that the site of an
// origin shows the documents of its own version.
package docs

import "embed"

// Files has the documents in Markdown, and their images, by their paths in this folder.
//
//go:embed README.md */*.md how-to/runbooks/*.md reference/performance/lab-book.md reference/*/*.svg
//go:embed how-to/images/*.png how-to/images/home-1440-*.webp how-to/images/icon-1440-*.webp how-to/images/pack-768-*.webp
//go:embed how-to/images/results-1440-dark.webp how-to/images/results-320-light.webp how-to/images/icon-320-dark.webp
var Files embed.FS
