// Package usl predicts the throughput of more cores by the Universal Scalability Law (N. J.
// Gunther: Guerrilla Capacity Planning, 2007).
package usl

// A Law says how the throughput of a server grows with its cores:
// C(N) = N / (1 + α(N-1) + βN(N-1)), where C(1) is 1.
type Law struct {
	// Alpha is the part of the work that only one core can do at a time, such as the time with a
	// lock, or with a line of memory that all write.
	Alpha float64
	// Beta is what each core costs each other one, such as copies of what another has changed.
	Beta float64
}

// Speedup returns C of so many cores.
func (l Law) Speedup(cores float64) float64 {
	return cores / (1 + (cores-1)*(l.Alpha+l.Beta*cores))
}

// Fit returns the two laws between which the law of a server is, whose work for a response takes
// growth times as much on two cores as on one (so that C(2) is 2/growth), and has to wait for locks
// for a part waiting of the time that the work takes. Two points leave open whether the growth is
// α or β: best has all of it as α. The worst has only the waiting as α, and the rest as β, which
// grows with the square of the cores. A growth below one is taken for one.
func Fit(growth, waiting float64) (best, worst Law) {
	grown := max(growth-1, 0)
	waiting = max(waiting, 0)
	best = Law{Alpha: max(grown, waiting)}
	worst = Law{Alpha: waiting, Beta: max(grown-waiting, 0) / 2}
	return best, worst
}
