package react_test

import (
	"fmt"

	"github.com/iconedge/iconedge/clients/go/react"
)

// Name makes the name of a component of the name of an icon.
func ExampleName() {
	fmt.Println(react.Name("mdi", "home-outline"))
	// Output: MdiHomeOutline
}
