package integration

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/aicontent/aicontent-go/aicontenttest"
)

// A sequence is what goes wrong, in order, with the requests of Store calls for one name.
type sequence struct {
	collection string
	mode       string
	at         int    // the attempt at which the first call is interrupted; 0 for none
	moment     string // of this attempt: hook, sent or done
	strikes    []strike
	obstacles  []obstacle
	// of the service; empty for the default
	personality aicontenttest.Personality
}

// String is what -seq.only takes: images/crash@2.sent/lose-response,ok/list-503@2/lagging-list
func (s sequence) String() string {
	mode := s.mode
	if s.at > 0 {
		mode += fmt.Sprintf("@%d.%s", s.at, s.moment)
	}
	parts := []string{s.collection, mode, named(s.strikes)}
	for _, o := range s.obstacles {
		parts = append(parts, fmt.Sprintf("%s@%d", o.name, o.from))
	}
	if s.personality != "" {
		parts = append(parts, string(s.personality))
	}
	return strings.Join(parts, "/")
}

// parseSequence reads what String writes.
func parseSequence(t *testing.T, text string) (s sequence) {
	t.Helper()
	parts := strings.Split(text, "/")
	require.GreaterOrEqual(t, len(parts), 3, text)
	s.collection, s.mode = parts[0], parts[1]
	if mode, cut, found := strings.Cut(s.mode, "@"); found {
		at, moment, _ := strings.Cut(cut, ".")
		s.mode, s.moment = mode, moment
		_, err := fmt.Sscan(at, &s.at)
		require.NoError(t, err, text)
	}
	require.Contains(t, modes, s.mode)
	s.strikes = struck(t, parts[2])
	for _, part := range parts[3:] {
		name, from, found := strings.Cut(part, "@")
		if !found {
			require.Contains(t, aicontenttest.Personalities(), aicontenttest.Personality(name))
			s.personality = aicontenttest.Personality(name)
			continue
		}
		i := slices.IndexFunc(obstacles, func(o obstacle) bool { return o.name == name })
		require.GreaterOrEqual(t, i, 0, "no obstacle is called %q", name)
		o := obstacles[i]
		_, err := fmt.Sscan(from, &o.from)
		require.NoError(t, err, text)
		s.obstacles = append(s.obstacles, o)
	}
	return s
}

// An extent is how long the sequences of a walk are: those of all strikes, and those of the classes alone.
type extent struct{ strikes, classes int }

// from plays a sequence and those that continue it.
func (w *walk) from(t *testing.T, s sequence, e extent) {
	w.beyond(t, s, w.play(t, s), e)
}

// beyond plays the sequences that continue s, which met so many create requests. Where there were no more than s has
// strikes, nothing would meet another one. One that is ok was played as the end of s.
func (w *walk) beyond(t *testing.T, s sequence, stores int, e extent) {
	if stores <= len(s.strikes) {
		return
	}
	for i, f := range strikes {
		longer := s
		longer.strikes = append(slices.Clip(s.strikes), f)
		onlyClasses := !slices.ContainsFunc(longer.strikes, func(f strike) bool { return !f.class() })
		switch {
		case refuses(s.personality) && strings.HasPrefix(f.name, "act-20"):
			// A service that refuses does not say that it created a record.
		case len(longer.strikes) > e.strikes && (len(longer.strikes) > e.classes || !onlyClasses):
		case i == 0:
			w.beyond(t, longer, stores, e)
		default:
			w.from(t, longer, e)
		}
	}
}

// play plays a sequence, in modes that interrupt it once for each attempt and moment, and returns how many create
// requests the server got.
func (w *walk) play(t *testing.T, s sequence) (stores int) {
	moments := interrupted[s.mode]
	if moments == nil {
		return w.carryOut(t, s).stores
	}
	for _, s.moment = range moments {
		for s.at = 1; ; s.at++ {
			p := w.carryOut(t, s)
			stores = max(stores, p.stores)
			if !p.calls[0].wasCut {
				break
			}
		}
	}
	return stores
}

// carryOut plays one sequence and adds it up.
func (w *walk) carryOut(t *testing.T, s sequence) *play {
	p := carryOut(t, s)
	visited := append([]string{s.collection + "/" + s.mode, string(s.personality)}, p.met...)
	if p.calls[0].wasCut {
		visited = append(visited, s.mode+"."+s.moment)
	}
	w.add(t, s.mode, s, p.course, len(p.calls), visited...)
	return p
}

// Whatever goes wrong with the requests of Store calls, in whatever order: with package once there is no second record,
// and no error says of a record that is there, or may come, that there is none.
func TestSequences(t *testing.T) {
	w := newWalk()
	if strings.HasPrefix(*seqOnly, "processes/") {
		t.Skip("plays a scene of processes")
	}
	if *seqOnly != "" {
		w.carryOut(t, parseSequence(t, *seqOnly))
		return
	}
	start := time.Now()
	t.Run("walk", func(t *testing.T) {
		for _, mode := range slices.Sorted(maps.Keys(modes)) {
			for _, collection := range []string{"images", "transcriptions"} {
				t.Run(collection+"/"+mode, func(t *testing.T) {
					t.Parallel()
					w.mode(t, sequence{collection: collection, mode: mode})
				})
			}
		}
	})
	places := []string{}
	for _, personality := range untrusted {
		places = append(places, string(personality))
	}
	for _, f := range strikes {
		places = append(places, f.name)
	}
	for _, o := range obstacles {
		places = append(places, o.name)
	}
	for mode := range modes {
		places = append(places, "images/"+mode, "transcriptions/"+mode)
		for _, moment := range interrupted[mode] {
			places = append(places, mode+"."+moment)
		}
	}
	w.end(t, start, []string{tooLateExcuse, renamedExcuse}, places)
}

// mode walks the sequences of a mode. Each of one that is interrupted is played for some twenty moments.
func (w *walk) mode(t *testing.T, s sequence) {
	long, short, last := extent{1, 2}, extent{0, 1}, 2
	if *seqFull {
		long, short, last = extent{1, 3}, extent{0, 2}, 3
	}
	if interrupted[s.mode] != nil {
		long, last = extent{long.strikes - 1, long.classes / 2}, 1
		short.classes--
	}
	w.from(t, s, long)
	for _, s.personality = range untrusted {
		w.from(t, s, short)
	}
	s.personality = ""
	if s.mode == "plain" || s.mode == "cancelled" {
		return // these do not search
	}
	for _, o := range obstacles {
		for o.from = 1; o.from <= last; o.from++ {
			s.obstacles = []obstacle{o}
			w.from(t, s, short)
		}
	}
}

// refuses reports whether the service refuses create requests that are well formed.
func refuses(p aicontenttest.Personality) bool {
	return p == aicontenttest.SaysNo || p == aicontenttest.UniqueNames
}

// untrusted are the personalities that concern searches, and what a response proves.
var untrusted = []aicontenttest.Personality{
	aicontenttest.LateResult, aicontenttest.LaggingList, aicontenttest.Rewritten, aicontenttest.SaysNo,
	aicontenttest.UniqueNames,
}
