// Package withdrawal keeps the list of icons and packs that the operator has withdrawn, for example
// because of a legal request. The list is one object of the store, apart from the releases, so that
// it holds in every release: earlier ones, those after a rollback, and those to come.
//
// The package imports icon and objectstore.
package withdrawal

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/iconedge/iconedge/icon"
	"github.com/iconedge/iconedge/objectstore"
)

// Key is the key of the list in the store.
const Key = "withdrawn.json"

// maxList is the largest list in bytes. It has room for some 40,000 items.
const maxList = 8 << 20

var (
	// ErrTarget means that a target is neither PACK nor PACK/NAME.
	ErrTarget = errors.New("a withdrawal takes PACK/NAME or PACK, in lower-case letters, digits and single hyphens")
	// ErrDamaged means that the object is not a list.
	ErrDamaged = errors.New("the list of withdrawn icons in the store is damaged")
	// ErrAlready means that the target is withdrawn already, or that it is not, for Undo.
	ErrAlready = errors.New("nothing to do")

	errFull = fmt.Errorf("the list has no room: it may have %d bytes; withdraw whole packs, or give shorter reasons", maxList)
)

// An Item is one withdrawal. It stays in the list after it was undone, as a record for audits.
// Times are in UTC, to the second.
type Item struct {
	Pack     string     `json:"pack"`
	Name     string     `json:"name,omitempty"` // empty: the whole pack
	Reason   string     `json:"reason,omitempty"`
	By       string     `json:"by"`
	At       time.Time  `json:"at"`
	UndoneBy string     `json:"undone_by,omitempty"`
	UndoneAt *time.Time `json:"undone_at,omitempty"` // nil: in force
}

// Target returns PACK/NAME or PACK.
func (i Item) Target() string {
	if i.Name == "" {
		return i.Pack
	}
	return i.Pack + "/" + i.Name
}

type list struct {
	Items []Item `json:"items"`
}

// Parse reads the content of the object. It ignores fields that a later version may add. The error
// is ErrDamaged.
func Parse(body []byte) ([]Item, *Set, error) {
	var l list
	if err := json.Unmarshal(body, &l); err != nil {
		return nil, nil, fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	for _, i := range l.Items {
		if _, _, err := parseTarget(i.Target()); err != nil {
			return nil, nil, fmt.Errorf("%w: %w", ErrDamaged, err)
		}
	}
	return l.Items, setOf(l.Items), nil
}

// Read returns the content of the object for Parse, or nil if nothing was ever withdrawn.
func Read(ctx context.Context, r objectstore.Reader) ([]byte, error) {
	body, err := objectstore.ReadAll(ctx, r, Key, maxList)
	switch {
	case errors.Is(err, objectstore.ErrNotExist):
		return nil, nil
	case errors.Is(err, objectstore.ErrTooLarge):
		return nil, fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	return body, err
}

// Load returns all items in the order in which they were withdrawn.
func Load(ctx context.Context, r objectstore.Reader) ([]Item, error) {
	body, err := Read(ctx, r)
	if err != nil || body == nil {
		return nil, err
	}
	items, _, err := Parse(body)
	return items, err
}

// Withdraw adds an item for a target, PACK/NAME or PACK, which need not exist in any release. The
// error is ErrTarget, ErrAlready, or one of the store.
func Withdraw(ctx context.Context, b objectstore.Bucket, target, reason, by string, now time.Time) error {
	pack, name, err := parseTarget(target)
	if err != nil {
		return err
	}
	return update(ctx, b, func(items []Item) ([]Item, error) {
		if inForce(items, target) >= 0 {
			return nil, fmt.Errorf("%w: %s is withdrawn already", ErrAlready, target)
		}
		return append(items, Item{Pack: pack, Name: name, Reason: reason, By: by, At: second(now)}), nil
	})
}

// Undo ends the withdrawal of a target. The error is ErrTarget, ErrAlready, or one of the store.
func Undo(ctx context.Context, b objectstore.Bucket, target, by string, now time.Time) error {
	if _, _, err := parseTarget(target); err != nil {
		return err
	}
	return update(ctx, b, func(items []Item) ([]Item, error) {
		i := inForce(items, target)
		if i < 0 {
			return nil, fmt.Errorf("%w: %s is not withdrawn", ErrAlready, target)
		}
		at := second(now)
		items[i].UndoneBy, items[i].UndoneAt = by, &at
		return items, nil
	})
}

// inForce returns the place of the item that withdraws a target, or -1.
func inForce(items []Item, target string) int {
	return slices.IndexFunc(items, func(i Item) bool { return i.UndoneAt == nil && i.Target() == target })
}

// update replaces the list by the result of change.
func update(ctx context.Context, b objectstore.Bucket, change func([]Item) ([]Item, error)) error {
	err := objectstore.Update(ctx, b, Key, func() ([]byte, error) {
		items, err := Load(ctx, b)
		if err != nil {
			return nil, err
		}
		if items, err = change(items); err != nil {
			return nil, err
		}
		body, err := json.MarshalIndent(list{items}, "", " ")
		if err == nil && len(body) >= maxList {
			err = errFull // rather than a list that no reader takes
		}
		return append(body, '\n'), err
	})
	if err != nil && !errors.Is(err, ErrAlready) {
		return fmt.Errorf("changing the list of withdrawn icons: %w", err)
	}
	return err
}

func parseTarget(target string) (pack, name string, err error) {
	pack, name, isIcon := strings.Cut(target, "/")
	if !icon.ValidKey(pack) || isIcon && !icon.ValidKey(name) {
		return "", "", ErrTarget
	}
	return pack, name, nil
}

func second(t time.Time) time.Time { return t.UTC().Truncate(time.Second) }
