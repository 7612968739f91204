package rules

import (
	"errors"
	"io"
	"net/http"
	"reflect"
	"regexp"
	"regexp/syntax"
	"strings"
	"unicode/utf8"

	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"

	"github.com/iconedge/iconedge/internal/glob"
)

// stepsPerRequest bounds what the rules of one request cost together: about 5 ms of a slow core. It
// counts steps instead of time, so that a busy machine decides as an idle one does.
const stepsPerRequest glob.Budget = 5_000_000

// stepsPerUnit are the steps for a unit of CEL's cost.
const stepsPerUnit = 100

// costLimit bounds the cost of one expression, in CEL's units: the whole budget of a request.
const costLimit = uint64(stepsPerRequest / stepsPerUnit)

// Steps of what is counted at once.
const (
	ruleSteps    = 40  // a rule that may match
	pairSteps    = 10  // a parameter or cookie whose name is compared
	madeSteps    = 150 // a parameter or cookie that is cut out, or put into a map
	runeSteps    = 20  // a character before a regular expression
	instSteps    = 10  // an instruction of the expression for each character
	hashSteps    = 3   // a byte that is hashed, or encoded again
	dynamicSteps = 500 // an instruction of an expression that is compiled for one request
)

// Pay takes steps from the budget of a request, and reports whether there were enough.
func (q *Request) Pay(steps int) bool {
	q.left -= glob.Budget(steps)
	return q.left >= 0
}

// A regex is a regular expression that is matched within the budget of a request.
type regex struct {
	*regexp.Regexp
	anchored bool   // it must match the whole text
	prefix   string // what every match begins with
	literal  bool   // prefix is all
	steps    int    // for each character, at most
}

// maxInsts is the size of a program beyond which an expression has a warning: about 100 times that
// of an ordinary one.
const maxInsts = 1000

// newRegex compiles a regular expression. insts is the size of its program.
func newRegex(text string, anchored bool) (re *regex, insts int, err error) {
	parsed, err := syntax.Parse(text, syntax.Perl) // before brackets are put around it
	if err != nil {
		return nil, 0, err
	}
	program, err := syntax.Compile(parsed.Simplify())
	if err != nil {
		return nil, 0, err
	}
	insts = len(program.Inst)
	inner, err := regexp.Compile(text)
	if err != nil {
		return nil, 0, err
	}
	re = &regex{Regexp: inner, anchored: anchored, steps: runeSteps + instSteps*insts}
	re.prefix, _ = inner.LiteralPrefix() // which takes ^a$ for all of a literal
	re.literal = parsed.Op == syntax.OpLiteral && parsed.Flags&syntax.FoldCase == 0
	if anchored {
		re.Regexp, err = regexp.Compile("^(?:" + text + ")$")
	}
	return re, insts, err
}

// cheapSteps are so few that an expression which costs at most as much is matched without counting.
const cheapSteps = 10_000

// matches reports whether the expression matches a text.
func (re *regex) matches(q *Request, s string) bool {
	if decided, ok := re.byPrefix(q, s); decided {
		return ok
	}
	if worst := re.steps * (len(s) + 1); worst <= cheapSteps {
		return q.Pay(worst) && re.MatchString(s)
	}
	return re.MatchReader(q.read(s, re.steps))
}

// captures returns the groups of the expression if it matches a text; nil: it does not.
func (re *regex) captures(q *Request, s string) []string {
	if decided, ok := re.byPrefix(q, s); decided && !ok {
		return nil
	}
	// Each path through the program has groups of its own, which are copied.
	at := re.FindReaderSubmatchIndex(q.read(s, 2*re.steps))
	if at == nil || q.left < 0 {
		return nil
	}
	groups := make([]string, len(at)/2-1)
	for i := range groups {
		if from, to := at[2*i+2], at[2*i+3]; from >= 0 {
			groups[i] = s[from:to]
		}
	}
	return groups
}

// byPrefix decides by the begin of the expression, if it can.
func (re *regex) byPrefix(q *Request, s string) (decided, ok bool) {
	switch {
	case !q.Pay(ruleSteps):
		return true, false
	case re.anchored:
		ok = strings.HasPrefix(s, re.prefix)
		return !ok, false
	case re.prefix == "":
		return false, false
	}
	ok = glob.Contains(s, re.prefix, &q.left)
	return !ok || re.literal, ok
}

// runes reads a text for a regular expression, until the budget is used up.
type runes struct {
	s     string
	steps glob.Budget
	left  *glob.Budget
}

func (q *Request) read(s string, steps int) *runes {
	q.runes = runes{s, glob.Budget(steps), &q.left}
	return &q.runes
}

// ReadRune returns the next character as a regular expression sees those of a string.
func (r *runes) ReadRune() (c rune, size int, err error) {
	if *r.left -= r.steps; *r.left < 0 || r.s == "" {
		return 0, 0, io.EOF
	}
	c, size = utf8.DecodeRuneInString(r.s)
	r.s = r.s[size:]
	return c, size, nil
}

// maxDynamic is the length of the longest regular expression that is compiled for one request,
// in bytes.
const maxDynamic = 100

// matchesText is the function matches of CEL within the budget of a request.
func matchesText(args ...ref.Val) ref.Val {
	s, ok := args[0].(types.String)
	text, ok2 := args[1].(types.String)
	of, ok3 := args[2].(*payer)
	if !ok || !ok2 || !ok3 {
		return types.MaybeNoSuchOverloadErr(args[0])
	}
	re := of.patterns[string(text)]
	if re == nil { // the request has it
		if len(text) > maxDynamic {
			return types.NewErr("a regular expression that depends on the request has more than %d bytes", maxDynamic)
		}
		var insts int
		var err error
		if re, insts, err = newRegex(string(text), false); err != nil {
			return types.WrapErr(err)
		}
		of.q.Pay(dynamicSteps * insts)
	}
	return types.Bool(re.matches(of.q, string(s)))
}

// A payer is the value by which an expression finds the budget of its request.
type payer struct {
	q        *Request
	patterns map[string]*regex // of the expression
}

var errPayer = errors.New("the budget of a request is no value")

// ConvertToNative is an error.
func (*payer) ConvertToNative(reflect.Type) (any, error) { return nil, errPayer }

// ConvertToType is an error.
func (*payer) ConvertToType(ref.Type) ref.Val { return types.WrapErr(errPayer) }

// Equal is false.
func (*payer) Equal(ref.Val) ref.Val { return types.False }

// Type returns the type of the variable.
func (*payer) Type() ref.Type { return payerType }

// Value returns the request.
func (p *payer) Value() any { return p.q }

var payerType = types.NewOpaqueType("budget")

// A Stop says where the rules of a request have cost too much.
type Stop struct {
	Line    int  // of the first rule that was not decided
	Refused bool // a rule that protects was not decided, so that the request gets a 503
}

// stop ends a decision at the first of the rules that were not decided. They do not match. What
// they could have said about the cache is unknown, so that the response is not stored.
func (d *Decision) stop(q *Request, undecided []*rule) {
	d.Stopped = &Stop{Line: undecided[0].Line}
	d.Cache = "bypass"
	if q.Unanswered {
		return
	}
	for _, r := range undecided {
		if r.protects {
			d.Stopped.Refused = true
			d.Answer = &Answer{Status: http.StatusServiceUnavailable,
				Text: "the rules of this site cost too much time for this request; a shorter one may help"}
			return
		}
	}
}
