package client_test

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"

	client "github.com/iconedge/iconedge/clients/go"
	"github.com/iconedge/iconedge/icon"
)

// A program searches icons, and gets the first as SVG.
func Example() {
	// This service stands for an edge.
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if r.URL.Path == "/api/v1/search" {
			fmt.Fprint(w, `{"results":[{"pack":"mdi","name":"home","license":"Apache-2.0","commercial_use":true}]}`)
			return
		}
		fmt.Fprint(w, `{"svg":"<svg/>","license":"Apache-2.0","metadata":{"attribution":"Home by Pictogrammers"}}`)
	}))
	defer service.Close()

	c := client.New(client.Config{API: service.URL, Agent: "example/1.0"})
	found, err := c.Search(context.Background(), client.Query{Text: "home", Limit: 1})
	if err != nil {
		log.Fatal(err)
	}
	for _, hit := range found.Results {
		one, err := c.Icon(context.Background(), icon.Ref{Pack: hit.Pack, Name: hit.Name}, client.Sized("", 24))
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(hit.Pack, hit.Name, one.SVG, one.Metadata.Attribution)
	}
	// Output: mdi home <svg/> Home by Pictogrammers
}

// CreditOf says what a licence obliges a user of an icon to do.
func ExampleCreditOf() {
	fmt.Println(client.CreditOf("CC-BY-4.0", "Home by A", true))
	// Output: license CC-BY-4.0; attribution: Home by A
}
