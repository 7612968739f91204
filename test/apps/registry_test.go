package apps

// containers is a server of Go without another in front of it.
var containers = recipe{
	title: "A container registry", server: "docker-registry", client: "skopeo", schemes: []string{"http"},
	did: "an image of three layers, one of 15 MB, copied in, inspected, tagged, copied out twice and deleted", versions: registry.versions,
	start: func(v *visit) []string { return []string{"http://10.0.0.5:5000", registry.start(v.T)} },
	visit: func(v *visit) { registry.visit(v) },
}
