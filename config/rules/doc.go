// Package rules compiles the rules of a configuration file and decides by them about requests.
//
// Compile makes a Table of a file: the sites by their hosts, and the rules of each site with an
// index of their paths. Site.Decide returns the Decision about a request, and Site.Explain why.
// Both are pure functions of the request, except for the count of limits, which the caller keeps.
package rules
