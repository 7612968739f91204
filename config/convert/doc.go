// Package convert translates configuration of nginx into a file of sites. It keeps what nginx does
// exactly, or leaves it out and says so in a Note. What protects a location, or may do so because
// the package does not know it, is never dropped: if it can't be translated, the edge refuses the
// requests of the location with a 503.
//
// parse.go reads the directives, nginx.go translates servers, locations.go the order in which
// locations match, and content.go and settings.go what the directives of one mean. The package
// decides nothing about requests, and starts nothing; config check reads its output as any other
// file.
package convert
