// Package config reads the configuration file of an edge: sites, origins and rules in YAML. It
// expands environment variables and files in its values, and reports everything that is wrong with
// a file as findings, each with its line.
//
// Load reads a file. Package rules compiles the rules of its sites, and Schema describes the form
// of a file as a JSON Schema. Only the names and forms of values are decided here; the edge decides
// about their effect.
package config
