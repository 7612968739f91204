package trace

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	sdk "go.opentelemetry.io/otel/sdk/trace"
)

// A queue sends spans in batches and counts the results. The queue of the OpenTelemetry library
// drops spans silently when it is full, so this one never gives it more than it can hold.
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

// OnEnd queues a span that has ended, if there is room.
func (q *queue) OnEnd(s sdk.ReadOnlySpan) {
	if q.waiting.Add(1) > maxWaiting {
		q.waiting.Add(-1)
		q.dropped.Add(1)
		return
	}
	q.SpanProcessor.OnEnd(s)
}

// An exporter counts the spans that the collector accepts. It logs when the collector begins to
// fail, and when it works again.
type exporter struct {
	sdk.SpanExporter
	queue   *queue
	log     *slog.Logger
	failing bool // used by one goroutine at a time
}

// ExportSpans sends spans. It logs errors itself and returns none, so that the library does not log
// them.
func (e *exporter) ExportSpans(ctx context.Context, spans []sdk.ReadOnlySpan) error {
	err := e.SpanExporter.ExportSpans(ctx, spans)
	n := int64(len(spans))
	e.queue.waiting.Add(-n)
	switch {
	case err != nil:
		e.queue.dropped.Add(n)
		if !e.failing {
			e.log.Warn("trace collector failing; dropping spans", "err", err)
		}
	case e.failing:
		e.log.Info("trace collector working again", "dropped", e.queue.dropped.Load())
	}
	if e.failing = err != nil; err == nil {
		e.queue.exported.Add(n)
	}
	return nil
}
