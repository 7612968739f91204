package lsp

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"

	client "github.com/iconedge/iconedge/clients/go"
	"github.com/iconedge/iconedge/clients/go/output"
	"github.com/iconedge/iconedge/icon"
)

// maxPicture is the largest SVG, in bytes, that is shown in an editor.
const maxPicture = 64 << 10

func (s *server) hover(params json.RawMessage) (run, error) {
	d, offset, err := s.at(params)
	if err != nil || d == nil {
		return nil, err
	}
	markdown, variant := s.editor.markdown, s.settings.variant
	return func(ctx context.Context) (any, error) {
		r, ok, err := s.referenceAt(ctx, d, offset)
		if err != nil {
			s.tell(err)
		}
		inCode := false
		if !ok {
			r, inCode = s.codeAt(ctx, d, offset)
		}
		if !ok && !inCode {
			return nil, nil
		}
		kind := "plaintext"
		if markdown {
			kind = "markdown"
		}
		text := ""
		ref, answer, err := s.icons.resolve(ctx, r, variant)
		if err == nil {
			s.succeeded()
			text, err = describe(ref, answer, s.icons.client.CDN(), markdown)
		}
		if err != nil {
			e, ok := errors.AsType[*client.Error](err)
			if ok && inCode && e.Status == http.StatusNotFound {
				return nil, nil // a component that is no icon
			}
			if !ok || e.Status != http.StatusNotFound && e.Status != http.StatusGone {
				s.tell(err)
				return nil, nil
			}
			text = e.Sentence
		}
		return map[string]any{"contents": map[string]string{"kind": kind, "value": text}, "range": d.span(r.Start, r.End)}, nil
	}, nil
}

// describe returns a text about an icon: its picture in Markdown, its name, licence and credit.
func describe(ref icon.Ref, a *icon.Answer, cdn string, markdown bool) (string, error) {
	i, err := output.Of(ref, a)
	if err != nil {
		return "", err
	}
	address := output.Address(i, output.Options{CDN: cdn})
	var lines []string
	if markdown && len(i.SVG) <= maxPicture {
		lines = append(lines, "!["+ref.String()+"]("+output.DataURI(i.SVG)+")")
	}
	name, plain := ref.String(), func(s string) string { return s }
	if markdown {
		name, plain = "**["+ref.String()+"]("+address+")**", escapeMarkdown
	}
	if alias := a.Metadata.AliasOf; alias != nil && icon.ValidKey(*alias) {
		name += ", alias of " + *alias
	}
	lines = append(lines, name, "License: "+plain(i.Credit.License))
	if !i.Credit.CommercialUse {
		lines[len(lines)-1] += ", non-commercial: it may not be used commercially"
	}
	lines = append(lines, "Credit: "+plain(i.Credit.Attribution))
	return strings.Join(lines, "\n\n"), nil
}

// escapeMarkdown makes a line of the API literal text of Markdown (CommonMark, section 2.4).
func escapeMarkdown(s string) string {
	var b strings.Builder
	for _, r := range s {
		if strings.ContainsRune("\\`*_{}[]<>()#!|&~", r) {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	return strings.ReplaceAll(b.String(), "://", ":/\u200b/") // no address becomes a link
}

// links returns a link to the CDN for each reference of a document.
func (s *server) links(params json.RawMessage) (run, error) {
	d, _, err := s.at(params)
	if err != nil || d == nil {
		return nil, err
	}
	return func(ctx context.Context) (any, error) {
		type link struct {
			Range   span   `json:"range"`
			Target  string `json:"target"`
			Tooltip string `json:"tooltip"`
		}
		found, err := s.references(ctx, d)
		if err != nil {
			s.tell(err)
		}
		list := []link{}
		for _, r := range found {
			target := output.Address(output.Icon{Ref: r.Ref}, output.Options{CDN: s.icons.client.CDN()})
			list = append(list, link{d.span(r.Start, r.End), target, "Open " + r.Ref.String()})
		}
		return list, nil
	}, nil
}
