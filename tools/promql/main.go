// Command promql says which metrics and labels expressions of PromQL use, by Prometheus' own parser. It reads a JSON list of
// questions from stdin, {"expr": …, "labels": […]}, and writes a list of answers in the same order. The labels of a question are
// those that its reader wants of the result: a legend's, or an alert's description's.
//
// It is a module of its own because that parser brings a good part of Prometheus with it, of which the program needs nothing.
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
	Uses   map[string][]string `json:"uses,omitempty"`   // by metric, the labels that it must have
	Chosen []choice            `json:"chosen,omitempty"` // values that series are chosen by
	Lost   []string            `json:"lost,omitempty"`   // labels that an aggregation has taken away before they are used
	Error  string              `json:"error,omitempty"`  // why it can't be read
}

// A choice is one value by which series of a metric are chosen: of a="x" it is x, of a=~"x|y" there are two.
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
