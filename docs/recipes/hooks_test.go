package recipes

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/sony/gobreaker/v2"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"golang.org/x/time/rate"

	"github.com/aicontent/aicontent-go"
	"github.com/aicontent/aicontent-go/aicontenttest"
	"github.com/aicontent/aicontent-go/once"
)

func TestDailyLimitCountsOnlyWhatMayHaveBeenBilled(t *testing.T) {
	inMemory(t, func(t *testing.T, srv *aicontenttest.Server) {
		client := srv.Client(dailyLimit(2))
		store := func(opts ...aicontent.CallOption) error {
			_, err := client.Images.Store(t.Context(), image, opts...)
			return err
		}
		srv.Fault(aicontenttest.Status(http.StatusUnprocessableEntity, `{"message": "no"}`))
		require.ErrorIs(t, store(), aicontent.ErrInvalid, "was refused, and cost nothing")
		srv.Fault(aicontenttest.ActThenStatus(http.StatusGatewayTimeout))
		require.ErrorIs(t, store(), aicontent.ErrServer, "may have been billed")
		require.NoError(t, store())

		sent := len(srv.Requests())
		err := store()
		require.ErrorIs(t, err, errSpent)
		assert.Equal(t, aicontent.OutcomeNotExecuted, aicontent.OutcomeOf(err))
		assert.Len(t, srv.Requests(), sent)

		time.Sleep(24 * time.Hour)
		require.NoError(t, store())
		require.NoError(t, store())
		require.ErrorIs(t, store(), errSpent)
	})
}

func TestBreakerLeavesAServiceAloneThatDoesNotWork(t *testing.T) {
	inMemory(t, func(t *testing.T, srv *aicontenttest.Server) {
		srv.AddImage(aicontent.Image{ID: "7"})
		client := srv.Client(breaker(), oneAttempt)
		show := func(ctx context.Context, id aicontent.ID) error {
			_, err := client.Images.Show(ctx, id)
			return err
		}
		gone, cancel := context.WithCancel(t.Context())
		srv.FaultN(4, aicontenttest.Status(http.StatusInternalServerError, "down"))
		for range 4 {
			require.ErrorIs(t, show(t.Context(), "7"), aicontent.ErrServer)
		}
		srv.Fault(aicontenttest.Stall(aicontenttest.BeforeResponse))
		time.AfterFunc(time.Second, cancel)
		require.ErrorIs(t, show(gone, "7"), context.Canceled, "says nothing of the service")
		for range 9 {
			require.ErrorIs(t, show(t.Context(), "8"), aicontent.ErrNotFound, "a service that refuses works")
		}
		srv.FaultN(5, aicontenttest.Status(http.StatusInternalServerError, "down"))
		for range 5 {
			require.ErrorIs(t, show(t.Context(), "7"), aicontent.ErrServer)
		}
		sent := len(srv.Requests())
		err := show(t.Context(), "7")
		require.ErrorIs(t, err, gobreaker.ErrOpenState)
		assert.Equal(t, aicontent.OutcomeNotExecuted, aicontent.OutcomeOf(err))
		assert.Len(t, srv.Requests(), sent)

		time.Sleep(31 * time.Second)
		require.NoError(t, show(t.Context(), "7"))
		require.NoError(t, show(t.Context(), "7"))
	})
}

// The record of the request that opens the circuit is still found: it was billed.
func TestBreakerLetsSearchesPass(t *testing.T) {
	inMemory(t, func(t *testing.T, srv *aicontenttest.Server) {
		client := srv.Client(breaker(), oneAttempt)
		srv.FaultN(4, aicontenttest.Status(http.StatusInternalServerError, "down"))
		for range 4 {
			_, err := client.Images.Show(t.Context(), "7")
			require.ErrorIs(t, err, aicontent.ErrServer)
		}
		srv.FaultOn(aicontent.ImagesStore, 1, aicontenttest.LateAct(504, 10*time.Second))
		names, err := once.New(client, once.InMemory())
		require.NoError(t, err)
		_, _, err = names.Images.Store(t.Context(), image)
		require.NoError(t, err)
		_, err = client.Images.Show(t.Context(), "7")
		require.ErrorIs(t, err, gobreaker.ErrOpenState)
	})
}

func TestMetricsTellAResponseWithoutARecordFromSuccess(t *testing.T) {
	reader := sdkmetric.NewManualReader()
	provider := sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader))
	option, err := metrics(provider.Meter("recipes"))
	require.NoError(t, err)
	inMemory(t, func(t *testing.T, srv *aicontenttest.Server) {
		srv.Fault(aicontenttest.Status(429, "busy").WithRetryAfter("1"))
		_, err := srv.Client(option).Images.Store(t.Context(), image)
		require.NoError(t, err)
		srv.Fault(aicontenttest.InvalidJSON())
		_, err = srv.Client(option).Images.Store(t.Context(), image)
		require.Equal(t, aicontent.OutcomeExecuted, aicontent.OutcomeOf(err))
		require.Error(t, err)
	})
	var collected metricdata.ResourceMetrics
	require.NoError(t, reader.Collect(t.Context(), &collected))
	points := collected.ScopeMetrics[0].Metrics[0].Data.(metricdata.Histogram[float64]).DataPoints
	var got []string
	for _, point := range points {
		var values []string
		for _, key := range []attribute.Key{"status", "outcome", "failed", "retried"} {
			value, _ := point.Attributes.Value(key)
			values = append(values, value.String())
		}
		got = append(got, strings.Join(values, " "))
	}
	want := []string{"429 not executed true true", "201 executed false false", "201 executed true false"}
	assert.ElementsMatch(t, want, got, "a response without a record is told from success")
}

// Pictures are many and small, and the limiter of the client leaves them out.
func TestLimitDownloadsLimitsNoAPICalls(t *testing.T) {
	inMemory(t, func(t *testing.T, srv *aicontenttest.Server) {
		srv.AddImage(aicontent.Image{ID: "7"})
		client := srv.Client(limitDownloads(rate.NewLimiter(rate.Every(time.Second), 1)))
		start := time.Now()
		var shown *aicontent.Image
		for range 5 {
			var err error
			shown, err = client.Images.Show(t.Context(), "7")
			require.NoError(t, err)
		}
		require.Zero(t, time.Since(start), "the API is not what is limited")
		for range 3 {
			_, err := client.Images.Download(t.Context(), shown, io.Discard)
			require.NoError(t, err)
		}
		assert.Equal(t, 2*time.Second, time.Since(start))
	})
}
