// Package rules compiles the rules of a configuration file and decides by them about requests.
//
// Compile makes a Table of a file: the sites by their hosts, and the rules of each site with an
// index of their paths. Site.Decide returns the Decision about a request, and Site.Explain why.
// Both are pure functions of the request: the caller counts limits, checks passwords and asks the
// servers of sign-ons. An Outcome is a Decision that depends on the matching rules alone; the hit
// path has it without deciding again.
package rules
