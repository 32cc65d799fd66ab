package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/aicontent/aicontent-go"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
)

const scope = "github.com/aicontent/aicontent-go/examples/observe"

// call runs an SDK call in a span. The spans of its attempts are its children.
func call[T any](ctx context.Context, op string, f func(context.Context) (T, error)) (T, error) {
	ctx, span := otel.Tracer(scope).Start(ctx, op, trace.WithSpanKind(trace.SpanKindInternal))
	defer span.End()
	result, err := f(ctx)
	span.SetAttributes(attribute.String("aicontent.outcome", aicontent.OutcomeOf(err).String()))
	if err != nil {
		span.SetAttributes(attribute.String("error.type", errorType(err)))
		span.SetStatus(codes.Error, "")
	}
	return result, err
}

// errorType names the kind of error. The error's text may quote a response.
func errorType(err error) string {
	var api *aicontent.APIError
	if errors.As(err, &api) {
		return strconv.Itoa(api.StatusCode)
	}
	return fmt.Sprintf("%T", err)
}
