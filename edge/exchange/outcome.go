package exchange

// An Outcome is how a request was answered.
type Outcome uint8

const (
	Failed    Outcome = iota // the origin or the edge failed
	Hit                      // from the cache, fresh
	Stale                    // from the cache, stale (revalidating, or the origin failed)
	Miss                     // fetched from the origin
	Collapsed                // from the fetch of another request (collapsed)
	Passed                   // relayed from the origin, not from the cache
	Own                      // made by the edge: page, health, preflights
	Refused                  // malformed, out of range, unknown
	Limited                  // over a limit
	Denied                   // by the deny list, or by a rule
	Outcomes                 // the number of outcomes
)

var OutcomeNames = [Outcomes]string{"error", "hit", "stale", "miss", "collapsed", "passed", "own", "refused", "limited", "denied"}
