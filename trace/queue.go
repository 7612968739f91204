package trace

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	sdk "go.opentelemetry.io/otel/sdk/trace"
)

// A queue has spans sent in batches, and counts what became of each. The library's own drops what does not fit without a word: ours
// gives it no more than fits.
type queue struct {
	sdk.SpanProcessor
	waiting, exported, dropped atomic.Int64
}

func newQueue(to sdk.SpanExporter, send time.Duration, log *slog.Logger) *queue {
	q := &queue{}
	q.SpanProcessor = sdk.NewBatchSpanProcessor(&exporter{SpanExporter: to, queue: q, log: log},
		sdk.WithMaxQueueSize(maxWaiting), sdk.WithMaxExportBatchSize(batch), sdk.WithBatchTimeout(batchWait), sdk.WithExportTimeout(send))
	return q
}

// OnEnd takes a span that has ended, if there is room.
func (q *queue) OnEnd(s sdk.ReadOnlySpan) {
	if q.waiting.Add(1) > maxWaiting {
		q.waiting.Add(-1)
		q.dropped.Add(1)
		return
	}
	q.SpanProcessor.OnEnd(s)
}

// An exporter counts the spans that a collector takes, and tells when it begins to take none, and when it takes them again.
type exporter struct {
	sdk.SpanExporter
	queue   *queue
	log     *slog.Logger
	failing bool // it is called by one goroutine at a time
}

// ExportSpans sends spans. Its errors are told here, not by the library.
func (e *exporter) ExportSpans(ctx context.Context, spans []sdk.ReadOnlySpan) error {
	err := e.SpanExporter.ExportSpans(ctx, spans)
	n := int64(len(spans))
	e.queue.waiting.Add(-n)
	switch {
	case err != nil:
		e.queue.dropped.Add(n)
		if !e.failing {
			e.log.Warn("the collector of traces takes none: spans are dropped", "err", err)
		}
	case e.failing:
		e.log.Info("the collector takes traces again", "dropped", e.queue.dropped.Load())
	}
	if e.failing = err != nil; err == nil {
		e.queue.exported.Add(n)
	}
	return nil
}
