package lsp

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"

	client "github.com/iconedge/iconedge/clients/go"
	"github.com/iconedge/iconedge/clients/go/output"
	"github.com/iconedge/iconedge/clients/go/reference"
	"github.com/iconedge/iconedge/icon"
)

const insertCommand = "iconedge.insert"

type codeAction struct {
	Title       string          `json:"title"`
	Kind        string          `json:"kind"`
	Diagnostics []diagnostic    `json:"diagnostics,omitempty"`
	IsPreferred bool            `json:"isPreferred,omitempty"`
	Edit        json.RawMessage `json:"edit,omitempty"`
	Command     *command        `json:"command,omitempty"`
}

type command struct {
	Title     string `json:"title"`
	Command   string `json:"command"`
	Arguments []any  `json:"arguments"`
}

func (s *server) codeActions(params json.RawMessage) (run, error) {
	var p struct {
		TextDocument struct{ URI string }
		Range        span
		Context      struct{ Only []string }
	}
	if json.Unmarshal(params, &p) != nil {
		return nil, invalid()
	}
	d, editor := s.documents[p.TextDocument.URI], s.editor
	if d == nil {
		return nil, nil
	}
	start, end := d.offset(p.Range.Start), d.offset(p.Range.End)
	wants := func(kind string) bool {
		return len(p.Context.Only) == 0 || slices.ContainsFunc(p.Context.Only, func(only string) bool {
			return only == "" || kind == only || strings.HasPrefix(kind, only+".")
		})
	}
	return func(ctx context.Context) (any, error) {
		found, err := s.references(ctx, d)
		if err != nil {
			s.tell(err)
		}
		list := []codeAction{}
		for _, r := range found {
			if r.End < start || r.Start > end {
				continue
			}
			ref, _, err := s.icons.resolve(ctx, r, client.Variant{})
			e, failed := errors.AsType[*client.Error](err)
			switch {
			case err == nil && wants("refactor.rewrite"):
				list = append(list, rewrites(d, r, ref)...)
			case failed && e.Status == http.StatusNotFound && wants("quickfix"):
				list = append(list, fixes(d, r, e, editor)...)
			case failed && e.Status != http.StatusNotFound && e.Status != http.StatusGone:
				s.tell(err)
			}
			if len(list) >= 50 {
				break
			}
		}
		return list, nil
	}, nil
}

// fixes replaces an unknown name by each close one.
func fixes(d *document, r reference.Reference, e *client.Error, ed editor) (list []codeAction) {
	for n, name := range closeNames(r, e) {
		list = append(list, codeAction{Title: "Replace by " + name, Kind: "quickfix", IsPreferred: n == 0,
			Diagnostics: []diagnostic{diagnosticOf(d, r, e)}, Edit: edit(d.uri, d.version, ed, textEdit{d.span(r.Start, r.End), name})})
	}
	return list
}

// rewrites replaces a reference by the icon itself.
func rewrites(d *document, r reference.Reference, ref icon.Ref) (list []codeAction) {
	word := d.text[r.Start:r.End]
	for _, form := range output.Forms {
		if form == "name" {
			continue
		}
		title := "Replace " + word + " by its " + map[string]string{"svg": "SVG", "react": "React component",
			"css": "CSS", "url": "address", "datauri": "data URI", output.PNG: "address of the PNG"}[form]
		list = append(list, codeAction{Title: title, Kind: "refactor.rewrite",
			Command: &command{title, insertCommand, []any{d.uri, d.span(r.Start, r.End), ref.String(), form}}})
	}
	return list
}

// edit returns a WorkspaceEdit. With a version, the editor refuses it after the document has
// changed.
func edit(uri string, version int, ed editor, e textEdit) json.RawMessage {
	if ed.versioned {
		return encode(map[string]any{"documentChanges": []any{map[string]any{
			"textDocument": map[string]any{"uri": uri, "version": version}, "edits": []textEdit{e}}}})
	}
	return encode(map[string]any{"changes": map[string][]textEdit{uri: {e}}})
}

// An insertion is the checked arguments of iconedge.insert.
type insertion struct {
	document *document
	at       span
	ref      icon.Ref
	form     string
	settings settings
	editor   editor
}

// execute runs iconedge.insert, whose arguments are uri, position (or range), ref and form.
func (s *server) execute(params json.RawMessage) (run, error) {
	var p struct {
		Command   string
		Arguments []json.RawMessage
	}
	if json.Unmarshal(params, &p) != nil {
		return nil, invalid()
	}
	if p.Command != insertCommand {
		return nil, &rpcError{codeInvalidParams, "the only command is " + insertCommand}
	}
	in, err := s.insertion(p.Arguments)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) (any, error) { return nil, s.insert(ctx, in) }, nil
}

