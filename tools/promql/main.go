// Command promql lists the metrics and labels that PromQL expressions use, with Prometheus' own
// parser. It reads a JSON list of questions from stdin, {"expr": …, "labels": […]}, and writes a
// list of answers in the same order. The labels of a question are those that the result must have,
// for a legend or an alert's description.
//
// It is a module of its own, because the parser depends on much of Prometheus, and the program
// needs none of it.
package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
)

type question struct {
	Expr   string   `json:"expr"`
	Labels []string `json:"labels"`
}

type answer struct {
	Uses   map[string][]string `json:"uses,omitempty"`   // the labels that each metric must have
	Chosen []choice            `json:"chosen,omitempty"` // the values in selectors
	// labels that are used after an aggregation has removed them
	Lost  []string `json:"lost,omitempty"`
	Error string   `json:"error,omitempty"` // why the expression cannot be parsed
}

// A choice is one value in a selector of a metric: a="x" has x, and a=~"x|y" has two.
type choice struct {
	Metric string `json:"metric"`
	Label  string `json:"label"`
	Value  string `json:"value"`
}

func main() {
	if err := answerAll(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "promql:", err)
		os.Exit(1)
	}
}

func answerAll(in io.Reader, out io.Writer) error {
	var asked []question
	if err := json.NewDecoder(in).Decode(&asked); err != nil {
		return fmt.Errorf("reading the questions: %w", err)
	}
	answers := make([]answer, len(asked))
	for i, q := range asked {
		answers[i] = look(q)
	}
	return json.NewEncoder(out).Encode(answers)
}
