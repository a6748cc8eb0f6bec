// Command promcheck runs Prometheus' own parser and engine for tests of the files in deploy.
//
//	promcheck rules RULES TESTS       tests of alerts, in the form of promtool test rules
//	promcheck queries SCRAPE SCRAPE   queries, one a line of standard input, on two scrapes of a server
//
// It is not promtool itself, whose service discovery takes many minutes to build. A rule is evaluated as Prometheus does: it
// fires once its expression has had a result for as long as `for` says.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/url"
	"os"
	"slices"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/model/textparse"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/template"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
	"github.com/prometheus/prometheus/tsdb/chunks"
	"github.com/prometheus/prometheus/util/annotations"
	"gopkg.in/yaml.v2"
)

func main() {
	model.NameValidationScheme = model.UTF8Validation
	if len(os.Args) != 4 {
		fmt.Fprintln(os.Stderr, "usage: promcheck rules RULES TESTS | promcheck queries SCRAPE SCRAPE")
		os.Exit(2)
	}
	var err error
	switch os.Args[1] {
	case "rules":
		err = rules(os.Args[2], os.Args[3])
	case "queries":
		err = queries(os.Args[2:])
	default:
		err = fmt.Errorf("there is no command %q", os.Args[1])
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// database has series in memory, and an engine that reads them.
type database struct {
	engine *promql.Engine
	series map[string]*series // by labels
}

type series struct {
	labels labels.Labels
	points []chunks.Sample
}

func newDatabase() *database {
	return &database{promql.NewEngine(promql.EngineOpts{MaxSamples: 1e6, Timeout: 5 * time.Minute}), map[string]*series{}}
}

// add adds a sample, which is newer than all of its series.
func (d *database) add(l labels.Labels, at time.Time, v float64) {
	key := l.String()
	s := d.series[key]
	if s == nil {
		s = &series{labels: l}
		d.series[key] = s
	}
	s.points = append(s.points, point{at.UnixMilli(), v})
}

// point implements chunks.Sample.
type point struct {
	t int64
	v float64
}

func (p point) T() int64                      { return p.t }
func (p point) F() float64                    { return p.v }
func (p point) H() *histogram.Histogram       { return nil }
func (p point) FH() *histogram.FloatHistogram { return nil }
func (p point) Type() chunkenc.ValueType      { return chunkenc.ValFloat }
func (p point) Copy() chunks.Sample           { return p }

// Querier implements storage.Queryable.
func (d *database) Querier(int64, int64) (storage.Querier, error) { return &querier{d}, nil }

type querier struct{ d *database }

// Select implements storage.Querier.
func (q *querier) Select(_ context.Context, _ bool, _ *storage.SelectHints, matchers ...*labels.Matcher) storage.SeriesSet {
	var found []storage.Series
	for _, key := range slices.Sorted(maps.Keys(q.d.series)) {
		s := q.d.series[key]
		if !slices.ContainsFunc(matchers, func(m *labels.Matcher) bool { return !m.Matches(s.labels.Get(m.Name)) }) {
			found = append(found, storage.NewListSeries(s.labels, s.points))
		}
	}
	return &set{found: found}
}

func (q *querier) LabelValues(context.Context, string, *storage.LabelHints, ...*labels.Matcher) ([]string, annotations.Annotations, error) {
	return nil, nil, errors.New("the engine asks for no labels")
}

func (q *querier) LabelNames(context.Context, *storage.LabelHints, ...*labels.Matcher) ([]string, annotations.Annotations, error) {
	return nil, nil, errors.New("the engine asks for no labels")
}

func (q *querier) Close() error { return nil }

// set implements storage.SeriesSet.
type set struct {
	found []storage.Series
	at    int
}

func (s *set) Next() bool                        { s.at++; return s.at <= len(s.found) }
func (s *set) At() storage.Series                { return s.found[s.at-1] }
func (s *set) Err() error                        { return nil }
func (s *set) Warnings() annotations.Annotations { return nil }

// at evaluates an expression.
func (d *database) at(expr string, t time.Time) (promql.Vector, error) {
	ctx := context.Background()
	q, err := d.engine.NewInstantQuery(ctx, d, nil, expr, t)
	if err != nil {
		return nil, err
	}
	defer q.Close()
	switch v := q.Exec(ctx); value := v.Value.(type) {
	case promql.Vector:
		return slices.Clone(value), v.Err
	case promql.Scalar:
		return promql.Vector{{F: value.V, T: value.T}}, v.Err
	default:
		return nil, errors.Join(v.Err, fmt.Errorf("%s is no vector", expr))
	}
}

// epoch is the time at which tests begin, as for promtool.
var epoch = time.Unix(0, 0).UTC()

// answer is the result of a query.
type answer struct {
	Query  string    `json:"query"`
	Error  string    `json:"error,omitempty"`
	Series int       `json:"series"`
	Values []float64 `json:"-"`
}

// queries stores the two scrapes as those of a minute, and prints a line of JSON for each query.
func queries(scrapes []string) error {
	d := newDatabase()
	for second := 0; second <= 60; second += 15 {
		file := scrapes[0]
		if second > 15 {
			file = scrapes[1]
		}
		if err := d.scrape(file, epoch.Add(time.Duration(second)*time.Second)); err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
	}
	in := bufio.NewScanner(os.Stdin)
	out := json.NewEncoder(os.Stdout)
	for in.Scan() {
		a := answer{Query: in.Text()}
		v, err := d.at(a.Query, epoch.Add(time.Minute))
		if err != nil {
			a.Error = err.Error()
		}
		a.Series = len(v)
		if err := out.Encode(a); err != nil {
			return err
		}
	}
	return in.Err()
}

// scrape stores the text of a metrics page, with the labels that Prometheus adds.
func (d *database) scrape(file string, at time.Time) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	p, err := textparse.New(text, "text/plain; version=0.0.4", "", false, false, false, labels.NewSymbolTable())
	if err != nil {
		return err
	}
	target := func(l labels.Labels) labels.Labels {
		return labels.NewBuilder(l).Set("job", "sheaf").Set("instance", "127.0.0.1:9090").Labels()
	}
	d.add(target(labels.FromStrings("__name__", "up")), at, 1)
	for {
		entry, err := p.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if entry != textparse.EntrySeries {
			continue
		}
		var l labels.Labels
		p.Labels(&l)
		_, _, value := p.Series()
		d.add(target(l), at, value)
	}
}

// testFile has the form of promtool test rules.
type testFile struct {
	RuleFiles          []string       `yaml:"rule_files"`
	EvaluationInterval model.Duration `yaml:"evaluation_interval"`
	Tests              []struct {
		Name     string         `yaml:"name"`
		Interval model.Duration `yaml:"interval"`
		Input    []struct {
			Series string `yaml:"series"`
			Values string `yaml:"values"`
		} `yaml:"input_series"`
		Alerts []alertTest `yaml:"alert_rule_test"`
	} `yaml:"tests"`
}

type alertTest struct {
	At       model.Duration `yaml:"eval_time"`
	Alert    string         `yaml:"alertname"`
	Expected []struct {
		Labels      map[string]string `yaml:"exp_labels"`
		Annotations map[string]string `yaml:"exp_annotations"`
	} `yaml:"exp_alerts"`
}

// rules runs the tests. Every alert must fire in one, and be silent in another.
func rules(rulesPath, testsPath string) error {
	groups, problems := rulefmt.ParseFile(rulesPath, false)
	if len(problems) > 0 {
		return errors.Join(problems...)
	}
	all := map[string]rulefmt.Rule{}
	for _, g := range groups.Groups {
		for _, r := range g.Rules {
			all[r.Alert] = r
		}
	}
	text, err := os.ReadFile(testsPath)
	if err != nil {
		return err
	}
	var file testFile
	if err := yaml.UnmarshalStrict(text, &file); err != nil {
		return err
	}
	if file.EvaluationInterval == 0 {
		file.EvaluationInterval = model.Duration(time.Minute)
	}
	fired, silent := map[string]bool{}, map[string]bool{}
	var faults []error
	for _, test := range file.Tests {
		d := newDatabase()
		series := make([]string, 0, len(test.Input))
		for _, in := range test.Input {
			series = append(series, in.Series+" "+in.Values)
		}
		err := d.load(series, time.Duration(test.Interval))
		if err == nil {
			for _, a := range test.Alerts {
				rule, known := all[a.Alert]
				if !known {
					faults = append(faults, fmt.Errorf("%s: there is no alert %s", test.Name, a.Alert))
					continue
				}
				if len(a.Expected) > 0 {
					fired[a.Alert] = true
				} else {
					silent[a.Alert] = true
				}
				if err := d.check(rule, a, time.Duration(file.EvaluationInterval)); err != nil {
					faults = append(faults, fmt.Errorf("%s: %s at %s: %w", test.Name, a.Alert, a.At, err))
				}
			}
		}
		if err != nil {
			return fmt.Errorf("%s: %w", test.Name, err)
		}
	}
	for name := range all {
		if !fired[name] || !silent[name] {
			faults = append(faults, fmt.Errorf("%s needs a test in which it fires, and one in which it does not", name))
		}
	}
	if len(faults) == 0 {
		fmt.Printf("%d alerts in %d tests\n", len(all), len(file.Tests))
	}
	return errors.Join(faults...)
}

// load stores the series.
func (d *database) load(series []string, interval time.Duration) error {
	for _, text := range series {
		l, values, err := parser.ParseSeriesDesc(text)
		if err != nil {
			return err
		}
		for i, v := range values {
			if !v.Omitted {
				d.add(l, epoch.Add(time.Duration(i)*interval), v.Value)
			}
		}
	}
	return nil
}

// check evaluates the rule up to the time of the test, and compares what fires then.
func (d *database) check(rule rulefmt.Rule, a alertTest, every time.Duration) error {
	since := map[string]time.Time{} // by labels
	var now promql.Vector
	end := epoch.Add(time.Duration(a.At))
	for t := epoch; !t.After(end); t = t.Add(every) {
		var err error
		if now, err = d.at(rule.Expr, t); err != nil {
			return err
		}
		active := map[string]time.Time{}
		for _, s := range now {
			key := s.Metric.String()
			active[key] = t
			if began, was := since[key]; was {
				active[key] = began
			}
		}
		since = active
	}
	var got, want []string
	for _, s := range now {
		if end.Sub(since[s.Metric.String()]) < time.Duration(rule.For) {
			continue
		}
		l := labels.NewBuilder(s.Metric).Del("__name__").Set("alertname", rule.Alert)
		for name, value := range rule.Labels {
			l.Set(name, value)
		}
		written := map[string]string{}
		for name, text := range rule.Annotations {
			shown, err := d.expand(text, s, end)
			if err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			written[name] = shown
		}
		got = append(got, l.Labels().String())
		for _, e := range a.Expected {
			for name, text := range e.Annotations {
				if written[name] != text {
					return fmt.Errorf("%s is %q, want %q", name, written[name], text)
				}
			}
		}
	}
	for _, e := range a.Expected {
		l := maps.Clone(e.Labels)
		if l == nil {
			l = map[string]string{}
		}
		l["alertname"] = rule.Alert
		want = append(want, labels.FromMap(l).String())
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		return fmt.Errorf("fires %v, want %v", got, want)
	}
	return nil
}

// expand expands the template of an annotation.
func (d *database) expand(text string, s promql.Sample, at time.Time) (string, error) {
	data := template.AlertTemplateData(s.Metric.Map(), nil, "", s)
	const definitions = "{{$labels := .Labels}}{{$externalLabels := .ExternalLabels}}{{$externalURL := .ExternalURL}}{{$value := .Value}}"
	query := func(_ context.Context, expr string, t time.Time) (promql.Vector, error) { return d.at(expr, t) }
	return template.NewTemplateExpander(context.Background(), definitions+text, "annotation", data, model.TimeFromUnixNano(at.UnixNano()), query, &url.URL{}, nil).Expand()
}