// insertion reads the arguments of the command, as a list or as one object; the caller holds the
// lock.
func (s *server) insertion(args []json.RawMessage) (in insertion, err error) {
	var uri, ref string
	wrong := &rpcError{codeInvalidParams, insertCommand +
		" takes a uri, a position, an icon such as mdi:home, and a form: auto, " + strings.Join(output.Forms, ", ")}
	if len(args) == 1 {
		var o struct{ URI, Position, Ref, Form json.RawMessage }
		if json.Unmarshal(args[0], &o) == nil {
			args = []json.RawMessage{o.URI, o.Position, o.Ref, o.Form}
		}
	}
	if len(args) < 3 || json.Unmarshal(args[0], &uri) != nil || json.Unmarshal(args[2], &ref) != nil {
		return in, wrong
	}
	var at struct {
		position
		Start, End *position
	}
	if json.Unmarshal(args[1], &at) != nil {
		return in, wrong
	}
	in.at = span{at.position, at.position}
	if at.Start != nil && at.End != nil {
		in.at = span{*at.Start, *at.End}
	}
	in.settings, in.editor, in.form = s.settings, s.editor, s.settings.insertAs
	if len(args) > 3 && len(args[3]) > 0 && string(args[3]) != "null" && json.Unmarshal(args[3], &in.form) != nil {
		return in, wrong
	}
	if in.form != output.Auto && !slices.Contains(output.Forms, in.form) {
		return in, wrong
	}
	if in.ref, err = icon.ParseRef(strings.Replace(ref, ":", "/", 1)); err != nil {
		return in, wrong
	}
	if in.document = s.documents[uri]; in.document == nil {
		return in, &rpcError{codeInvalidParams, "the document is not open"}
	}
	return in, nil
}

// insert requests the icon and lets the editor insert it.
func (s *server) insert(ctx context.Context, in insertion) error {
	v, d := in.settings.variant, in.document
	answer, err := s.icons.get(ctx, in.ref, v)
	if err != nil {
		return err
	}
	i, err := output.Of(in.ref, answer)
	if err != nil {
		return err
	}
	if err := s.confirm(ctx, i); err != nil {
		return err
	}
	if v.ID = freePrefix(i.SVG, d.text); v.ID != "" && output.Choose(in.form, d.language) == "svg" {
		if answer, err = s.icons.get(ctx, in.ref, v); err != nil {
			return err
		}
		if i, err = output.Of(in.ref, answer); err != nil {
			return err
		}
	}
	o := output.Options{CDN: s.icons.client.CDN(), Variant: v}
	text, err := output.Insert(in.form, d.language, i, o, in.settings.credit)
	if err != nil {
		return err
	}
	var applied struct {
		Applied       bool
		FailureReason string
	}
	params := map[string]any{"label": "Insert " + in.ref.String(), "edit": edit(d.uri, d.version, in.editor, textEdit{in.at, text})}
	if err := s.conn.ask(ctx, "workspace/applyEdit", params, &applied); err != nil {
		return err
	}
	if !applied.Applied {
		return &rpcError{codeFailed, "the editor did not insert the icon; " + client.Line(applied.FailureReason)}
	}
	return nil
}

// idAttribute matches the id of an element.
var idAttribute = regexp.MustCompile(` id="([^"]+)"`)

// freePrefix returns the prefix that makes the ids of an SVG differ from all of a document; empty:
// they do already. A browser takes the first element of an id, so that a second copy of an icon
// would be painted with the gradients of the first, or not at all where that one is hidden.
func freePrefix(svg, document string) string {
	prefix := ""
	for n := 2; slices.ContainsFunc(idAttribute.FindAllStringSubmatch(svg, -1), func(m []string) bool {
		return strings.Contains(document, ` id="`+prefix+m[1]+`"`)
	}); n++ {
		prefix = "c" + strconv.Itoa(n) + "_"
	}
	return prefix
}

// confirm asks once a session before an icon is inserted that may not be used commercially.
func (s *server) confirm(ctx context.Context, i output.Icon) error {
	s.mu.Lock()
	confirmed := s.confirmed
	s.mu.Unlock()
	if confirmed || i.Credit.CommercialUse {
		return nil
	}
	const accept = "Insert"
	var choice struct{ Title string }
	question := i.Ref.String() + " is licensed " + i.Credit.License + ": non-commercial use only. Insert it?"
	err := s.conn.ask(ctx, "window/showMessageRequest", map[string]any{"type": typeWarning, "message": question,
		"actions": []map[string]string{{"title": accept}, {"title": "Cancel"}}}, &choice)
	if err != nil || choice.Title != accept {
		return &rpcError{codeFailed, i.Ref.String() + " was not inserted: its license allows non-commercial use only."}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.confirmed = true
	return nil
}
